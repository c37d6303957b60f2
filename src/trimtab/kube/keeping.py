"""A whole collection in memory: every object as it was told last, its body packed. Pure.

Whoever follows a collection in order to look things up needs the objects, and `follow` needs to know which of
them it has told: `Kept` is both, so that nothing is held twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, MutableMapping

from msgspec import Struct

from trimtab.kube.discovery import Resource
from trimtab.kube.objects import KubeObject, object_from
from trimtab.kube.packing import Packer
from trimtab.kube.picture import Name, News, Removed, Upserted, Version


class _Held(Struct, frozen=True, gc=False):
    """What is held of one object; its metadata is in its body."""

    version: Version
    body: bytes


class Kept(MutableMapping[Name, Version]):
    """The objects of one collection, for `follow` to remember by and for others to read.

    To `follow` it is the versions it has told. They come with the objects: whoever follows lets it `hear` the
    news. Packing and reading an object again take some microseconds each.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._held: dict[Name, _Held] = {}
        self._packer: Packer[Name] = Packer()

    def hear(self, news: News) -> None:
        """Keep what is there and no longer what is gone."""
        if isinstance(news, Upserted):
            self.keep(news.object)
        elif isinstance(news, Removed):
            name = news.namespace, news.name
            if (held := self._held.get(name)) is not None and held.version.uid == news.uid:
                del self._held[name]

    def keep(self, told: KubeObject) -> None:
        """Keep an object, in place of what was kept of it."""
        metadata = told.metadata
        name = sys.intern(metadata.namespace), metadata.name
        version = Version(metadata.uid, metadata.resource_version)
        self._held[name] = _Held(version, self._packer.packed(told.raw))
        if samples := self._packer.samples(name):
            self._train(samples)

    def object(self, namespace: str, name: str) -> KubeObject | None:
        """One object as it was told last."""
        held = self._held.get((namespace, name))
        return None if held is None else self._read(held)

    def objects(self) -> Iterator[KubeObject]:
        """All of them, one read at a time, as they are when it begins."""
        return map(self._read, tuple(self._held.values()))

    def _read(self, held: _Held) -> KubeObject:
        raw, resource = self._packer.unpacked(held.body), self._resource
        return object_from(raw, api_version=resource.api_version, kind=resource.kind)

    def _train(self, samples: Iterable[Name]) -> None:
        found = {name: held for name in samples if (held := self._held.get(name)) is not None}
        raw = {name: self._packer.unpacked(held.body) for name, held in found.items()}
        self._packer.train(list(raw.values()))
        for name, each in raw.items():
            self._held[name] = _Held(found[name].version, self._packer.packed(each))

    def __getitem__(self, name: Name) -> Version:
        return self._held[name].version

    def get(self, name: Name, default: Version | None = None) -> Version | None:  # type: ignore[override] # ours are versions
        """The last state told; without the exception that a miss would otherwise cost on every new object."""
        held = self._held.get(name)
        return default if held is None else held.version

    def __setitem__(self, name: Name, version: Version) -> None:
        """Nothing: the news that follow bring the object along."""

    def __delitem__(self, name: Name) -> None:
        del self._held[name]

    def __iter__(self) -> Iterator[Name]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

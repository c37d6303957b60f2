"""What `follow` needs to remember, answered from the index, so that nothing is kept twice. Pure."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from trimtab.engine.cache.index import Index, Scope
from trimtab.kube.picture import Name, Version
from trimtab.resources.keys import ResourceKey


class Remembered(MutableMapping[Name, Version]):
    """The objects of one kind and scope as they were told last.

    It is written through the index alone: whoever follows puts in, and takes out, what the news say. While
    `renewing`, no state counts as told before, so that everything is told once more; what is gone still is.
    """

    def __init__(self, index: Index, scope: Scope, *, renewing: bool = False) -> None:
        self._index = index
        self._scope = scope
        self.renewing = renewing

    def __getitem__(self, name: Name) -> Version:
        held = self._index.shelf(self._scope)[ResourceKey(self._scope.group, self._scope.kind, *name)]
        return Version(held.uid, "" if self.renewing else held.resource_version)

    def get(self, name: Name, default: Version | None = None) -> Version | None:  # type: ignore[override] # ours are versions
        """The last state told; without the exception that a miss would otherwise cost on every new object."""
        held = self._index.shelf(self._scope).get(ResourceKey(self._scope.group, self._scope.kind, *name))
        if held is None:
            return default
        return Version(held.uid, "" if self.renewing else held.resource_version)

    def __setitem__(self, name: Name, version: Version) -> None:
        """Nothing: the news that follow put it into the index."""

    def __delitem__(self, name: Name) -> None:
        """Nothing: the news that follow take it out of the index."""

    def __iter__(self) -> Iterator[Name]:
        return ((key.namespace, key.name) for key in self._index.shelf(self._scope))

    def __len__(self) -> int:
        return len(self._index.shelf(self._scope))

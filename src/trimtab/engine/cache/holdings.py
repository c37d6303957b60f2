"""What the cache holds of one cluster: records, bodies, and the account of both. Pure, with one writer."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import msgspec

from trimtab.engine.cache.bodies import Bodies
from trimtab.engine.cache.index import Index, Scope
from trimtab.engine.cache.records import Recorder
from trimtab.engine.cache.states import Memory
from trimtab.engine.live import Change, Live
from trimtab.kube.discovery import Resource
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

#: a short text takes this beside its letters; a struct this beside its fields, of eight bytes each
_TEXT, _STRUCT, _TUPLE, _DIGEST = 49, 16, 40, 49
#: places in tables, at their usual fill
_IN_DICT, _IN_SET = 80, 50
#: the record, its key, its three texts that are nobody else's, its place on the shelf and in its namespace
_RECORD: Final = (_STRUCT + 88) + (_STRUCT + 32) + 3 * _TEXT + _IN_DICT + _IN_SET
#: an owner with its texts, which two siblings or more share, and the place among what it owns
_OWNER: Final = ((_STRUCT + 24) + (_STRUCT + 32) + 2 * (_TEXT + 30) + _TUPLE + 8) // 2 + _IN_SET


def record_size(live: Live | None) -> int:
    """About how many bytes a record takes, its places in the index included."""
    if live is None:
        return 0
    size = _RECORD + len(live.key.name) + len(live.uid) + len(live.resource_version)
    size += _OWNER * len(live.owners)
    if live.mark is not None:
        size += _IN_SET
    if live.health is not None:
        size += _STRUCT + 16 + _TEXT + len(live.health.message)
    return size + (_DIGEST if live.digest else 0)


def _has_body(live: Live | None) -> bool:
    """Whether an object is to be kept whole: those and no others have a digest."""
    return live is not None and bool(live.digest)


class Holdings:
    """Records and bodies, kept together."""

    def __init__(self, recorder: Recorder, limit: int | None) -> None:
        self.index = Index()
        self.bodies = Bodies()
        self.recorder = recorder
        self.limit = limit
        self._records = 0
        self._wanted = 0

    def put(self, scope: Scope, resource: Resource, told: KubeObject) -> tuple[Change, ...]:
        """Keep an object as it was told."""
        key = self.recorder.key(resource, told.metadata)
        before = self.index.shelf(scope).get(key)
        recorded = self.recorder.record(told, resource, key if before is None else before.key)
        changes = self.index.put(scope, recorded.live, recorded.stems)
        if recorded.keeps_body:
            self.bodies.keep(recorded.live.key, told.raw)
        elif before is not None and before.digest:
            self.bodies.drop(before.key)
        self._account(changes)
        return changes

    def remove(self, scope: Scope, key: ResourceKey) -> tuple[Change, ...]:
        """Keep an object no longer: it is gone, or of no interest any more."""
        changes = self.index.remove(scope, key)
        self.bodies.drop(key)
        self._account(changes)
        return changes

    def rearrange(self, watched: Container[Scope]) -> tuple[Change, ...]:
        """Keep nothing that is no longer watched; what another watch covers now stays as it is."""
        forgotten: list[Change] = []
        for scope in self.index.scopes():
            if scope not in watched:
                for key in list(self.index.shelf(scope)):
                    wide, narrow = Scope(key.group, key.kind), Scope(key.group, key.kind, key.namespace)
                    if wide in watched or narrow in watched:
                        self.index.move(key, scope, wide if wide in watched else narrow)
                    else:
                        forgotten += self.remove(scope, key)
        return tuple(forgotten)

    def manifest(self, key: ResourceKey) -> Manifest | None:
        """The whole object, if it is kept."""
        held, raw = self.index.get(key), self.bodies.read(key)
        if held is None or raw is None:
            return None
        manifest: Manifest = msgspec.json.decode(raw)
        return {**manifest, "apiVersion": held.api_version, "kind": held.key.kind}

    def memory(self) -> Memory:
        """How many bytes all of it takes."""
        return Memory(
            records=self._records,
            bodies=self.bodies.size,
            limit=self.limit,
            given_up=self._wanted - len(self.bodies),
        )

    def limit_to(self, limit: int | None) -> None:
        """Take no more bytes than this from now on."""
        self.limit = limit
        self._trim()

    def _account(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            self._records += record_size(change.after) - record_size(change.before)
            self._wanted += _has_body(change.after) - _has_body(change.before)
        self._trim()

    def _trim(self) -> None:
        if self.limit is not None and self._records + self.bodies.size > self.limit:
            self.bodies.trim(max(self.limit - self._records, 0))

"""Objects in memory, versioned: every change gets the next resource version, and recent history is kept.

One writer, no locks, nothing asynchronous. An object is kept as the JSON that answers hold, so that reading
costs no encoding; whoever changes it decodes it. From the history come watches that go on where they broke,
lists of a version that is past (pages of one list all show the same), and the word that a version is gone.
Everybody who wants to hear of changes subscribes, and hears them in order, also of changes that are made
while another one is being told.
"""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from trimtab.apiserver.depths import check_readable
from trimtab.kube import trees

Collection: TypeAlias = tuple[str, str]  # group and plural, independent of the version
HISTORY = 10_000  # changes that are kept
HISTORY_BYTES = 64 * 1024 * 1024  # and how much of memory they may hold


class Gone(Exception):
    """The version asked for is no longer known; `oldest` is the oldest that is."""

    def __init__(self, oldest: int) -> None:
        super().__init__()
        self.oldest = oldest


class Entry(Struct, frozen=True, gc=False):
    """One object at one version: its JSON, without the `kind` and `apiVersion` that are kept apart."""

    key: str  # "namespace/name", or "/name" in the cluster's scope
    revision: int
    api_version: str
    body: bytes
    labels: Mapping[str, str] | None
    written: bytes | None = None  # how it was written, where it is not read so

    def decoded(self) -> dict[str, Any]:
        """The object, without `kind` and `apiVersion`."""
        value: dict[str, Any] = trees.decoded(self.body)
        return value


class ChangeType(enum.Enum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(Struct, frozen=True, kw_only=True, gc=False):
    """One change: the object as it is now (or was last, under the version of its end), and before it."""

    collection: Collection
    revision: int
    type: ChangeType
    entry: Entry
    before: Entry | None


Subscriber: TypeAlias = Callable[[Change], None]


class Scan(Struct, frozen=True):
    """Objects that are read one by one, and how many there are."""

    count: int
    entries: Iterator[Entry]


class _Shelf:
    """The objects of one collection by key, in order, and their recent changes."""

    __slots__ = ("changes", "entries", "keys")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.keys: list[str] = []
        self.changes: deque[Change] = deque()


class Store:
    """All objects of one cluster."""

    def __init__(self, *, history: int = HISTORY, history_bytes: int = HISTORY_BYTES) -> None:
        self.revision = 1
        self.compacted = 0  # changes up to here are forgotten
        self._limits = (history, history_bytes)
        self._shelves: dict[Collection, _Shelf] = {}
        self._order: deque[tuple[int, Collection, int]] = deque()  # revision, where, how heavy
        self._weight = 0
        self._subscribers: dict[int, Subscriber] = {}
        self._numbers = 0
        self._untold: deque[Change] = deque()
        self._telling = False

    # -- reading ------------------------------------------------------------------------------------------

    def get(self, collection: Collection, key: str) -> Entry | None:
        """The object as it is now."""
        shelf = self._shelves.get(collection)
        return shelf.entries.get(key) if shelf else None

    def count(self, collection: Collection, prefix: str = "") -> int:
        """How many objects a collection, or a namespace of it, holds now."""
        shelf = self._shelves.get(collection)
        if shelf is None:
            return 0
        start, end = _range(shelf.keys, prefix)
        return end - start

    def entries(self, collection: Collection, prefix: str = "") -> list[Entry]:
        """The objects of a collection, or of a namespace of it, as they are now, in order."""
        return list(self.scan(collection, prefix).entries)

    def at(self, collection: Collection, revision: int, prefix: str = "") -> list[Entry]:
        """The same at an earlier version."""
        return list(self.scan(collection, prefix, revision=revision).entries)

    def scan(
        self, collection: Collection, prefix: str = "", *, after: str = "", revision: int | None = None
    ) -> Scan:
        """The objects after a key, now or at an earlier version, read one by one."""
        if revision is not None and revision < self.compacted:
            raise Gone(self.compacted)
        shelf = self._shelves.get(collection)
        if shelf is None:
            return Scan(0, iter(()))
        start, end = _range(shelf.keys, prefix)
        start = max(start, bisect_right(shelf.keys, after)) if after else start
        keys = shelf.keys[start:end]
        undone = _undone(shelf, revision) if revision is not None else {}
        for key, entry in undone.items():
            if key.startswith(prefix) and key > after:
                _place(keys, key, present=entry is not None)
        now = shelf.entries
        found = (undone.get(key) or now[key] for key in keys)
        return Scan(len(keys), found)

    def changes_since(self, collection: Collection, revision: int) -> list[Change]:
        """What happened in a collection after this version."""
        if revision < self.compacted:
            raise Gone(self.compacted)
        shelf = self._shelves.get(collection)
        if shelf is None:
            return []
        found: list[Change] = []
        for change in reversed(shelf.changes):
            if change.revision <= revision:
                break
            found.append(change)
        found.reverse()
        return found

    # -- writing ------------------------------------------------------------------------------------------

    def put(
        self,
        collection: Collection,
        key: str,
        manifest: Mapping[str, Any],
        written: Mapping[str, Any] | None = None,
    ) -> Entry:
        """Keep this state of an object, under the next version; `written` if it was written otherwise."""
        shelf = self._shelf(collection)
        before = shelf.entries.get(key)
        entry = self._next(key, manifest, written)
        if before is None:
            insort(shelf.keys, key)
        shelf.entries[key] = entry
        kind = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self._record(shelf, collection, kind, entry, before)
        return entry

    def remove(self, collection: Collection, key: str, manifest: Mapping[str, Any]) -> Entry:
        """Forget an object; `manifest` is how it was last, which those who watch are told."""
        shelf = self._shelf(collection)
        entry = self._next(key, manifest)
        before = shelf.entries.pop(key)
        del shelf.keys[bisect_left(shelf.keys, key)]
        self._record(shelf, collection, ChangeType.DELETED, entry, before)
        return entry

    def _shelf(self, collection: Collection) -> _Shelf:
        return self._shelves.setdefault(collection, _Shelf())

    def _next(self, key: str, manifest: Mapping[str, Any], written: Mapping[str, Any] | None = None) -> Entry:
        revision = self.revision + 1
        metadata = {**manifest["metadata"], "resourceVersion": str(revision)}
        body = {**manifest, "metadata": metadata}
        api_version = body.pop("apiVersion")
        del body["kind"]
        original = _encoded(written) if written is not None else None
        entry = Entry(key, revision, api_version, _encoded(body), metadata.get("labels"), original)
        self.revision = revision
        return entry

    # -- history ------------------------------------------------------------------------------------------

    def _record(
        self, shelf: _Shelf, collection: Collection, kind: ChangeType, entry: Entry, before: Entry | None
    ) -> None:
        change = Change(collection=collection, revision=entry.revision, type=kind, entry=entry, before=before)
        shelf.changes.append(change)
        weight = len(entry.body)
        self._order.append((entry.revision, collection, weight))
        self._weight += weight
        self._forget()
        self._tell(change)

    def _forget(self) -> None:
        most, heaviest = self._limits
        while len(self._order) > most or (self._weight > heaviest and len(self._order) > 1):
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        revision, collection, weight = self._order.popleft()
        self._shelves[collection].changes.popleft()
        self._weight -= weight
        self.compacted = revision

    def compact(self, revision: int | None = None) -> None:
        """Forget history up to this version, or all of it."""
        limit = self.revision if revision is None else revision
        while self._order and self._order[0][0] <= limit:
            self._forget_oldest()
        self.compacted = max(self.compacted, limit)

    # -- telling ------------------------------------------------------------------------------------------

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Hear of every change from now on; call what this returns to hear no more."""
        self._numbers += 1
        number = self._numbers
        self._subscribers[number] = subscriber
        return lambda: self._subscribers.pop(number, None) and None

    @property
    def subscribers(self) -> int:
        """How many hear of changes now."""
        return len(self._subscribers)

    def _tell(self, change: Change) -> None:
        self._untold.append(change)
        if self._telling:
            return  # whoever is telling goes on with this one
        self._telling = True
        try:
            while self._untold:
                told = self._untold.popleft()
                for subscriber in list(self._subscribers.values()):
                    subscriber(told)
        finally:
            self._telling = False


def _range(keys: list[str], prefix: str) -> tuple[int, int]:
    """Where the keys with this prefix begin and end."""
    if not prefix:
        return 0, len(keys)
    return bisect_left(keys, prefix), bisect_right(keys, prefix + "\U0010ffff")


def _undone(shelf: _Shelf, revision: int) -> dict[str, Entry | None]:
    """What was there, or was not, at a version, for all that has changed since."""
    undone: dict[str, Entry | None] = {}
    for change in reversed(shelf.changes):
        if change.revision <= revision:
            break
        undone[change.entry.key] = change.before
    return undone


def _place(keys: list[str], key: str, *, present: bool) -> None:
    """Put a key into a sorted list, or take it out."""
    at = bisect_left(keys, key)
    there = at < len(keys) and keys[at] == key
    if present and not there:
        keys.insert(at, key)
    elif there and not present:
        del keys[at]


def _encoded(value: Mapping[str, Any]) -> bytes:
    """The JSON of a value in no more memory than it needs: msgspec keeps the room that it had reserved."""
    encoded = trees.encoded(value)
    check_readable(encoded)
    return bytes(memoryview(encoded))

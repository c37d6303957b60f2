"""Watches: the changes of one collection after a version, as those who select part of it see them.

A watch keeps no queue of its own: it remembers how far it has read in the store's history and reads on when
it is woken. A watcher that is too slow for the history is told that its place is gone, as by the real server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.reading import Selected, selected
from trimtab.apiserver.refusing import TooLarge
from trimtab.apiserver.requests import Address, WatchOptions, unreadable_version
from trimtab.apiserver.stacks import with_room
from trimtab.apiserver.store import Change, ChangeType, Entry, Gone, Store
from trimtab.kube import trees
from trimtab.kube.gotext import quoted
from trimtab.kube.integers import UINT64, whole
from trimtab.kube.refusals import Refused
from trimtab.kube.schemas.inner import blank

INITIAL_END = "k8s.io/initial-events-end"
BOOKMARK_EVERY = 60.0  # seconds
LAST_BOOKMARK = 2.0  # seconds before a watch ends


class Event(Struct, frozen=True):
    """One thing that a watch tells: an object, or for a bookmark a version alone."""

    type: str
    entry: Entry | None = None
    revision: int = 0
    annotations: dict[str, str] | None = None


def event_of(change: Change, chosen: Selected, prefix: str) -> Event | None:
    """What a change is for those who select part of a collection: objects come into view and leave it."""
    if prefix and not change.entry.key.startswith(prefix):
        return None
    before = change.before is not None and chosen.matches(change.before)
    now = change.type is not ChangeType.DELETED and chosen.matches(change.entry)
    if now:
        return Event("MODIFIED" if before else "ADDED", change.entry)
    if not before:
        return None
    return Event("DELETED", _last_seen(change))


def _last_seen(change: Change) -> Entry:
    """The object as it was last in view, with the version in which it left."""
    if change.type is ChangeType.DELETED or change.before is None:
        return change.entry
    return restamped(change.before, change.revision)


def restamped(entry: Entry, revision: int) -> Entry:
    """The object under another version."""
    manifest: dict[str, Any] = entry.decoded()
    manifest["metadata"]["resourceVersion"] = str(revision)
    return msgspec.structs.replace(entry, revision=revision, body=trees.encoded(manifest))


def bookmark_object(event: Event, served: Served) -> bytes:
    """The object of a bookmark: a version, and what is noted beside it."""
    metadata: dict[str, Any] = {"resourceVersion": str(event.revision)}
    if event.annotations:
        metadata["annotations"] = event.annotations
    head = {"kind": served.kind, "apiVersion": served.api_version, "metadata": metadata}
    return msgspec.json.encode({**head, **blank(served.schema.model)})


def next_bookmark(now: float, end: float) -> float:
    """When a watch is told next how far it has come: each minute, and once shortly before it ends."""
    last = end - LAST_BOOKMARK
    return min(now + BOOKMARK_EVERY, last if last > now else end)


class Watch:
    """One watch: `pending` gives what has happened, `changed` waits until something has."""

    def __init__(self, store: Store, address: Address, options: WatchOptions) -> None:
        self._store = store
        self._address = address
        self._chosen = selected(address.served, options.labels, options.fields)
        self._options = options
        self._woken = asyncio.Event()
        self.ahead = 0  # a version to begin with that is not there yet
        self._first = with_room(lambda: list(self._initial()))
        self._close = self._subscribed()

    def _subscribed(self) -> Callable[[], None]:
        collection = self._address.served.collection

        def heard(change: Change) -> None:
            if change.collection == collection:
                self._woken.set()

        return self._store.subscribe(heard)

    def _initial(self) -> Iterator[Event]:
        """What is told before any change: what exists, if that was asked for."""
        since, current = self._options.since, self._store.revision
        asked = watched_number(since)
        wants = self._options.initial if self._options.initial is not None else since in ("", "0")
        self.position = current if wants or not asked else asked
        if not wants:
            return
        if asked > current:
            self.ahead = asked
            return
        for entry in self._store.entries(self._address.served.collection, self._address.prefix):
            if self._chosen.matches(entry):
                yield Event("ADDED", entry)
        if self._options.bookmarks and self._options.marked:
            yield Event("BOOKMARK", revision=current, annotations={INITIAL_END: "true"})

    def pending(self) -> list[Event]:
        """What has happened since this was asked last; refused where history does not reach back."""
        self._woken.clear()
        if self.ahead:
            raise TooLarge(self.ahead, self._store.revision)
        events, self._first = self._first, []
        try:
            changes = self._store.changes_since(self._address.served.collection, self.position)
        except Gone as gone:
            raise _too_old(self.position, gone.oldest) from gone
        self.position = max(self.position, self._store.revision)
        prefix = self._address.prefix
        found = with_room(lambda: [event_of(change, self._chosen, prefix) for change in changes])
        return [*events, *(event for event in found if event is not None)]

    def bookmark(self) -> Event:
        """How far this watch has come."""
        return Event("BOOKMARK", revision=self.position)

    async def changed(self) -> None:
        """Wait until something may have happened."""
        await self._woken.wait()

    def close(self) -> None:
        """Hear no more."""
        self._close()


def _too_old(asked: int, oldest: int) -> Refused:
    return Refused(410, "Expired", f"too old resource version: {asked} ({oldest})")


def watched_number(text: str) -> int:
    """A resource version as single objects and watches read it; none is 0."""
    if text and (told := unreadable_version(text)):
        raise Refused(500, "", f"resourceVersion: Invalid value: {quoted(text)}: {told}")
    return whole(text, UINT64) or 0

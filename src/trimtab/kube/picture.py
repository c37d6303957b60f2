"""What a collection looks like, painted from lists and watch events: what is news, what was told before.

Pure: `watch` reads the lists and events and yields the news. Removals come only from the server's own word
or from the end of a complete list, never from a reading that failed half-way.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TypeAlias

from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.kube.cluster import EventType, WatchEvent
from trimtab.kube.objects import KubeObject, Page


class Upserted(Struct, frozen=True, gc=False):
    """An object is there in this state: it is new, or it changed."""

    object: KubeObject


class Removed(Struct, frozen=True, kw_only=True):
    """An object is gone; its last state is known if the server told of the removal itself."""

    namespace: str
    name: str
    uid: str
    object: KubeObject | None = None


class Complete(Struct, frozen=True):
    """Everything that existed at this version has been told."""

    resource_version: str


class Interrupted(Struct, frozen=True):
    """The server cannot be heard; the next try is in so many seconds, from where it broke."""

    error: TrimtabError
    retry_in: float


class Resumed(Struct, frozen=True):
    """The watch goes on where it broke; nothing was missed."""

    resource_version: str


class FellBack(Struct, frozen=True):
    """History was lost; a list follows and ends with `Complete`. Until then the picture may be old."""

    error: TrimtabError


News: TypeAlias = Upserted | Removed | Complete | Interrupted | Resumed | FellBack


class Version(Struct, frozen=True, gc=False):
    """Which life of a name was told last, and in which state."""

    uid: str
    resource_version: str


Name: TypeAlias = tuple[str, str]
Seen: TypeAlias = MutableMapping[Name, Version]


class Picture:
    """What has been told so far, and the version from which to go on. Pure."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.position = ""
        self.heard = 0

    def after(self, event: WatchEvent) -> News | None:
        """What this event changes in the picture, if it is new to us."""
        metadata = event.object.metadata
        self.position = metadata.resource_version
        self.heard += 1
        if event.type is EventType.BOOKMARK:
            return None
        if event.type is EventType.DELETED:
            known = self.seen.pop((metadata.namespace, metadata.name), None)
            return None if known is None else removal(event.object)
        return self.upserted(event.object)

    def upserted(self, told: KubeObject) -> Upserted | None:
        """The object as news, unless exactly this state was told before."""
        metadata = told.metadata
        name, version = (metadata.namespace, metadata.name), Version(metadata.uid, metadata.resource_version)
        if self.seen.get(name) == version:
            return None
        self.seen[name] = version
        return Upserted(told)


def removal(last: KubeObject) -> Removed:
    """The news that this object, in this last state, is gone."""
    metadata = last.metadata
    return Removed(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid, object=last)


class Listing:
    """One reading of the whole collection; only its end says what is gone. Pure."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        #: what was told before and has not been met in this reading, in order; nothing if it is the first
        self._unmet: dict[Name, None] = dict.fromkeys(picture.seen)
        self._version = ""

    def page(self, page: Page) -> Iterator[News]:
        """What this page adds to the picture; a name that lives again was removed in between."""
        self._version, seen = page.resource_version, self._picture.seen
        for each in page.objects:
            metadata = each.metadata
            name = (metadata.namespace, metadata.name)
            self._unmet.pop(name, None)
            before, now = seen.get(name), Version(metadata.uid, metadata.resource_version)
            if before == now:
                continue
            if before is not None and before.uid != now.uid:
                yield Removed(namespace=name[0], name=name[1], uid=before.uid)
            seen[name] = now
            yield Upserted(each)

    def end(self) -> Iterator[News]:
        """What was told before and is no longer there; then, that all is told."""
        for name in self._unmet:
            if (gone := self._picture.seen.pop(name, None)) is not None:
                yield Removed(namespace=name[0], name=name[1], uid=gone.uid)
        self._picture.position = self._version
        yield Complete(self._version)

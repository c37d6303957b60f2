"""List-then-watch as one async iterator that never skips, never doubles, and says where it stands.

`follow` yields news: objects as they appear, change and vanish, and, between them, when the picture is
complete, when the connection broke and came back, and when history was lost and everything is read again.
After any of that the consumer's picture equals the server's: a lost connection is resumed where it broke, and
after lost history only the differences to what was told before are told, removals included. Nothing is ever
reported removed because reading failed: removals come from the server's own word or from a complete list.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, MutableMapping
from contextlib import aclosing
from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct

from trimtab.errors import TrimtabError, Unavailable
from trimtab.kube.cluster import EVERYTHING, Cluster, EventType, Selection, WatchEvent
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import Expired
from trimtab.kube.objects import KubeObject, Page
from trimtab.tasks.backoff import Backoff, pause
from trimtab.tasks.chance import draw
from trimtab.tasks.clock import Clock, SystemClock

_BACKOFF = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=10))


class Upserted(Struct, frozen=True):
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


async def follow(
    cluster: Cluster,
    resource: Resource,
    *,
    namespace: str = "",
    select: Selection = EVERYTHING,
    seen: Seen | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[News]:
    """Tell everything that exists and then everything that happens, for ever.

    `seen` remembers what was told. A consumer that keeps the objects can hand in its own view of them, so
    nothing is kept twice and a later `follow` goes on from there. What somebody must change first (rights,
    an unknown kind) is raised; whatever may pass by itself is told as `Interrupted` and tried again.
    """
    picture = Picture({} if seen is None else seen)
    clock = clock or SystemClock()
    failures, interrupted = 0, False
    while True:
        heard = picture.heard
        try:
            async with aclosing(
                _followed(cluster, resource, namespace, select, picture, interrupted=interrupted)
            ) as told:
                async for news in told:
                    interrupted = False
                    yield news
            failures = 0
        except Expired as error:
            again = failures > 0 and picture.heard == heard
            failures = failures + 1 if again else 1
            picture.position = ""
            yield FellBack(error)
            if again:
                await clock.sleep(pause(error, failures=failures, backoff=_BACKOFF, chance=draw()))
        except Unavailable as error:
            failures = 1 if picture.heard > heard else failures + 1
            interrupted = True
            wait = pause(error, failures=failures, backoff=_BACKOFF, chance=draw())
            yield Interrupted(error, wait)
            await clock.sleep(wait)


async def _followed(
    cluster: Cluster,
    resource: Resource,
    namespace: str,
    select: Selection,
    picture: Picture,
    *,
    interrupted: bool,
) -> AsyncGenerator[News]:
    """List if there is nowhere to go on from, then watch until the server ends it."""
    if not picture.position:
        async with aclosing(_listed(cluster, resource, namespace, select, picture)) as listed:
            async for news in listed:
                yield news
    async with cluster.watch(resource, since=picture.position, namespace=namespace, select=select) as events:
        if interrupted:
            yield Resumed(picture.position)
        heard = picture.heard
        async for event in events:
            if (change := picture.after(event)) is not None:
                yield change
    if picture.heard == heard:
        raise Unavailable(f"watch {resource.full_kind}", "the server ended it without a word")


async def _listed(
    cluster: Cluster, resource: Resource, namespace: str, select: Selection, picture: Picture
) -> AsyncGenerator[News]:
    """Read everything; pages that expire under our hands are begun again, the last time as one."""
    for page_size in (None, None, 0):
        listing = Listing(picture)
        try:
            async with aclosing(
                cluster.list(resource, namespace=namespace, select=select, page_size=page_size)
            ) as pages:
                async for page in pages:
                    for upserted in listing.page(page):
                        yield upserted
        except Expired:
            if page_size == 0:
                raise
            continue
        for news in listing.end():
            yield news
        return


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
        self._names: set[Name] = set()
        self._version = ""

    def page(self, page: Page) -> Iterator[News]:
        """What this page adds to the picture; a name that lives again was removed in between."""
        self._version = page.resource_version
        for each in page.objects:
            metadata = each.metadata
            name = (metadata.namespace, metadata.name)
            self._names.add(name)
            before = self._picture.seen.get(name)
            if before is not None and before.uid != metadata.uid:
                yield Removed(namespace=name[0], name=name[1], uid=before.uid)
            if (news := self._picture.upserted(each)) is not None:
                yield news

    def end(self) -> Iterator[News]:
        """What was told before and is no longer there; then, that all is told."""
        for name in [name for name in self._picture.seen if name not in self._names]:
            gone = self._picture.seen.pop(name)
            yield Removed(namespace=name[0], name=name[1], uid=gone.uid)
        self._picture.position = self._version
        yield Complete(self._version)

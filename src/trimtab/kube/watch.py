"""List-then-watch as one async iterator that never skips, never doubles, and says where it stands.

`follow` yields news: objects as they appear, change and vanish, and, between them, when the picture is
complete, when the connection broke and came back, and when history was lost and everything is read again.
After any of that the consumer's picture equals the server's: a lost connection is resumed where it broke, and
after lost history only the differences to what was told before are told, removals included. Nothing is ever
reported removed because reading failed. What is news is decided in `picture`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta

from trimtab.errors import Unavailable
from trimtab.kube.cluster import EVERYTHING, Collections, Selection
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import Expired
from trimtab.kube.picture import FellBack, Interrupted, Listing, News, Picture, Resumed, Seen
from trimtab.tasks.backoff import Backoff, pause
from trimtab.tasks.chance import draw
from trimtab.tasks.clock import Clock, SystemClock

_BACKOFF = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=10))
#: a server that ends its watches sooner than this is still not asked more often than once in so many seconds
_SHORTEST_ROUND = 1.0


async def follow(
    cluster: Collections,
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
        heard, begun = picture.heard, clock.monotonic()
        try:
            async with aclosing(
                _followed(cluster, resource, namespace, select, picture, interrupted=interrupted)
            ) as told:
                async for news in told:
                    interrupted = False
                    yield news
            failures = 0
            await clock.sleep(max(begun + _SHORTEST_ROUND - clock.monotonic(), 0))
        except Expired as error:
            failures = 1 if picture.heard > heard else failures + 1
            picture.position = ""
            yield FellBack(error)
            # Reading everything is dear: a server that always loses its history must not make it a habit.
            wait = pause(error, failures=failures, backoff=_BACKOFF, chance=draw())
            await clock.sleep(max(wait, begun + _SHORTEST_ROUND - clock.monotonic()))
        except Unavailable as error:
            failures = 1 if picture.heard > heard else failures + 1
            interrupted = True
            wait = pause(error, failures=failures, backoff=_BACKOFF, chance=draw())
            yield Interrupted(error, wait)
            await clock.sleep(wait)


async def _followed(
    cluster: Collections,
    resource: Resource,
    namespace: str,
    select: Selection,
    picture: Picture,
    *,
    interrupted: bool,
) -> AsyncGenerator[News]:
    """List if there is nowhere to go on from, then watch until the server ends it."""
    resuming = interrupted and picture.position
    if not picture.position:
        async with aclosing(_listed(cluster, resource, namespace, select, picture)) as listed:
            async for news in listed:
                yield news
    async with cluster.watch(resource, since=picture.position, namespace=namespace, select=select) as events:
        if resuming:
            yield Resumed(picture.position)
        heard = picture.heard
        async for event in events:
            if (change := picture.after(event)) is not None:
                yield change
    if picture.heard == heard:
        raise Unavailable(f"watch {resource.full_kind}", "the server ended it without a word")


async def _listed(
    cluster: Collections, resource: Resource, namespace: str, select: Selection, picture: Picture
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
                    del page  # or it would be in memory until the next one is
        except Expired:
            if page_size == 0:
                raise
            continue
        for news in listing.end():
            yield news
        return

"""Bounded reading: so many pages of lists at once, and nobody keeps a place by being slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import timedelta
from typing import TYPE_CHECKING

from trimtab.kube.cluster import EVERYTHING, NEWEST, AsOf, Collections, Selection, WatchEvent

if TYPE_CHECKING:
    from trimtab.kube.discovery import Resource
    from trimtab.kube.objects import Page


class Gate:
    """A cluster whose lists are read in turns; watches pass freely.

    A place is held while one page is asked for. After `patience` it goes to the next in line, so that a kind
    whose server hangs holds up no other.
    """

    def __init__(self, cluster: Collections, places: int, patience: timedelta) -> None:
        self._cluster = cluster
        self._places = asyncio.Semaphore(places)
        self._patience = patience.total_seconds()

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        as_of: AsOf = NEWEST,
        page_size: int | None = None,
    ) -> AsyncGenerator[Page]:
        """The pages of a collection, each when there is a place for it."""
        async with aclosing(
            self._cluster.list(resource, namespace=namespace, select=select, as_of=as_of, page_size=page_size)
        ) as pages:
            while (page := await self._next(pages)) is not None:
                yield page
                del page  # or it would be in memory until the next one is

    def watch(
        self,
        resource: Resource,
        *,
        since: str,
        namespace: str = "",
        select: Selection = EVERYTHING,
        initial: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """What the cluster says."""
        return self._cluster.watch(resource, since=since, namespace=namespace, select=select, initial=initial)

    async def _next(self, pages: AsyncGenerator[Page]) -> Page | None:
        """The next page, asked for when there is a place; None after the last."""
        await self._places.acquire()
        place = _Place(self._places)
        timer = asyncio.get_running_loop().call_later(self._patience, place.give_back)
        try:
            return await anext(pages, None)
        finally:
            timer.cancel()
            place.give_back()


class _Place:
    """A place that is given back once, by whoever comes first."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._places.release()

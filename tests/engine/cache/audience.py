"""Whoever listens to a running cache: keeps what it heard, and waits for what shall be noticed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from trimtab.engine.cache import ClusterCache
from trimtab.engine.cache.states import KindStatus, Reading
from trimtab.engine.live import Change

LIMIT = 90.0  # seconds that a real server on a busy machine may take for one step


class Audience:
    """Hears every change, and every turn in the reading of a kind."""

    def __init__(self, cache: ClusterCache) -> None:
        self.cache = cache
        self.changes: list[Change] = []
        self._news = asyncio.Event()
        cache.subscribe(self._hear)

    def _hear(self, change: Change) -> None:
        self.changes.append(change)
        self._news.set()

    async def look(self) -> None:
        """Notice, too, when the reading of a kind goes on or stops."""
        while True:
            await self.cache.turned()
            self._news.set()

    async def until(self, holds: Callable[[], object]) -> None:
        """Return once it holds."""
        async with asyncio.timeout(LIMIT):
            while not holds():
                self._news.clear()
                await self._news.wait()

    def status(self, of: str, namespace: str = "") -> KindStatus:
        """How the reading of a kind stands."""
        (found,) = (
            each for each in self.cache.kinds() if (each.scope.kind, each.scope.namespace) == (of, namespace)
        )
        return found

    def readings(self) -> dict[Reading, set[str]]:
        """Which kinds stand how."""
        found: dict[Reading, set[str]] = {}
        for each in self.cache.kinds():
            found.setdefault(each.reading, set()).add(each.scope.kind)
        return found

    def told(self, of: str) -> list[Change]:
        """What was heard of one kind."""
        return [change for change in self.changes if change.key.kind == of]

    def removals(self) -> list[Change]:
        """What was said to be gone."""
        return [change for change in self.changes if change.after is None]


@asynccontextmanager
async def listening(cache: ClusterCache, *, wait: bool = True) -> AsyncIterator[Audience]:
    """Run the cache for the length of the block, from when it is complete unless told otherwise."""
    async with asyncio.TaskGroup() as room:
        audience = Audience(cache)
        tasks = [room.create_task(cache.run()), room.create_task(audience.look())]
        if wait:
            await cache.complete()
        yield audience
        for task in tasks:
            task.cancel()

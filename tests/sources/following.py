"""Those who follow repositories in tests: what they were told, and waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from trimtab.sources.repositories.revisions import Standing


class Audience:
    """Collects what consumers are told."""

    def __init__(self) -> None:
        self.heard: dict[str, list[Standing]] = {}
        self._news = asyncio.Event()

    def tell(self, consumer: str, standing: Standing) -> None:
        """Hear how it stands."""
        self.heard.setdefault(consumer, []).append(standing)
        self._news.set()

    def last(self, consumer: str = "web") -> Standing:
        """What a consumer was told last."""
        return self.heard[consumer][-1]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, looking whenever somebody was told something."""
        async with asyncio.timeout(60):
            while not holds():
                self._news.clear()
                await self._news.wait()

    def commit(self, consumer: str = "web") -> str:
        """Where a consumer stands, by what it was told last."""
        revision = self.last(consumer).revision
        return revision.commit if revision else ""

    async def until_told(self, consumers: Iterable[str], *, times: int) -> None:
        """Wait until each of them was told something so often."""
        names = tuple(consumers)
        await self.until(lambda: all(len(self.heard.get(name, ())) >= times for name in names))

    async def until_at(self, commit: str, consumer: str = "web") -> None:
        """Wait until a consumer stands at a commit without an error."""
        await self.until(lambda: self._stands_at(commit, consumer))

    async def until_wrong(self, consumer: str = "web") -> Standing:
        """Wait until a consumer is told of an error."""
        await self.until(lambda: bool(self.heard.get(consumer)) and self.last(consumer).error is not None)
        return self.last(consumer)

    def _stands_at(self, commit: str, consumer: str) -> bool:
        return bool(self.heard.get(consumer)) and (self.last(consumer).error, self.commit(consumer)) == (
            None,
            commit,
        )

"""Time as an argument: what the clock says, and waiting on it.

Everything above this floor that waits or stamps takes a `Clock`; tests hand in a `ManualClock` and move it.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Wall time for stamps, monotonic seconds for durations, and waiting."""

    def now(self) -> datetime:
        """The wall time, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""

    async def sleep(self, seconds: float) -> None:
        """Wait this long on this clock."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The wall time, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the edge

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait this long in real time."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        """The wall time, in UTC."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved this far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        self._forget_cancelled()
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Move the clock, waking sleepers in order and letting each run before the next wakes."""
        if seconds < 0:
            raise ValueError(f"a clock goes forward only, not by {seconds} seconds")
        target = self._elapsed + seconds
        await _let_others_run()
        while (due := self._next_due()) is not None and due <= target:
            _, _, woken = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            woken.set_result(None)
            await _let_others_run()
        self._elapsed = max(self._elapsed, target)

    def sleepers(self) -> int:
        """How many wait on this clock now."""
        return sum(not woken.done() for _, _, woken in self._sleepers)

    def _next_due(self) -> float | None:
        self._forget_cancelled()
        return self._sleepers[0][0] if self._sleepers else None

    def _forget_cancelled(self) -> None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)


async def _let_others_run() -> None:
    """Give every task that is ready a few turns."""
    for _ in range(20):
        await asyncio.sleep(0)

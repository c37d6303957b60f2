"""One run for all who ask for the same at once.

Who stops waiting does not stop the run: others may wait, and its result is worth keeping. Nothing is
remembered once a run is over; whoever asks then starts another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Flights:
    """Runs under way, by what they are for; they belong to a task group and end with it."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._landing: dict[Hashable, asyncio.Future[Any]] = {}
        self._runs: set[asyncio.Task[None]] = set()

    async def join(self, key: Hashable, start: Callable[[], Awaitable[T]]) -> T:
        """The result of the run for this key, which is started if there is none."""
        landing = self._landing.get(key)
        if landing is None:
            landing = self._landing[key] = asyncio.get_running_loop().create_future()
            run = self._group.create_task(_fly(landing, start))
            self._runs.add(run)
            run.add_done_callback(lambda run: self._ended(key, run))
        result: T = await asyncio.shield(landing)
        return result

    def cancel(self) -> None:
        """End all runs; those who wait are cancelled with them."""
        for run in tuple(self._runs):
            run.cancel()

    def _ended(self, key: Hashable, run: asyncio.Task[None]) -> None:
        self._runs.discard(run)
        landing = self._landing.pop(key)
        if not landing.done():
            landing.cancel()
        elif not landing.cancelled():
            landing.exception()  # looked at once, since it may be that nobody waits for it any more


async def _fly(landing: asyncio.Future[T], start: Callable[[], Awaitable[T]]) -> None:
    try:
        result = await start()
    except Exception as error:  # noqa: BLE001 - those who wait for it get it
        landing.set_exception(error)
    else:
        landing.set_result(result)

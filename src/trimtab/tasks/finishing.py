"""Work that is not torn apart when its caller is cancelled.

A request that is cancelled half-way may still be done by the other side, later, when nobody counts on it any
more. Whoever has promised to do nothing after a certain point waits for the answer instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from trimtab.tasks.clock import Clock

T = TypeVar("T")


async def see_through(
    work: Coroutine[Any, Any, T], *, stop: Callable[[], None], within: timedelta, clock: Clock
) -> T:
    """Do the work; when cancelled, ask it to `stop` and let what is under way end, for so long at most.

    The cancellation goes on afterwards, whatever became of the work.
    """
    task = asyncio.get_running_loop().create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            stop()
            await _wait(task, within, clock)
        raise
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # looked at once: nobody else does after a cancellation


async def _wait(task: asyncio.Task[Any], within: timedelta, clock: Clock) -> None:
    alarm = asyncio.get_running_loop().create_task(clock.sleep(within.total_seconds()))
    try:
        await asyncio.wait({task, alarm}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        alarm.cancel()

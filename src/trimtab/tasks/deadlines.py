"""A limit in time, on any clock.

`asyncio.timeout` knows only the event loop's own time; this one follows the clock it is given.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from trimtab.errors import Unavailable
from trimtab.resources.counting import counted
from trimtab.tasks.clock import Clock
from trimtab.tasks.together import plain_group


class DeadlinePassed(Unavailable):
    """It took longer than it may.

    Nobody can tell from outside whether it would have ended: a busy machine or a slow network looks the same
    as an endless loop. So the same request may work later, and backoff bounds the cost when it does not.
    """


@asynccontextmanager
async def time_limit(limit: timedelta, *, clock: Clock, subject: str) -> AsyncIterator[None]:
    """Cancel the block after this long and raise `DeadlinePassed` about the subject."""
    async with plain_group() as group:
        alarm = group.create_task(_ring(limit, clock, subject))
        yield
        alarm.cancel()


async def _ring(limit: timedelta, clock: Clock, subject: str) -> None:
    await clock.sleep(limit.total_seconds())
    raise DeadlinePassed(
        subject,
        f"it was not done within {counted(limit.total_seconds(), 'second')}",
        "Give it more time or less to do",
    )

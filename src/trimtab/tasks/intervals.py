"""Something done again and again, for as long as the caller lives."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NoReturn

from trimtab.errors import TrimtabError
from trimtab.tasks.backoff import asked_pause
from trimtab.tasks.chance import Chance, draw
from trimtab.tasks.clock import Clock


async def every(
    interval: timedelta,
    act: Callable[[], Awaitable[object]],
    *,
    clock: Clock,
    on_failure: Callable[[TrimtabError], None],
    jitter: float = 0.1,
    chance: Chance = draw,
) -> NoReturn:
    """Act once per interval, never twice at the same time.

    Turns lie on a fixed grid, so the rhythm does not drift however long acting takes. Each turn is late by a
    random part of the interval, at most `jitter` of it, the first one too: that spreads many loops that start
    together. Turns missed while acting took too long merge into one, taken at once.

    A `TrimtabError` goes to `on_failure` and the rhythm goes on (after the pause it asked for, if it did);
    any other exception is a bug and ends the loop.
    """
    _check(interval, jitter)
    seconds = interval.total_seconds()
    start, turn = clock.monotonic(), 0
    while True:
        await clock.sleep(start + (turn + jitter * chance()) * seconds - clock.monotonic())
        try:
            await act()
        except TrimtabError as error:
            on_failure(error)
            if asked := asked_pause(error):
                await clock.sleep(asked)
        turn = next_turn(turn, elapsed=clock.monotonic() - start, interval=seconds)


def next_turn(turn: int, *, elapsed: float, interval: float) -> int:
    """The next place on the grid: the following one, or the latest one that went by meanwhile."""
    return max(turn + 1, math.floor(elapsed / interval))


def _check(interval: timedelta, jitter: float) -> None:
    if interval <= timedelta(0):
        raise ValueError(f"an interval must be longer than nothing, not {interval}")
    if not 0 <= jitter <= 1:
        raise ValueError(f"jitter is a part of the interval between 0 and 1, not {jitter}")

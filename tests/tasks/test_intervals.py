"""Something done again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import Missing, Throttled, TrimtabError
from trimtab.tasks import Chance, ManualClock, every
from trimtab.tasks.intervals import next_turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEN_SECONDS = timedelta(seconds=10)


def no_failures(error: TrimtabError) -> None:
    raise AssertionError from error


@asynccontextmanager
async def repeating(
    act: Callable[[], Awaitable[object]],
    clock: ManualClock,
    *,
    jitter: float = 0.0,
    chance: Chance = lambda: 0.0,
    on_failure: Callable[[TrimtabError], None] = no_failures,
) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        loop = every(TEN_SECONDS, act, clock=clock, jitter=jitter, chance=chance, on_failure=on_failure)
        task = group.create_task(loop)
        yield
        task.cancel()


class Acts:
    """Remembers when it was called, and takes as long as it is told."""

    def __init__(self, clock: ManualClock, *, seconds: tuple[float, ...] = ()) -> None:
        self.clock = clock
        self.at: list[float] = []
        self.overlaps = 0
        self._seconds = list(seconds)
        self._acting = False

    async def __call__(self) -> None:
        self.overlaps += self._acting
        self._acting = True
        self.at.append(self.clock.monotonic())
        if self._seconds:
            await self.clock.sleep(self._seconds.pop(0))
        self._acting = False


async def test_it_acts_at_once_and_then_once_per_interval() -> None:
    acts = Acts(clock := ManualClock())
    async with repeating(acts, clock):
        await clock.advance(35)
    assert acts.at == [0, 10, 20, 30]


async def test_the_rhythm_does_not_drift_however_long_acting_takes() -> None:
    acts = Acts(clock := ManualClock(), seconds=(3, 7, 1))
    async with repeating(acts, clock):
        await clock.advance(35)
    assert acts.at == [0, 10, 20, 30]


async def test_turns_missed_while_acting_merge_into_one_and_never_overlap() -> None:
    acts = Acts(clock := ManualClock(), seconds=(34,))
    async with repeating(acts, clock):
        await clock.advance(55)
    assert acts.at == [0, 34, 40, 50]
    assert acts.overlaps == 0


async def test_jitter_moves_each_turn_by_a_part_of_the_interval_and_does_not_add_up() -> None:
    acts = Acts(clock := ManualClock())
    drawn = iter([0.5, 0.0, 0.9, 0.1, 0.0])
    async with repeating(acts, clock, jitter=0.2, chance=lambda: next(drawn)):
        await clock.advance(39)
    assert acts.at == pytest.approx([1.0, 10.0, 21.8, 30.2])


async def test_an_error_of_the_house_is_told_and_the_rhythm_goes_on() -> None:
    clock = ManualClock()
    told: list[TrimtabError] = []
    error = Missing("branch main", "not there")

    async def fail() -> None:
        raise error

    async with repeating(fail, clock, on_failure=told.append):
        await clock.advance(25)
    assert told == [error, error, error]


async def test_a_pause_that_was_asked_for_is_kept() -> None:
    clock = ManualClock()
    at: list[float] = []

    async def be_throttled() -> None:
        at.append(clock.monotonic())
        raise Throttled("git host", "too many requests", after=25)

    async with repeating(be_throttled, clock, on_failure=lambda _: None):
        await clock.advance(40)
    assert at == [0, 25]


async def test_a_bug_ends_the_loop() -> None:
    async def stumble() -> None:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await every(TEN_SECONDS, stumble, clock=ManualClock(), on_failure=no_failures, chance=lambda: 0.0)


@pytest.mark.parametrize(
    ("interval", "jitter", "complaint"),
    [(0, 0.1, "longer than nothing"), (-1, 0.1, "longer"), (1, 1.1, "between 0 and 1"), (1, -0.1, "between")],
)
async def test_what_cannot_be_meant_is_refused(interval: int, jitter: float, complaint: str) -> None:
    async def never() -> None:
        raise AssertionError

    with pytest.raises(ValueError, match=complaint):
        await every(
            timedelta(seconds=interval), never, clock=ManualClock(), on_failure=no_failures, jitter=jitter
        )


@given(turn=st.integers(0, 10_000), elapsed=st.floats(0, 1e6), interval=st.floats(0.001, 1e4))
def test_the_next_turn_is_later_and_never_in_the_future_beyond_one(
    turn: int, elapsed: float, interval: float
) -> None:
    following = next_turn(turn, elapsed=elapsed, interval=interval)
    assert following > turn
    assert following == turn + 1 or following * interval <= elapsed * (1 + 1e-9)

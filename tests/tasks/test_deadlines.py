"""A limit in time, on any clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from trimtab.errors import Retry
from trimtab.tasks import DeadlinePassed, ManualClock, run_together, time_limit

TEN_SECONDS = timedelta(seconds=10)


async def limited(clock: ManualClock, seconds: float) -> float:
    async with time_limit(TEN_SECONDS, clock=clock, subject="the fetch"):
        await clock.sleep(seconds)
        return clock.monotonic()


async def test_what_ends_in_time_is_left_alone_and_leaves_no_alarm_behind() -> None:
    clock = ManualClock()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(limited(clock, 9))
        await clock.advance(9)
    assert task.result() == 9
    assert clock.sleepers() == 0


async def test_what_takes_too_long_is_cancelled_and_told_by_name() -> None:
    clock = ManualClock()
    with pytest.raises(DeadlinePassed) as caught:
        await run_together(limited(clock, 11), clock.advance(10))
    error = caught.value
    assert (error.subject, error.reason) == ("the fetch", "it was not done within 10 seconds")
    assert error.retry is Retry.BACKOFF
    assert clock.sleepers() == 0


async def test_an_error_of_the_block_comes_out_as_itself() -> None:
    with pytest.raises(KeyError):
        async with time_limit(TEN_SECONDS, clock=ManualClock(), subject="the fetch"):
            raise KeyError("inside")


async def test_cancelling_the_caller_is_a_cancellation_not_a_deadline() -> None:
    clock = ManualClock()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(limited(clock, 5))
        await clock.advance(1)
        task.cancel()
    assert task.cancelled()
    assert clock.sleepers() == 0

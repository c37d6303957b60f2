"""Time as an argument: the machine's clock, and one that tests move."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from trimtab.tasks.clock import ManualClock, SystemClock


async def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    before = clock.now(), clock.monotonic()
    await clock.advance(90)
    assert before == (datetime(2026, 5, 1, tzinfo=UTC), 0.0)
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 5, 1, 0, 1, 30, tzinfo=UTC), 90.0)


async def test_sleepers_wake_in_order_each_at_its_own_time() -> None:
    clock = ManualClock()
    woken: list[tuple[float, float]] = []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        for seconds in (3.0, 1.0, 2.0, 9.0):
            group.create_task(sleeper(seconds))
        await clock.advance(5)
        assert woken == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
        await clock.advance(5)
    assert woken[-1] == (9.0, 9.0)


async def test_a_loop_that_sleeps_again_is_woken_again_within_one_move() -> None:
    clock = ManualClock()
    ticks: list[float] = []

    async def tick_thrice() -> None:
        for _ in range(3):
            await clock.sleep(1)
            ticks.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(tick_thrice())
        await clock.advance(10)
    assert ticks == [1.0, 2.0, 3.0]


async def test_sleeping_for_nothing_lets_others_run_and_needs_no_move() -> None:
    await ManualClock().sleep(0)
    await ManualClock().sleep(-1)


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = ManualClock()
    async with asyncio.TaskGroup() as group:
        sleeper = group.create_task(clock.sleep(5))
        await clock.advance(1)
        assert clock.sleepers() == 1
        sleeper.cancel()
    assert clock.sleepers() == 0
    await clock.advance(10)
    assert clock.monotonic() == 11


async def test_a_clock_refuses_to_go_back() -> None:
    with pytest.raises(ValueError, match="forward only"):
        await ManualClock().advance(-1)


async def test_the_system_clock_tells_utc_and_never_goes_back() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(0.01)
    assert clock.monotonic() - before >= 0.009
    assert clock.now().utcoffset() == timedelta(0)

"""Work that is let end when its caller is cancelled."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from trimtab.tasks import ManualClock, see_through

WITHIN = timedelta(seconds=5)


class Errands:
    """Some errands, each of which takes a second."""

    def __init__(self, clock: ManualClock, *names: str) -> None:
        self.clock, self.left, self.done = clock, list(names), list[str]()

    async def run(self) -> str:
        while self.left:
            name = self.left.pop(0)
            await self.clock.sleep(1)
            self.done.append(name)
        return "all"

    async def seen_through(self) -> str:
        return await see_through(self.run(), stop=self.left.clear, within=WITHIN, clock=self.clock)


async def test_work_that_nobody_disturbs_is_simply_done() -> None:
    errands = Errands(ManualClock(), "a", "b")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(errands.seen_through())
        await errands.clock.advance(2)
    assert (task.result(), errands.done) == ("all", ["a", "b"])


async def test_when_cancelled_what_is_under_way_ends_and_nothing_else_begins() -> None:
    errands = Errands(ManualClock(), "a", "b")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(errands.seen_through())
        await errands.clock.advance(0.5)
        task.cancel()
        await errands.clock.advance(0)
        assert not task.done()
        await errands.clock.advance(10)
    assert (task.cancelled(), errands.done) == (True, ["a"])
    assert errands.clock.sleepers() == 0


async def test_what_takes_too_long_to_end_is_cancelled_after_all() -> None:
    clock, ended = ManualClock(), list[float]()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        task = group.create_task(see_through(endless(), stop=lambda: None, within=WITHIN, clock=clock))
        await clock.advance(1)
        task.cancel()
        await clock.advance(10)
    assert (task.cancelled(), ended) == (True, [6.0])


async def test_a_second_cancellation_does_not_wait() -> None:
    errands = Errands(ManualClock(), "a")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(errands.seen_through())
        for _ in range(2):
            await errands.clock.advance(0)
            task.cancel()
    assert (task.cancelled(), errands.done) == (True, [])
    assert errands.clock.sleepers() == 0


async def test_an_error_comes_out_as_itself() -> None:
    async def fail() -> None:
        raise KeyError("inside")

    with pytest.raises(KeyError):
        await see_through(fail(), stop=lambda: None, within=WITHIN, clock=ManualClock())

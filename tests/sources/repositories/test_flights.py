"""One run for all who ask at once."""

from __future__ import annotations

import asyncio

import pytest

from trimtab.errors import GitUnreachable
from trimtab.sources.repositories.flights import Flights


class Work:
    """Counts its runs, and lasts until it may end."""

    def __init__(self) -> None:
        self.runs = 0
        self.may_end = asyncio.Event()
        self.error: Exception | None = None

    async def run(self) -> int:
        self.runs += 1
        number = self.runs
        await self.may_end.wait()
        if self.error:
            raise self.error
        return number


async def test_all_who_ask_at_once_share_one_run_and_the_next_starts_another() -> None:
    work = Work()
    async with asyncio.TaskGroup() as group:
        flights = Flights(group)
        waiting = [group.create_task(flights.join("key", work.run)) for _ in range(10)]
        other = group.create_task(flights.join("other", work.run))
        await asyncio.sleep(0)
        work.may_end.set()
        assert {await each for each in waiting} == {1}
        assert await other == 2
        assert await flights.join("key", work.run) == 3


async def test_who_stops_waiting_does_not_stop_the_run() -> None:
    work = Work()
    async with asyncio.TaskGroup() as group:
        flights = Flights(group)
        impatient, patient = (group.create_task(flights.join("key", work.run)) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.sleep(0)
        work.may_end.set()
        assert (await patient, work.runs) == (1, 1)


async def test_a_failure_reaches_all_who_wait_and_is_not_remembered() -> None:
    work = Work()
    work.error = GitUnreachable("repository", "no answer")
    work.may_end.set()
    async with asyncio.TaskGroup() as group:
        flights = Flights(group)
        for _ in range(2):
            with pytest.raises(GitUnreachable):
                await flights.join("key", work.run)
        work.error = None
        assert await flights.join("key", work.run) == 3


@pytest.mark.parametrize("turns", [0, 1, 3])
async def test_those_who_wait_are_cancelled_with_the_run_even_before_it_begins(turns: int) -> None:
    work = Work()
    async with asyncio.TaskGroup() as group:
        flights = Flights(group)
        waiting = group.create_task(flights.join("key", work.run))
        for _ in range(turns):
            await asyncio.sleep(0)
        flights.cancel()
        if turns == 0:
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

"""Long work of the loop in short stretches."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from trimtab.tasks import in_turns


def counting(to: int, told: list[str]) -> Generator[None, None, int]:
    for number in range(to):
        told.append(f"work {number}")
        yield
    return to


async def test_others_have_a_turn_wherever_the_work_yields() -> None:
    told: list[str] = []

    async def other() -> None:
        for number in range(3):
            told.append(f"other {number}")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        work = group.create_task(in_turns(counting(3, told)))
        group.create_task(other())
    assert work.result() == 3
    assert told == ["work 0", "other 0", "work 1", "other 1", "work 2", "other 2"]


async def test_cancelling_ends_the_work_where_it_yields() -> None:
    told: list[str] = []
    async with asyncio.TaskGroup() as group:
        work = group.create_task(in_turns(counting(1000, told)))
        await asyncio.sleep(0)
        work.cancel()
    assert work.cancelled()
    assert told == ["work 0"]


async def test_an_error_of_the_work_comes_out_as_itself() -> None:
    def failing() -> Generator[None, None, int]:
        yield
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_turns(failing())

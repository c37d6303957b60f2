"""Those who wait for a turn share a process: so many at most, only with their kind; nobody is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from trimtab.sources.rendering.batches import Heard
from trimtab.sources.rendering.sharing import Member, Sharing


def member(name: str, company: bytes = b"shop") -> Member:
    return Member(subject=name, program="helm", company=company, folder=Path(name), arguments=())


class Rides:
    """Answers with everybody's name, unless a ride is told to end early."""

    def __init__(self, turns: int = 1, most: int = 3) -> None:
        self.turns = asyncio.Semaphore(turns)
        self.sharing = Sharing(self.turns, most=most, ride=self.ride)
        self.taken: list[list[str]] = []
        #: how many are answered in each ride; all, when there are no more
        self.answered: list[int] = []
        self.go = asyncio.Event()
        self.go.set()
        self.begun = asyncio.Event()

    async def ride(self, members: Sequence[Member]) -> Heard:
        self.taken.append([each.subject for each in members])
        self.begun.set()
        await self.go.wait()
        answered = self.answered.pop(0) if self.answered else len(members)
        return Heard(printed=tuple(each.subject.encode() for each in members[:answered]))

    async def ask(self, one: Member) -> tuple[str, bytes | None]:
        async with self.sharing.turn(one):
            return one.subject, one.printed

    async def ask_all(self, members: Sequence[Member]) -> dict[str, bytes | None]:
        async with asyncio.TaskGroup() as group, self.turns:
            asked = [group.create_task(self.ask(one)) for one in members]
            await asyncio.sleep(0)  # all of them wait now
        return dict(task.result() for task in asked)


async def test_those_who_wait_share_at_most_so_many_at_once() -> None:
    rides = Rides()
    answers = await rides.ask_all([member(name) for name in "abcdefg"])
    assert rides.taken == [["a", "b", "c"], ["d", "e", "f"]]
    assert answers == {name: name.encode() for name in "abcdef"} | {"g": None}  # with nobody to share with


async def test_nobody_shares_with_others_than_his_own_company() -> None:
    rides = Rides()
    members = [member(f"{name}{number}", name.encode()) for number in range(2) for name in "ab"]
    answers = await rides.ask_all(members)
    assert rides.taken == [["a0", "a1"], ["b0", "b1"]]
    assert all(printed == name.encode() for name, printed in answers.items())


async def test_who_ends_a_process_goes_alone_and_those_behind_it_share_another() -> None:
    rides = Rides(most=5)
    rides.answered = [1]
    answers = await rides.ask_all([member(name) for name in "abcde"])
    assert rides.taken == [["a", "b", "c", "d", "e"], ["c", "d", "e"]]
    assert answers == {"a": b"a", "b": None, "c": b"c", "d": b"d", "e": b"e"}


async def test_a_process_that_answers_nothing_is_not_asked_again() -> None:
    rides = Rides(most=5)
    rides.answered = [0]
    assert set((await rides.ask_all([member(name) for name in "abc"])).values()) == {None}
    assert len(rides.taken) == 1


@pytest.mark.parametrize("gone", ["a", "b"])
async def test_whoever_goes_leaves_nobody_waiting(gone: str) -> None:
    rides = Rides(most=5)
    rides.go.clear()
    async with asyncio.TaskGroup() as group:
        async with rides.turns:
            asked = {name: group.create_task(rides.ask(member(name))) for name in "abc"}
            await asyncio.sleep(0)
        await rides.begun.wait()
        asked.pop(gone).cancel()
        rides.go.set()
    led_on = gone != "a"
    found = {name: task.result()[1] for name, task in asked.items()}
    assert found == {name: name.encode() if led_on else None for name in asked}
    assert (await rides.ask(member("late")))[1] is None  # nobody of before is still there to share with


async def test_a_ride_that_fails_fails_its_leader_alone() -> None:
    async def ride(members: Sequence[Member]) -> Heard:
        raise ZeroDivisionError

    rides = Rides()
    sharing = Sharing(rides.turns, most=3, ride=ride)

    async def ask(one: Member) -> bool:
        try:
            async with sharing.turn(one):
                return one.alone
        except ZeroDivisionError:
            return False

    async with asyncio.TaskGroup() as group, rides.turns:
        asked = [group.create_task(ask(member(name))) for name in "abc"]
        await asyncio.sleep(0)
    assert [task.result() for task in asked] == [False, True, True]

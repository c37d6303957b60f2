"""Lets renders that wait for a turn share a process: whoever has one takes the others of his kind along.

There is neither a task nor a lock of its own. Every caller waits for a turn, and then leads, unless somebody
else has taken him along. Whoever got no answer is rendered alone, or waits for another turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from trimtab.sources.rendering.batches import Heard
from trimtab.sources.rendering.jobs import ProgramName


class Member:
    """One render that waits for a turn."""

    def __init__(
        self, *, subject: str, program: ProgramName, company: bytes, folder: Path, arguments: tuple[str, ...]
    ) -> None:
        self.subject = subject
        self.program: ProgramName = program
        #: those who have the same may share a process
        self.company = company
        #: its private folder, filled
        self.folder = folder
        self.arguments = arguments
        #: what the tool has printed for it, once that is known
        self.printed: bytes | None = None
        #: whether it has to be rendered by itself
        self.alone = False
        #: whether whoever waited for it has gone
        self.left = False
        #: set unless somebody has taken it along
        self.free = asyncio.Event()
        self.free.set()

    @property
    def is_settled(self) -> bool:
        """Whether it need not wait any longer."""
        return self.alone or self.printed is not None


#: has one process render all of these
Ride: TypeAlias = Callable[[Sequence[Member]], Awaitable[Heard]]


class Sharing:
    """All who wait."""

    def __init__(self, turns: asyncio.Semaphore, *, most: int, ride: Ride) -> None:
        self._turns = turns
        self._most = most
        self._ride = ride
        self._waiting: dict[bytes, list[Member]] = {}

    @asynccontextmanager
    async def turn(self, member: Member) -> AsyncIterator[None]:
        """A turn for a member that is settled; until then it waits, goes along, or leads."""
        self._add(member)
        try:
            while True:
                async with self._turns:
                    if member in self._waiting.get(member.company, ()):
                        await self._lead(member)
                    if member.is_settled:
                        yield
                        return
                await member.free.wait()
        finally:
            member.left = True
            self._taken(member.company, [member])

    async def _lead(self, member: Member) -> None:
        """Take along who waits for the same, and tell everybody what came of it."""
        waiting = self._waiting[member.company]
        others = [each for each in waiting if each is not member][: self._most - 1]
        company = self._taken(member.company, [member, *others])
        heard = Heard(printed=())
        try:
            if others:
                heard = await self._ride(company)
        finally:
            for place, each in enumerate(company):
                self._settle(each, heard, place)

    def _settle(self, member: Member, heard: Heard, place: int) -> None:
        member.printed = heard.answer(place)
        if heard.is_untried(place) and not member.left:
            self._add(member)
        else:
            member.alone = member.printed is None
        member.free.set()

    def _add(self, member: Member) -> None:
        self._waiting.setdefault(member.company, []).append(member)

    def _taken(self, company: bytes, members: Sequence[Member]) -> Sequence[Member]:
        """These wait no longer."""
        left = [each for each in self._waiting.pop(company, ()) if each not in members]
        if left:
            self._waiting[company] = left
        for each in members:
            each.free.clear()
        return members

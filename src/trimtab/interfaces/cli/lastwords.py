"""What a command says when it is stopped: what becomes of what it has begun, and how that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.leading import as_meant

if TYPE_CHECKING:
    from trimtab.app import Work


class LastWords:
    """What becomes of what was begun, for whoever stops the command now; none while nothing is asked for."""

    def __init__(self) -> None:
        self._words: Callable[[], str] = str

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell them if the command is stopped meanwhile."""
        try:
            yield
        except asyncio.CancelledError:
            if words := self._words():
                click.echo(as_meant(words), err=True)
            raise

    @asynccontextmanager
    async def of_operation(self, work: Work, seconds: float, again: str) -> AsyncIterator[None]:
        """Have an operation under way, which is called `again` to be finished; it waits no longer than so."""
        from trimtab.app.patience import patience

        self.of_asking(work, again)
        async with patience(work, seconds, again):
            yield
        self._words = str

    def of_asking(self, work: Work, again: str) -> None:
        """Have something be asked of an app, which goes on with what is called `again`."""
        self._words = lambda: f"Stopped. {work.course.remedy(f'What was begun goes on with: {again}')}"

    def of_ending(self, name: str) -> None:
        """Have what is under way on an app be told to end, which outlives this command."""
        seen = f"see it through with: trimtab terminate {name}"
        self._words = lambda: f"Stopped. What is under way stays told to end; {seen}"

    def of_waiting(self) -> None:
        """Have nothing left to do but to look on."""
        self._words = lambda: "Stopped waiting: all was applied, and not all of it is known to be healthy."


def goes_on(words: str, *, agreed: bool) -> str:
    """The command that goes on with what was begun; deletions that were agreed to are agreed to again."""
    return f"trimtab {words} --confirm-deletions" if agreed else f"trimtab {words}"

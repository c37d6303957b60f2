"""What a command says when it is stopped: what becomes of what it has begun, and how that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trimtab.app import Work


class LastWords:
    """What becomes of what was begun, for whoever stops the command now; empty while nothing was."""

    def __init__(self, words: str = "") -> None:
        self._words = words

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell them if the command is stopped meanwhile."""
        try:
            yield
        except asyncio.CancelledError:
            if self._words:
                click.echo(self._words, err=True)
            raise

    @asynccontextmanager
    async def of_operation(self, work: Work, seconds: float) -> AsyncIterator[None]:
        """Have an operation under way; it is left, to be finished later, when it has only waited so long."""
        from trimtab.app.patience import patience

        self._words = f"Stopped. What was begun goes on with: trimtab sync {work.name}"
        async with patience(work, seconds):
            yield
        self._words = ""

    def of_waiting(self) -> None:
        """Have nothing left to do but to look on."""
        self._words = "Stopped waiting: all was applied, and not all of it is known to be healthy."

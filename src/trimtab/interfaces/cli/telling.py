"""How a sync is told while it happens: drawn in place on a terminal, one line per event anywhere else.

Everything here goes to stderr: stdout holds the plan and the end.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import click

from trimtab.errors import TrimtabError
from trimtab.interfaces.cli.output import tell_warnings
from trimtab.interfaces.cli.picturing import Picture
from trimtab.interfaces.cli.screen import Screen, can_redraw
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import one_line

if TYPE_CHECKING:
    from trimtab.app import Work
    from trimtab.engine.events import UnitEvent
    from trimtab.engine.live import Live
    from trimtab.engine.sync.steps import SyncPlan
    from trimtab.engine.units import SyncUnit

_REDRAWN_EVERY = timedelta(seconds=0.1)


class Telling(Protocol):
    """Somebody who tells what happens."""

    def hear(self, event: UnitEvent) -> None:
        """Something happened."""

    def see(self, live: Live) -> None:
        """An object has changed."""

    def say(self, sentence: str) -> None:
        """Somebody else keeps us waiting."""

    def end(self) -> None:
        """The operation is over."""

    def look(self, unit: SyncUnit) -> None:
        """Its health is waited for, and so it stands."""

    def counts(self) -> str:
        """What was done, in a few words."""


class LineByLine:
    """One line per thing that happens; what happens at the same moment is written at once."""

    def __init__(self, plan: SyncPlan | None) -> None:
        self._picture = Picture(plan)
        self._health = ""
        self._lines: list[str] = []

    def hear(self, event: UnitEvent) -> None:
        """Tell of steps and waits."""
        from trimtab.engine.events import OperationRetried, OperationWaits, StepDone

        self._picture.hear(event)
        if isinstance(event, StepDone | OperationWaits | OperationRetried):
            self.say(str(event))

    def see(self, live: Live) -> None:
        """Say nothing: an operation tells itself what it waits for."""

    def say(self, sentence: str) -> None:
        """Tell one thing, in which names and the words of others command no terminal."""
        if not self._lines:
            asyncio.get_running_loop().call_soon(self.write)
        self._lines.append(one_line(sentence))

    def write(self) -> None:
        """Write what was told and is not written yet."""
        if self._lines:
            click.echo("\n".join(self._lines), err=True)
            self._lines.clear()

    def end(self) -> None:
        """Say nothing: the summary follows."""

    def look(self, unit: SyncUnit) -> None:
        """Tell what the app still lacks, when that changes."""
        from trimtab.engine.health import HealthStatus

        health = unit.status.health
        told = f"{health.status.value}: {health.message}" if health.message else health.status.value
        if health.status is not HealthStatus.HEALTHY and told != self._health:
            self._health = told
            self.say(f"waiting for health: {told}")

    def counts(self) -> str:
        """What was done, in a few words."""
        return self._picture.counts()


@asynccontextmanager
async def telling(invocation: Invocation, work: Work, plan: SyncPlan | None) -> AsyncIterator[Telling]:
    """Tell what happens to the app while the block lasts; the picture it ends with stays on the screen."""
    redraws = can_redraw(sys.stderr, invocation.environment)
    told: Telling = Picture(plan) if redraws else LineByLine(plan)
    silence = [
        work.engine.on_unit_event(lambda _app, event: told.hear(event)),
        work.engine.on_resource_updated(lambda _cluster, live: told.see(live)),
    ]
    try:
        if isinstance(told, Picture):
            async with _drawn(told, Screen(sys.stderr, colour=_has_colour())):
                yield told
        else:
            yield told
    finally:
        if isinstance(told, LineByLine):
            told.write()
        for each in silence:
            each()


@asynccontextmanager
async def _drawn(picture: Picture, screen: Screen) -> AsyncIterator[None]:
    from trimtab.tasks import SystemClock, every, plain_group

    clock = SystemClock()
    began = clock.monotonic()

    async def draw() -> None:
        if picture.has_news:  # what is refused at once leaves no picture
            screen.draw(picture.lines(clock.monotonic() - began))

    def ignore(_: TrimtabError) -> None:
        """Drawing raises none."""

    async with plain_group() as group:
        drawing = group.create_task(every(_REDRAWN_EVERY, draw, clock=clock, on_failure=ignore, jitter=0))
        try:
            yield
        finally:
            drawing.cancel()
            await draw()
            screen.leave()
            tell_warnings(picture.warnings())


def _has_colour() -> bool:
    context = click.get_current_context(silent=True)
    return context is None or context.color is not False

"""How long somebody waits for an operation: as long as it gets on, and a while longer; or for its end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from trimtab.app.apps import Work
from trimtab.app.waiting import NotWell, patient
from trimtab.engine.events import OperationWaits, UnitEvent
from trimtab.engine.operations import OperationState
from trimtab.errors import Unavailable
from trimtab.tasks import DeadlinePassed, SystemClock, time_limit


class NotEnded(Unavailable):
    """An operation was told to end, and has not ended in time."""


@asynccontextmanager
async def patience(work: Work, seconds: float, again: str) -> AsyncIterator[None]:
    """Leave the app's operation when it has only waited for so long.

    If it was begun it stays recorded, to be finished by what is called `again`.
    """

    def late(waits: str) -> NotWell:
        reason = work.course.late("its sync", seconds, waits)
        return NotWell(f"app {work.name}", reason, work.course.remedy(f"It goes on with: {again}"))

    async with patient(work.engine, seconds, late):
        yield


async def ended(work: Work, seconds: float, held: Callable[[str], None]) -> OperationState:
    """The end of what is under way on an app; an error that says what it waits for if that takes too long.

    Whoever works on the app by then is told to `held`.
    """
    waits = ["until what is under way has ended"]

    def hear(_app: str, event: UnitEvent) -> None:
        if isinstance(event, OperationWaits):
            waits.append(event.message.removeprefix("waiting "))

    def tell(holder: str) -> None:
        waits.append(f"for {holder}, who works on the app")
        held(holder)

    silence = work.engine.on_unit_event(hear)
    try:
        async with time_limit(timedelta(seconds=seconds), clock=SystemClock(), subject=f"app {work.name}"):
            return await work.end(held=tell)
    except DeadlinePassed as error:
        reason = f"its operation has not ended within {seconds:g} s: it waits {waits[-1]}"
        remedy = f"It stays told to end; see it through with: trimtab terminate {work.name}"
        raise NotEnded(f"app {work.name}", reason, remedy) from error
    finally:
        silence()

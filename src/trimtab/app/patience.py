"""How long somebody waits for an operation: as long as it gets on, and a while longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trimtab.app.apps import Work
from trimtab.app.waiting import NotWell
from trimtab.engine.events import OperationWaits, StepDone, UnitEvent


@asynccontextmanager
async def patience(work: Work, seconds: float) -> AsyncIterator[None]:
    """Leave the app's operation when it has only waited for so long; it stays recorded, to be finished."""
    loop, waits = asyncio.get_running_loop(), ["for something"]

    def hear(_app: str, event: UnitEvent) -> None:
        if isinstance(event, OperationWaits):
            waits.append(event.message.removeprefix("waiting "))
        elif isinstance(event, StepDone) and not limit.expired():
            limit.reschedule(loop.time() + seconds)

    try:
        async with asyncio.timeout(seconds) as limit:
            silence = work.engine.on_unit_event(hear)
            try:
                yield
            finally:
                silence()
    except TimeoutError as error:
        reason = f"its sync has waited {seconds:g} s {waits[-1]}"
        raise NotWell(f"app {work.name}", reason, f"It goes on with: trimtab sync {work.name}") from error

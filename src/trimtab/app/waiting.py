"""Waiting until an app is as somebody wants it, or is no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from trimtab.app.goals import Goal, Recorded, holds, is_recorded, stands
from trimtab.engine import Engine
from trimtab.engine.events import ComparisonFailed, OperationWaits, StepDone, UnitEvent, UnitRefreshed
from trimtab.engine.units import AllTold, Gone, Stored, SyncUnit, SyncUnitStore, UnitNews
from trimtab.errors import TrimtabError, Unavailable
from trimtab.tasks import DeadlinePassed, SystemClock, plain_group, time_limit

#: how long a last look may take once time is up
_LAST_LOOK: Final = timedelta(seconds=2)


class NotWell(Unavailable):
    """An app has not become in time what it was waited for to be."""


@asynccontextmanager
async def patient(
    engine: Engine, seconds: float, late: Callable[[str], TrimtabError]
) -> AsyncIterator[asyncio.Timeout]:
    """Leave the app's operation when it has only waited for so long; `late` makes the error of its words."""
    loop, waits = asyncio.get_running_loop(), ["for the cluster to answer"]

    def hear(_app: str, event: UnitEvent) -> None:
        if isinstance(event, OperationWaits):
            waits.append(event.message.removeprefix("waiting "))
        elif isinstance(event, StepDone) and not limit.expired() and limit.when() is not None:
            limit.reschedule(loop.time() + seconds)

    try:
        async with asyncio.timeout(seconds) as limit:
            silence = engine.on_unit_event(hear)
            try:
                yield limit
            finally:
                silence()
    except TimeoutError as error:
        raise late(waits[-1]) from error


async def until(
    engine: Engine, name: str, goals: Collection[Goal], seconds: float, told: Callable[[SyncUnit], None]
) -> SyncUnit:
    """The app once it is as it is waited for; `told` hears how it stands each time it was looked at."""
    looked = asyncio.Event()

    def hear(unit_id: str, event: UnitEvent) -> None:
        if unit_id == name and isinstance(event, UnitRefreshed | ComparisonFailed):
            looked.set()

    # The engine looks by itself whenever something of the app changes.
    silence = engine.on_unit_event(hear)
    unit = await engine.refresh(name)
    told(unit)
    try:
        async with time_limit(timedelta(seconds=seconds), clock=SystemClock(), subject=f"app {name}"):
            while not holds(unit, goals):
                await looked.wait()
                looked.clear()
                unit = engine.unit(name)
                told(unit)
    except DeadlinePassed as error:
        reason = f"after {seconds:g} s it is {stands(await _by_now(engine, unit))}"
        raise NotWell(f"app {name}", reason, f"Ask why with: trimtab why {name}") from error
    finally:
        silence()
    return unit


async def _by_now(engine: Engine, unit: SyncUnit) -> SyncUnit:
    """The app as it stands by now: where only an object's words have changed, nobody has looked again."""
    try:
        async with asyncio.timeout(_LAST_LOOK.total_seconds()):
            return await engine.refresh(unit.id)
    except (TimeoutError, TrimtabError):
        return unit


async def until_recorded(
    records: SyncUnitStore, name: str, event: Recorded, seconds: float
) -> SyncUnit | None:
    """The app as it is recorded once that is so; None if it is not recorded, or no longer."""
    found: SyncUnit | None = None
    done = asyncio.Event()

    def hear(news: UnitNews) -> None:
        nonlocal found
        match news:
            case Stored(unit=unit) if unit.id == name:
                found = unit
            case Gone(id=unit_id) if unit_id == name:
                found = None
            case AllTold():
                pass  # whatever has not been told by now is not there
            case _:
                return
        if is_recorded(found, event):
            done.set()

    try:
        async with (
            time_limit(timedelta(seconds=seconds), clock=SystemClock(), subject=f"app {name}"),
            plain_group() as group,
        ):
            following = group.create_task(records.follow(hear))
            await done.wait()
            following.cancel()
    except DeadlinePassed as error:
        reason = f"it is not {event.value}, after {seconds:g} s"
        raise NotWell(f"app {name}", reason, f"Ask why with: trimtab why {name}") from error
    return found

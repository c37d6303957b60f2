"""Handing an operation over to the runner that keeps an app, through the app's record, and following it.

The record's operation is the mailbox: what was agreed to is written into it in one writing with what is
wanted of the app, the runner hears of it and carries it out, and whoever asked follows the record to the end.
Posting happens under the app's own lease, so nobody works on it from a command line at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime

from msgspec.structs import replace

from trimtab.app.holds import held
from trimtab.engine import RecordStore
from trimtab.engine.events import OperationWaits, StepDone, UnitEvent
from trimtab.engine.operations import Operation, OperationState, is_same_request, taken_up
from trimtab.engine.stores.changing import declared_anew, missing, with_operation, with_pin
from trimtab.engine.units import (
    AllTold,
    Gone,
    OperationUnderWay,
    Pin,
    Stored,
    SyncUnit,
    UnitExists,
    UnitMissing,
    UnitNews,
    UnitStatus,
    Unreadable,
)
from trimtab.errors import Unavailable
from trimtab.kube import Lease
from trimtab.tasks import plain_group


async def post(
    records: RecordStore, wanted: SyncUnit, operation: Operation, pin: Pin | None = None
) -> SyncUnit:
    """Record an app, what is asked of it, and where it is pinned by that, in one writing.

    `OperationUnderWay` while something else is.
    """

    def posted(stored: SyncUnit) -> SyncUnit:
        if stored.hold and stored.hold != wanted.hold:
            raise held(stored)
        declared = declared_anew(stored, wanted)
        pinned = declared if pin is None else with_pin(pin)(declared)
        return with_operation(pinned, taken_up(operation, stored.status.operation_state))

    try:
        return await records.amend(wanted.id, posted)
    except UnitMissing:
        try:
            return await records.create(replace(wanted, operation=operation))
        except UnitExists as error:
            raise OperationUnderWay(
                f"app {wanted.id}", "somebody made it at the same time", "Try again"
            ) from error


def handed_over(operation: Operation, revision: str, now: datetime, *, consent: bool) -> Operation:
    """The operation as another process gets it: at exactly this revision, with the consent that was given."""
    approved = now if consent else None
    return replace(operation, revision=revision, asked_at=now, deletions_approved_at=approved)


def seen_as(looked: UnitStatus, stored: SyncUnit) -> SyncUnit:
    """The record with how the app was seen last; what was done to it stays as it is recorded."""
    known = stored.status
    if stored.operation is not None:
        return stored
    status = replace(
        looked, history=known.history, attempted=known.attempted, operation_state=known.operation_state
    )
    return replace(stored, status=status)


def agreed(at: datetime) -> Callable[[SyncUnit], SyncUnit]:
    """The change that agrees to the deletions of the operation under way, if there is one."""

    def changed(stored: SyncUnit) -> SyncUnit:
        if stored.operation is None:
            return stored
        return replace(stored, operation=replace(stored.operation, deletions_approved_at=at))

    return changed


async def followed(
    records: RecordStore, unit_id: str, operation: Operation, keeper: Lease, told: Callable[[UnitEvent], None]
) -> OperationState | None:
    """The end of an operation that a runner carries out; None if no runner keeps the app any more."""
    async with plain_group() as group:
        watching = group.create_task(_watched(records, unit_id, operation, told))
        waiting = group.create_task(keeper.freed())
        await asyncio.wait((watching, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not watching.done():
            watching.cancel()
            return None
        return watching.result()


async def _watched(
    records: RecordStore, unit_id: str, operation: Operation, told: Callable[[UnitEvent], None]
) -> OperationState:
    news: asyncio.Queue[UnitNews] = asyncio.Queue()
    async with plain_group() as group:
        following = group.create_task(records.follow(news.put_nowait))
        state: OperationState | None = None
        is_there = False
        while True:
            match await news.get():
                case Stored(unit=unit):
                    is_there = True
                    before, state = state, unit.status.operation_state
                    if state is not None and is_same_request(state.operation, operation):
                        for event in told_between(unit_id, before, state):
                            told(event)
                    if not _is_under_way(unit, operation):
                        following.cancel()
                        return _ended(unit, operation)
                case Gone():
                    raise missing(unit_id)
                case Unreadable(error=error):
                    raise error
                case AllTold() if not is_there:
                    raise missing(unit_id)
                case AllTold():
                    continue


def _is_under_way(unit: SyncUnit, operation: Operation) -> bool:
    return unit.operation is not None and is_same_request(unit.operation, operation)


def _ended(unit: SyncUnit, operation: Operation) -> OperationState:
    """How the operation ended; others may have followed so quickly that nobody can tell."""
    state = unit.status.operation_state
    if state is None or not is_same_request(state.operation, operation):
        reason = "it is over, and another sync began before its end was read"
        raise Unavailable(f"the sync of {unit.id}", reason, f"Look with: trimtab status {unit.id}")
    return state


def told_between(
    unit_id: str, before: OperationState | None, after: OperationState
) -> Iterator[StepDone | OperationWaits]:
    """What happened between two readings of an operation's record, as its own process would have told it."""
    known = {(each.key, each.sync_phase): each.status for each in before.results} if before else {}
    for result in after.results:
        at = result.at or after.started_at
        if result.status is not None and known.get((result.key, result.sync_phase)) is not result.status:
            yield StepDone(
                at=at,
                unit=unit_id,
                key=result.key,
                phase=result.sync_phase,
                status=result.status,
                hook=result.hook,
                message=result.message,
            )
    is_new = before is None or before.message != after.message
    if after.waiting_since is not None and is_new:
        yield OperationWaits(at=after.waiting_since, unit=unit_id, message=after.message)

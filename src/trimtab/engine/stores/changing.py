"""What each verb of a store makes of a unit, the same for every store. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from trimtab.engine.operations import Operation, held_runs, is_same_request
from trimtab.engine.places import joined, widened
from trimtab.engine.units import (
    LeftBehind,
    OperationUnderWay,
    Pause,
    Pin,
    SyncUnit,
    UnitExists,
    UnitHeld,
    UnitMissing,
    UnitStatus,
)


def declared_anew(stored: SyncUnit, wanted: SyncUnit) -> SyncUnit:
    """The stored unit with what is wanted of it now; in another cluster an operation begins anew."""
    is_moved = wanted.destination.cluster != stored.destination.cluster
    declared = replace(
        wanted,
        status=_said_where(stored) if is_moved else stored.status,
        operation=stored.operation,
        paused=stored.paused,
        pinned=stored.pinned,
        left=stored.left,
        places=None if is_moved else joined(stored.places, wanted.places),
    )
    return placed(declared) if is_moved else declared


def _said_where(unit: SyncUnit) -> UnitStatus:
    """The status of a unit, whose operation says in which cluster it is carried out."""
    state = unit.status.operation_state
    if state is None or state.cluster:
        return unit.status
    return replace(unit.status, operation_state=replace(state, cluster=unit.destination.cluster))


def placed(unit: SyncUnit) -> SyncUnit:
    """The unit without what was done where it is no longer, but for what may still be held there."""
    state = unit.status.operation_state
    if state is None or state.cluster in {"", unit.destination.cluster}:
        return unit
    left = unit.left
    if held_runs(state):
        made = tuple(each for each in state.results if each.hook)
        behind = LeftBehind(cluster=state.cluster, state=replace(state, results=made, begun=(), message=""))
        left = (*(each for each in left if _place(each) != _place(behind)), behind)
    is_over = unit.operation is None and not held_runs(state)
    return replace(unit, left=left, status=unit.status if is_over else without_progress(unit.status))


def _place(behind: LeftBehind) -> tuple[str, datetime]:
    return behind.cluster, behind.state.started_at


def without_left(behind: LeftBehind) -> Callable[[SyncUnit], SyncUnit]:
    """The change that forgets what was let go of."""
    return lambda stored: replace(stored, left=tuple(each for each in stored.left if each != behind))


def without_progress(status: UnitStatus) -> UnitStatus:
    """The status of a unit whose operation has done nothing yet where the unit is now."""
    return replace(status, operation_state=None)


def with_pause(pause: Pause) -> Callable[[SyncUnit], SyncUnit]:
    """The change that pauses a unit."""
    return lambda stored: replace(stored, paused=pause)


def with_pin(pin: Pin) -> Callable[[SyncUnit], SyncUnit]:
    """The change that holds a unit at an entry of its history; whoever paused it has the first word."""

    def pinned(stored: SyncUnit) -> SyncUnit:
        if stored.paused is not None:
            raise UnitHeld(f"unit {stored.id}", f"it is {stored.paused}", "Resume it first")
        return replace(stored, pinned=pin)

    return pinned


def resumed(stored: SyncUnit) -> SyncUnit:
    """The unit, following its source again."""
    return replace(stored, paused=None, pinned=None)


def with_status(stored: SyncUnit, status: UnitStatus) -> SyncUnit:
    """The unit as it stands now.

    Whoever writes may not have heard of an operation that was asked for meanwhile; what he tells of an
    earlier one is no news of it, and would have it taken for done.
    """
    state = status.operation_state
    if (
        state is not None
        and stored.operation is not None
        and not is_same_request(state.operation, stored.operation)
    ):
        status = replace(status, operation_state=None)
    return placed(replace(stored, status=status, places=widened(stored.places, status)))


def with_operation(
    stored: SyncUnit, operation: Operation | None, status: UnitStatus | None = None
) -> SyncUnit:
    """The unit with something asked of it, and nothing left of the last operation; or with it done."""
    places = stored.places if status is None else widened(stored.places, status)
    if operation is None:
        return replace(stored, operation=None, status=status or stored.status, places=places)
    if stored.operation is not None:
        raise OperationUnderWay(
            f"unit {stored.id}", "another operation is under way", "Wait for it, or terminate it"
        )
    known = status or stored.status
    return replace(stored, operation=operation, status=replace(known, operation_state=None), places=places)


def with_end(by: str) -> Callable[[SyncUnit], SyncUnit]:
    """The change that asks for the end of what is under way, whoever carries it on; if nothing is, none."""

    def ended(stored: SyncUnit) -> SyncUnit:
        if stored.operation is None:
            return stored
        return replace(stored, operation=replace(stored.operation, ended_by=by))

    return ended


def missing(unit_id: str) -> UnitMissing:
    """The error that says so."""
    return UnitMissing(f"unit {unit_id}", "there is no such unit", "Create it")


def exists(unit_id: str) -> UnitExists:
    """The error that says so."""
    return UnitExists(f"unit {unit_id}", "there is one of this id already", "Update it, or choose another id")

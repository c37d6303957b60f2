"""What each verb of a store makes of a unit, the same for every store. Pure."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from trimtab.engine.operations import Operation, is_same_request
from trimtab.engine.units import (
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
    return replace(
        wanted,
        status=without_progress(stored.status) if is_moved and stored.operation else stored.status,
        operation=stored.operation,
        paused=stored.paused,
        pinned=stored.pinned,
    )


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
    return replace(stored, status=status)


def with_operation(
    stored: SyncUnit, operation: Operation | None, status: UnitStatus | None = None
) -> SyncUnit:
    """The unit with something asked of it, and nothing left of the last operation; or with it done."""
    if operation is None:
        return replace(stored, operation=None, status=status or stored.status)
    if stored.operation is not None:
        raise OperationUnderWay(
            f"unit {stored.id}", "another operation is under way", "Wait for it, or terminate it"
        )
    known = status or stored.status
    return replace(stored, operation=operation, status=replace(known, operation_state=None))


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

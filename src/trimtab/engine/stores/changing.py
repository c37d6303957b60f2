"""What each verb of a store makes of a unit, the same for every store. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from trimtab.engine.operations import Operation
from trimtab.engine.units import OperationUnderWay, SyncUnit, UnitExists, UnitMissing, UnitStatus


def declared_anew(stored: SyncUnit, wanted: SyncUnit) -> SyncUnit:
    """The stored unit with what is wanted of it now."""
    return replace(wanted, status=stored.status, operation=stored.operation)


def with_status(stored: SyncUnit, status: UnitStatus) -> SyncUnit:
    """The unit as it stands now."""
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


def missing(unit_id: str) -> UnitMissing:
    """The error that says so."""
    return UnitMissing(f"unit {unit_id}", "there is no such unit", "Create it")


def exists(unit_id: str) -> UnitExists:
    """The error that says so."""
    return UnitExists(f"unit {unit_id}", "there is one of this id already", "Update it, or choose another id")

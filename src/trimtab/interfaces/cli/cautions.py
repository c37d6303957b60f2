"""What somebody should know of an app beside the answer: sentences for stderr. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.engine.units import SyncUnit


def of_hold(unit: SyncUnit) -> tuple[str, ...]:
    """That nothing of a plan is done while the app is held, or half deleted, if it is."""
    found = []
    if unit.hold:
        until = f"a sync is refused until somebody says: trimtab resume {unit.id}"
        found.append(f"{unit.id} is {unit.hold}; {until}")
    if unit.operation is not None and unit.operation.delete:
        until = f"trimtab delete {unit.id}; or ends with: trimtab terminate {unit.id}"
        found.append(
            f"somebody began to delete {unit.id}; a sync is refused until that goes on with: {until}"
        )
    return tuple(found)


def of_deletion(unit: SyncUnit) -> tuple[str, ...]:
    """That the app was to be deleted, and is there only because something of it did not go, if so."""
    last = unit.status.operation_state
    if unit.operation is not None or last is None or not last.operation.delete or last.operation.dry_run:
        return ()
    anew = f"a sync makes it anew; delete it to the end with: trimtab delete {unit.id}"
    return (f"{unit.id} was to be deleted, and not all of it went: {anew}",)


def of_pin(unit: SyncUnit) -> tuple[str, ...]:
    """That the app is compared with an entry of its history, if it is pinned there."""
    with_what = "it is compared with that, not with its source"
    return (f"{unit.id} is {unit.hold}; {with_what}",) if unit.pinned is not None else ()


def of_declaration(unit: SyncUnit) -> tuple[str, ...]:
    """That whoever reads the app's file makes it anew when it is deleted, if it has one."""
    anew = "a runner that reads it there makes the app anew, unless its file goes first"
    return (f"{unit.id} is declared in {unit.declared_in}: {anew}",) if unit.declared_in else ()


def of_move(unit: SyncUnit, was: SyncUnit | None) -> tuple[str, ...]:
    """That the app comes from another place than before, or goes to another, if it is told what it `was`."""
    if was is None:
        return ()
    kept = ", which is automated," if was.policy.automated else ""
    return (f"this moves {unit.id}{kept} {moved(unit, was)}",)


def moved(unit: SyncUnit, was: SyncUnit) -> str:
    """Whence and whereto an app moves: by its source, by its namespace, or by both."""
    from trimtab.app.appsources import sources_of

    pairs = (
        (str(sources_of(was)), str(sources_of(unit))),
        (f"namespace {was.destination.namespace}", f"namespace {unit.destination.namespace}"),
    )
    return " and ".join(f"from {before} to {after}" for before, after in pairs if before != after)

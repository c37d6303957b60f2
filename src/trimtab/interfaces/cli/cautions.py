"""What somebody should know of an app beside the answer: sentences for stderr. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.engine.units import SyncUnit


def of_hold(unit: SyncUnit) -> tuple[str, ...]:
    """That nothing of a plan is done while the app is held, if it is."""
    until = f"a sync is refused until somebody says: trimtab resume {unit.id}"
    return (f"{unit.id} is {unit.hold}; {until}",) if unit.hold else ()


def of_pin(unit: SyncUnit) -> tuple[str, ...]:
    """That the app is compared with an entry of its history, if it is pinned there."""
    with_what = "it is compared with that, not with its source"
    return (f"{unit.id} is {unit.hold}; {with_what}",) if unit.pinned is not None else ()


def of_declaration(unit: SyncUnit) -> tuple[str, ...]:
    """That whoever reads the app's file makes it anew when it is deleted, if it has one."""
    anew = "a runner that reads it there makes the app anew, unless its file goes first"
    return (f"{unit.id} is declared in {unit.declared_in}: {anew}",) if unit.declared_in else ()

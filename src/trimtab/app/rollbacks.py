"""Going back: which entry of an app's history is meant, and the pin that keeps the app there. Pure."""

from __future__ import annotations

from datetime import datetime

from trimtab.engine.control.policy import entry_before, entry_of
from trimtab.engine.operations import Operation
from trimtab.engine.units import Pin, SyncUnit


def pin_for(unit: SyncUnit, entry_id: int | None, *, reason: str, by: str, now: datetime) -> Pin:
    """The pin to the entry of this number, or else to the last that was something else than what is now."""
    goal = entry_before(unit) if entry_id is None else entry_of(unit, entry_id)
    history = unit.status.history
    left = history[-1].revision if history else "nothing"
    return Pin(
        entry=goal.id,
        revision=goal.revision,
        reason=reason or f"rolled back from {left}",
        by=by,
        since=now,
    )


def is_same_rollback(begun: Operation | None, asked: Operation) -> bool:
    """Whether what was begun and not seen through is the very rollback that is asked for."""
    if begun is None or not begun.entry or begun.ended_by:
        return False
    return (begun.entry, begun.prune) == (asked.entry, asked.prune)

"""Going back: which entry of an app's history is meant, and the pin that keeps the app there. Pure."""

from __future__ import annotations

from datetime import datetime

from trimtab.engine.control.policy import entry_before, entry_of
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

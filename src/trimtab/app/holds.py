"""Holding apps: pausing them, letting them go on, and saying why nothing may be done to one meanwhile.

A hold is part of the app's record, so it binds every machine: runners leave the app alone, and people who ask
for a sync are told who holds it, why, and how to let it go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from trimtab.engine.stores.changing import resumed, with_pause
from trimtab.engine.units import Pause, SyncUnit, SyncUnitStore, UnitHeld, UnitMissing


class Records(Protocol):
    """What holding needs of the apps of a cluster."""

    def records(self) -> SyncUnitStore:
        """Where apps are recorded."""

    async def meant(self, name: str) -> SyncUnit | None:
        """The app that somebody means by this name, if there is one."""


async def pause(apps: Records, name: str, *, reason: str, by: str, now: datetime) -> SyncUnit:
    """Have nothing begin on an app until it is resumed; the answer is the app as it is now."""
    unit = await known(apps, name)
    return await apps.records().amend(unit.id, with_pause(Pause(reason=reason, by=by, since=now)))


async def resume(apps: Records, name: str) -> SyncUnit:
    """Let an app follow its source again; the answer is the app as it was held."""
    before = await known(apps, name)
    await apps.records().amend(before.id, resumed)
    return before


async def known(apps: Records, name: str) -> SyncUnit:
    """The app that is meant by this name, or an error that says how to find one."""
    found = await apps.meant(name)
    if found is None:
        raise no_such(name)
    return found


def no_such(name: str) -> UnitMissing:
    """The error that says so."""
    return UnitMissing(f"app {name}", "there is no such app", "List them with: trimtab status")


def held(unit: SyncUnit) -> UnitHeld:
    """The error that says who holds an app, why, and how to let it go."""
    remedy, begun = f"Let it go on with: trimtab resume {unit.id}", unit.operation
    if begun is not None and begun.entry and unit.paused is None:
        through = f"trimtab rollback {unit.id} {begun.entry}" + " --prune" * begun.prune
        remedy = f"See its rollback through with: {through}; or let it go on with: trimtab resume {unit.id}"
    return UnitHeld(f"app {unit.id}", f"it is {unit.hold}", remedy)

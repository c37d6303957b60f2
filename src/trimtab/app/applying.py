"""The app of a stored plan, at hand: as the plan declares it, or as whoever began with the plan left it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from trimtab.app.apps import Apps, Work
from trimtab.app.planfiles import StoredPlan
from trimtab.engine.units import SyncUnit


@asynccontextmanager
async def work_for(apps: Apps, stored: StoredPlan, known: SyncUnit | None) -> AsyncIterator[Work]:
    """Work on the app of a stored plan, which is recorded like this; refused if it was declared otherwise.

    What the plan was made of is rendered again while the cluster is read, as far as that has to be.
    """
    if known is not None and (stored.is_done(known) or stored.is_under_way(known)):
        unit, operation = known, None
    else:
        unit, operation = stored.asked_of(known), stored.agreed()
    if known is None:
        unit = replace(unit, places=await apps.places_before(unit.id))
    async with apps.work_on(unit, operation=operation, renders=True, narrowly=True) as work:
        yield work

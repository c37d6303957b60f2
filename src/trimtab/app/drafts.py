"""One app at a time: a unit store that shows the engine nothing else, and keeps drafts to itself.

The command line works on one app while others may be kept by a runner: the engine it starts must see that one
alone. Until somebody has agreed to the plan, nothing of a draft is written anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from msgspec.structs import replace

from trimtab.app.holds import held
from trimtab.engine.operations import Operation
from trimtab.engine.places import Place
from trimtab.engine.stores.changing import declared_anew, missing, with_operation, with_status
from trimtab.engine.units import (
    AllTold,
    Stored,
    SyncUnit,
    SyncUnitStore,
    UnitMissing,
    UnitNews,
    UnitStatus,
)
from trimtab.errors import Conflict, NotAllowed, TrimtabError


async def _no_places(_unit: SyncUnit) -> None:
    """Nothing has to be read for what others recorded."""


class DraftStore:
    """One unit, in memory until it is published, then in its store.

    What others recorded of the unit meanwhile is `covered` before it counts: they may have had it reach
    places that nobody has looked at here.
    """

    def __init__(self, unit: SyncUnit, covered: Callable[[SyncUnit], Awaitable[None]] = _no_places) -> None:
        self._unit = unit
        self._covered = covered
        self._store: SyncUnitStore | None = None
        self._told: list[Callable[[UnitNews], None]] = []
        self._recorded = asyncio.Event()

    async def publish(self, store: SyncUnitStore) -> SyncUnit:
        """Record the unit in the store, and everything that follows."""
        try:
            stored = await store.get(self._unit.id)
        except UnitMissing:
            recorded = await store.create(self._unit)
        else:
            await self._covered(stored)
            recorded = await self._recorded_over(stored, store)
        self._keep_in(store)
        return self._heard(recorded)

    async def _recorded_over(self, stored: SyncUnit, store: SyncUnitStore) -> SyncUnit:
        """Record the unit in the place of what was just read of it; what is as it was is not written."""
        if stored.hold and stored.hold != self._unit.hold:
            raise held(stored)
        if stored.operation is not None:
            reason = "somebody began a sync of it meanwhile, and did not see it through"
            raise Conflict(f"app {stored.id}", reason, "Run the command again: that one is finished first")
        known, recorded = stored.status, stored
        status = replace(
            self._unit.status,
            history=known.history,
            attempted=known.attempted,
            operation_state=known.operation_state,
        )
        if declared_anew(recorded, self._unit) != recorded:
            recorded = await store.update(self._unit)
        if with_status(recorded, status) != recorded:
            recorded = await store.set_status(self._unit.id, status)
        return recorded

    async def resume(self, store: SyncUnitStore) -> SyncUnit:
        """Go on with the unit as it is recorded, with the operation that nobody finished."""
        stored = await store.get(self._unit.id)
        await self._covered(stored)
        self._keep_in(store)
        return self._heard(stored)

    def _keep_in(self, store: SyncUnitStore) -> None:
        self._store = store
        self._recorded.set()

    def place(self, places: tuple[Place, ...]) -> None:
        """Take note of where objects of the unit are, all of them: it is recorded with the unit."""
        self._heard(replace(self._unit, places=places))

    def redraft(self, wanted: SyncUnit) -> None:
        """Go on as a draft: what is wanted now is recorded when the next plan was agreed to."""
        self._store = None
        self._heard(declared_anew(self._unit, wanted))

    async def list(self) -> tuple[SyncUnit, ...]:
        """The one unit."""
        return (self._unit,)

    async def get(self, unit_id: str) -> SyncUnit:
        """The one unit."""
        if unit_id != self._unit.id:
            raise missing(unit_id)
        return self._unit

    async def create(self, unit: SyncUnit) -> SyncUnit:
        """Nothing is added to a draft."""
        raise NotAllowed(f"app {unit.id}", f"only {self._unit.id} is being worked on")

    async def update(self, unit: SyncUnit) -> SyncUnit:
        """Change what is wanted of the unit."""
        wanted = declared_anew(await self.get(unit.id), unit)
        return self._heard(await self._store.update(wanted) if self._store else wanted)

    async def delete(self, unit_id: str, *, is_empty: bool = False) -> None:
        """A draft ends with its process."""
        del is_empty
        raise NotAllowed(f"app {unit_id}", "it is being worked on")

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        """Record how the unit stands."""
        drafted = with_status(await self.get(unit_id), status)
        return self._heard(await self._store.set_status(unit_id, status) if self._store else drafted)

    async def set_operation(
        self, unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        """Ask something of the unit, or record that it is done."""
        drafted = with_operation(await self.get(unit_id), operation, status)
        if self._store is None:
            return self._heard(drafted)
        return self._heard(await self._store.set_operation(unit_id, operation, status=status))

    async def amend(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        """Change a unit's pause, pin or operation by what they are now."""
        amended = change(await self.get(unit_id))
        return self._heard(await self._store.amend(unit_id, change) if self._store else amended)

    async def follow(self, told: Callable[[UnitNews], None]) -> None:
        """Tell of the unit, of every change made here, and of what others write into its record."""
        told(Stored(self._unit))
        told(AllTold())
        self._told.append(told)
        try:
            await self._recorded.wait()
            if self._store is not None:
                # Whoever may not watch records hears nothing of others, and works all the same.
                with suppress(TrimtabError):
                    await self._store.follow(self._hear_others)
            await asyncio.Event().wait()
        finally:
            self._told.remove(told)

    def _hear_others(self, news: UnitNews) -> None:
        """Others pause the app, or ask for the end of what is under way."""
        if isinstance(news, Stored) and news.unit.id == self._unit.id and self._store is not None:
            self._heard(news.unit)

    def _heard(self, unit: SyncUnit) -> SyncUnit:
        if unit != self._unit:
            self._unit = unit
            for told in tuple(self._told):
                told(Stored(unit))
        return unit

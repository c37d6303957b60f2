"""`MemoryStore`: units that live as long as the process. For tests, and for those who keep them elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from trimtab.engine.operations import Operation
from trimtab.engine.stores.changing import declared_anew, exists, missing, with_operation, with_status
from trimtab.engine.units import AllTold, Gone, Stored, SyncUnit, UnitNews, UnitStatus


class MemoryStore:
    """Units in a dictionary."""

    def __init__(self, units: Iterable[SyncUnit] = ()) -> None:
        self._units = {unit.id: unit for unit in units}
        self._followers: list[Callable[[UnitNews], None]] = []

    async def list(self) -> tuple[SyncUnit, ...]:
        """Every unit, in the order of their ids."""
        return tuple(self._units[unit_id] for unit_id in sorted(self._units))

    async def get(self, unit_id: str) -> SyncUnit:
        """One unit."""
        return self._stored(unit_id)

    async def create(self, unit: SyncUnit) -> SyncUnit:
        """Add a unit."""
        if unit.id in self._units:
            raise exists(unit.id)
        return self._put(unit)

    async def update(self, unit: SyncUnit) -> SyncUnit:
        """Change what is wanted of a unit."""
        return self._put(declared_anew(self._stored(unit.id), unit))

    async def delete(self, unit_id: str, *, is_empty: bool = False) -> None:
        """Forget a unit, whether or not objects of it stay."""
        del is_empty
        self._stored(unit_id)
        del self._units[unit_id]
        self._tell(Gone(unit_id))

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        """Record how a unit stands."""
        return self._put(with_status(self._stored(unit_id), status))

    async def set_operation(
        self, unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        """Ask something of a unit, or record that it is done."""
        return self._put(with_operation(self._stored(unit_id), operation, status))

    async def amend(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        """Change a unit's pause, pin or operation by what they are now."""
        return self._put(change(self._stored(unit_id)))

    async def follow(self, told: Callable[[UnitNews], None]) -> None:
        """Tell of everything that is there, then of every change."""
        for unit in await self.list():
            told(Stored(unit))
        told(AllTold())
        self._followers.append(told)
        try:
            await asyncio.Event().wait()
        finally:
            self._followers.remove(told)

    def _stored(self, unit_id: str) -> SyncUnit:
        unit = self._units.get(unit_id)
        if unit is None:
            raise missing(unit_id)
        return unit

    def _put(self, unit: SyncUnit) -> SyncUnit:
        if self._units.get(unit.id) != unit:
            self._units[unit.id] = unit
            self._tell(Stored(unit))
        return unit

    def _tell(self, news: UnitNews) -> None:
        for told in tuple(self._followers):
            told(news)

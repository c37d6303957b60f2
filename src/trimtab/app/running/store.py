"""The records of one shard, as its holder's engine sees them.

Units of other shards, and those that are left to their owners, are not there. A unit that somebody was at
work on when the shard was taken is told once he is done: whoever comes later sees the shard's lease and
leaves the work to us. Where objects of a unit are, the engine has seen: what it writes anyway says that, too,
so that commands need not look everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec.structs import replace

from trimtab.app.shards import Shard, app_lease, is_kept
from trimtab.engine import RecordStore
from trimtab.engine.operations import Operation
from trimtab.engine.places import Place, widened
from trimtab.engine.stores.changing import with_operation, with_status
from trimtab.engine.units import Gone, Stored, SyncUnit, UnitMissing, UnitNews, UnitStatus, Unreadable
from trimtab.errors import TrimtabError
from trimtab.kube import Lease
from trimtab.tasks import plain_group

#: where objects carry the mark of a unit; None if that is not known
PlacesOf: TypeAlias = Callable[[str], tuple[Place, ...] | None]


def _unknown(_unit_id: str) -> tuple[Place, ...] | None:
    return None


class ShardStore:
    """The units of one shard."""

    def __init__(
        self,
        records: RecordStore,
        shard: Shard,
        busy: Mapping[str, Lease] | None = None,
        *,
        heard: Callable[[UnitNews], None] | None = None,
    ) -> None:
        """Take the records, and by their names the leases of apps that somebody was at work on.

        `heard` is told whatever the engine is told.
        """
        self._records = records
        self._shard = shard
        self._busy = dict(busy or {})
        self._heard = heard
        self._told: set[str] = set()
        #: units that are not ours to touch, and why
        self.left: dict[str, str] = {}
        self._places_of: PlacesOf = _unknown

    def learn_places(self, places_of: PlacesOf) -> None:
        """Have records that do not know the places of their units learn them, whenever they are written."""
        self._places_of = places_of

    async def list(self) -> tuple[SyncUnit, ...]:
        """Every unit of the shard that we keep."""
        return tuple(unit for unit in await self._records.list() if self._is_ours(unit))

    async def get(self, unit_id: str) -> SyncUnit:
        """One unit."""
        return await self._records.get(unit_id)

    async def create(self, unit: SyncUnit) -> SyncUnit:
        """Add a unit."""
        return await self._records.create(unit)

    async def update(self, unit: SyncUnit) -> SyncUnit:
        """Change what is wanted of a unit."""
        return await self._records.update(unit)

    async def delete(self, unit_id: str, *, is_empty: bool = False) -> None:
        """Forget a unit; its objects stay as they are, unless it `is_empty`."""
        await self._records.delete(unit_id, is_empty=is_empty)

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        """Record how a unit stands."""
        return await self._records.amend(
            unit_id, lambda stored: self._with_places(with_status(stored, status))
        )

    async def set_operation(
        self, unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        """Ask something of a unit, or record that it is done."""
        return await self._records.amend(
            unit_id, lambda stored: self._with_places(with_operation(stored, operation, status))
        )

    def _with_places(self, unit: SyncUnit) -> SyncUnit:
        """The unit, and where its objects are if that was not recorded; what it is about to write counts."""
        if unit.places is not None:
            return unit
        try:
            return replace(unit, places=widened(self._places_of(unit.id), unit.status))
        except TrimtabError:  # its cluster cannot be read now
            return unit

    async def amend(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        """Change a unit's pause, pin or operation by what they are now."""
        return await self._records.amend(unit_id, change)

    async def follow(self, told: Callable[[UnitNews], None]) -> None:
        """Tell of the units of the shard, then of every change."""

        def tell(news: UnitNews) -> None:
            if self._heard is not None:
                self._heard(news)
            told(news)

        async with plain_group() as group:
            await self._records.follow(lambda news: self._hear(news, tell, group))

    def _hear(self, news: UnitNews, told: Callable[[UnitNews], None], group: asyncio.TaskGroup) -> None:
        match news:
            case Stored(unit=unit) if self._shard.has(unit.id):
                self._hear_unit(unit, told, group)
            case Gone(id=unit_id) if self._shard.has(unit_id):
                self._drop(unit_id, told)
                self.left.pop(unit_id, None)
            case Unreadable(id=unit_id) if self._shard.has(unit_id):
                told(news)
            case Stored() | Gone() | Unreadable():
                return
            case _:
                told(news)

    def _hear_unit(self, unit: SyncUnit, told: Callable[[UnitNews], None], group: asyncio.TaskGroup) -> None:
        if not is_kept(unit):
            self._drop(unit.id, told)
            self.left[unit.id] = "it comes from a folder of somebody's machine, who syncs it from there"
            return
        if app_lease(unit.id) in self._busy:
            if self.left.get(unit.id) != _BUSY:
                self.left[unit.id] = _BUSY
                group.create_task(self._wait_for_owner(unit.id, told, group))
            return
        self.left.pop(unit.id, None)
        self._told.add(unit.id)
        told(Stored(unit))

    def _drop(self, unit_id: str, told: Callable[[UnitNews], None]) -> None:
        if unit_id in self._told:
            self._told.remove(unit_id)
            told(Gone(unit_id))

    async def _wait_for_owner(
        self, unit_id: str, told: Callable[[UnitNews], None], group: asyncio.TaskGroup
    ) -> None:
        """Tell of a unit as its owner left it, once he is done."""
        await self._busy[app_lease(unit_id)].freed()
        del self._busy[app_lease(unit_id)]
        try:
            unit = await self._records.get(unit_id)
        except UnitMissing:
            self.left.pop(unit_id, None)
            return
        self._hear_unit(unit, told, group)

    def _is_ours(self, unit: SyncUnit) -> bool:
        return self._shard.has(unit.id) and is_kept(unit)


_BUSY = "somebody works on it from a command line"

"""The units as an engine knows them, and the one way by which it changes how they stand.

Comparing and syncing go on at the same time and both change a unit's status, so a change is a function of the
status as it is now, made at once in memory; writing follows, one at a time per unit, and whatever changed
meanwhile goes into the next writing. There is one ledger per engine and one engine per unit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from trimtab.engine.operations import Operation
from trimtab.engine.units import SyncUnit, SyncUnitStore, UnitMissing, UnitStatus


class _Page:
    """One unit: as it is known, what is stored of its status, and whether it is being written."""

    __slots__ = ("is_being_written", "saved", "unit", "written")

    def __init__(self, unit: SyncUnit) -> None:
        self.unit = unit
        self.saved = unit.status
        self.is_being_written = False
        #: there only if somebody waits for the writing under way to end
        self.written: asyncio.Event | None = None

    @property
    def is_dirty(self) -> bool:
        status = self.unit.status
        if status is self.saved:
            return False
        return replace(self.saved, reconciled_at=status.reconciled_at) != status

    async def end_of_writing(self) -> None:
        """Return when the writing under way has ended."""
        if self.written is None:
            self.written = asyncio.Event()
        await self.written.wait()

    def end_writing(self) -> None:
        """Have the writing be over, and tell whoever waits for that."""
        self.is_being_written = False
        if self.written is not None:
            self.written.set()
            self.written = None


class Ledger:
    """Units by their ids."""

    def __init__(self, store: SyncUnitStore) -> None:
        self._store = store
        self._pages: dict[str, _Page] = {}

    def __iter__(self) -> Iterator[SyncUnit]:
        return (page.unit for page in list(self._pages.values()))

    def __len__(self) -> int:
        return len(self._pages)

    def __contains__(self, unit_id: object) -> bool:
        return unit_id in self._pages

    def get(self, unit_id: str) -> SyncUnit | None:
        """The unit as it is known now."""
        page = self._pages.get(unit_id)
        return None if page is None else page.unit

    def hear(self, stored: SyncUnit) -> SyncUnit | None:
        """Take in what the store tells; the answer is the unit as it was known before."""
        page = self._pages.get(stored.id)
        if page is None:
            self._pages[stored.id] = _Page(stored)
            return None
        before = page.unit
        is_ours = stored.status is before.status  # what we have just written comes back as it is
        page.unit = stored if is_ours else _heard(before, stored, is_dirty=page.is_dirty)
        page.saved = stored.status
        return before

    def forget(self, unit_id: str) -> SyncUnit | None:
        """Take in that a unit is gone; the answer is the unit as it was known."""
        page = self._pages.pop(unit_id, None)
        return None if page is None else page.unit

    async def change(self, unit_id: str, change: Callable[[UnitStatus], UnitStatus]) -> SyncUnit:
        """Change a unit's status and have it stored; what changes nothing is not stored.

        When a unit was looked at last is stored along with the next real change.
        """
        self.note(unit_id, change)
        page = self._page(unit_id)
        await self._store_page(page)
        return page.unit

    def note(self, unit_id: str, change: Callable[[UnitStatus], UnitStatus]) -> None:
        """Change what may be lost with the process: it is stored along with the next change."""
        page = self._page(unit_id)
        page.unit = replace(page.unit, status=change(page.unit.status))

    async def conclude(self, unit_id: str, change: Callable[[UnitStatus], UnitStatus]) -> SyncUnit:
        """Change a unit's status, and record in the same writing that what was asked of it is done."""
        self.note(unit_id, change)
        page = self._page(unit_id)
        while page.is_being_written:
            await page.end_of_writing()
        self.hear(await self._write(page, done=True))
        return page.unit

    async def ask(self, unit_id: str, operation: Operation | None) -> SyncUnit:
        """Ask something of a unit, or record that it is done."""
        page = self._page(unit_id)
        await self._store_page(page)
        self.hear(await self._store.set_operation(unit_id, operation))
        return page.unit

    async def _store_page(self, page: _Page) -> None:
        while page.is_dirty:
            if page.is_being_written:
                await page.end_of_writing()
                continue
            await self._write(page, done=False)

    async def _write(self, page: _Page, *, done: bool) -> SyncUnit:
        unit_id, status = page.unit.id, page.unit.status
        page.is_being_written = True
        try:
            if done:
                stored = await self._store.set_operation(unit_id, None, status=status)
            else:
                stored = await self._store.set_status(unit_id, status)
            page.saved = status
            return stored
        finally:
            page.end_writing()

    def _page(self, unit_id: str) -> _Page:
        page = self._pages.get(unit_id)
        if page is None:
            raise UnitMissing(f"unit {unit_id}", "there is no such unit", "Create it")
        return page


def _heard(known: SyncUnit, stored: SyncUnit, *, is_dirty: bool) -> SyncUnit:
    """What is wanted and asked as it is stored; how it stands as it is known here, if that is newer."""
    if not is_dirty:
        looked_at = known.status.reconciled_at
        if stored.status.reconciled_at == looked_at:
            return stored
        return replace(stored, status=replace(stored.status, reconciled_at=looked_at))
    is_new = stored.operation is not None and known.operation is None
    status = replace(known.status, operation_state=None) if is_new else known.status
    return replace(stored, status=status)

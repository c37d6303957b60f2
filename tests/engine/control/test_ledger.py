"""The ledger: changes of a status made at the same time all count, and nothing is stored in vain."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from trimtab.engine.control.ledger import Ledger
from trimtab.engine.operations import Operation, OperationState
from trimtab.engine.rows import Verdict
from trimtab.engine.stores import MemoryStore
from trimtab.engine.units import Destination, SyncUnit, UnitMissing, UnitStatus
from trimtab.errors import StoreUnavailable

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
WEB = SyncUnit(id="web", source={}, destination=Destination(cluster="prod"))
STATE = OperationState(operation=Operation(), started_at=NOW)


class SlowStore(MemoryStore):
    """A store that writes a status only when it is let to, and may fail."""

    def __init__(self, unit: SyncUnit) -> None:
        super().__init__([unit])
        self.writes: list[UnitStatus] = []
        self.may_write = asyncio.Event()
        self.fails = False

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        await self.may_write.wait()
        if self.fails:
            raise StoreUnavailable("the store", "the disk is full")
        self.writes.append(status)
        return await super().set_status(unit_id, status)


def opened(unit: SyncUnit = WEB) -> tuple[SlowStore, Ledger]:
    store = SlowStore(unit)
    ledger = Ledger(store)
    ledger.hear(unit)
    return store, ledger


async def test_changes_at_the_same_time_all_count_and_share_a_writing() -> None:
    store, ledger = opened()
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.change("web", lambda status: replace(status, verdict=Verdict.SYNCED)))
        group.create_task(ledger.change("web", lambda status: replace(status, revision="r1")))
        group.create_task(ledger.change("web", lambda status: replace(status, operation_state=STATE)))
        await asyncio.sleep(0)
        store.may_write.set()
    stored = (await store.get("web")).status
    assert stored == UnitStatus(verdict=Verdict.SYNCED, revision="r1", operation_state=STATE)
    assert len(store.writes) == 2


async def test_a_look_that_changed_nothing_is_not_stored_by_itself() -> None:
    store, ledger = opened()
    store.may_write.set()
    looked = await ledger.change("web", lambda status: replace(status, reconciled_at=NOW))
    assert (looked.status.reconciled_at, store.writes) == (NOW, [])
    await ledger.change("web", lambda status: replace(status, revision="r1"))
    assert store.writes == [UnitStatus(revision="r1", reconciled_at=NOW)]


async def test_what_could_not_be_stored_is_stored_with_the_next_change() -> None:
    store, ledger = opened()
    store.may_write.set()
    store.fails = True
    with pytest.raises(StoreUnavailable):
        await ledger.change("web", lambda status: replace(status, revision="r1"))
    store.fails = False
    await ledger.change("web", lambda status: replace(status, verdict=Verdict.SYNCED))
    assert (await store.get("web")).status == UnitStatus(revision="r1", verdict=Verdict.SYNCED)


async def test_what_is_only_noted_is_known_at_once_and_stored_with_the_next_change() -> None:
    store, ledger = opened()
    store.may_write.set()
    ledger.note("web", lambda status: replace(status, revision="r1"))
    known = ledger.get("web")
    assert known is not None
    assert (known.status.revision, store.writes) == ("r1", [])
    await ledger.change("web", lambda status: replace(status, verdict=Verdict.SYNCED))
    assert store.writes == [UnitStatus(revision="r1", verdict=Verdict.SYNCED)]


async def test_the_end_of_what_was_asked_is_stored_after_what_is_being_stored() -> None:
    store, ledger = opened(replace(WEB, operation=Operation()))
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.change("web", lambda status: replace(status, revision="r1")))
        await asyncio.sleep(0)
        end = group.create_task(ledger.conclude("web", lambda status: replace(status, operation_state=STATE)))
        await asyncio.sleep(0)
        assert not end.done()
        store.may_write.set()
    stored = await store.get("web")
    assert (stored.operation, stored.status) == (None, UnitStatus(revision="r1", operation_state=STATE))
    assert (end.result(), ledger.get("web")) == (stored, stored)


async def test_what_somebody_declares_while_a_status_waits_to_be_stored_counts_and_so_does_the_status() -> (
    None
):
    store, ledger = opened()
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.change("web", lambda status: replace(status, revision="r1")))
        await asyncio.sleep(0)
        before = ledger.hear(replace(WEB, source={"path": "other"}))
        store.may_write.set()
    unit = ledger.get("web")
    assert before is not None
    assert unit is not None
    assert (unit.source, unit.status.revision) == ({"path": "other"}, "r1")


async def test_asking_something_forgets_the_last_operation() -> None:
    store, ledger = opened(replace(WEB, status=UnitStatus(operation_state=STATE)))
    store.may_write.set()
    asked = await ledger.ask("web", Operation(prune=True))
    assert (asked.operation, asked.status.operation_state) == (Operation(prune=True), None)
    assert await store.get("web") == asked


async def test_a_unit_that_is_gone_is_missing() -> None:
    _, ledger = opened()
    assert ledger.forget("web") == WEB
    with pytest.raises(UnitMissing):
        await ledger.change("web", lambda status: status)
    assert (ledger.get("web"), list(ledger), len(ledger)) == (None, [], 0)

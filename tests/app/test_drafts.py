"""A draft shows the engine one unit, and leaves no trace before it is published."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from trimtab.app.drafts import DraftStore
from trimtab.engine import MemoryStore
from trimtab.engine.operations import Operation
from trimtab.engine.places import Place
from trimtab.engine.units import (
    AllTold,
    Deployed,
    Destination,
    Pause,
    Stored,
    SyncUnit,
    UnitHeld,
    UnitMissing,
    UnitNews,
    UnitStatus,
)
from trimtab.errors import Conflict, NotAllowed

SHOP = SyncUnit(id="shop", source={"folder": "/shop"}, destination=Destination(cluster="here"))
OTHER = replace(SHOP, id="other")


async def test_a_draft_is_published_with_what_was_found_out_about_it() -> None:
    draft, store = DraftStore(SHOP), MemoryStore([OTHER])
    looked = UnitStatus(revision="4f2c9e1")
    await draft.set_status("shop", looked)
    assert await store.list() == (OTHER,)
    await draft.publish(store)
    assert await store.get("shop") == replace(SHOP, status=looked)


async def test_after_publishing_everything_is_recorded() -> None:
    draft, store = DraftStore(SHOP), MemoryStore()
    await draft.publish(store)
    await draft.set_operation("shop", Operation(revision="main"))
    await draft.set_status("shop", UnitStatus(revision="main"))
    assert await store.get("shop") == await draft.get("shop")
    assert (await store.get("shop")).operation == Operation(revision="main")


async def test_what_somebody_began_meanwhile_is_neither_forgotten_nor_overwritten() -> None:
    begun = replace(SHOP, operation=Operation(revision="main"), status=UnitStatus(revision="main"))
    store = MemoryStore([begun])
    with pytest.raises(Conflict, match="somebody began a sync of it meanwhile"):
        await DraftStore(replace(SHOP, source={"folder": "/elsewhere"})).publish(store)
    assert await store.get("shop") == begun


async def test_an_app_that_was_paused_meanwhile_is_not_touched() -> None:
    paused = replace(SHOP, paused=Pause(reason="migration", by="bob"))
    store = MemoryStore([paused])
    with pytest.raises(UnitHeld, match=r"paused by bob: migration\. Let it go on with: trimtab resume shop"):
        await DraftStore(replace(SHOP, source={"folder": "/elsewhere"})).publish(store)
    assert await store.get("shop") == paused


async def test_publishing_keeps_what_others_recorded_since_the_draft_was_made() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    deployed = Deployed(id=1, revision="main", source={}, started_at=noon, deployed_at=noon)
    store = MemoryStore([replace(SHOP, status=UnitStatus(history=(deployed,)))])
    draft = DraftStore(SHOP)
    await draft.set_status("shop", UnitStatus(revision="newer"))
    published = await draft.publish(store)
    assert (published.status.revision, published.status.history) == ("newer", (deployed,))


class Counting(MemoryStore):
    """A store that counts what is asked of it."""

    asked = 0

    async def update(self, unit: SyncUnit) -> SyncUnit:
        self.asked += 1
        return await super().update(unit)

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        self.asked += 1
        return await super().set_status(unit_id, status)


@pytest.mark.parametrize(
    ("wanted", "status", "asked"),
    [
        (SHOP, UnitStatus(), 0),
        (SHOP, UnitStatus(revision="newer"), 1),
        (replace(SHOP, source={"folder": "/elsewhere"}), UnitStatus(revision="newer"), 2),
    ],
)
async def test_publishing_asks_for_what_changes_and_for_nothing_else(
    wanted: SyncUnit, status: UnitStatus, asked: int
) -> None:
    draft, store = DraftStore(wanted), Counting([SHOP])
    await draft.set_status("shop", status)
    published = await draft.publish(store)
    assert (published, store.asked) == (replace(wanted, status=status), asked)
    assert await store.get("shop") == await draft.get("shop") == published


async def test_after_finishing_what_somebody_began_the_wish_of_now_is_a_draft_again() -> None:
    store = MemoryStore([replace(SHOP, operation=Operation())])
    wish = replace(SHOP, source={"folder": "/elsewhere"})
    draft = DraftStore(wish)
    await draft.resume(store)
    await draft.set_operation("shop", None)
    draft.redraft(wish)
    assert (await draft.get("shop")).source == wish.source
    assert (await store.get("shop")).source == SHOP.source


async def test_resuming_brings_back_what_was_asked() -> None:
    asked = Operation(revision="main")
    store = MemoryStore([replace(SHOP, operation=asked)])
    draft = DraftStore(SHOP)
    assert (await draft.resume(store)).operation == asked


async def test_what_others_recorded_is_covered_before_anybody_hears_of_it() -> None:
    store, told = MemoryStore([replace(SHOP, places=(Place("", "Secret"),))]), list[object]()

    async def covered(unit: SyncUnit) -> None:
        told.append(unit.places)

    draft = DraftStore(SHOP, covered)
    async with asyncio.TaskGroup() as group:
        following = group.create_task(draft.follow(lambda news: told.append(type(news))))
        await asyncio.sleep(0)
        await draft.resume(store)
        await draft.publish(store)
        following.cancel()
    assert told == [Stored, AllTold, (Place("", "Secret"),), Stored, (Place("", "Secret"),)]


async def test_followers_hear_of_the_one_unit_and_of_every_change() -> None:
    draft, news = DraftStore(SHOP), list[UnitNews]()
    async with asyncio.TaskGroup() as group:
        following = group.create_task(draft.follow(news.append))
        await asyncio.sleep(0)
        now = await draft.set_status("shop", UnitStatus(revision="main"))
        await draft.set_status("shop", UnitStatus(revision="main"))
        following.cancel()
    assert news == [Stored(SHOP), AllTold(), Stored(now)]


async def test_nothing_else_is_seen_made_or_deleted_through_a_draft() -> None:
    draft = DraftStore(SHOP)
    assert await draft.list() == (SHOP,)
    with pytest.raises(UnitMissing):
        await draft.get("other")
    with pytest.raises(NotAllowed):
        await draft.create(OTHER)
    with pytest.raises(NotAllowed):
        await draft.delete("shop")

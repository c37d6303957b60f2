"""A draft shows the engine one unit, and leaves no trace before it is published."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from trimtab.app.drafts import DraftStore
from trimtab.engine import MemoryStore
from trimtab.engine.operations import Operation
from trimtab.engine.units import (
    AllTold,
    Destination,
    OperationUnderWay,
    Stored,
    SyncUnit,
    UnitMissing,
    UnitNews,
    UnitStatus,
)
from trimtab.errors import NotAllowed

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


async def test_publishing_over_an_operation_of_somebody_else_does_not_forget_it() -> None:
    asked = Operation(revision="main")
    store = MemoryStore([replace(SHOP, operation=asked)])
    draft = DraftStore(replace(SHOP, source={"folder": "/elsewhere"}))
    published = await draft.publish(store)
    assert (published.source, published.operation) == ({"folder": "/elsewhere"}, asked)
    with pytest.raises(OperationUnderWay):
        await draft.set_operation("shop", Operation(revision="other"))


async def test_resuming_brings_back_what_was_asked() -> None:
    asked = Operation(revision="main")
    store = MemoryStore([replace(SHOP, operation=asked)])
    draft = DraftStore(SHOP)
    assert (await draft.resume(store)).operation == asked


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

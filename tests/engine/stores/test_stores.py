"""One contract for every store: what is written is read, what is refused is refused, and changes are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from trimtab.apiserver import MemoryCluster
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import (
    HookRun,
    Operation,
    OperationPhase,
    OperationState,
    StepResult,
    SyncPhase,
)
from trimtab.engine.rows import Verdict
from trimtab.engine.stores import FileStore, Keyring, MemoryStore, RecordStore
from trimtab.engine.stores.changing import resumed, with_pause, with_pin, without_left
from trimtab.engine.units import (
    AllTold,
    Automated,
    Condition,
    ConditionType,
    Deployed,
    Destination,
    Gone,
    OperationUnderWay,
    Pause,
    Pin,
    Policy,
    ResourceSummary,
    Stored,
    SyncUnit,
    SyncUnitStore,
    UnitExists,
    UnitHeld,
    UnitMissing,
    UnitNews,
    UnitStatus,
)
from trimtab.resources.keys import ResourceKey

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
KEY = ResourceKey("apps", "Deployment", "shop", "web")
KEYS = Keyring(b"k" * 32)

WEB = SyncUnit(
    id="shop/web",
    source={"repo": "https://git.example/shop", "path": "web", "flags": [1, True, None]},
    destination=Destination(cluster="prod", namespace="shop"),
    policy=Policy(automated=Automated(prune=True, self_heal=True), options=("CreateNamespace=true",)),
    tenant="shop",
)
API = SyncUnit(id="api", source="plain text", destination=Destination(cluster="prod"))
STATUS = UnitStatus(
    verdict=Verdict.OUT_OF_SYNC,
    health=Health(HealthStatus.DEGRADED, "web: 1 of 3"),
    health_since=NOW,
    revision="4f2c9e1",
    rendered="d1",
    resources=(ResourceSummary(key=KEY, version="v1", verdict=Verdict.OUT_OF_SYNC),),
    conditions=(Condition(type=ConditionType.SYNC, message="it failed", since=NOW),),
    operation_state=OperationState(
        operation=Operation(revision="4f2c9e1", prune=True),
        started_at=NOW,
        phase=OperationPhase.FAILED,
        results=(StepResult(key=KEY, sync_phase=SyncPhase.SYNC, message="no"),),
    ),
    history=(Deployed(id=1, revision="1", source={"a": 1}, started_at=NOW, deployed_at=NOW),),
    reconciled_at=NOW,
)
Opening = Callable[[], SyncUnitStore]


@pytest.fixture(params=["memory", "files", "records", "records in small chunks"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Opens the store again and again; what is kept in memory is one store for all."""
    cluster, memory = MemoryCluster(), MemoryStore()
    often = timedelta(milliseconds=20)
    stores: dict[str, Opening] = {
        "memory": lambda: memory,
        "files": lambda: FileStore(tmp_path / "units", look_every=often),
        "records": lambda: RecordStore(cluster, namespace="default", keys=KEYS),
        "records in small chunks": lambda: RecordStore(
            cluster, namespace="default", keys=KEYS, chunk_size=300
        ),
    }
    return stores[request.param]


@pytest.fixture
def store(opening: Opening) -> SyncUnitStore:
    return opening()


class Heard:
    """What a store told, and waiting for it."""

    def __init__(self) -> None:
        self.news: list[UnitNews] = []
        self._more = asyncio.Event()

    def __call__(self, news: UnitNews) -> None:
        self.news.append(news)
        self._more.set()

    async def until(self, holds: Callable[[list[UnitNews]], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds(self.news):
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def following(store: SyncUnitStore) -> AsyncIterator[Heard]:
    heard = Heard()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(store.follow(heard))
        await heard.until(lambda news: AllTold() in news)
        try:
            yield heard
        finally:
            task.cancel()


async def test_a_unit_is_read_as_it_was_created_even_by_the_next_process(opening: Opening) -> None:
    asked = replace(WEB, status=STATUS, operation=Operation(prune=True))
    assert await opening().create(asked) == asked
    assert await opening().get("shop/web") == asked


async def test_units_are_listed_in_the_order_of_their_ids(store: SyncUnitStore) -> None:
    await store.create(WEB)
    await store.create(API)
    assert await store.list() == (API, WEB)


async def test_an_id_is_taken_once(store: SyncUnitStore) -> None:
    await store.create(WEB)
    with pytest.raises(UnitExists, match="unit shop/web"):
        await store.create(replace(WEB, source="another"))
    assert await store.get("shop/web") == WEB


async def test_an_update_keeps_status_and_operation(store: SyncUnitStore) -> None:
    begun = Operation(revision="4f2c9e1", prune=True)
    await store.create(WEB)
    await store.set_operation("shop/web", begun)
    await store.set_status("shop/web", STATUS)
    wanted = replace(WEB, source="another", policy=Policy())
    updated = await store.update(wanted)
    assert updated == replace(wanted, status=STATUS, operation=begun)
    assert await store.get("shop/web") == updated


async def test_what_is_told_of_an_earlier_operation_is_no_news_of_the_one_asked_for_since(
    store: SyncUnitStore,
) -> None:
    """Whoever compares does not know what another process has just asked for: it must not pass for done."""
    again = Operation(revision="4f2c9e1", prune=True, asked_at=NOW)
    await store.create(replace(WEB, status=STATUS))
    await store.set_operation("shop/web", again)
    told = await store.set_status("shop/web", STATUS)
    assert told == replace(WEB, status=replace(STATUS, operation_state=None), operation=again)


async def test_a_status_is_read_as_it_was_set_even_by_the_next_process(opening: Opening) -> None:
    store = opening()
    await store.create(WEB)
    assert (await store.set_status("shop/web", STATUS)).status == STATUS
    assert (await opening().get("shop/web")) == replace(WEB, status=STATUS)


async def test_a_pause_and_a_pin_last_until_the_unit_is_resumed(opening: Opening) -> None:
    store = opening()
    await store.create(replace(WEB, status=STATUS))
    pin = Pin(entry=1, revision="4f2c9e1", reason="the new one crashes", by="ann", since=NOW)
    pause = Pause(reason="migration", by="bob", since=NOW)
    await store.amend("shop/web", with_pin(pin))
    await store.amend("shop/web", with_pause(pause))
    await store.update(replace(WEB, source="another"))
    found = await opening().get("shop/web")
    assert found == replace(WEB, source="another", status=STATUS, pinned=pin, paused=pause)
    with pytest.raises(UnitHeld, match="it is paused by bob since 2026-03-04 05:06 UTC: migration"):
        await store.amend("shop/web", with_pin(pin))
    await store.amend("shop/web", resumed)
    assert await opening().get("shop/web") == replace(WEB, source="another", status=STATUS)


async def test_asking_something_of_a_unit_forgets_the_last_operations_state(opening: Opening) -> None:
    store = opening()
    await store.create(replace(WEB, status=STATUS))
    asked = await store.set_operation("shop/web", Operation(revision="5"))
    assert asked.operation == Operation(revision="5")
    assert asked.status == replace(STATUS, operation_state=None)
    assert await opening().get("shop/web") == asked


async def test_a_busy_unit_takes_no_other_operation_until_it_is_done(store: SyncUnitStore) -> None:
    await store.create(WEB)
    await store.set_operation("shop/web", Operation(revision="5"))
    with pytest.raises(OperationUnderWay, match="another operation"):
        await store.set_operation("shop/web", Operation(revision="6"))
    done = await store.set_operation("shop/web", None)
    assert done.operation is None
    assert (await store.set_operation("shop/web", Operation(revision="6"))).operation == Operation(
        revision="6"
    )


async def test_the_end_of_an_operation_and_how_the_unit_stands_then_are_one_writing(
    opening: Opening,
) -> None:
    store = opening()
    await store.create(WEB)
    await store.set_operation("shop/web", Operation(revision="5"))
    done = await store.set_operation("shop/web", None, status=STATUS)
    assert (done.operation, done.status) == (None, STATUS)
    assert await opening().get("shop/web") == done


async def test_a_deleted_unit_is_gone(opening: Opening) -> None:
    store = opening()
    await store.create(replace(WEB, status=STATUS))
    await store.delete("shop/web")
    assert await opening().list() == ()
    assert (await store.create(WEB)) == WEB
    assert await opening().get("shop/web") == WEB


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.get("shop/web"),
        lambda store: store.update(WEB),
        lambda store: store.delete("shop/web"),
        lambda store: store.set_status("shop/web", STATUS),
        lambda store: store.set_operation("shop/web", Operation()),
        lambda store: store.amend("shop/web", resumed),
    ],
)
async def test_a_missing_unit_is_said_to_be_missing(
    store: SyncUnitStore, act: Callable[[SyncUnitStore], Awaitable[object]]
) -> None:
    with pytest.raises(UnitMissing, match="unit shop/web"):
        await act(store)


async def test_writers_at_the_same_time_lose_nothing(opening: Opening) -> None:
    store = opening()
    await store.create(WEB)
    async with asyncio.TaskGroup() as group:
        group.create_task(store.set_status("shop/web", STATUS))
        group.create_task(store.update(replace(WEB, source="another")))
    found = await opening().get("shop/web")
    assert (found.source, found.status) == ("another", STATUS)


async def test_whoever_follows_is_told_what_is_there_and_what_changes(store: SyncUnitStore) -> None:
    await store.create(API)
    async with following(store) as heard:
        assert heard.news == [Stored(API), AllTold()]
        await store.create(WEB)
        changed = await store.set_status("shop/web", STATUS)
        await store.delete("api")
        await heard.until(lambda news: Gone("api") in news)
        assert [news for news in heard.news[2:] if news != Gone("api")] == [Stored(WEB), Stored(changed)]


async def test_setting_what_is_there_already_tells_nobody(store: SyncUnitStore) -> None:
    await store.create(replace(WEB, status=STATUS))
    async with following(store) as heard:
        await store.set_status("shop/web", STATUS)
        await store.create(API)
        await heard.until(lambda news: Stored(API) in news)
        assert heard.news == [Stored(replace(WEB, status=STATUS)), AllTold(), Stored(API)]


async def test_what_an_operation_did_in_one_cluster_is_not_taken_for_done_in_another(
    opening: Opening,
) -> None:
    run = HookRun(key=ResourceKey("batch", "Job", "shop", "migrate"), sync_phase=SyncPhase.PRE_SYNC)
    state = OperationState(operation=Operation(prune=True), started_at=NOW, hooks=(run,))
    status = replace(STATUS, operation_state=state)
    asked = replace(WEB, status=status, operation=Operation(prune=True))
    store = opening()
    await store.create(asked)
    there = replace(WEB.destination, cluster="another")
    await store.update(replace(WEB, destination=there))
    moved = await store.get(WEB.id)
    assert (moved.destination, moved.operation) == (there, asked.operation)
    assert moved.status.operation_state is None
    # What may still be held where it was is remembered until somebody has let go of it, over restarts.
    (behind,) = moved.left
    assert (behind.cluster, behind.state.hooks) == (WEB.destination.cluster, (run,))
    assert (await opening().amend(WEB.id, without_left(behind))).left == ()

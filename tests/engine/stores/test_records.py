"""Units as records in a cluster: sealed, in pieces that fit, unharmed by crashes and by others who write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from testbed.controlplane import ControlPlane
from tests.engine.stores.test_stores import API, KEYS, NOW, STATUS, WEB, following
from tests.kube.world import connect_to
from trimtab.apiserver import MemoryCluster
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Verdict
from trimtab.engine.stores import Keyring, RecordStore
from trimtab.engine.stores.changing import resumed, with_pause
from trimtab.engine.stores.records import SECRETS, unit_hash
from trimtab.engine.units import (
    Gone,
    OperationUnderWay,
    Pause,
    ResourceSummary,
    Stored,
    SyncUnit,
    UnitMissing,
    UnitStatus,
    Unreadable,
)
from trimtab.errors import ClusterUnreachable, StoreUnavailable, TrimtabError
from trimtab.resources.keys import ResourceKey
from trimtab.tasks import ManualClock

CANARY = "canary-2718281828"
SMALL = 200


class Dies(Exception):
    """The process ends here."""


class Mortal:
    """A cluster of which this process sees the first so many writes, and then nothing any more."""

    def __init__(self, cluster: MemoryCluster, writes: int) -> None:
        self._cluster = cluster
        self._left = writes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        return self._counted(found) if name in {"create", "update", "delete"} else found

    def _counted(self, act: Any) -> Any:
        async def acting(*arguments: Any, **options: Any) -> Any:
            if self._left == 0:
                raise Dies
            self._left -= 1
            return await act(*arguments, **options)

        return acting


def records(cluster: Any, *, keys: Keyring = KEYS, chunk_size: int = SMALL) -> RecordStore:
    return RecordStore(cluster, namespace="default", keys=keys, chunk_size=chunk_size)


async def secrets(cluster: MemoryCluster) -> list[dict[str, Any]]:
    pages = cluster.list(SECRETS, namespace="default")
    return [each.manifest() async for page in pages for each in page.objects]


def large(objects: int) -> UnitStatus:
    summary = ResourceSummary(
        key=ResourceKey("", "ConfigMap", "a", "b"), version="v1", verdict=Verdict.SYNCED
    )
    names = (f"{number * 2654435761 % (1 << 32):x}" for number in range(objects))
    rows = (replace(summary, key=replace(summary.key, name=name)) for name in names)
    return replace(STATUS, resources=tuple(rows))


async def test_no_secret_shows_what_a_unit_holds() -> None:
    cluster = MemoryCluster()
    store = records(cluster)
    await store.create(replace(WEB, source={"password": CANARY}))
    await store.set_operation(WEB.id, Operation(asked_by=CANARY))
    assert CANARY not in str(await secrets(cluster))
    assert (await records(cluster).get(WEB.id)).source == {"password": CANARY}


async def test_a_large_unit_is_kept_in_pieces_that_fit() -> None:
    cluster = MemoryCluster()
    store = records(cluster, chunk_size=16 << 10)
    await store.create(replace(WEB, status=large(5000)))
    sizes = [len(each["data"].get("content", "")) for each in await secrets(cluster)]
    assert len(sizes) > 2
    assert max(sizes) < 1.4 * (16 << 10)
    assert (await records(cluster).get(WEB.id)).status == large(5000)


async def survives(cluster: MemoryCluster, writes: int) -> bool:
    """Whether a process that dies after so many writes records the status."""
    try:
        await records(Mortal(cluster, writes)).set_status(WEB.id, STATUS)
    except (Dies, ExceptionGroup):
        return False
    return True


async def test_a_crash_between_any_two_writes_leaves_the_old_unit_or_the_new_one() -> None:
    found = []
    for writes in range(100):
        cluster = MemoryCluster()
        await records(cluster).create(WEB)
        if await survives(cluster, writes):
            break
        found.append(await records(cluster).get(WEB.id))
        assert await records(cluster).set_status(WEB.id, STATUS) == replace(WEB, status=STATUS)
        assert await records(cluster).get(WEB.id) == replace(WEB, status=STATUS)
    olds = found.count(WEB)
    assert found == [WEB] * olds + [replace(WEB, status=STATUS)] * (len(found) - olds)
    assert len(found) > olds > 3


async def test_what_a_crash_left_is_collected_when_it_is_old_enough() -> None:
    clock = ManualClock(NOW)
    cluster = MemoryCluster(clock=clock)
    await records(cluster).create(WEB)
    with pytest.raises((Dies, ExceptionGroup)):
        await records(Mortal(cluster, 2)).set_status(WEB.id, STATUS)
    store = RecordStore(cluster, namespace="default", keys=KEYS, clock=clock)
    before = len(await secrets(cluster))
    assert await store.collect_garbage(timedelta(hours=1)) == 0
    await clock.advance(3601)
    assert await store.collect_garbage(timedelta(hours=1)) == 2
    assert len(await secrets(cluster)) == before - 2
    assert await store.get(WEB.id) == WEB


async def test_nothing_is_left_of_what_was_replaced_or_deleted() -> None:
    cluster = MemoryCluster()
    store = records(cluster)
    before = len(await secrets(cluster))
    await store.create(WEB)
    for objects in (50, 5, 100):
        await store.set_status(WEB.id, large(objects))
    await store.set_status(WEB.id, UnitStatus())
    alone = len(await secrets(cluster))
    await store.delete(WEB.id, is_empty=True)
    assert (alone - before < 5, len(await secrets(cluster))) == (True, before)


async def test_a_unit_that_is_forgotten_while_objects_of_it_stay_leaves_a_trace_until_it_is_empty() -> None:
    cluster = MemoryCluster()
    store = records(cluster)
    await store.create(WEB)
    await store.delete(WEB.id)
    assert (await store.list(), await store.has_trace(WEB.id), await store.has_trace("other")) == (
        (),
        True,
        False,
    )
    await store.create(WEB)
    await store.delete(WEB.id, is_empty=True)
    assert await store.has_trace(WEB.id) is False


async def test_of_two_processes_the_second_reads_again_before_it_writes() -> None:
    cluster = MemoryCluster()
    one, two = records(cluster), records(cluster)
    await one.create(WEB)
    await two.get(WEB.id)
    await one.set_status(WEB.id, STATUS)
    await two.update(replace(WEB, source="another"))
    assert await one.get(WEB.id) == replace(WEB, source="another", status=STATUS)


async def test_many_processes_writing_at_once_lose_nothing() -> None:
    cluster = MemoryCluster()
    await records(cluster).create(WEB)
    async with asyncio.TaskGroup() as group:
        group.create_task(records(cluster).update(replace(WEB, source="another")))
        group.create_task(records(cluster).set_status(WEB.id, STATUS))
        group.create_task(records(cluster).set_operation(WEB.id, Operation(revision="5")))
    found = await records(cluster).get(WEB.id)
    assert (found.source, found.operation) == ("another", Operation(revision="5"))
    assert found.status in (STATUS, replace(STATUS, operation_state=None))


async def test_what_another_process_writes_is_told() -> None:
    cluster = MemoryCluster()
    store = records(cluster)
    async with following(store) as heard:
        await records(cluster).create(replace(WEB, status=large(40)))
        await heard.until(lambda news: Stored(replace(WEB, status=large(40))) in news)


async def test_a_record_sealed_with_an_unknown_key_is_told_and_stays_alone() -> None:
    cluster = MemoryCluster()
    await records(cluster, keys=Keyring(b"x" * 32)).create(WEB)
    await records(cluster).create(API)
    async with following(records(cluster)) as heard:
        broken = [news for news in heard.news if isinstance(news, Unreadable)]
        assert [(each.id, "not in the ring" in each.error.reason) for each in broken] == [(WEB.id, True)]
        assert Stored(API) in heard.news
    assert await records(cluster).list() == (API,)


async def test_a_record_whose_pieces_somebody_deleted_is_not_an_empty_unit() -> None:
    cluster = MemoryCluster()
    await records(cluster).create(replace(WEB, status=large(40)))
    for each in await secrets(cluster):
        if each["metadata"]["labels"]["trimtab.dev/record"] == "chunk":
            await cluster.delete(SECRETS, each["metadata"]["name"], namespace="default")
    with pytest.raises(StoreUnavailable, match="parts of its record are gone"):
        await records(cluster).get(WEB.id)


class Unheard:
    """A cluster that does what it is told and whose answer to the first update is lost."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def update(self, *arguments: Any, **options: Any) -> Any:
        written = await self._cluster.update(*arguments, **options)
        if not self._lost:
            self._lost = True
            raise ClusterUnreachable("update Secret", "the connection was cut")
        return written


async def test_an_update_whose_answer_is_lost_keeps_its_pieces() -> None:
    cluster = MemoryCluster()
    store = records(Unheard(cluster))
    await store.create(WEB)
    with pytest.raises(ClusterUnreachable):
        await store.set_status(WEB.id, STATUS)
    assert await store.get(WEB.id) == replace(WEB, status=STATUS)
    unit: SyncUnit = await store.set_status(WEB.id, UnitStatus())
    assert await records(cluster).get(WEB.id) == unit


@pytest.mark.real
async def test_a_real_server_keeps_records_as_the_one_in_memory_does(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with connect_to(control_plane) as cluster:

        def opened() -> RecordStore:
            return RecordStore(cluster, namespace=namespace, keys=KEYS, chunk_size=16 << 10)

        one, two = opened(), opened()
        await one.create(replace(WEB, status=large(5000)))
        assert (await two.get(WEB.id)).status == large(5000)
        await one.set_status(WEB.id, STATUS)
        await two.update(replace(WEB, source="another"))
        assert await opened().get(WEB.id) == replace(WEB, source="another", status=STATUS)
        async with following(one) as heard:
            await two.set_operation(WEB.id, Operation(revision="5"))
            asked = await two.get(WEB.id)
            await heard.until(lambda news: Stored(asked) in news)
        assert await one.collect_garbage(timedelta(0)) == 0
        await one.delete(WEB.id)
        assert await opened().list() == ()


class Busy:
    """A cluster that turns away every new Secret."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def create(self, *_arguments: Any, **_options: Any) -> Any:
        raise ClusterUnreachable("create Secret", "too many requests")


async def test_a_server_that_is_too_busy_for_the_pieces_says_so_as_for_any_other_write() -> None:
    cluster = MemoryCluster()
    await records(cluster).create(WEB)
    with pytest.raises(ClusterUnreachable, match="too many requests"):
        await records(Busy(cluster)).set_status(WEB.id, large(40))


class Overtaken:
    """A cluster where somebody else works between the answer to a list and what is made of it."""

    def __init__(self, cluster: MemoryCluster, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self._cluster, self._meanwhile = cluster, meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def list(self, *arguments: Any, **options: Any) -> Any:
        async for page in self._cluster.list(*arguments, **options):
            await self._meanwhile()
            yield page


async def test_a_list_shows_what_replaced_a_record_whose_pieces_went_while_it_was_read() -> None:
    cluster = MemoryCluster()
    await records(cluster).create(replace(WEB, status=large(40)))
    await records(cluster).create(API)
    other = records(cluster)
    busy = Overtaken(cluster, lambda: other.set_status(WEB.id, large(50)))
    assert await records(busy).list() == (API, replace(WEB, status=large(50)))
    gone = Overtaken(cluster, lambda: records(cluster).delete(WEB.id))
    assert await records(gone).list() == (API,)


async def test_a_list_tells_of_a_record_whose_pieces_are_gone_and_shows_the_others() -> None:
    cluster = MemoryCluster()
    await records(cluster).create(replace(WEB, status=large(40)))
    await records(cluster).create(API)
    for each in await secrets(cluster):
        if each["metadata"]["name"].startswith(f"trimtab-unit-{unit_hash(WEB.id)}-"):
            await cluster.delete(SECRETS, each["metadata"]["name"], namespace="default")
    broken: list[TrimtabError] = []
    assert await records(cluster).list(broken.append) == (API,)
    assert [each.reason for each in broken] == ["parts of its record are gone"]


PAUSE = Pause(reason="a look", by="ada", since=NOW)


async def test_nothing_is_decided_by_what_a_process_remembers_of_a_record() -> None:
    cluster = MemoryCluster()
    one, two = records(cluster), records(cluster)
    await one.create(replace(WEB, operation=Operation(revision="4")))
    await two.amend(WEB.id, with_pause(PAUSE))
    assert (await one.amend(WEB.id, resumed)).paused is None
    assert (await records(cluster).get(WEB.id)).paused is None
    await two.set_operation(WEB.id, None)
    await one.set_operation(WEB.id, Operation(revision="5"))
    assert (await records(cluster).get(WEB.id)).operation == Operation(revision="5")


class Late:
    """A cluster that tells of changes later than it could."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self.tells = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    @asynccontextmanager
    async def watch(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        async with self._cluster.watch(*arguments, **options) as events:
            yield self._late(events)

    async def _late(self, events: Any) -> AsyncIterator[Any]:
        async for event in events:
            await self.tells.wait()
            yield event


async def test_what_a_follower_learns_by_reading_is_told_as_if_it_had_been_heard() -> None:
    cluster = MemoryCluster()
    late = Late(cluster)
    one, two = records(late), records(cluster)
    await one.create(WEB)
    async with following(one) as heard:
        asked = await two.set_operation(WEB.id, Operation(revision="4"))
        with pytest.raises(OperationUnderWay):
            await one.set_operation(WEB.id, Operation(revision="5"))
        late.tells.set()
        await heard.until(lambda news: Stored(asked) in news)


async def test_a_unit_that_is_found_to_be_gone_while_it_is_changed_is_told_to_be_gone() -> None:
    cluster = MemoryCluster()
    late = Late(cluster)
    one = records(late)
    await one.create(WEB)
    async with following(one) as heard:
        await records(cluster).delete(WEB.id)
        with pytest.raises(UnitMissing):
            await one.set_status(WEB.id, STATUS)
        late.tells.set()
        await heard.until(lambda news: Gone(WEB.id) in news)


async def test_a_copy_of_a_record_under_another_name_is_no_unit() -> None:
    cluster = MemoryCluster()
    await records(cluster).create(WEB)
    (head,) = [
        each for each in await secrets(cluster) if each["metadata"]["name"].startswith("trimtab-unit")
    ][:1]
    copy = {**head, "metadata": {**head["metadata"], "name": "copy"}}
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        copy["metadata"].pop(name, None)
    async with following(records(cluster, chunk_size=1 << 20)) as heard:
        await cluster.create(SECRETS, copy, namespace="default")
        await heard.until(lambda news: any(isinstance(each, Unreadable) for each in news))
        await cluster.delete(SECRETS, "copy", namespace="default")
        await records(cluster).create(API)
        await heard.until(lambda news: Stored(API) in news)
        assert Gone(WEB.id) not in heard.news
    assert await records(cluster).list() == (API, WEB)


async def test_garbage_is_as_old_as_the_server_says_whatever_our_own_clock_does() -> None:
    ours, servers = ManualClock(NOW + timedelta(hours=2)), ManualClock(NOW)
    cluster = MemoryCluster(clock=servers)
    await records(cluster).create(WEB)
    with pytest.raises((Dies, ExceptionGroup)):
        await records(Mortal(cluster, 2)).set_status(WEB.id, STATUS)
    store = RecordStore(cluster, namespace="default", keys=KEYS, clock=ours)
    assert await store.collect_garbage(timedelta(hours=1)) == 0, "somebody may be about to name them"
    await servers.advance(3601)
    assert await store.collect_garbage(timedelta(hours=1)) == 2

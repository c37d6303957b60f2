"""When an engine is ended, nothing that it began lands afterwards: somebody else may be at work by then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from tests.engine.stage import Stage, config_map
from trimtab.apiserver import MemoryCluster
from trimtab.engine import FileStore
from trimtab.engine.units import ClusterEntry, Destination, SyncUnit, UnitMissing, UnitStatus
from trimtab.errors import Unavailable
from trimtab.kube.cluster import Cluster


class Slow:
    """A cluster that takes its time over writes, and goes on with them when nobody listens any more."""

    def __init__(self) -> None:
        self._inner = MemoryCluster()
        self.asked: list[str] = []
        self.told: list[str] = []
        self.news = asyncio.Event()
        self.gate = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def apply(self, resource: Any, name: str, body: Any, **options: Any) -> Any:
        self.asked.append(name)
        self.news.set()
        await self.gate.wait()
        written = await self._inner.apply(resource, name, body, **options)
        self.told.append(name)
        return written

    async def until_asked(self, count: int) -> None:
        while len(self.asked) < count:
            self.news.clear()
            await self.news.wait()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Cluster]:
        try:
            yield cast(Cluster, self)
        finally:
            self.told.append("the connection is closed")


async def test_writes_under_way_are_answered_before_an_engine_ends_and_no_other_begins() -> None:
    slow = Slow()
    stage = Stage(slow, "default")
    stage.clusters.put(ClusterEntry(name="here", connect=slow.connect))
    await stage.add("shop", *(config_map(f"c{number:02}") for number in range(40)))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(stage.engine.run(4, 4))
        await stage.engine.known()
        await stage.engine.start_sync("shop")
        await slow.until_asked(32)
        running.cancel()
        await asyncio.wait({running}, timeout=0.05)
        assert not running.done()
        slow.gate.set()
    assert len(slow.asked) == 32  # as many as go at once; the others were left
    assert sorted(slow.told[:-1]) == sorted(slow.asked)
    assert slow.told[-1] == "the connection is closed"


@asynccontextmanager
async def never() -> AsyncIterator[Cluster]:
    """A connection that does not come about."""
    await asyncio.Event().wait()
    yield cast(Cluster, None)


async def test_whoever_waits_for_an_engine_that_ends_is_told_so() -> None:
    slow = Slow()
    stage = Stage(slow, "default")
    stage.clusters.put(ClusterEntry(name="far", connect=never))
    await stage.add("shop", config_map("a"))
    await stage.add("far", destination=Destination(cluster="far"))
    engine = stage.engine
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run(4, 4))
        await engine.known()
        await engine.start_sync("shop")
        await slow.until_asked(1)
        waiting = [
            group.create_task(_error_of(engine.wait_for_sync("shop"))),
            group.create_task(_error_of(engine.refresh("far"))),
        ]
        await asyncio.sleep(0)
        running.cancel()
        slow.gate.set()
        async with asyncio.timeout(60):
            await asyncio.wait({running, *waiting})
    late = [await _error_of(engine.refresh("shop")), await _error_of(engine.wait_for_sync("shop"))]
    assert [type(error) for error in (*(each.result() for each in waiting), *late)] == [Unavailable] * 4


async def test_whoever_waits_for_a_unit_that_is_deleted_is_told_so() -> None:
    slow = Slow()
    stage = Stage(slow, "default")
    await stage.add("shop", config_map("a"))
    engine = stage.engine
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run(4, 4))
        await engine.known()
        await engine.start_sync("shop")
        await slow.until_asked(1)
        waiting = group.create_task(_error_of(engine.wait_for_sync("shop")))
        await asyncio.sleep(0)
        slow.gate.set()
        await stage.store.delete("shop")
        await asyncio.wait({waiting})
        running.cancel()
    assert isinstance(waiting.result(), UnitMissing)


async def _error_of(asked: Coroutine[Any, Any, Any]) -> Exception | None:
    try:
        async with asyncio.timeout(60):
            await asked
    except Exception as error:  # noqa: BLE001 - which one it is, is the question
        return error
    return None


async def test_a_file_that_is_being_written_is_there_before_its_writer_ends(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.create(SyncUnit(id="shop", source={}, destination=Destination(cluster="here")))
    for number in range(20):
        status = UnitStatus(revision=str(number))
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(store.set_status("shop", status))
            await asyncio.sleep(0)
            writing.cancel()
        (left,) = await FileStore(tmp_path).list()
        await store.list()  # what the first store still had to do is done by now
        (later,) = await FileStore(tmp_path).list()
        assert left == later

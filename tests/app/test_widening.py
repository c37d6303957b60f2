"""A source may move on while a part of the cluster is read: then all of it is, before it is compared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from tests.app.test_narrowing import Listened, secret, sync
from tests.app.world import World, config_map
from trimtab.app.appsources import HERE
from trimtab.app.widening import Widening
from trimtab.engine import Engine
from trimtab.engine.clusters import opened
from trimtab.engine.places import Place
from trimtab.engine.rows import Verdict
from trimtab.engine.stores.renders import MemoryArchive
from trimtab.engine.units import SyncUnit
from trimtab.kube.cluster import Cluster
from trimtab.resources.manifests import Found


async def test_what_a_source_comes_to_want_elsewhere_is_looked_for_before_it_is_compared() -> None:
    world = World()
    world.sources.declare("shop", config_map("one"))
    await sync(world)
    seen = Listened(world.cluster)
    apps = await world.apps(seen)
    async with apps.work_on(await world.unit("shop"), renders=True, narrowly=True, only_looks=True) as work:
        assert (await work.look()).status.verdict is Verdict.SYNCED
        assert set(seen.listed) == {("Namespace", ""), ("ConfigMap", "default")}
        before = await world.unit("shop")
        state = await world.sync("shop", config_map("one"), secret("two"))
        now = await work.look()
    assert (now.status.verdict, now.status.revision) == (Verdict.SYNCED, state.revision)
    assert now.status.revision != before.status.revision
    assert {each.key.name for each in now.status.resources} == {"one", "two"}
    assert {("Secret", ""), ("ConfigMap", ""), ("Node", "")} <= set(seen.listed)


async def test_what_a_source_comes_to_want_where_it_was_looked_for_costs_nothing() -> None:
    world = World()
    world.sources.declare("shop", config_map("one"))
    await sync(world)
    seen = Listened(world.cluster)
    apps = await world.apps(seen)
    async with apps.work_on(await world.unit("shop"), renders=True, narrowly=True, only_looks=True) as work:
        await work.look()
        world.sources.declare("shop", config_map("two"))
        assert (await work.look()).status.verdict is Verdict.OUT_OF_SYNC
    assert set(seen.listed) == {("Namespace", ""), ("ConfigMap", "default")}


class Slow:
    """An engine that is slow to read everything."""

    def __init__(self) -> None:
        self.asked, self.may_read = asyncio.Semaphore(0), asyncio.Event()

    async def read_all(self, _cluster: str) -> None:
        self.asked.release()
        await self.may_read.wait()


async def test_whoever_needs_more_waits_until_it_is_read_whoever_else_has_asked_for_it() -> None:
    world, engine = World(), Slow()
    unit, entry = await world.unit("shop"), opened(HERE, cast(Cluster, world.cluster), places=frozenset())
    reading = Widening(world.sources, MemoryArchive(), entry, lambda _unit, _wanted: None)
    reading.serve(cast(Engine, engine))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        covers = [group.create_task(reading.cover(unit)) for _ in range(2)]
        for _ in covers:
            await engine.asked.acquire()
        assert not any(each.done() for each in covers)
        engine.may_read.set()
    await reading.cover(unit)
    assert engine.asked.locked()


async def test_where_a_render_lies_is_found_out_once_and_a_units_own_places_each_time() -> None:
    world = World()
    world.sources.declare("shop", config_map("one"))
    unit, maps = await world.unit("shop"), Place("", "ConfigMap", "default")
    gone_through: list[int] = []

    def needs(unit: SyncUnit, wanted: Iterable[Found]) -> frozenset[Place] | None:
        found = len(tuple(wanted))
        gone_through.append(found)
        return None if unit.places is None else frozenset({*unit.places, *[maps] * found})

    entry = opened(HERE, cast(Cluster, world.cluster), places=frozenset({maps}))
    reading = Widening(world.sources, MemoryArchive(), entry, needs)
    for _ in range(2):
        await reading.generate(replace(unit, places=(maps,)), "")
    assert (gone_through, await reading.clusters.get_cluster(HERE)) == ([0, 1, 0], entry)
    await reading.generate(replace(unit, places=(maps, Place("", "Secret", "default"))), "")
    assert await reading.clusters.get_cluster(HERE) == replace(entry, places=None)

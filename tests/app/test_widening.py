"""A source may move on while a part of the cluster is read: then all of it is, before it is compared."""

from __future__ import annotations

from tests.app.test_narrowing import Listened, secret, sync
from tests.app.world import World, config_map
from trimtab.engine.rows import Verdict


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

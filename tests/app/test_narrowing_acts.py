"""`apply`, `rollback` and `terminate` read where their app is or shall be, and nothing is missed by that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.app.test_ending import GATE, sync_until_it_waits
from tests.app.test_narrowing import Listened, secret, sync
from tests.app.test_planfiles import apply, opened, planned
from tests.app.test_rollbacks import roll_back
from tests.app.world import AT_ONCE, Mortal, World, config_map, died
from trimtab.app.applying import work_for
from trimtab.app.apps import Apps, Work
from trimtab.app.deletion import WITHOUT_HOOKS, DeletionFailed
from trimtab.app.planfiles import PreconditionMoved
from trimtab.engine.control.policy import rollback
from trimtab.engine.operations import Operation, OperationPhase
from trimtab.engine.places import Place
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Pin, SyncUnit

MAPS, SECRETS, JOBS = ("ConfigMap", "default"), ("Secret", "default"), ("Job", "default")
SPACES, EVERYWHERE = ("Namespace", ""), ("Node", "")


async def without_place(world: World, kind: str) -> SyncUnit:
    """The app, whose record does not say that there ever was something of this kind."""
    records = (await world.apps()).records()

    def forgotten(stored: SyncUnit) -> SyncUnit:
        resources = tuple(each for each in stored.status.resources if each.key.kind != kind)
        return replace(
            stored,
            places=tuple(each for each in stored.places or () if each.kind != kind),
            status=replace(stored.status, resources=resources, operation_state=None),
        )

    return await records.amend("shop", forgotten)


def unheld(_holder: str) -> None:
    """Nobody else works on the app."""


# -- apply -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_known", [False, True], ids=["a new app", "an app that is there"])
async def test_a_stored_plan_is_carried_out_by_reading_where_it_writes(*, is_known: bool) -> None:
    world = World()
    if is_known:
        await world.sync("shop", config_map("one"))
    world.sources.declare("shop", config_map("one", "2"), secret("two"))
    file = await planned(world)
    seen = Listened(world.cluster)
    await apply(await world.apps(seen), file)
    assert set(seen.listed) == {SPACES, MAPS, SECRETS}
    assert (await world.values(), await world.names("Secret")) == ({"one": "2"}, ["two"])


async def test_what_a_stored_plan_wants_is_read_for_its_own_revision() -> None:
    world = World()
    await world.sync("shop", config_map("one"))
    world.sources.declare("shop", config_map("one", "2"))
    file = await planned(world)
    world.sources.declare("shop", config_map("one", "3"), secret("two"))
    seen = Listened(world.cluster)
    apps = await world.apps(seen)
    stored = opened(apps, file)
    async with work_for(apps, stored, await apps.find("shop")) as work:
        stored.check(await work.plan(stored.agreed()))
        assert set(seen.listed) == {SPACES, MAPS}


async def test_where_an_app_has_come_to_be_since_it_was_planned_is_read_as_well() -> None:
    world = World()
    await world.sync("shop", config_map("one"))
    world.sources.declare("shop", config_map("one", "2"))
    file = await planned(world)
    await world.sync("shop", config_map("one"), secret("two"))
    world.sources.declare("shop", config_map("one", "2"))
    with pytest.raises(PreconditionMoved, match="Secret default/two"):
        await apply(await world.apps(), file)


async def test_what_an_app_left_that_came_and_went_since_it_was_planned_is_looked_for() -> None:
    world = World()
    await world.sync("other", config_map("elsewhere"))
    world.sources.declare("shop", config_map("one"))
    file = await planned(world)
    await world.sync("shop", config_map("one"), secret("two"))
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        await work.abandon(held=unheld)
    world.sources.declare("shop", config_map("one"))
    with pytest.raises(PreconditionMoved, match="Secret default/two"):
        await apply(await world.apps(), file)


# -- rollback --------------------------------------------------------------------------------------------


async def two_versions() -> World:
    """An app that had a Secret once, and whose source is gone since."""
    world = World()
    await world.sync("shop", config_map("one", "old"), secret("two"))
    await world.sync("shop", config_map("one", "new"), prune=True)
    world.sources.is_down = True
    return world


async def test_an_app_goes_back_by_reading_where_it_was_and_is() -> None:
    world = await two_versions()
    seen = Listened(world.cluster)
    await roll_back(await world.apps(seen))
    assert set(seen.listed) == {SPACES, MAPS, SECRETS}
    assert (await world.values(), await world.names("Secret")) == ({"one": "old"}, ["two"])


async def test_everything_is_read_for_an_entry_that_is_no_longer_kept() -> None:
    world = await two_versions()
    world.sources.is_down = False
    await (await world.apps()).archive().drop("shop", ())
    seen = Listened(world.cluster)
    await roll_back(await world.apps(seen))
    assert EVERYWHERE in seen.listed
    assert await world.values() == {"one": "old"}


async def test_what_is_pinned_is_looked_at_by_reading_its_places() -> None:
    world = await two_versions()
    await roll_back(await world.apps())
    seen = Listened(world.cluster)
    apps, unit = await world.apps(seen), await world.unit("shop")
    async with apps.work_on(unit, renders=True, narrowly=True, only_looks=True) as work:
        assert (await work.differing()).objects == ()
        assert (await work.look()).status.verdict is Verdict.SYNCED
    assert set(seen.listed) == {SPACES, MAPS, SECRETS}


async def test_what_an_entry_wants_where_nobody_looked_has_everything_read_before_it_is_compared() -> None:
    world = await two_versions()
    await world.cluster.create(await world.resource("Secret"), secret("two"), namespace="default")
    unit = replace(await without_place(world, "Secret"), pinned=Pin(entry=1, revision="old"))
    seen = Listened(world.cluster)
    async with (await world.apps(seen)).work_on(unit, narrowly=True) as work:
        assert set(seen.listed) == {SPACES, MAPS}
        plan = await work.plan(rollback(unit, 1))
    assert EVERYWHERE in seen.listed
    # What is there already was seen: it is taken over, not made.
    assert [(each.key.name, bool(each.expected.uid)) for each in plan.steps] == [("two", True), ("one", True)]


async def test_a_kept_render_is_asked_for_once() -> None:
    world = await two_versions()
    asked: list[str] = []

    class Asked(Listened):
        async def get(self, resource: Any, name: str, **how: Any) -> Any:
            if name.startswith("trimtab-render"):
                asked.append(name)
            return await self._cluster.get(resource, name, **how)

    await roll_back(await world.apps(Asked(world.cluster)))
    assert len(asked) == 1


# -- terminate, and whatever else goes on with what was left ---------------------------------------------


async def waiting(world: World) -> None:
    """Have somebody begin a sync, come to its hook, and go."""
    waits = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        life = group.create_task(sync_until_it_waits(world, None, waits))
        await waits.wait()
        life.cancel()
    await world.bury()


async def end(apps: Apps) -> OperationPhase:
    async with apps.work_on(await apps.named("shop"), narrowly=True) as work:
        return (await work.end(held=unheld)).phase


@pytest.mark.parametrize("is_down", [False, True], ids=["with its source", "without it"])
async def test_what_was_left_is_ended_by_reading_where_it_wrote_or_would_have(*, is_down: bool) -> None:
    world = World()
    world.sources.declare("shop", GATE, config_map("one"))
    await waiting(world)
    world.sources.is_down = is_down
    seen = Listened(world.cluster)
    assert await end(await world.apps(seen)) is OperationPhase.FAILED
    assert set(seen.listed) == {SPACES, MAPS, JOBS}
    assert (await world.names("Job"), await world.values()) == ([], {})


async def test_what_was_never_begun_is_ended_by_reading_nothing_more() -> None:
    world = World()
    await world.sync("shop", config_map("one"))
    await (await world.apps()).records().set_operation("shop", Operation())
    world.sources.is_down = True
    seen = Listened(world.cluster)
    assert await end(await world.apps(seen)) is OperationPhase.FAILED
    assert set(seen.listed) == {SPACES, MAPS}


async def test_a_sync_that_was_killed_is_gone_on_with_by_reading_its_places() -> None:
    world, write = World(), 5
    await world.sync("other", config_map("elsewhere"))
    world.sources.declare("shop", config_map("one"), secret("two"))
    assert await died(lambda cluster: sync(world, cluster), Mortal(world.cluster, write))
    await world.bury()
    left = await world.unit("shop")
    assert left.operation is not None
    seen = Listened(world.cluster)
    await sync(world, seen)
    assert set(seen.listed) == {SPACES, MAPS, SECRETS}
    assert await world.names("Secret") == ["two"]


async def test_what_was_rendered_before_something_is_finished_is_rendered_again_after_it() -> None:
    world = World()
    await world.sync("shop", config_map("one"))
    await (await world.apps()).records().set_operation("shop", Operation())
    apps = await world.apps()
    async with apps.work_on(await apps.named("shop"), renders=True, narrowly=True) as work:
        newer = world.sources.declare("shop", config_map("one", "2"))
        assert (await work.plan(Operation())).revision == newer


# -- what others do meanwhile ----------------------------------------------------------------------------


async def seen_in_part() -> World:
    """An app with a Secret that its source no longer wants, and of which its record does not tell yet."""
    world = World()
    await world.sync("shop", config_map("one"), secret("two"))
    await world.sync("shop", config_map("one"))
    await without_place(world, "Secret")
    return world


async def tell(world: World) -> None:
    """Have the record tell of the Secret, as if somebody had just made it."""
    records, more = (await world.apps()).records(), Place("", "Secret", "default")
    await records.amend("shop", lambda stored: replace(stored, places=(*(stored.places or ()), more)))


async def test_a_deletion_that_was_planned_before_the_app_came_to_other_places_is_refused() -> None:
    world = await seen_in_part()
    async with (await world.apps()).work_on(await world.unit("shop"), narrowly=True) as work:
        plan = await work.plan(WITHOUT_HOOKS)
        world.sources.is_down = True  # so that it is the record alone that tells
        await tell(world)
        with pytest.raises(DeletionFailed, match="the plan that was agreed to is not what would be done now"):
            await deleted(work, plan)
    assert (await world.names("Secret"), list(await world.values())) == (["two"], ["one"])


async def deleted(work: Work, plan: Any) -> None:
    await work.delete(
        plan, consent=True, seconds=60, held=unheld, told=lambda _: None, operation=WITHOUT_HOOKS
    )


async def test_what_is_gone_on_with_is_read_where_its_record_says_by_then() -> None:
    world = await seen_in_part()
    asked = Operation(prune=True, options=AT_ONCE.options)
    left = await (await world.apps()).records().set_operation("shop", asked)
    seen = Listened(world.cluster)
    async with (await world.apps(seen)).work_on(left, renders=True, narrowly=True) as work:
        assert set(seen.listed) == {SPACES, MAPS}
        await tell(world)
        await work.finish(consent=True, held=unheld)
    assert EVERYWHERE in seen.listed
    assert (await world.names("Secret"), list(await world.values())) == ([], ["one"])

"""Deleting an app: what goes and what stays, in which order, and after any death on the way."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from msgspec.structs import replace

from tests.app.world import RECORDS, Json, World, config_map
from trimtab.app import Apps
from trimtab.app.deletion import DELETION, WITHOUT_HOOKS, DeletionFailed, NotGone, until_deleted
from trimtab.engine.operations import Operation
from trimtab.engine.stores.records import unit_hash
from trimtab.engine.sync.steps import Prune, SyncPlan
from trimtab.errors import Conflict
from trimtab.kube.cluster import Cluster, PatchType

NAMESPACE: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "extra"}}


async def planned(world: World) -> SyncPlan:
    """What would be deleted."""
    apps = await world.apps()
    async with apps.work_on(await world.unit("shop"), renders=True, narrowly=True) as work:
        return await work.plan(DELETION)


async def delete(
    apps: Apps,
    operation: Operation = DELETION,
    *,
    seconds: float = 60,
    consent: bool = True,
    waits: asyncio.Event | None = None,
) -> None:
    """What the verb does, but for asking."""
    found = await apps.find("shop")
    assert found is not None

    def told(_words: str) -> None:
        if waits is not None:
            waits.set()

    async with apps.work_on(found, renders=operation != WITHOUT_HOOKS, narrowly=True) as work:
        if work.unfinished is not None and not work.goes_on(operation):
            await work.end(held=lambda _: None)
        plan = await work.plan(operation)
        await work.delete(
            plan,
            consent=consent,
            seconds=seconds,
            held=lambda _: None,
            told=told,
            operation=operation,
        )


async def change(world: World, name: str, **metadata: object) -> None:
    """Have somebody change an object."""
    resource = await world.resource("ConfigMap")
    body = {"metadata": metadata}
    await world.cluster.patch(resource, name, body, how=PatchType.MERGE, namespace="default")


async def test_what_was_made_last_goes_first_and_what_is_to_be_kept_stays() -> None:
    world = World()
    kept = [
        config_map("no-prune", sync_options="Prune=false"),
        config_map("no-delete", sync_options="Delete=false"),
        config_map("helm"),
    ]
    kept[2]["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    hook = config_map("hook", hook="PreSync")
    await world.sync("shop", hook, config_map("first"), config_map("last", sync_wave="2"), *kept)
    world.sources.is_down = True
    steps = [step for step in (await planned(world)).steps if isinstance(step, Prune)]
    assert [step.key.name for step in steps if not step.skip] == ["last", "first", "hook"]
    assert {step.key.name for step in steps if step.skip} == {"helm", "no-delete", "no-prune"}

    await delete(await world.apps())
    assert sorted(await world.values()) == ["helm", "no-delete", "no-prune"]
    assert await (await world.apps()).all() == ()
    left = [*await world.names("Secret", RECORDS), *await world.names("Lease", RECORDS)]
    assert left == ["trimtab-installation", f"trimtab-left-{unit_hash('shop')}"]


async def test_what_somebody_else_manages_by_now_stays_and_is_named() -> None:
    world = World()
    await world.sync("shop", config_map("mine"), config_map("theirs"))
    await change(world, "theirs", annotations={"trimtab.dev/owner": "elsewhere/other"})
    skipped = {step.key.name: step.skip for step in (await planned(world)).steps if isinstance(step, Prune)}
    whose = "trimtab app other (installation elsewhere)"
    assert skipped == {"mine": "", "theirs": f"ignored (it is managed by {whose})"}
    await delete(await world.apps())
    assert list(await world.values()) == ["theirs"]


async def test_an_object_that_is_held_is_waited_for_before_the_app_is_forgotten() -> None:
    world, waits = World(), asyncio.Event()
    await world.sync("shop", config_map("settings"))
    await change(world, "settings", finalizers=["example.com/backup"])
    with pytest.raises(NotGone, match=r"ConfigMap default/settings is held by example\.com/backup"):
        await delete(await world.apps(), seconds=2)
    assert (await world.unit("shop")).status.resources

    async with asyncio.TaskGroup() as group:
        group.create_task(delete(await world.apps(), waits=waits))
        await waits.wait()
        await change(world, "settings", finalizers=None)
    assert await (await world.apps()).all() == ()
    assert await world.values() == {}


async def test_a_namespace_goes_only_with_consent() -> None:
    world = World()
    await world.sync("shop", config_map("settings"), NAMESPACE)
    with pytest.raises(Conflict, match="1 deletion needs consent: everything in it is deleted with it"):
        await delete(await world.apps(), consent=False)
    assert await world.values() == {"settings": "1"}


async def test_an_abandoned_apps_objects_stay_and_can_be_taken_up_again() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        await work.abandon(held=lambda _: None)
    assert await (await world.apps()).all() == ()
    assert await world.values() == {"settings": "1"}
    await world.sync("shop", config_map("settings", "2"))
    assert await world.values() == {"settings": "2"}


async def test_an_app_that_is_being_deleted_is_not_synced_in_passing() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    await (await world.apps()).records().set_operation("shop", DELETION)
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        with pytest.raises(Conflict, match="somebody began to delete it"):
            await work.finish(consent=True, held=lambda _: None)


async def test_a_deletion_that_is_not_what_was_agreed_to_deletes_nothing() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        moved = replace(await work.plan(DELETION), digest="another")
        with pytest.raises(DeletionFailed, match="not what would be done now"):
            await work.delete(moved, consent=True, seconds=5, held=lambda _: None, told=lambda _: None)
    assert (await (await world.apps()).all())[0].id == "shop"
    assert await world.values() == {"settings": "1"}


class Mute:
    """A cluster that does not answer."""

    async def discover(self) -> None:
        await asyncio.Event().wait()


async def test_a_server_that_has_not_answered_in_time_is_said_to_have_said_nothing() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        plan, mute = await work.plan(DELETION), cast(Cluster, Mute())
        with pytest.raises(NotGone, match=r"after 0\.01 s the server has not said what is left"):
            await until_deleted(work.engine, mute, plan, 0.01, lambda _: None, again="trimtab delete shop")

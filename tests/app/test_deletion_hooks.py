"""The hooks of a deletion: when they run, what they are made of, and that they run once, whoever dies."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from tests.app.test_deletion import delete
from tests.app.world import RECORDS, Json, Mortal, World, config_map, died
from tests.engine.stage import Counted
from trimtab.app.deletion import DELETION, WITHOUT_HOOKS, DeletionFailed, NotGone
from trimtab.app.why.gathering import explain
from trimtab.app.why.showing import answer_text
from trimtab.engine.control.looking import HooksUnknown
from trimtab.engine.sync.steps import Prune, RunHook
from trimtab.kube.cluster import EventType, PatchType
from trimtab.tasks import SystemClock


def job(name: str, hook: str, **annotations: str) -> Json:
    """A hook that ends when somebody says so."""
    told = {f"trimtab.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    container = {"name": "main", "image": "job:1"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": {"trimtab.dev/hook": hook, **told}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


async def end(world: World, name: str, condition: str = "Complete") -> str:
    """Have a Job end once it is there; the answer is its identity."""
    resource, found = await world.resource("Job"), None
    async with world.cluster.watch(resource, since="", namespace="default", initial=True) as events:
        async for event in events:
            is_new = "conditions" not in (event.object.manifest().get("status") or {})
            if event.type is EventType.ADDED and event.object.metadata.name == name and is_new:
                found = event.object
                break
    assert found is not None
    status = {"conditions": [{"type": condition, "status": "True", "message": "that is how it ended"}]}
    await world.cluster.patch(
        resource,
        name,
        {"status": status},
        how=PatchType.MERGE,
        namespace="default",
        subresource="status",
    )
    return found.metadata.uid


async def test_hooks_run_around_the_deletion_and_nothing_of_them_stays() -> None:
    world = World()
    hooks = [
        config_map("before", hook="PreDelete"),
        config_map("both", hook="PreDelete,PostSync"),
        config_map("after", hook="PostDelete", hook_delete_policy="BeforeHookCreation"),
        config_map("report", hook="PostDelete", sync_options="Delete=false"),
    ]
    await world.sync("shop", config_map("settings"), *hooks)
    # What is for the deletion alone is no part of a sync.
    assert sorted(await world.values()) == ["both", "settings"]
    counted = Counted(world.cluster)
    await delete(await world.apps(counted))
    seen = [(each.verb, each.name) for each in counted.writes() if each.kind == "ConfigMap"]
    made = [name for verb, name in seen if verb == "apply"]
    assert (sorted(made[:2]), sorted(made[2:])) == (["before", "both"], ["after", "report"])
    assert seen.index(("apply", "both")) < seen.index(("delete", "settings")) < seen.index(("apply", "after"))
    assert list(await world.values()) == ["report"]
    assert await (await world.apps()).all() == ()


async def test_a_failed_hook_stops_the_deletion_and_only_what_failed_runs_again() -> None:
    world = World()
    await world.sync("shop", config_map("settings"), job("first", "PreDelete"), job("backup", "PreDelete"))
    async with asyncio.TaskGroup() as group:
        group.create_task(end(world, "first"))
        group.create_task(end(world, "backup", "Failed"))
        with pytest.raises(DeletionFailed) as caught:
            await delete(await world.apps())
    told = str(caught.value)
    assert "a PreDelete hook failed, so its objects stay: Job.batch default/backup: that is how" in told
    assert "trimtab delete shop --skip-hooks" in told
    assert await world.values() == {"settings": "1"}
    apps = await world.apps()
    answer = await explain(nullcontext(apps), "shop", namespace="default", clock=SystemClock())
    assert "failed as PreDelete hook, so the deletion stopped" in answer_text(answer)

    counted = Counted(world.cluster)
    async with asyncio.TaskGroup() as group:
        group.create_task(end(world, "backup"))
        await delete(await world.apps(counted))
    assert {each.name for each in counted.writes() if (each.verb, each.kind) == ("apply", "Job")} == {
        "backup"
    }
    assert (await world.names("Job"), await world.values()) == ([], {})


async def test_hooks_are_those_of_the_source_or_else_of_what_was_synced_last() -> None:
    world = World()
    await world.sync("shop", config_map("settings"), config_map("old", hook="PreDelete"))
    world.sources.declare("shop", config_map("settings"), config_map("new", hook="PreDelete"))
    assert await hooks_planned(world) == (["new"], ())
    world.sources.is_down = True
    hooks, warnings = await hooks_planned(world)
    assert hooks == ["old"]
    assert "those of what was synced last, because of this: the repository: it is down" in warnings[0]

    await (await world.apps()).archive().drop("shop", ())
    with pytest.raises(HooksUnknown, match="which hooks its deletion has is not known") as caught:
        await delete(await world.apps())
    assert "--skip-hooks" in str(caught.value)
    await delete(await world.apps(), WITHOUT_HOOKS)
    assert (await world.values(), await (await world.apps()).all()) == ({}, ())


async def test_an_app_without_hooks_goes_though_nothing_of_its_source_is_known_any_more() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    await (await world.apps()).archive().drop("shop", ())
    world.sources.is_down = True
    await delete(await world.apps())
    assert await world.values() == {}


async def hooks_planned(world: World) -> tuple[list[str], tuple[str, ...]]:
    """The hooks that a deletion would run, and what is to be known about them."""
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        plan = await work.plan(DELETION)
        return [step.key.name for step in plan.steps if isinstance(step, RunHook)], work.warnings


async def test_whoever_has_no_patience_leaves_a_deletion_that_goes_on_or_is_ended() -> None:
    world = World()
    await world.sync("shop", config_map("settings"), job("backup", "PreDelete"))
    with pytest.raises(NotGone, match=r"has waited 1 s for completion of hook Job\.batch default/backup"):
        await delete(await world.apps(), seconds=1)
    first = await world.get("Job", "backup")
    assert first is not None
    async with asyncio.TaskGroup() as group:
        ending = group.create_task(end(world, "backup"))
        await delete(await world.apps())
    assert ending.result() == first["metadata"]["uid"]
    assert (await world.names("Job"), await world.values()) == ([], {})


async def test_a_deletion_that_is_terminated_takes_its_running_hook_along() -> None:
    world = World()
    await world.sync("shop", config_map("settings"), job("backup", "PreDelete"))
    with pytest.raises(NotGone):
        await delete(await world.apps(), seconds=1)
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        state = await work.end(held=lambda _: None)
    assert state.message == "the operation was terminated"
    assert (await world.names("Job"), await world.values()) == ([], {"settings": "1"})


async def test_whoever_dies_while_deleting_is_succeeded_by_anybody_and_hooks_run_once() -> None:
    deaths, batch = 0, 4
    while True:
        async with asyncio.TaskGroup() as group:
            lives = [group.create_task(dying_at(deaths + each)) for each in range(1, batch + 1)]
        ended = [life.result() for life in lives]
        deaths += sum(ended)
        if not all(ended):
            break
    assert deaths > 8


async def dying_at(write: int) -> bool:
    """Have somebody die at a write, and the next one go on; whether there was such a write."""
    world = World()
    made = [config_map("before", hook="PreDelete"), config_map("after", hook="PostDelete")]
    await world.sync("shop", config_map("settings"), config_map("last", sync_wave="2"), *made)
    counted = Counted(world.cluster)

    async def act(mortal: Mortal) -> None:
        await delete(await world.apps(mortal))

    has_died = await died(act, Mortal(counted, write))
    await world.bury()
    if has_died and await (await world.apps()).find("shop") is not None:
        await delete(await world.apps(counted))
    assert await world.values() == {}, f"after write {write}"
    assert await world.names("Secret", RECORDS) == ["trimtab-installation"], f"after write {write}"
    runs = [each.name for each in counted.writes() if (each.verb, each.kind) == ("apply", "ConfigMap")]
    assert set(runs) == {"before", "after"}, f"after write {write}"
    # Only a write whose answer nobody lived to hear may be made again: of the same object.
    assert len(runs) <= 3, f"after write {write}"
    return has_died


async def test_a_namespace_in_which_a_hook_runs_afterwards_goes_after_it() -> None:
    world = World()
    space: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "extra"}}
    hook = config_map("after", hook="PostDelete")
    hook["metadata"]["namespace"] = "extra"
    await world.sync("shop", config_map("settings"), space, hook)
    async with (await world.apps()).work_on(await world.unit("shop")) as work:
        steps = (await work.plan(DELETION)).steps
    assert [(step.phase.value, step.key.name) for step in steps if isinstance(step, Prune | RunHook)] == [
        ("Sync", "settings"),
        ("PostDelete", "after"),
        ("PostDelete", "extra"),
    ]

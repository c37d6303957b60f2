"""Syncs on clusters where things really happen: rollouts, Jobs, waves, hooks, prunes, early ends."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.engine.sync.world import World, annotated, config_map, deployment, job, replaced
from trimtab.engine.acts import Wave
from trimtab.engine.live import Live
from trimtab.engine.operate import Control
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    OperationState,
    Rehearsal,
    RetryLimits,
    Selected,
    StepPhase,
    StepStatus,
)
from trimtab.engine.options import SyncOptions
from trimtab.engine.plan import Namespace
from trimtab.errors import UserError
from trimtab.kube.cluster import PatchType
from trimtab.resources.keys import ResourceKey

SUCCEEDED, FAILED, ERROR = OperationPhase.SUCCEEDED, OperationPhase.FAILED, OperationPhase.ERROR
PRUNING = Operation(prune=True)


def statuses(state: OperationState) -> dict[str, str]:
    """What became of every object, by kind and name."""
    return {f"{each.key.kind} {each.key.name}": each.status.value for each in state.results if each.status}


def phases(state: OperationState) -> dict[str, str]:
    return {f"{each.key.kind} {each.key.name}": each.phase.value for each in state.results}


def order(state: OperationState) -> list[str]:
    return [each.key.name for each in sorted(state.results, key=lambda each: each.order)]


def is_there(live: Live | None) -> bool:
    return live is not None


def is_gone(live: Live | None) -> bool:
    return live is None


# -- waves -----------------------------------------------------------------------------------------------


@pytest.mark.fact("S7")
async def test_a_sync_of_one_wave_succeeds_without_waiting_for_health(world: World) -> None:
    state = await world.sync([deployment("web", simulate="never-ready"), config_map("a", x="1")])
    assert state.phase is SUCCEEDED
    assert statuses(state) == {"ConfigMap a": "Synced", "Deployment web": "Synced"}
    found = await world.get("ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"x": "1"}


@pytest.mark.fact("S8", "S50")
async def test_the_second_wave_begins_when_the_first_has_rolled_out(any_world: World) -> None:
    seen: list[str] = []

    async def look(wave: Wave) -> None:
        found = await any_world.get("Deployment", "web")
        seen.append(f"{wave.wave}: {bool(found and found.get('status', {}).get('availableReplicas'))}")

    state = await any_world.sync([deployment("web"), config_map("a", wave=1)], after_wave=look)
    assert state.phase is SUCCEEDED
    assert seen[-1] == "1: True"
    assert phases(state) == {"Deployment web": "Succeeded", "ConfigMap a": "Running"} or phases(state) == {
        "Deployment web": "Succeeded",
        "ConfigMap a": "Succeeded",
    }


async def test_an_update_is_not_taken_for_healthy_before_it_has_rolled_out(any_world: World) -> None:
    await any_world.sync([deployment("web"), config_map("a", wave=1)])
    newer = deployment("web")
    newer["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/web:2"
    rolled: list[bool] = []

    async def look(wave: Wave) -> None:
        found = await any_world.get("Deployment", "web")
        if wave.wave == 1 and found is not None:
            rolled.append(found["status"].get("updatedReplicas") == 1 and found["status"]["replicas"] == 1)

    state = await any_world.sync([newer, config_map("a", wave=1, x="2")], after_wave=look)
    assert (state.phase, rolled) == (SUCCEEDED, [True])


@pytest.mark.fact("S40")
async def test_whoever_is_told_of_waves_is_told_once_per_wave_and_which_is_the_last(world: World) -> None:
    told: list[tuple[str, int, bool]] = []

    async def hear(wave: Wave) -> None:
        told.append((wave.phase.value, wave.wave, wave.final))

    objects = [job("pre", hook="PreSync"), deployment("web"), config_map("a"), config_map("b", wave=2)]
    assert (await world.sync(objects, after_wave=hear)).phase is SUCCEEDED
    assert told == [("PreSync", 0, False), ("Sync", 0, False), ("Sync", 2, True)]


@pytest.mark.fact("S41")
async def test_an_error_after_a_wave_ends_running_hooks_and_runs_no_hooks_for_failure(world: World) -> None:
    async def refuse(wave: Wave) -> None:
        raise UserError("the wave", "nobody may go on", "Ask somebody")

    objects = [job("long", hook="Sync", ends="never"), job("sad", hook="SyncFail"), config_map("a", wave=1)]
    state = await world.sync(objects, after_wave=refuse)
    assert state.phase is ERROR
    assert "nobody may go on" in state.message
    assert phases(state)["Job long"] == "Failed"
    await world.until(world.key("Job", "long", "batch"), is_gone)
    assert await world.names("Job") == []


@pytest.mark.fact("S9")
async def test_an_object_that_vanishes_while_its_wave_waits_fails_the_sync(world: World) -> None:
    web = world.key("Deployment", "web", "apps")

    async def vanish() -> None:
        await world.until(web, is_there)
        await world.delete("Deployment", "web")

    async with asyncio.TaskGroup() as group:
        group.create_task(vanish())
        state = await world.sync([deployment("web", simulate="never-ready"), config_map("a", wave=1)])
    assert state.phase is FAILED
    assert state.results[0].status is StepStatus.SYNC_FAILED
    assert state.results[0].phase is StepPhase.ERROR
    assert "missing" in state.message


async def test_a_wave_that_degrades_fails_the_sync_with_the_reason(world: World) -> None:
    slow = deployment("web", simulate="never-ready", progressDeadlineSeconds=1, minReadySeconds=0)
    state = await world.sync([slow, config_map("a", wave=1)])
    assert state.phase is FAILED
    assert "web" in state.message
    assert await world.get("ConfigMap", "a") is None


async def test_a_namespace_that_vanishes_fails_the_sync_with_the_reason(any_world: World) -> None:
    async def vanish(wave: Wave) -> None:
        if wave.wave == 0:
            await any_world.delete("Namespace", any_world.space)
            key = ResourceKey("", "Namespace", "", any_world.space)
            await any_world.until(key, lambda live: live is None or live.deleting)

    state = await any_world.sync([config_map("a"), config_map("b", wave=1)], after_wave=vanish)
    assert state.phase is FAILED
    assert any_world.space in state.message


# -- hooks -----------------------------------------------------------------------------------------------


@pytest.mark.fact("S17", "S31", "S38")
async def test_hooks_run_in_their_phases_and_go_by_their_policies(any_world: World) -> None:
    objects = [
        job("before", hook="PreSync"),
        job("during", hook="Sync", policy="HookFailed"),
        job("after", hook="PostSync", policy="HookSucceeded"),
        job("sad", hook="SyncFail"),
        job("never", hook="Skip"),
        config_map("a"),
    ]
    state = await any_world.sync(objects)
    assert state.phase is SUCCEEDED, state.message
    assert order(state) == ["before", "a", "during", "after"]
    assert {each.key.name for each in state.results if each.hook} == {"before", "during", "after"}
    await any_world.until(any_world.key("Job", "after", "batch"), is_gone)
    assert await any_world.names("Job") == ["before", "during"]
    for name in ("before", "during"):
        found = await any_world.get("Job", name)
        assert found is not None
        assert "finalizers" not in found["metadata"]


@pytest.mark.fact("S32", "S33", "S38")
async def test_a_failed_hook_runs_the_hooks_for_failure_and_then_fails(any_world: World) -> None:
    objects = [
        job("breaks", hook="PreSync", policy="HookFailed", ends="badly"),
        job("stays", hook="PreSync", policy="HookSucceeded"),
        job("sad", hook="SyncFail", policy="HookSucceeded"),
        job("sadder", hook="SyncFail", ends="badly"),
        config_map("a"),
    ]
    state = await any_world.sync(objects)
    assert state.phase is FAILED
    assert phases(state) == {
        "Job breaks": "Failed",
        "Job stays": "Succeeded",
        "Job sad": "Succeeded",
        "Job sadder": "Failed",
    }
    first, second = state.message.split("\n")
    assert "breaks" in first
    assert "sadder" in second
    assert await any_world.get("ConfigMap", "a") is None
    await any_world.until(any_world.key("Job", "breaks", "batch"), is_gone)
    assert await any_world.names("Job") == ["sad", "sadder", "stays"]


@pytest.mark.fact("S34", "S35")
async def test_a_hook_left_from_before_is_cleared_away_and_runs_again(any_world: World) -> None:
    objects = [job("pre", hook="PreSync"), config_map("a")]
    first = await any_world.sync(objects)
    before = await any_world.get("Job", "pre")
    again = await any_world.sync([job("pre", hook="PreSync"), config_map("a", x="1")])
    after = await any_world.get("Job", "pre")
    assert (first.phase, again.phase) == (SUCCEEDED, SUCCEEDED)
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    assert after["status"]["succeeded"] == 1


@pytest.mark.fact("S34", "S35")
async def test_a_hook_left_with_its_finalizer_is_freed_first_whatever_its_policy(world: World) -> None:
    resource = await world.resource("Job")
    for name in ("pre", "other"):
        left = job(name, hook="PreSync")
        left["metadata"]["finalizers"] = ["trimtab.dev/hook-finalizer", "argocd.argoproj.io/hook-finalizer"]
        await world.cluster.create(resource, left, namespace="shop")
        await world.until(world.key("Job", name, "batch"), is_there)
    objects = [job("pre", hook="PreSync"), job("other", hook="PreSync", policy="HookFailed"), config_map("a")]
    state = await world.sync(objects)
    assert state.phase is SUCCEEDED
    for name in ("pre", "other"):
        found = await world.get("Job", name)
        assert found is not None
        assert "finalizers" not in found["metadata"]


async def test_one_hook_of_two_phases_runs_twice(world: World) -> None:
    state = await world.sync([job("both", hook="PreSync,PostSync"), config_map("a")])
    assert state.phase is SUCCEEDED
    assert [each.sync_phase.value for each in state.results if each.hook] == ["PreSync", "PostSync"]
    first, second = (each.uid for each in state.results if each.hook)
    assert first != second


@pytest.mark.fact("S26")
async def test_a_hook_without_a_name_gets_one_that_tells_revision_phase_and_start(any_world: World) -> None:
    state = await any_world.sync([job("pre-", hook="PreSync", generate=True), config_map("a")])
    start = int(state.started_at.timestamp())
    assert state.phase is SUCCEEDED, state.message
    assert f"Job pre-4f2c9e1-presync-{start}" in statuses(state)


@pytest.mark.fact("S37")
async def test_no_hook_is_deleted_while_another_still_runs(world: World) -> None:
    done = asyncio.Event()
    jobs = {name: world.key("Job", name, "batch") for name in ("breaks", "long")}

    async def end_it() -> None:
        await world.until(
            jobs["breaks"], lambda live: bool(live and live.health and live.health.status.value == "Degraded")
        )
        assert await world.get("Job", "breaks") is not None
        resource = await world.resource("Job")
        spec = {"spec": {"activeDeadlineSeconds": 1}}
        await world.cluster.patch(resource, "long", spec, how=PatchType.MERGE, namespace="shop")
        done.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(end_it())
        state = await world.sync(
            [
                job("breaks", hook="PreSync", policy="HookFailed", ends="badly"),
                job("long", hook="PreSync", ends="never"),
            ]
        )
    assert done.is_set()
    assert state.phase is FAILED
    await world.until(jobs["breaks"], is_gone)
    assert await world.names("Job") == ["long"]


@pytest.mark.fact("S39")
async def test_while_it_waits_it_says_for_what(world: World) -> None:
    control = Control()
    objects = [
        *(job(f"long-{number}", hook="PreSync", ends="never") for number in range(3)),
        config_map("a"),
    ]

    def end(state: OperationState) -> None:
        if state.waiting_since is not None:
            control.terminate()

    await world.sync(objects, control=control, record=end)
    assert "waiting for completion of hook Job.batch shop/long-0 and 2 more hooks" in {
        state.message for state in world.records
    }


# -- prunes ----------------------------------------------------------------------------------------------


async def test_what_git_no_longer_asks_for_is_deleted(any_world: World) -> None:
    await any_world.sync([config_map("a"), config_map("b")])
    await any_world.until(any_world.key("ConfigMap", "b"), is_there)
    state = await any_world.sync([config_map("a")], PRUNING)
    assert (state.phase, statuses(state)) == (SUCCEEDED, {"ConfigMap b": "Pruned"})
    await any_world.until(any_world.key("ConfigMap", "b"), is_gone)


async def test_without_leave_to_prune_nothing_is_deleted(world: World) -> None:
    await world.sync([config_map("a"), config_map("b")])
    await world.until(world.key("ConfigMap", "b"), is_there)
    state = await world.sync([config_map("a")])
    assert statuses(state) == {"ConfigMap b": "PruneSkipped"}
    assert state.results[0].message == "ignored (requires pruning)"
    assert await world.get("ConfigMap", "b") is not None


@pytest.mark.fact("S44")
async def test_the_next_wave_of_prunes_waits_until_the_last_is_gone(world: World) -> None:
    kept = config_map("late", wave=1)
    kept["metadata"]["finalizers"] = ["example.com/slow"]
    await world.sync([config_map("early"), kept])
    await world.until(world.key("ConfigMap", "late"), is_there)
    held = asyncio.Event()

    def waits(state: OperationState) -> None:
        if "waiting for deletion of ConfigMap shop/late" in state.message:
            held.set()

    async def let_go() -> None:
        await held.wait()
        assert await world.get("ConfigMap", "early") is not None
        resource = await world.resource("ConfigMap")
        body = {"metadata": {"finalizers": None}}
        await world.cluster.patch(resource, "late", body, how=PatchType.MERGE, namespace="shop")

    async with asyncio.TaskGroup() as group:
        group.create_task(let_go())
        state = await world.sync([], PRUNING, record=waits)
    assert (state.phase, order(state)) == (SUCCEEDED, ["late", "early"])
    await world.until(world.key("ConfigMap", "early"), is_gone)


@pytest.mark.fact("S19")
async def test_a_prune_that_needs_consent_waits_for_it(world: World) -> None:
    await world.sync([config_map("a"), config_map("b", options="Prune=confirm")])
    await world.until(world.key("ConfigMap", "b"), is_there)
    control = Control()

    def agree(state: OperationState) -> None:
        if "waiting for consent to delete ConfigMap shop/b" in state.message:
            control.approve_deletions(world.clock.now())

    state = await world.sync([config_map("a", x="1")], PRUNING, control=control, record=agree)
    assert (state.phase, statuses(state)) == (SUCCEEDED, {"ConfigMap a": "Synced", "ConfigMap b": "Pruned"})
    assert any("consent" in each.message for each in world.records)


async def test_a_prune_beyond_the_budget_waits_until_it_is_ended(world: World) -> None:
    many = [config_map(f"c{number:02}") for number in range(12)]
    await world.sync(many)
    await world.until(world.key("ConfigMap", "c11"), is_there)
    control = Control()

    def stop(state: OperationState) -> None:
        if "12 of 12 objects would be deleted" in state.message:
            control.terminate()

    state = await world.sync([], PRUNING, control=control, record=stop)
    assert state.phase is FAILED
    assert len(await world.names("ConfigMap")) == 13  # and the cluster's own certificate


# -- failure and its remedies ----------------------------------------------------------------------------


@pytest.mark.fact("S2", "S11", "S46")
async def test_an_object_that_the_server_refuses_fails_the_sync_and_the_others_are_written(
    any_world: World,
) -> None:
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    also = replaced(wrong, metadata={"name": "svc2"})
    state = await any_world.sync([wrong, also, config_map("a"), deployment("web")])
    assert state.phase is FAILED
    assert statuses(state)["ConfigMap a"] == "Synced"
    assert statuses(state)["Deployment web"] == "Synced"
    assert statuses(state)["Service svc"] == "SyncFailed"
    assert "svc" in state.message
    assert "spec.ports" in state.message


@pytest.mark.fact("S4", "S23")
async def test_a_plan_of_several_waves_is_tried_before_anything_is_touched(any_world: World) -> None:
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    state = await any_world.sync([annotated(wrong, sync_wave="1"), config_map("a")])
    assert state.phase is FAILED
    assert statuses(state) == {"Service svc": "SyncFailed"}
    assert await any_world.get("ConfigMap", "a") is None


async def test_a_plan_may_be_tried_never_or_always(world: World) -> None:
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    later = annotated(wrong, sync_wave="1")
    never = await world.sync([later, config_map("a")], Operation(rehearsal=Rehearsal.NEVER))
    assert statuses(never) == {"ConfigMap a": "Synced", "Service svc": "SyncFailed"}
    always = await world.sync([wrong, config_map("b")], Operation(rehearsal=Rehearsal.ALWAYS))
    assert statuses(always) == {"Service svc": "SyncFailed"}
    assert await world.get("ConfigMap", "b") is None


async def test_a_failed_operation_is_tried_again_until_it_works(world: World) -> None:
    waits: list[float] = []
    failed = asyncio.Event()
    elsewhere = config_map("a")
    elsewhere["metadata"]["namespace"] = "elsewhere"

    def hear(state: OperationState) -> None:
        if state.retry_at is not None:
            waits.append((state.retry_at - world.clock.now()).total_seconds())
            failed.set()

    async def make_the_namespace() -> None:
        await failed.wait()
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
        await world.cluster.create(await world.resource("Namespace"), namespace)

    limits = RetryLimits(limit=2, wait=timedelta(milliseconds=20))
    async with asyncio.TaskGroup() as group:
        group.create_task(make_the_namespace())
        state = await world.sync([elsewhere], Operation(retry=limits), record=hear)
    assert (state.phase, state.retry_count) == (SUCCEEDED, 1)
    assert len(waits) == 1
    assert 0 < waits[0] <= 0.02


@pytest.mark.fact("S56")
async def test_terminating_ends_running_hooks_and_leaves_finished_ones_as_they_are(any_world: World) -> None:
    control = Control()
    objects = [
        job("well", hook="PreSync", wave=-1),
        job("long", hook="PreSync", ends="never"),
        config_map("a"),
    ]

    def end(state: OperationState) -> None:
        if "shop/long" in state.message or f"{any_world.space}/long" in state.message:
            control.terminate()

    state = await any_world.sync(objects, control=control, record=end)
    assert (state.phase, state.retry_at) == (FAILED, None)
    assert "terminated" in state.message
    assert phases(state) == {"Job well": "Succeeded", "Job long": "Failed"}
    assert [each.message for each in state.results if each.key.name == "long"] == ["Terminated"]
    await any_world.until(any_world.key("Job", "long", "batch"), is_gone)
    assert await any_world.names("Job") == ["well"]
    assert await any_world.get("ConfigMap", "a") is None


async def test_an_operation_that_takes_too_long_is_ended(world: World) -> None:
    asked = Operation(timeout=timedelta(milliseconds=300), retry=RetryLimits(limit=5))
    state = await world.sync([job("long", hook="PreSync", ends="never")], asked)
    assert state.phase is FAILED
    assert "longer than" in state.message
    await world.until(world.key("Job", "long", "batch"), is_gone)


async def test_a_newer_revision_takes_the_place_of_one_that_only_waits_for_health(world: World) -> None:
    control = Control()

    def newer(state: OperationState) -> None:
        if "healthy state of" in state.message:
            control.supersede("9999999")

    objects = [deployment("web", simulate="never-ready"), config_map("a", wave=1)]
    state = await world.sync(objects, Operation(retry=RetryLimits(limit=5)), control=control, record=newer)
    assert (state.phase, state.superseded_by, state.retry_at) == (FAILED, "9999999", None)
    assert await world.get("ConfigMap", "a") is None


async def test_a_newer_revision_waits_for_hooks_that_run(world: World) -> None:
    control = Control()

    def newer(state: OperationState) -> None:
        if "completion of hook" in state.message:
            control.supersede("9999999")

    state = await world.sync([job("short", hook="PreSync"), config_map("a")], control=control, record=newer)
    assert state.phase is SUCCEEDED


# -- options ---------------------------------------------------------------------------------------------


@pytest.mark.fact("S3", "S4")
async def test_the_destination_namespace_is_made_before_anything_is_tried(any_world: World) -> None:
    any_world.space = f"{any_world.space}-new"
    any_world.namespace = Namespace(name=any_world.space, labels={"team": "shop"})
    any_world.options = SyncOptions(create_namespace=True)
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    try:
        failed = await any_world.sync([annotated(wrong, sync_wave="1"), config_map("a")])
        assert failed.phase is FAILED
        assert statuses(failed) == {f"Namespace {any_world.space}": "Synced", "Service svc": "SyncFailed"}
        state = await any_world.sync([config_map("a")])
        assert state.phase is SUCCEEDED, state.message
        made = await any_world.get("Namespace", any_world.space)
        assert made is not None
        assert made["metadata"]["labels"]["team"] == "shop"
    finally:
        await any_world.delete("Namespace", any_world.space)


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.sync.example.com"},
    "spec": {
        "group": "sync.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


def gadget(name: str) -> dict[str, object]:
    return {"apiVersion": "sync.example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "size": 1}


@pytest.mark.fact("S5", "S49")
async def test_a_definition_and_its_objects_are_synced_in_one_plan(any_world: World) -> None:
    try:
        state = await any_world.sync([gadget("a"), CRD, annotated(config_map("c"), sync_wave="-1")])
        assert state.phase is SUCCEEDED, state.message
        assert order(state) == ["c", "gadgets.sync.example.com", "a"]
        assert await any_world.names("Gadget") == ["a"]
    finally:
        await any_world.delete("CustomResourceDefinition", "gadgets.sync.example.com")


@pytest.mark.fact("S21", "S24")
async def test_replace_and_force_write_the_object_whole_or_anew(any_world: World) -> None:
    await any_world.sync([config_map("a", x="1"), deployment("web")])
    key = any_world.key("ConfigMap", "a")
    await any_world.until(key, is_there)
    await any_world.until(any_world.key("Deployment", "web", "apps"), is_there)
    resource = await any_world.resource("ConfigMap")
    body = {"data": {"stray": "1"}}
    await any_world.cluster.patch(resource, "a", body, how=PatchType.MERGE, namespace=any_world.space)
    state = await any_world.sync([config_map("a", options="Replace=true", x="2"), deployment("web")])
    found = await any_world.get("ConfigMap", "a")
    assert found is not None
    assert (state.phase, found["data"]) == (SUCCEEDED, {"x": "2"})
    assert state.results[0].message == "replaced"

    before = await any_world.get("Deployment", "web")
    other = deployment("web")
    other["spec"]["selector"]["matchLabels"]["tier"] = "front"
    other["spec"]["template"]["metadata"]["labels"]["tier"] = "front"
    refused = await any_world.sync([other])
    assert refused.phase is FAILED
    assert "immutable" in refused.message
    forced = await any_world.sync([other], Operation(force=True))
    after = await any_world.get("Deployment", "web")
    assert forced.phase is SUCCEEDED, forced.message
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]


@pytest.mark.fact("S12", "S25")
async def test_what_is_as_it_should_be_is_left_alone_and_a_selection_leaves_out_the_rest(
    world: World,
) -> None:
    await world.sync([config_map("a"), config_map("b")])
    await world.until(world.key("ConfigMap", "b"), is_there)
    await world.until(world.key("ConfigMap", "a"), is_there)
    changed = [config_map("a"), config_map("b", x="1"), config_map("c")]
    chosen = Operation(resources=(Selected(kind="ConfigMap", name="c"),))
    assert statuses(await world.sync(changed, chosen)) == {"ConfigMap c": "Synced"}
    await world.until(world.key("ConfigMap", "c"), is_there)
    assert statuses(await world.sync(changed)) == {"ConfigMap b": "Synced"}
    world.options = SyncOptions(out_of_sync_only=False)
    assert len((await world.sync(changed)).results) == 3


async def test_a_dry_run_says_what_would_come_of_it_and_changes_nothing(any_world: World) -> None:
    await any_world.sync([config_map("old")])
    await any_world.until(any_world.key("ConfigMap", "old"), is_there)
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    objects = [config_map("a"), job("pre", hook="PreSync"), wrong]
    state = await any_world.sync(objects, Operation(dry_run=True, prune=True))
    assert state.phase is FAILED
    assert statuses(state) == {
        "ConfigMap old": "Pruned",
        "ConfigMap a": "Synced",
        "Job pre": "Synced",
        "Service svc": "SyncFailed",
    }
    assert await any_world.names("Job") == []
    assert await any_world.get("ConfigMap", "a") is None
    assert await any_world.get("ConfigMap", "old") is not None
    fine = await any_world.sync([config_map("a")], Operation(dry_run=True))
    assert (fine.phase, phases(fine)["ConfigMap a"]) == (SUCCEEDED, "Succeeded")

"""Syncs on clusters where things really happen: rollouts, Jobs, waves, hooks, prunes, early ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from tests.engine.sync.world import (
    REVISION,
    World,
    annotated,
    config_map,
    deployment,
    is_gone,
    is_there,
    job,
    order,
    phases,
    replaced,
    statuses,
)
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    OperationState,
    Rehearsal,
    RetryLimits,
    StepPhase,
    StepResult,
    StepStatus,
    SyncPhase,
)
from trimtab.engine.sync.acts import Wave
from trimtab.engine.sync.apply import WriteSettings
from trimtab.engine.sync.operate import Control
from trimtab.errors import UserError
from trimtab.kube.cluster import Cluster, PatchType
from trimtab.kube.failures import ServerFailed, Status
from trimtab.resources.keys import ResourceKey
from trimtab.tasks import ManualClock

SUCCEEDED, FAILED, ERROR = OperationPhase.SUCCEEDED, OperationPhase.FAILED, OperationPhase.ERROR
PRUNING = Operation(prune=True)


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
    assert state.results[0].message == "no longer declared (requires pruning)"
    assert await world.get("ConfigMap", "b") is not None


@pytest.mark.fact("S44")
async def test_the_next_wave_of_prunes_waits_until_the_last_is_gone(world: World) -> None:
    kept = config_map("late", wave=1)
    kept["metadata"]["finalizers"] = ["example.com/slow"]
    await world.sync([config_map("early"), kept])
    await world.until(world.key("ConfigMap", "late"), is_there)
    held = asyncio.Event()

    def waits(state: OperationState) -> None:
        if state.message == "waiting for deletion of ConfigMap shop/late (held by example.com/slow)":
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


# -- what it costs ---------------------------------------------------------------------------------------


class Counting:
    """A cluster that counts what is asked of it, and how much at once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.calls: Counter[str] = Counter()
        self.under_way = self.most = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._cluster, name)

        async def call(*args: Any, **options: Any) -> Any:
            self.calls[name] += 1
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            try:
                await asyncio.sleep(0)
                return await real(*args, **options)
            finally:
                self.under_way -= 1

        return call


async def test_a_first_sync_costs_one_request_per_object_and_two_records(world: World) -> None:
    counting: Any = Counting(world.cluster)
    state = await world.sync([config_map(f"c{number:03}") for number in range(200)], cluster=counting)
    assert state.phase is SUCCEEDED
    assert counting.calls == {"apply": 200}
    assert counting.most == 32
    assert len(world.records) == 2
    assert [len(each.begun) for each in world.records] == [200, 0]


async def test_a_wave_is_recorded_when_it_begins_when_it_waits_and_when_it_ends(world: World) -> None:
    world.clock = ManualClock()  # a long wait is recorded again and again; here no time passes
    many = [deployment(f"d{number}") for number in range(20)]
    state = await world.sync([*many, config_map("a", wave=1)])
    assert state.phase is SUCCEEDED
    told = [(len(each.begun), len(each.results), each.waiting_since is not None) for each in world.records]
    assert told[0] == (0, 0, False)
    assert told[1:] == [(20, 0, False), (20, 20, True), (21, 20, False), (0, 21, False)]


async def test_waiting_costs_nothing(world: World) -> None:
    control, counting = Control(), Counting(world.cluster)

    async def wait_and_end() -> None:
        await world.until(world.key("Deployment", "web", "apps"), is_there)
        resource = await world.resource("ConfigMap")
        for number in range(50):
            stranger = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"other-{number}"}}
            await world.cluster.create(resource, stranger, namespace="shop")
        control.terminate()

    objects = [deployment("web", simulate="never-ready"), config_map("a", wave=1)]
    async with asyncio.TaskGroup() as group:
        group.create_task(wait_and_end())
        cluster: Any = counting
        await world.sync(objects, Operation(rehearsal=Rehearsal.NEVER), control=control, cluster=cluster)
    assert counting.calls == {"apply": 1}


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
    limits = RetryLimits(limit=2, wait=timedelta(milliseconds=20))
    moments: list[datetime] = []
    failed = asyncio.Event()
    elsewhere = config_map("a")
    elsewhere["metadata"]["namespace"] = "elsewhere"

    def hear(state: OperationState) -> None:
        if state.retry_at is not None:
            moments.extend((state.retry_at - limits.wait, world.clock.now()))
            failed.set()

    async def make_the_namespace() -> None:
        await failed.wait()
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
        await world.cluster.create(await world.resource("Namespace"), namespace)

    begun = world.clock.now()
    async with asyncio.TaskGroup() as group:
        group.create_task(make_the_namespace())
        state = await world.sync([elsewhere], Operation(retry=limits), record=hear)
    assert (state.phase, state.retry_count) == (SUCCEEDED, 1)
    counted_from, heard = moments
    assert begun < counted_from <= heard


async def test_an_operation_left_between_two_attempts_makes_the_next_one(world: World) -> None:
    asked = Operation(retry=RetryLimits(limit=2))
    at = world.clock.now()
    left = OperationState(
        operation=asked,
        started_at=at,
        revision="4f2c9e1",
        retry_count=1,
        retry_at=at + timedelta(milliseconds=20),
        results=(
            StepResult(key=world.key("ConfigMap", "a"), sync_phase=SyncPhase.SYNC, phase=StepPhase.FAILED),
        ),
    )
    state = await world.sync([config_map("a")], state=left)
    assert (state.phase, state.retry_count, state.retry_at) == (SUCCEEDED, 1, None)
    assert state.finished_at is not None
    assert left.retry_at is not None
    assert state.finished_at >= left.retry_at


@pytest.mark.parametrize(("newer", "message"), [("", "was terminated"), ("9999999", "took its place")])
async def test_an_operation_is_ended_between_two_attempts(world: World, newer: str, message: str) -> None:
    control = Control()

    def end(state: OperationState) -> None:
        if state.retry_at is not None:
            control.supersede(newer) if newer else control.terminate()

    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    asked = Operation(retry=RetryLimits(limit=5, wait=timedelta(hours=1)))
    state = await world.sync([wrong], asked, control=control, record=end)
    assert (state.phase, state.superseded_by, state.retry_at) == (FAILED, newer, None)
    assert message in state.message


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


async def test_a_cluster_in_the_same_process_lets_others_have_their_turn_between_writes(world: World) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    objects = [config_map(f"c{number}", x="1") for number in range(200)]
    async with asyncio.TaskGroup() as group:
        beside = group.create_task(others())
        plan = await world.plan(objects)
        before = turns
        assert (await world.sync(objects)).phase is SUCCEEDED
        beside.cancel()
    assert turns - before >= len(plan.steps) / WriteSettings().concurrency


class Busy:
    """A cluster whose server is too busy for the first changes to Jobs."""

    def __init__(self, cluster: Cluster, times: int) -> None:
        self._cluster, self.left = cluster, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def patch(self, resource: Any, name: str, *args: Any, **options: Any) -> Any:
        if resource.kind == "Job" and self.left:
            self.left -= 1
            raise ServerFailed(f"patch {resource.kind} {name}", "it is busy", status=Status(code=503))
        return await self._cluster.patch(resource, name, *args, **options)


async def test_a_server_that_is_busy_for_a_moment_keeps_no_hook_and_fails_no_operation(world: World) -> None:
    busy = Busy(world.cluster, times=3)
    hooks = [job("before", hook="PreSync"), job("after", hook="PostSync", policy="HookSucceeded")]
    usual = WriteSettings().patience
    state = await world.sync([config_map("a", x="1"), *hooks], cluster=cast(Cluster, busy), patience=usual)
    await world.until(world.key("Job", "after", "batch"), is_gone)
    before = await world.get("Job", "before")
    assert (state.phase, state.message, busy.left) == (SUCCEEDED, f"synced to {REVISION}", 0)
    assert before is not None
    assert "finalizers" not in before["metadata"]


class Silent:
    """A cluster that makes Jobs and then fails to say so."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def apply(self, resource: Any, name: str, *args: Any, **options: Any) -> Any:
        written = await self._cluster.apply(resource, name, *args, **options)
        if resource.kind == "Job" and not options["write"].dry_run:
            raise ServerFailed(f"apply {resource.kind} {name}", "it is busy", status=Status(code=503))
        return written


@pytest.mark.parametrize(("policy", "left"), [("", ["made"]), ("HookFailed", [])])
async def test_a_hook_whose_making_was_not_answered_is_held_no_longer_than_its_operation(
    world: World, policy: str, left: list[str]
) -> None:
    silent = cast(Cluster, Silent(world.cluster))
    state = await world.sync([config_map("a"), job("made", hook="PreSync", policy=policy)], cluster=silent)
    assert (state.phase, statuses(state)) == (FAILED, {"Job made": "SyncFailed"})
    if not left:
        await world.until(world.key("Job", "made", "batch"), is_gone)
    assert await world.names("Job") == left
    for name in left:
        found = await world.get("Job", name)
        assert found is not None
        assert "finalizers" not in found["metadata"]

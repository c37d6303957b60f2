"""Hooks at work: their phases, policies, names, what they leave, and what is said of them."""

from __future__ import annotations

import asyncio

import pytest

from tests.engine.sync.world import (
    World,
    config_map,
    is_gone,
    is_there,
    job,
    order,
    phases,
    statuses,
)
from trimtab.engine.operations import (
    OperationPhase,
    OperationState,
)
from trimtab.engine.sync.operate import Control
from trimtab.kube.cluster import PatchType

SUCCEEDED, FAILED = OperationPhase.SUCCEEDED, OperationPhase.FAILED


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

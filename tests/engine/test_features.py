"""What users see, in memory and on a real control plane: rollouts, hooks, waves, definitions, endings."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from testbed.controlplane import ControlPlane
from tests.engine.stage import Json, Stage, config_map, deployment, job, running
from tests.kube.world import connect_to
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.engine.events import HooksReleased, OperationEnded, OperationWaits, StepDone
from trimtab.engine.health import HealthStatus
from trimtab.engine.health.values import HOOK_FINALIZER
from trimtab.engine.live import Live
from trimtab.engine.operations import Operation, OperationPhase, RetryLimits, StepStatus
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Automated, NamespaceMetadata, Policy

AUTOMATED = Policy(automated=Automated(prune=True, self_heal=True), retry=RetryLimits())
WORLDS = ["memory", pytest.param("real", marks=pytest.mark.real)]


@pytest.fixture(params=WORLDS)
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """A stage in a fresh namespace."""
    namespace = f"feature-{secrets.token_hex(4)}"
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    if request.param == "memory":
        cluster = MemoryCluster()
        async with behaviours_of(cluster, timing=AT_ONCE):
            stage = Stage(cluster, namespace)
            await cluster.create(await stage.resource("Namespace"), made)
            yield stage
        return
    plane: ControlPlane = request.getfixturevalue("control_plane")
    async with connect_to(plane) as connected:
        stage = Stage(connected, namespace)
        await connected.create(await stage.resource("Namespace"), made)
        yield stage


def steps(stage: Stage) -> list[str]:
    return [event.key.name for event in stage.events(StepDone)]


async def is_well(stage: Stage, unit_id: str = "app") -> None:
    def holds() -> bool:
        status = stage.engine.unit(unit_id).status
        return stage.is_synced(unit_id) and status.health.status is HealthStatus.HEALTHY

    await stage.until(holds, f"{unit_id} is synced and healthy")


async def test_a_deployment_rolls_out_and_the_unit_is_healthy_when_it_has(stage: Stage) -> None:
    await stage.add("app", deployment("web", replicas=2), config_map("settings"), policy=AUTOMATED)
    async with running(stage.engine):
        await is_well(stage)
        found = await stage.get("Deployment", "web")
        assert found is not None
        assert found["status"]["availableReplicas"] == 2
        stage.sources.declare("app", deployment("web", "registry.example/web:2"), config_map("settings"))
        stage.engine.request_refresh("app")
        await stage.until(lambda: len(stage.events(OperationEnded)) == 2, "the new image is applied")
        await is_well(stage)
    assert steps(stage).count("web") == 2
    assert steps(stage).count("settings") == 1


async def test_waves_wait_for_the_health_of_the_one_before(stage: Stage) -> None:
    wanted = [
        config_map("third", sync_wave="3"),
        deployment("second", sync_wave="2", replicas=1),
        config_map("first", sync_wave="1"),
    ]
    await stage.add("app", *wanted)
    happened: list[str] = []
    stage.engine.on_resource_updated(lambda _, live: happened.append(_told(live)))
    stage.engine.on_unit_event(lambda _, event: happened.append(f"{type(event).__name__} {event}"))
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        state = await engine.sync("app", Operation())
    assert state.phase is OperationPhase.SUCCEEDED, state.message
    assert steps(stage) == ["first", "second", "third"]
    applied = next(line for line in happened if line.startswith("StepDone") and "/third" in line)
    assert "second Healthy" in happened[: happened.index(applied)]


def _told(live: Live) -> str:
    return f"{live.key.name} {live.health.status.value if live.health else ''}"


async def test_hooks_run_at_their_phases_and_are_judged_by_their_jobs(stage: Stage) -> None:
    wanted = [
        job("before", hook="PreSync"),
        config_map("kept"),
        job("after", hook="PostSync", hook_delete_policy="HookSucceeded"),
        job("sad", hook="SyncFail"),
    ]
    await stage.add("app", *wanted)
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        state = await engine.sync("app", Operation())
        unit = await engine.refresh("app")
    assert state.phase is OperationPhase.SUCCEEDED, state.message
    assert steps(stage) == ["before", "kept", "after"]
    assert "before" in await stage.names("Job")
    assert "sad" not in await stage.names("Job")
    assert [row.key.name for row in unit.status.resources] == ["kept"]


async def test_a_hook_that_fails_fails_the_sync_and_runs_the_hooks_for_failure(stage: Stage) -> None:
    sad = job("sad", hook="SyncFail")
    failing = job("before", simulate="fail", hook="PreSync")
    failing["spec"]["activeDeadlineSeconds"] = 1  # where pods really start, time makes them fail
    failing["spec"]["template"]["spec"]["nodeSelector"] = {"no-such": "node"}
    await stage.add("app", failing, config_map("never"), sad)
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        state = await engine.sync("app", Operation())
    assert state.phase is OperationPhase.FAILED
    assert "before" in state.message
    assert steps(stage) == ["before", "sad"]
    assert "never" not in await stage.names("ConfigMap")


async def test_a_definition_and_its_object_arrive_in_one_sync(stage: Stage) -> None:
    group = f"{secrets.token_hex(3)}.example".replace("0", "a")
    group = f"g{group}"
    definition: Json = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gizmos.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Gizmo", "plural": "gizmos", "singular": "gizmo", "listKind": "GizmoList"},
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
    gizmo = {"apiVersion": f"{group}/v1", "kind": "Gizmo", "metadata": {"name": "one"}, "spec": {"size": 3}}
    await stage.add("app", gizmo, definition, policy=AUTOMATED)
    async with running(stage.engine):
        await is_well(stage)
        assert [name for name in steps(stage) if name == "one"] == ["one"]
        rows = {row.key.kind: row.verdict for row in stage.engine.unit("app").status.resources}
    assert rows == {"CustomResourceDefinition": Verdict.SYNCED, "Gizmo": Verdict.SYNCED}


async def test_the_destination_namespace_is_made_with_its_labels(stage: Stage) -> None:
    fresh = f"{stage.namespace}-fresh"
    policy = replace(
        AUTOMATED,
        options=("CreateNamespace=true",),
        namespace_metadata=NamespaceMetadata(labels={"team": "shop"}),
    )
    stage.namespace = fresh
    await stage.add("app", config_map("a"), policy=policy)
    async with running(stage.engine):
        await is_well(stage)
    found = await stage.get("Namespace", fresh)
    assert found is not None
    assert found["metadata"]["labels"]["team"] == "shop"
    assert "a" in await stage.names("ConfigMap")


async def test_pruning_takes_what_git_dropped_with_all_that_belongs_to_it(stage: Stage) -> None:
    await stage.add("app", deployment("web", replicas=1), config_map("kept"), policy=AUTOMATED)
    async with running(stage.engine):
        await is_well(stage)
        stage.sources.declare("app", config_map("kept"))
        stage.engine.request_refresh("app")
        await stage.until(lambda: len(stage.events(OperationEnded)) == 2, "it is pruned")
        await is_well(stage)
    assert await stage.names("Deployment") == set()
    assert await stage.names("ReplicaSet") == set()


@pytest.mark.fact("A11")
async def test_a_sync_that_only_waits_is_terminated_at_once_and_not_tried_again(stage: Stage) -> None:
    stuck = job("stuck", simulate="slow", hook="PreSync")
    stuck["spec"]["template"]["spec"]["nodeSelector"] = {"no-such": "node"}
    stuck["spec"]["suspend"] = True
    await stage.add("app", stuck, config_map("never"))
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        await engine.start_sync("app", Operation(retry=RetryLimits(limit=5)))
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits")
        state = await engine.terminate("app")
    assert state.phase is OperationPhase.FAILED
    assert "terminated" in state.message.lower()
    assert "never" not in await stage.names("ConfigMap")


@pytest.mark.fact("A13")
async def test_a_sync_that_takes_too_long_is_terminated(stage: Stage) -> None:
    stuck = job("stuck", hook="PreSync")
    stuck["spec"]["suspend"] = True
    await stage.add("app", stuck, config_map("never"))
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        state = await engine.sync("app", Operation(timeout=timedelta(milliseconds=300)))
    assert state.phase is OperationPhase.FAILED
    assert "took longer" in state.message


async def held_by(stage: Stage, name: str) -> list[str]:
    """The finalizers of a hook's Job."""
    found = await stage.get("Job", name)
    assert found is not None, f"{name} is gone"
    return list(found["metadata"].get("finalizers", []))


def endless(name: str) -> Json:
    """A hook that never comes to an end."""
    made = job(name, hook="PreSync")
    made["spec"]["suspend"] = True
    return made


async def test_a_unit_that_goes_while_its_hook_runs_leaves_nothing_that_only_we_could_release(
    stage: Stage,
) -> None:
    await stage.add("app", endless("running"), config_map("never"))
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        await engine.start_sync("app")
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for its hook")
        assert HOOK_FINALIZER in await held_by(stage, "running")
        await stage.store.delete("app")
        await stage.until(lambda: bool(stage.events(HooksReleased)), "its hook is let go of")
        (released,) = stage.events(HooksReleased)
    assert (released.unit, released.hooks) == ("app", (f"Job.batch {stage.namespace}/running",))
    assert HOOK_FINALIZER not in await held_by(stage, "running")
    assert engine.clusters() == ()


async def test_what_a_killed_process_held_is_let_go_by_the_next_one_though_its_unit_is_gone(
    stage: Stage,
) -> None:
    await stage.add("app", endless("running"))
    await stage.add("kept", endless("other"))
    async with running(stage.engine) as engine:
        for each in ("app", "kept"):
            await engine.refresh(each)
            await engine.start_sync(each)
        await stage.until(
            lambda: {each.unit for each in stage.events(OperationWaits)} == {"app", "kept"}, "both wait"
        )
    await stage.store.delete("app")
    assert HOOK_FINALIZER in await held_by(stage, "running")
    async with running(stage.new_engine()):
        await stage.until(lambda: bool(stage.events(HooksReleased)), "its hook is let go of")
    assert [each.unit for each in stage.events(HooksReleased)] == ["app"]
    assert HOOK_FINALIZER not in await held_by(stage, "running")
    assert HOOK_FINALIZER in await held_by(stage, "other")


async def test_deleting_a_unit_takes_hooks_along_that_an_earlier_one_of_its_name_left_held(
    stage: Stage,
) -> None:
    await stage.add("app", endless("running"))
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        await engine.start_sync("app")
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for its hook")
    await stage.store.delete("app")
    await stage.add("app", config_map("other"))
    gone = asyncio.Event()
    async with running(stage.new_engine()) as engine:
        engine.on_resource_removed(lambda _, key: gone.set() if key.name == "running" else None)
        await engine.refresh("app")
        state = await engine.sync("app", Operation(delete=True, prune=True))
        assert state.phase is OperationPhase.SUCCEEDED, state.message
        async with asyncio.timeout(60):
            await gone.wait()


async def test_a_newer_revision_takes_the_place_of_a_sync_that_only_waits_for_health(stage: Stage) -> None:
    stuck = deployment("stuck", replicas=1)
    stuck["spec"]["template"]["metadata"]["annotations"] = {"trimtab.dev/simulate": "never-ready"}
    stuck["spec"]["template"]["spec"]["nodeSelector"] = {"no-such": "node"}
    await stage.add("app", stuck, config_map("a", "1", sync_wave="1"), policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits")
        newest = stage.sources.declare("app", config_map("a", "2", sync_wave="1"))
        engine.request_refresh("app")
        await is_well(stage)
    assert engine.unit("app").status.revision == newest
    found = await stage.get("ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"value": "2"}
    ends: list[Any] = stage.events(OperationEnded)
    assert [each.phase for each in ends] == [OperationPhase.FAILED, OperationPhase.SUCCEEDED]


async def test_an_object_the_server_refuses_is_told_and_the_others_are_written(stage: Stage) -> None:
    bad: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "bad"},
        "spec": {"ports": [{"port": 0}]},
    }
    await stage.add("app", bad, config_map("good"))
    async with running(stage.engine) as engine:
        await engine.refresh("app")
        state = await engine.sync("app", Operation())
    assert state.phase is OperationPhase.FAILED
    results = {each.key.name: each.status for each in state.results}
    assert results == {"bad": StepStatus.SYNC_FAILED, "good": StepStatus.SYNCED}
    assert "port" in state.message

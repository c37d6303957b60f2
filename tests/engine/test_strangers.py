"""What is not ours, not meant or no longer agreed to stays; and one bad thing harms no other."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.engine.cache.troubled import Troubled, refusal
from tests.engine.stage import Json, Stage, config_map, deployment, running
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.engine import FileStore, GivenClusters, Keyring, RecordStore
from trimtab.engine.cache.records import judged_by
from trimtab.engine.clusters import opened
from trimtab.engine.events import (
    ClusterReady,
    OperationEnded,
    OperationPlanned,
    OperationWaits,
    StepDone,
    UnitUnreadable,
)
from trimtab.engine.operations import Operation, OperationPhase, OperationState, Rehearsal, RetryLimits
from trimtab.engine.rows import Verdict
from trimtab.engine.sync.apply import Performer, WriteSettings
from trimtab.engine.sync.kinds import Kinds
from trimtab.engine.sync.prunes import PruneBudget
from trimtab.engine.sync.steps import Apply, WriteMode
from trimtab.engine.units import Automated, Destination, Policy, SyncUnit
from trimtab.kube.cluster import Cluster, PatchType
from trimtab.tasks import SystemClock

PRUNE = Operation(prune=True)
ASKS_ALWAYS = Policy(prune_budget=PruneBudget(share=0, count=0))
PRECIOUS = {"precious": "yes"}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    cluster = MemoryCluster()
    async with behaviours_of(cluster, timing=AT_ONCE):
        yield Stage(cluster, "default")


def precious(name: str, **annotations: str) -> Json:
    """Something that somebody needs."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "annotations": annotations},
        "data": PRECIOUS,
    }


def tracked_by_another(name: str) -> Json:
    return precious(name, **{"argocd.argoproj.io/tracking-id": f"other:/ConfigMap:default/{name}"})


def told(state: OperationState) -> dict[str, str]:
    """What became of each object."""
    return {each.key.name: each.status.value for each in state.results if each.status}


async def test_a_hook_does_not_clear_its_name_of_what_is_not_ours(stage: Stage) -> None:
    await stage.create(tracked_by_another("migrate"))
    await stage.create(precious("byhand"))
    hooks = [config_map(name, hook="PreSync") for name in ("migrate", "byhand")]
    await stage.add("shop", config_map("a"), *hooks, policy=Policy(retry=RetryLimits()))
    async with running(stage.engine) as engine:
        await engine.refresh("shop")
        state = await engine.sync("shop")
    assert state.phase is OperationPhase.FAILED
    assert "the hook would delete an object of its name, which is managed by argocd other" in state.message
    for name in ("migrate", "byhand"):
        found = await stage.get("ConfigMap", name)
        assert found is not None
        assert found["data"] == PRECIOUS


async def test_a_hook_of_a_kind_that_is_not_watched_does_not_clear_its_name_of_what_is_not_ours() -> None:
    troubled = Troubled()
    troubled.refusing["ConfigMap"] = refusal(403)  # the right to list is missing, the one to read is not
    stage = Stage(troubled, "default")
    await stage.create(precious("migrate"))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    hook = config_map("migrate", hook="PreSync")
    await stage.add("shop", account, hook, policy=Policy(retry=RetryLimits()))
    async with behaviours_of(troubled.inner, timing=AT_ONCE), running(stage.engine) as engine:
        state = await engine.sync("shop")
        assert (state.phase, told(state)) == (OperationPhase.FAILED, {"migrate": "SyncFailed"})
        assert "managed by nobody we know" in state.message
        left = await stage.get("ConfigMap", "migrate")
        assert left is not None
        assert left["data"] == PRECIOUS
        await stage.delete("ConfigMap", "migrate")
        for _ in ("first", "in the place of the first"):
            assert (await engine.sync("shop")).phase is OperationPhase.SUCCEEDED


async def test_a_pruned_object_that_somebody_holds_is_waited_for_and_said_not_pruned_again_and_again(
    stage: Stage,
) -> None:
    policy = Policy(automated=Automated(prune=True, self_heal=True))
    await stage.add("shop", *map(config_map, "ab"), policy=policy)
    async with running(stage.engine) as engine:
        await stage.until(lambda: len(stage.events(OperationEnded)) == 1, "it was synced")
        await stage.patch("ConfigMap", "b", {"metadata": {"finalizers": ["example.org/hold"]}})
        stage.sources.declare("shop", config_map("a"))
        engine.request_refresh("shop")
        words = "ConfigMap default/b is being deleted and waits for example.org/hold"
        await stage.until(lambda: words in complaints(engine.unit("shop")), "it says what it waits for")
        for _ in range(3):
            await engine.refresh("shop")
        ends = len(stage.events(OperationEnded))
        assert (ends, engine.unit("shop").operation) == (2, None)
        await stage.patch("ConfigMap", "b", {"metadata": {"finalizers": None}})
        await stage.until(lambda: engine.unit("shop").status.verdict is Verdict.SYNCED, "it is gone")
        assert (len(stage.events(OperationEnded)), complaints(engine.unit("shop"))) == (2, [])


def complaints(unit: SyncUnit) -> list[str]:
    return [each.message for each in unit.status.conditions]


async def test_leaving_an_object_out_of_a_sync_or_mistyping_its_hook_is_no_reason_to_prune_it(
    stage: Stage,
) -> None:
    await stage.add("shop", *map(config_map, "abc"))
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        skipped, mistyped = config_map("b", hook="Skip"), config_map("c", hook="Presync")
        stage.sources.declare("shop", config_map("a"), skipped, mistyped)
        state = await engine.sync("shop", PRUNE)
    assert (state.phase, told(state)) == (OperationPhase.SUCCEEDED, {})
    assert {"a", "b", "c"} <= await stage.names("ConfigMap")


async def test_an_object_may_become_a_hook(stage: Stage) -> None:
    await stage.add("shop", *map(config_map, "ab"))
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        stage.sources.declare("shop", config_map("a"), config_map("b", hook="PreSync"))
        assert (await engine.sync("shop", PRUNE)).phase is OperationPhase.SUCCEEDED


async def test_an_object_that_was_declared_badly_and_then_not_at_all_is_no_longer_in_the_way(
    stage: Stage,
) -> None:
    await stage.add("shop", *map(config_map, "ab"))
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        bad = config_map("b")
        bad["metadata"]["labels"] = {"x": 1}
        stage.sources.declare("shop", config_map("a"), bad)
        await engine.refresh("shop")
        stage.sources.declare("shop", config_map("a"))
        state = await engine.sync("shop", PRUNE)
    assert (state.phase, told(state)) == (OperationPhase.SUCCEEDED, {"b": "Pruned"})


async def test_consent_to_a_deletion_ends_when_somebody_else_claims_the_object(stage: Stage) -> None:
    await stage.add("shop", *map(config_map, "ab"), policy=replace(ASKS_ALWAYS, retry=RetryLimits()))
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        stage.sources.declare("shop", config_map("a"))
        await engine.start_sync("shop", PRUNE)
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for consent")
        other = {"trimtab.dev/owner": f"{stage.installation}/other"}
        seen = asyncio.Event()
        engine.on_resource_updated(lambda _cluster, live: seen.set() if live.key.name == "b" else None)
        await stage.patch("ConfigMap", "b", {"metadata": {"annotations": other}})
        await seen.wait()
        engine.approve_deletions("shop")
        state = await engine.wait_for_sync("shop")
    assert state.phase is OperationPhase.FAILED
    assert await stage.get("ConfigMap", "b") is not None


class Snatched:
    """A cluster where somebody changes an object just before its deletion arrives, unheard by anybody yet."""

    def __init__(self, cluster: MemoryCluster, change: Json) -> None:
        self._cluster, self._change = cluster, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def delete(self, resource: Any, name: str, **options: Any) -> Any:
        change, self._change = self._change, {}
        if change:
            how, space = PatchType.MERGE, options["namespace"]
            await self._cluster.patch(resource, name, change, how=how, namespace=space)
        return await self._cluster.delete(resource, name, **options)


@pytest.mark.parametrize(
    ("change", "phase", "is_left"),
    [
        ({"metadata": {"annotations": {"trimtab.dev/owner": "another/app"}}}, OperationPhase.FAILED, True),
        ({"metadata": {"annotations": {"trimtab.dev/owner": None}}}, OperationPhase.FAILED, True),
        ({"data": {"value": "2"}}, OperationPhase.SUCCEEDED, False),
    ],
)
async def test_an_object_that_somebody_claims_at_the_last_moment_is_not_pruned(
    change: Json, phase: OperationPhase, *, is_left: bool
) -> None:
    cluster = MemoryCluster()
    stage = Stage(cluster, "default")
    await stage.add("web", config_map("a"), config_map("b"))
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(stage.events(ClusterReady)), "the cluster is open")
        await engine.sync("web")
        await engine.refresh("web")
    stage.sources.declare("web", config_map("a"))
    stage.told.clear()
    stage.clusters = GivenClusters({"here": cast(Cluster, Snatched(cluster, change))})
    stage.engine = stage.new_engine()
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(stage.events(ClusterReady)), "the cluster is open")
        state = await engine.sync("web", PRUNE)
    found = await stage.get("ConfigMap", "b")
    assert found is not None, "nobody here collects what is deleted in the foreground"
    assert (state.phase, "deletionTimestamp" not in found["metadata"]) == (phase, is_left)
    if is_left:
        assert "somebody else has claimed it since the plan was made" in state.message


async def test_consent_does_not_reach_the_deletions_of_a_later_attempt(stage: Stage) -> None:
    bad = config_map("bad", sync_wave="5")
    bad["data"] = {"x": 1}
    await stage.add("shop", *(config_map(f"c{number}") for number in range(5)), policy=ASKS_ALWAYS)
    again = RetryLimits(limit=1, wait=timedelta(milliseconds=50), refresh=True)
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        stage.sources.declare("shop", *(config_map(f"c{number}") for number in range(4)), bad)
        await engine.start_sync("shop", replace(PRUNE, rehearsal=Rehearsal.NEVER, retry=again))
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for consent")
        stage.sources.declare("shop", config_map("c0"))  # a newer commit, whose deletions nobody saw
        engine.approve_deletions("shop")
        await stage.until(
            lambda: any("3 of 4" in str(each) for each in stage.events(OperationWaits)),
            "the next attempt asks anew",
        )
        await engine.terminate("shop")
    assert {"c0", "c1", "c2", "c3"} <= await stage.names("ConfigMap")


@pytest.mark.parametrize("mode", [WriteMode.SERVER_SIDE, WriteMode.REPLACE])
async def test_neither_force_nor_replace_destroys_what_took_the_name_since_an_agreed_plan(
    stage: Stage, mode: WriteMode
) -> None:
    await stage.add("shop", config_map("a"))
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        stage.sources.declare("shop", config_map("a", "2", sync_options="Force=true"))
        plan = await engine.plan("shop", Operation(plan_digest="agreed"))
    (step,) = plan.steps
    assert isinstance(step, Apply)
    await stage.delete("ConfigMap", "a")
    await stage.create(tracked_by_another("a"))
    clock, cluster = SystemClock(), cast(Cluster, stage.cluster)
    kinds = Kinds(cluster, clock, await cluster.discover(), plan.steps)
    performer = Performer(cluster, kinds, clock, judged_by(), WriteSettings(), exact=True)
    outcome = await performer.perform(replace(step, mode=mode, force=mode is WriteMode.SERVER_SIDE))
    assert outcome.problem
    found = await stage.get("ConfigMap", "a")
    assert found is not None
    assert found["data"] == PRECIOUS


async def test_an_operation_goes_on_when_its_cluster_is_opened_anew() -> None:
    stage = Stage(MemoryCluster(), "default")  # nobody rolls out by itself
    await stage.add("shop", deployment("web", sync_wave="0"), config_map("z", sync_wave="1"))
    async with running(stage.engine) as engine:
        await engine.start_sync("shop")
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for health")
        stage.clusters.put(
            opened("here", cast(Cluster, stage.cluster))
        )  # as when its credentials were renewed
        await stage.until(lambda: len(stage.events(ClusterReady)) > 1, "the cluster is ready again")
        web = await stage.get("Deployment", "web")
        assert web is not None
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2)
        status = {**counts, "observedGeneration": web["metadata"]["generation"]}
        await stage.patch("Deployment", "web", {"status": status}, subresource="status")
        assert (await engine.wait_for_sync("shop")).phase is OperationPhase.SUCCEEDED


async def test_an_operation_begins_anew_when_its_unit_moves_to_another_cluster() -> None:
    here, there = MemoryCluster(), MemoryCluster()  # nobody rolls out by itself
    stage = Stage(here, "default")
    stage.clusters.put(opened("there", cast(Cluster, there)))
    await stage.add("shop", config_map("a"), deployment("web"), config_map("z", sync_wave="1"))
    async with running(stage.engine) as engine:
        await engine.start_sync("shop")
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for health")
        moved = Destination(cluster="there", namespace="default")
        await stage.store.update(replace(engine.unit("shop"), destination=moved))
        await stage.until(lambda: len(stage.events(OperationPlanned)) > 1, "it is planned anew")
        await stage.until(lambda: len(stage.events(OperationWaits)) > 1, "it waits again")
        done = [each.key.name for each in stage.events(StepDone)]
        assert done == ["a", "web", "a", "web"]
    found = await there.get(await stage.resource("ConfigMap"), "a", namespace="default")
    assert found.key.name == "a"


async def test_one_record_that_cannot_be_read_is_told_of_and_harms_no_other() -> None:
    cluster = MemoryCluster()
    stage = Stage(
        cluster, "default", store=RecordStore(cluster, namespace="default", keys=Keyring(b"k" * 32))
    )
    await stage.add("shop", config_map("a"))
    named = {"name": "x", "labels": {"trimtab.dev/record": "head"}, "annotations": {"trimtab.dev/unit": "x"}}
    broken = {"chunks": base64.b64encode(b"{not json").decode()}
    async with running(stage.engine) as engine:
        await stage.create({"apiVersion": "v1", "kind": "Secret", "metadata": named, "data": broken})
        await stage.until(lambda: bool(stage.events(UnitUnreadable)), "the record is told of")
        assert (await engine.sync("shop")).phase is OperationPhase.SUCCEEDED


async def test_one_file_that_leads_nowhere_harms_no_other(tmp_path: Path) -> None:
    store = FileStore(tmp_path, look_every=timedelta(milliseconds=10))
    stage = Stage(MemoryCluster(), "default", store=store)
    await stage.add("shop", config_map("a"))
    (tmp_path / "broken.yaml").symlink_to("/nowhere")
    async with running(stage.engine) as engine:
        assert (await engine.sync("shop")).phase is OperationPhase.SUCCEEDED
        stage.sources.declare("shop", config_map("a", "2"))
        assert (await engine.sync("shop")).phase is OperationPhase.SUCCEEDED

"""Deletion safety and isolation: what fails to be read is never taken for gone, and harms its own alone."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from tests.engine.stage import QUICK, Json, Stage, config_map, running
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.engine import GivenClusters, NothingUnderWay
from trimtab.engine.cache.filters import ResourceFilter, Rule
from trimtab.engine.clusters import opened
from trimtab.engine.compare.ignoring import IgnoreRule
from trimtab.engine.events import (
    ClusterDropped,
    ClusterLost,
    ClusterReady,
    OperationEnded,
    OperationWaits,
    SettingsChanged,
    UnitQuarantined,
    json_line,
)
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import Operation, OperationPhase, RetryLimits
from trimtab.engine.rows import Verdict
from trimtab.engine.units import (
    Automated,
    ClusterEntry,
    ConditionType,
    Destination,
    Policy,
    ReconciliationSettings,
    ResourceOverride,
    SyncUnit,
)
from trimtab.errors import ClusterUnreachable, Missing
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import Expired, Forbidden, Status

EAGER = Policy(automated=Automated(prune=True, self_heal=True), retry=RetryLimits())


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    cluster = MemoryCluster()
    async with behaviours_of(cluster, timing=AT_ONCE):
        yield Stage(cluster, "default")


class Sick:
    """A cluster of which lists and watches of ConfigMaps fail while it is told to."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.error: Exception | None = None
        self.watch_error: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def list(self, resource: Any, **options: Any) -> Any:
        if self.error is not None and resource.kind == "ConfigMap":
            return self._failing(self._cluster.list(resource, **{**options, "page_size": 1}))
        return self._cluster.list(resource, **options)

    async def _failing(self, pages: Any) -> AsyncIterator[Any]:
        """One page, and then the failure."""
        async for page in pages:
            yield page
            break
        if self.error is not None:
            raise self.error

    @asynccontextmanager
    async def watch(self, resource: Any, **options: Any) -> AsyncIterator[Any]:
        if self.watch_error is not None and resource.kind == "ConfigMap":
            raise self.watch_error
        async with self._cluster.watch(resource, **options) as events:
            yield events


FORBIDDEN = Forbidden("list ConfigMap", "you may not", status=Status(code=403))
EXPIRED = Expired("watch ConfigMap", "too old", status=Status(code=410))
UNREACHABLE = ClusterUnreachable("list ConfigMap", "no answer")


def synced(stage: Stage, unit_id: str = "web") -> Callable[[], bool]:
    return lambda: stage.is_synced(unit_id)


def differs(stage: Stage, unit_id: str = "web") -> Callable[[], bool]:
    return lambda: stage.engine.unit(unit_id).status.verdict is Verdict.OUT_OF_SYNC


async def made(stage: Stage) -> None:
    """A unit whose objects are all there, made by an engine that was well."""
    await stage.add("web", *[config_map(f"c{number}") for number in range(5)], policy=EAGER)
    async with running(stage.engine):
        await stage.until(synced(stage), "it is synced")
    stage.told.clear()


async def with_a_sick_cluster(stage: Stage, sick: Sick) -> None:
    """The next engine, which reads a cluster that is ill."""
    stage.clusters = GivenClusters({"here": cast(Cluster, sick)})
    stage.cluster.requests.clear()
    stage.engine = stage.new_engine()


@pytest.mark.parametrize("error", [UNREACHABLE, FORBIDDEN, EXPIRED])
async def test_what_cannot_be_listed_is_never_deleted(stage: Stage, error: Exception) -> None:
    await made(stage)
    sick = Sick(stage.cluster)
    sick.error = error
    await with_a_sick_cluster(stage, sick)
    stage.sources.declare("web", config_map("c0"), config_map("c1"))
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(stage.events(ClusterReady)), "the cluster is open")
        await engine.refresh("web")
        await engine.sync("web", Operation(prune=True))
    assert [each for each in stage.cluster.writes() if each.verb == "delete"] == []
    assert await stage.names("ConfigMap") >= {f"c{number}" for number in range(5)}


@pytest.mark.parametrize("error", [UNREACHABLE, EXPIRED])
async def test_a_watch_that_breaks_changes_nothing(stage: Stage, error: Exception) -> None:
    await made(stage)
    sick = Sick(stage.cluster)
    sick.watch_error = error
    await with_a_sick_cluster(stage, sick)
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(stage.events(ClusterReady)), "the cluster is open")
        unit = await engine.refresh("web")
        assert unit.status.verdict is Verdict.SYNCED
    assert stage.cluster.writes() == []


async def test_a_cluster_that_cannot_be_reached_harms_only_its_own_units(stage: Stage) -> None:
    def unreachable() -> Any:
        raise ClusterUnreachable("cluster far", "no route to it")

    stage.clusters.put(ClusterEntry(name="far", connect=unreachable))
    await stage.add("far", config_map("x"), policy=EAGER, destination=Destination(cluster="far"))
    await stage.add("near", config_map("a"), policy=EAGER)
    async with running(stage.engine) as engine:
        await stage.until(synced(stage, "near"), "the near one is synced")
        await stage.until(lambda: bool(engine.unit("far").status.conditions), "the far one is told")
    far = engine.unit("far").status
    assert (far.verdict, far.health.status) == (Verdict.UNKNOWN, HealthStatus.UNKNOWN)
    assert "no route to it" in far.conditions[0].message
    assert far.conditions[0].type is ConditionType.COMPARISON


async def test_a_cluster_that_comes_back_is_used_again(stage: Stage) -> None:
    failures = [ClusterUnreachable("cluster flaky", "no route to it")] * 2

    def connecting() -> Any:
        if failures:
            raise failures.pop()
        return nullcontext(cast(Cluster, stage.cluster))

    stage.clusters.put(ClusterEntry(name="flaky", connect=connecting))
    await stage.add("web", config_map("a"), policy=EAGER, destination=Destination(cluster="flaky"))
    async with running(stage.engine) as engine:
        await stage.until(synced(stage), "it is synced in the end")
        assert engine.unit("web").status.conditions == ()
    assert [event.cluster for event in stage.events(ClusterLost)] == ["flaky", "flaky"]


async def test_an_engine_runs_once(stage: Stage) -> None:
    async with running(stage.engine) as engine:
        with pytest.raises(RuntimeError, match="runs once"):
            await engine.run()


@pytest.mark.fact("C46", "C48")
async def test_clusters_come_change_and_go_while_the_engine_runs(stage: Stage) -> None:
    other = MemoryCluster()
    await stage.add("web", config_map("a"), policy=EAGER, destination=Destination(cluster="other"))
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(stage.events(ClusterLost)), "nobody knows it")
        entry = opened("other", cast(Cluster, other))
        stage.clusters.put(entry)
        await stage.until(synced(stage), "it is synced")
        ready = len(stage.events(ClusterReady))
        stage.clusters.put(entry)  # the same again: nothing is read anew
        await engine.refresh("web")
        assert len(stage.events(ClusterReady)) == ready
        stage.clusters.put(opened("other", cast(Cluster, other), namespaces=["default"]))
        await stage.until(lambda: len(stage.events(ClusterReady)) == ready + 1, "it is read anew")
        stage.clusters.take_out("other")
        await stage.until(lambda: bool(stage.events(ClusterDropped)), "it is dropped")
        await stage.until(lambda: bool(engine.unit("web").status.conditions), "its unit is told")
    assert "there is no such cluster" in engine.unit("web").status.conditions[0].message


async def test_two_clusters_are_kept_apart_although_their_objects_are_called_the_same(stage: Stage) -> None:
    other = MemoryCluster()
    stage.clusters.put(opened("other", cast(Cluster, other)))
    await stage.add("one", config_map("same", "here"), policy=EAGER)
    await stage.add(
        "two", config_map("same", "there"), policy=EAGER, destination=Destination(cluster="other")
    )
    async with running(stage.engine):
        await stage.until(lambda: synced(stage, "one")() and synced(stage, "two")(), "both are synced")
    here = await stage.get("ConfigMap", "same")
    far = (await other.get(await stage.resource("ConfigMap"), "same", namespace="default")).manifest()
    assert here is not None
    assert (here["data"]["value"], far["data"]["value"]) == ("here", "there")


async def test_objects_outside_the_allowed_namespaces_are_refused_by_name(stage: Stage) -> None:
    stage.clusters.put(opened("narrow", cast(Cluster, stage.cluster), namespaces=["default"]))
    elsewhere = config_map("far")
    elsewhere["metadata"]["namespace"] = "kube-system"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "wide"}}
    await stage.add("web", config_map("a"), elsewhere, role, destination=Destination(cluster="narrow"))
    async with running(stage.engine) as engine:
        unit = await engine.refresh("web")
    told = " ".join(each.message for each in unit.status.conditions)
    assert "kube-system is not among those allowed" in told
    assert "ClusterRole.rbac.authorization.k8s.io wide" in told


async def test_a_generator_with_a_bug_quarantines_its_unit_alone(stage: Stage) -> None:
    await stage.add("poison", config_map("x"), policy=EAGER)
    await stage.add("web", config_map("a"), policy=EAGER)
    usual = stage.sources.generate

    async def generate(unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Any:
        if unit.id == "poison":
            raise ZeroDivisionError("a secret")
        return await usual(unit, revision, no_cache=no_cache)

    stage.sources.generate = generate  # type: ignore[method-assign]  # the seam is the generator itself
    stage.engine = stage.new_engine()
    async with running(stage.engine):
        await stage.until(synced(stage), "the other is synced")
        await stage.until(lambda: bool(stage.events(UnitQuarantined)), "it is told")
    assert [str(event) for event in stage.events(UnitQuarantined)] == ["a bug: ZeroDivisionError"]


async def test_an_endless_jq_rule_is_told_and_holds_up_nobody(stage: Stage) -> None:
    endless = IgnoreRule(kind="ConfigMap", jq_path_expressions=("[range(1e12)] | .[0]",))
    broken = IgnoreRule(kind="ConfigMap", jq_path_expressions=(".a[",))
    await stage.add("endless", config_map("e"), policy=replace(EAGER, ignore_differences=(endless,)))
    await stage.add("broken", config_map("b"), policy=Policy(ignore_differences=(broken,)))
    await stage.add("web", config_map("a"), policy=EAGER)
    async with running(stage.engine) as engine:
        await stage.until(synced(stage), "the other is synced")
        unit = await engine.refresh("broken")
    assert any("ignore rule '.a['" in each.message for each in unit.status.conditions)


# -- settings that change --------------------------------------------------------------------------------


async def test_other_overrides_judge_and_compare_anew_at_once(stage: Stage) -> None:
    await stage.add("web", config_map("a"), policy=Policy(automated=Automated()))
    async with running(stage.engine) as engine:
        await stage.until(synced(stage), "it is synced")
        await stage.patch("ConfigMap", "a", {"data": {"value": "mine"}})
        await stage.until(differs(stage), "the drift is seen")
        ignoring = ResourceOverride(
            health=lambda _: Health(HealthStatus.SUSPENDED, "a nap"),
            ignore_differences=(IgnoreRule(kind="ConfigMap", json_pointers=("/data",)),),
        )
        engine.set_reconciliation_settings(ReconciliationSettings(resource_overrides={"ConfigMap": ignoring}))
        await stage.until(
            lambda: synced(stage)() and engine.unit("web").status.health.status is HealthStatus.SUSPENDED,
            "both count",
        )
        assert [event.what for event in stage.events(SettingsChanged)] == [("resource_overrides",)]
        engine.set_reconciliation_settings(ReconciliationSettings())
        await stage.until(differs(stage), "neither counts any more")


async def test_an_excluded_kind_is_left_alone_and_said(stage: Stage) -> None:
    await stage.add("web", config_map("a"), policy=EAGER)
    async with running(stage.engine) as engine:
        await stage.until(synced(stage), "it is synced")
        chosen = ResourceFilter(exclusions=(Rule(kinds=("ConfigMap",)),))
        engine.set_reconciliation_settings(ReconciliationSettings(resources_filter=chosen))
        await stage.until(lambda: bool(engine.unit("web").status.conditions), "it is said")
        (condition,) = engine.unit("web").status.conditions
        assert condition.type is ConditionType.EXCLUDED
    assert "a" in await stage.names("ConfigMap")


# -- fairness and figures ----------------------------------------------------------------------------------


async def test_a_tenant_with_many_slow_units_does_not_keep_another_waiting(stage: Stage) -> None:
    hold, begun = asyncio.Event(), asyncio.Event()
    usual = stage.sources.generate

    async def generate(unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Any:
        if unit.tenant == "greedy":
            begun.set()
            await hold.wait()
        return await usual(unit, revision, no_cache=no_cache)

    stage.sources.generate = generate  # type: ignore[method-assign]  # the seam is the generator itself
    stage.engine = stage.new_engine()
    for number in range(30):
        await stage.add(f"slow-{number}", config_map(f"s{number}"), tenant="greedy")
    async with running(stage.engine):
        await begun.wait()
        await stage.add("quick", config_map("q"), policy=EAGER, tenant="modest")
        await stage.until(synced(stage, "quick"), "the other tenant is served")
        hold.set()


async def test_operations_that_only_wait_take_no_processor(stage: Stage) -> None:
    for number in range(8):
        stuck = config_map(f"s{number}", sync_wave="1")
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"never-{number}"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "none",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        await stage.add(f"stuck-{number}", claim, stuck, operation=Operation())
    await stage.add("quick", config_map("q"))
    async with running(stage.engine) as engine:
        await stage.until(lambda: len(stage.events(OperationWaits)) >= 8, "twice as many wait as there are")
        state = await engine.sync("quick", Operation())
        assert state.phase is OperationPhase.SUCCEEDED


async def test_the_engines_metrics_follow_what_happens(stage: Stage) -> None:
    metrics = stage.engine.metrics()
    await stage.add("web", config_map("a"), policy=EAGER, tenant="team")
    async with running(stage.engine):
        await stage.until(synced(stage), "it is synced")
        unit = {"namespace": "team", "name": "web", "project": ""}
        value = metrics.registry.get_sample_value
        ended = {**unit, "dest_server": "here", "phase": "Succeeded", "dry_run": "false"}
        assert value("argocd_app_sync_total", ended) == 1
        assert value("trimtab_units", {"sync_status": "Synced", "health_status": "Healthy"}) == 1
        assert (value("argocd_cluster_api_resource_objects", {"server": "here"}) or 0) > 0
        assert value("workqueue_depth", {"name": "app_reconciliation_queue"}) == 0
        assert (value("workqueue_work_duration_seconds_count", {"name": "app_reconciliation_queue"}) or 0) > 0
        changes = {"server": "here", "group": "", "kind": "ConfigMap"}
        assert (value("argocd_cluster_events_total", changes) or 0) > 0


async def test_an_operation_that_waits_for_its_cluster_can_be_ended(stage: Stage) -> None:
    await stage.add("web", config_map("a"), destination=Destination(cluster="nowhere"), operation=Operation())
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(engine.unit("web").status.conditions), "its cluster is missing")
        state = await engine.terminate("web")
        assert state.phase is OperationPhase.FAILED
        assert engine.unit("web").operation is None
        with pytest.raises(NothingUnderWay, match="no operation is under way"):
            await engine.terminate("web")
        with pytest.raises(NothingUnderWay):
            engine.approve_deletions("web")


async def test_nothing_that_the_engine_tells_or_keeps_holds_a_secret(stage: Stage) -> None:
    old, new, bad = (f"canary-{number}-271828" for number in (1, 2, 3))

    def secret(name: str, **fields: Any) -> Json:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **fields}

    invalid = secret("invalid", data={"key": bad})  # not in base64, so the server refuses it
    await stage.add("web", secret("a", stringData={"key": old}), policy=replace(EAGER, retry=RetryLimits()))
    texts: list[str] = []
    async with running(stage.engine) as engine:
        await stage.until(synced(stage), "it is synced")
        stage.sources.declare("web", secret("a", stringData={"key": new}), invalid)
        texts.append(repr(await engine.plan("web")))
        engine.request_refresh("web")
        await stage.until(lambda: len(stage.events(OperationEnded)) == 2, "it was tried")
        texts.append(repr(await engine.refresh("web")))
    texts += [json_line(event).decode() for event in stage.told]
    texts.append(msgspec.json.encode(await stage.store.get("web")).decode())
    found = [
        text for text in texts for canary in (old, new, bad) for told in _spelled(canary) if told in text
    ]
    assert found == []


def _spelled(canary: str) -> tuple[str, str]:
    return canary, base64.b64encode(canary.encode()).decode()


async def test_whoever_asks_about_a_unit_that_is_not_there_is_told(stage: Stage) -> None:
    async with running(stage.engine) as engine:
        for ask in (engine.refresh, engine.sync, engine.plan, engine.terminate, engine.wait_for_sync):
            with pytest.raises(Missing, match="there is no such unit"):
                await ask("nobody")


async def test_an_unused_cluster_is_closed_and_a_late_look_costs_nothing(stage: Stage) -> None:
    stage.engine = stage.new_engine(replace(QUICK, refresh_every=timedelta(milliseconds=30)))
    await stage.add("web", config_map("a"), policy=EAGER)
    async with running(stage.engine):
        await stage.until(synced(stage), "it is synced")
        await stage.store.delete("web")
        await stage.until(lambda: bool(stage.events(ClusterDropped)), "the cluster is closed")
    assert stage.events(ClusterDropped)[0].reason == "no unit lives there"

"""Every verb of one app reads a part, and says what it would had it read everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from tests.app.test_narrowing import Listened
from tests.app.world import Json, World, config_map
from trimtab.apiserver.behaviours import Behaviours, behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.app.apps import Apps, Work
from trimtab.app.deletion import DELETION, WITHOUT_HOOKS
from trimtab.app.goals import Goal
from trimtab.app.trees import lines_of
from trimtab.app.why import explain
from trimtab.engine.control.policy import rollback
from trimtab.engine.operations import Operation, Strategy
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import SyncUnit
from trimtab.resources.keys import ResourceKey
from trimtab.tasks import ManualClock

HOME, ELSEWHERE = "default", "elsewhere"


def deployment(name: str, **template: Json) -> Json:
    pod = {
        "metadata": {"labels": {"app": name}, **template},
        "spec": {"containers": [{"name": "one", "image": "registry.example/one:1"}]},
    }
    spec = {"selector": {"matchLabels": {"app": name}}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def stateful_set(name: str) -> Json:
    made = {**deployment(name), "kind": "StatefulSet"}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    return {**made, "spec": {**made["spec"], "serviceName": name, "volumeClaimTemplates": [claim]}}


def job(name: str, hook: str) -> Json:
    pod = deployment(name)["spec"]["template"]["spec"]
    metadata = {"name": name, "annotations": {"trimtab.dev/hook": hook}}
    template = {"spec": {**pod, "restartPolicy": "Never"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def moved(manifest: Json, namespace: str) -> Json:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


ROLE: Json = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "reader"},
    "rules": [],
}
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Boat", "plural": "boats", "singular": "boat"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}
BOAT: Json = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "one"}}


class Case(Struct, frozen=True, kw_only=True):
    """One app, what it was before, and what others did around it."""

    now: list[Json]
    before: list[Json] = []
    #: what was there before the app came
    found: list[Json] = []
    #: kind and name of what owns the object, and the object
    owned: list[tuple[str, str, Json]] = []
    #: how many objects its tree shows
    shown: int
    #: whether only all of the cluster will do for its tree
    is_everywhere: bool = False


CASES = {
    "plain": Case(now=[config_map("one"), deployment("web")], shown=4),
    "claims": Case(now=[stateful_set("data")], shown=4),
    "hooks": Case(
        now=[job("before", "PreSync"), config_map("one"), job("last", "PreDelete"), deployment("web")],
        shown=4,
    ),
    "orphans": Case(
        before=[config_map("one"), config_map("old"), deployment("left")], now=[config_map("one")], shown=5
    ),
    "two namespaces": Case(now=[deployment("web"), moved(deployment("web"), ELSEWHERE)], shown=6),
    "strangers below": Case(
        now=[deployment("web")], owned=[("Deployment", "web", config_map("noted"))], shown=4
    ),
    "instances": Case(
        found=[DEFINITION],
        now=[BOAT],
        owned=[("Boat", "one", config_map("sail")), ("ConfigMap", "sail", deployment("crew"))],
        shown=5,
    ),
    "definitions": Case(now=[DEFINITION, moved(BOAT, HOME)], shown=2, is_everywhere=True),
    "cluster-scoped owners": Case(
        now=[ROLE, config_map("one")],
        owned=[("ClusterRole", "reader", moved(deployment("web"), ELSEWHERE))],
        shown=5,
        is_everywhere=True,
    ),
    "unwell": Case(
        now=[deployment("web", annotations={"trimtab.dev/simulate": "image-pull-error"})], shown=3
    ),
}


async def create(world: World, manifest: Json) -> None:
    resource = await world.resource(manifest["kind"])
    space = manifest["metadata"].get("namespace", HOME) if resource.namespaced else ""
    await world.cluster.create(resource, manifest, namespace=space)


async def own(world: World, kind: str, name: str, manifest: Json) -> None:
    """Have somebody make an object that belongs to another."""
    owner = await world.get(kind, name) or await world.get(kind, name, "")
    assert owner is not None
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": kind,
        "name": name,
        "uid": owner["metadata"]["uid"],
    }
    await create(world, {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}})


@asynccontextmanager
async def grown(case: Case) -> AsyncIterator[World]:
    """A world in which the app has been synced, and everything has come to rest."""
    world = World()
    async with behaviours_of(world.cluster, timing=AT_ONCE) as behaviours:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}}
        for each in (namespace, deployment("foreign"), *case.found):
            await create(world, each)
        await _synced(world, behaviours, case)
        for kind, name, manifest in case.owned:
            await own(world, kind, name, manifest)
        await behaviours.settled()
    yield world


async def _synced(world: World, behaviours: Behaviours, case: Case) -> None:
    for manifests in (case.before, case.now):
        if manifests:
            await world.sync("shop", *manifests)
            await behaviours.settled()


def as_tree(apps: Apps, unit: SyncUnit) -> AbstractAsyncContextManager[Work]:
    return apps.work_on(unit, renders=True, narrowly=True, families=True, only_looks=True)


def as_wait(apps: Apps, unit: SyncUnit) -> AbstractAsyncContextManager[Work]:
    return apps.work_on(unit, renders=True, narrowly=True, only_looks=True, stands_in=False)


def as_delete(apps: Apps, unit: SyncUnit, operation: Operation) -> AbstractAsyncContextManager[Work]:
    return apps.work_on(unit, renders=operation is DELETION, narrowly=True)


async def answers(world: World, unit: SyncUnit, cluster: Any = None) -> dict[str, Any]:
    """What each verb has to say."""
    apps = await world.apps(cluster)
    async with as_tree(apps, unit) as work:
        looked, nodes = await work.tree()
    async with as_wait(apps, unit) as work:
        waited = await work.until([Goal(looked.status.health.status.value.lower())], 60)
    plans = dict[tuple[str, Strategy], object]()
    for operation in (DELETION, WITHOUT_HOOKS):
        async with as_delete(apps, unit, operation) as work:
            plan = await work.plan(operation)
            plans["delete", operation.strategy] = _steps(plan)
    for verb, asked in {"apply": _agreed(unit), "rollback": rollback(unit, 1, prune=True)}.items():
        async with apps.work_on(unit, operation=asked, renders=True, narrowly=True) as work:
            plans[verb, asked.strategy] = _steps(await work.plan(asked))
    return {"tree": nodes, "wait": _stand(waited), "look": _stand(looked), "plans": plans}


def _agreed(unit: SyncUnit) -> Operation:
    """What a stored plan asks for: a revision, whatever the source names by then."""
    return Operation(revision=unit.status.history[-1].revision, prune=True)


def _steps(plan: SyncPlan) -> tuple[str, list[tuple[type, ResourceKey]]]:
    return plan.digest, [(type(each), each.key) for each in plan.steps]


def _stand(unit: SyncUnit) -> tuple[object, ...]:
    status = unit.status
    return status.verdict, status.health, status.revision, status.resources


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_every_verb_says_what_it_would_if_it_had_read_everything(case: Case) -> None:
    async with grown(case) as world:
        unit = await world.unit("shop")
        assert unit.places is not None
        seen = Listened(world.cluster)
        narrow = await answers(world, unit, seen)
        assert narrow == await answers(world, replace(unit, places=None))
    assert len(list(lines_of(narrow["tree"]))) == case.shown
    # What lies in no namespace may own something anywhere: then, and only then, all is read for the tree.
    assert seen.listed.count(("Node", "")) == case.is_everywhere


async def why(world: World, about: str, cluster: Any = None) -> Any:
    clock, opening = ManualClock(), nullcontext(await world.apps(cluster))
    return await explain(opening, about, namespace=HOME, clock=clock)


@pytest.mark.parametrize(
    ("case", "named", "well"),
    [
        ("unwell", "web", (False, False)),
        ("orphans", "left", (False, True)),
        ("strangers below", "web", (True, True)),
    ],
)
async def test_why_finds_the_causes_that_it_would_if_it_had_read_everything(
    case: str, named: str, well: tuple[bool, bool]
) -> None:
    async with grown(CASES[case]) as world:
        narrow = [await why(world, about) for about in ("shop", f"deploy/{named}")]
        records = (await world.apps()).records()
        await records.amend("shop", lambda stored: replace(stored, places=None))
        assert narrow == [await why(world, about) for about in ("shop", f"deploy/{named}")]
        assert tuple(each.well for each in narrow) == well


async def test_trees_are_read_in_the_namespaces_of_their_roots_alone() -> None:
    async with grown(CASES["two namespaces"]) as world:
        seen = Listened(world.cluster)
        async with as_tree(await world.apps(seen), await world.unit("shop")) as work:
            await work.tree()
        discovery = await world.cluster.discover()
    namespaced = {each.kind for each in discovery.resources if each.namespaced}
    assert {kind for kind, _ in seen.listed} <= {"Namespace"} | namespaced
    assert {space for kind, space in seen.listed if kind != "Namespace"} == {HOME, ELSEWHERE}
    assert {("Pod", HOME), ("Pod", ELSEWHERE), ("ReplicaSet", HOME)} <= set(seen.listed)


async def test_an_app_is_asked_about_waited_for_and_deleted_by_reading_its_places() -> None:
    async with grown(CASES["hooks"]) as world:
        unit, mine = await world.unit("shop"), {("Namespace", ""), ("ConfigMap", HOME), ("Deployment", HOME)}
        mine.add(("Job", HOME))
        seen = Listened(world.cluster)
        async with as_wait(await world.apps(seen), unit) as work:
            await work.until([Goal.HEALTHY, Goal.SYNCED], 60)
        assert set(seen.listed) == mine
        for operation in (DELETION, WITHOUT_HOOKS):
            seen = Listened(world.cluster)
            async with as_delete(await world.apps(seen), unit, operation) as work:
                await work.plan(operation)
            assert set(seen.listed) == mine
        seen = Listened(world.cluster)
        await why(world, "shop", seen)
        assert {space for kind, space in seen.listed if kind != "Namespace"} == {HOME}
        seen = Listened(world.cluster)
        await why(world, "deploy/web", seen)
        assert {("Node", ""), ("Secret", HOME)}.isdisjoint(seen.listed)


async def test_a_deletion_whose_hooks_nobody_can_ask_for_reads_everything() -> None:
    async with grown(CASES["hooks"]) as world:
        world.sources.is_down = True
        seen = Listened(world.cluster)
        async with as_delete(await world.apps(seen), await world.unit("shop"), DELETION) as work:
            await work.plan(DELETION)
        assert ("Node", "") in seen.listed

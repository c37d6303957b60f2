"""Units that leave a cluster while their hooks run: what we held is let go of, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from tests.engine.stage import QUICK, Stage, job, running
from trimtab.apiserver import MemoryCluster
from trimtab.engine import Engine, FileStore
from trimtab.engine.clusters import opened
from trimtab.engine.compare.tracking import ArgoTracking, OwnerAnnotation
from trimtab.engine.events import ClusterDropped, ClusterReady, HooksReleased, OperationWaits
from trimtab.engine.health.values import HOOK_FINALIZER
from trimtab.engine.marks import Mark
from trimtab.engine.units import Destination, SyncUnit
from trimtab.kube.cluster import Cluster


async def waiting() -> Stage:
    """A unit whose hook runs for ever: nothing here ever ends a Job."""
    stage = Stage(MemoryCluster(), "default")
    await stage.add("shop", job("migrate", hook="PreSync"))
    return stage


async def begin(stage: Stage, engine: Engine) -> None:
    await engine.start_sync("shop")
    await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for its hook")


async def is_held(stage: Stage) -> bool:
    found = await stage.get("Job", "migrate")
    assert found is not None
    return HOOK_FINALIZER in found["metadata"].get("finalizers", ())


async def test_a_unit_that_moves_to_another_cluster_lets_go_in_the_one_that_it_leaves() -> None:
    stage = await waiting()
    stage.clusters.put(opened("there", cast(Cluster, MemoryCluster())))
    async with running(stage.engine) as engine:
        await begin(stage, engine)
        moved = replace(engine.unit("shop"), destination=Destination(cluster="there", namespace="default"))
        await stage.store.update(moved)
        await stage.until(lambda: bool(stage.events(HooksReleased)), "its hook is let go of")
        await stage.until(lambda: [each.name for each in engine.clusters()] == ["there"], "here is left")
    assert [each.cluster for each in stage.events(HooksReleased)] == ["here"]
    assert not await is_held(stage)


def without_results(unit: SyncUnit) -> SyncUnit:
    """The record of somebody who was killed before he could write down that he made a hook."""
    assert unit.status.operation_state is not None
    state = replace(unit.status.operation_state, results=())
    return replace(unit, status=replace(unit.status, operation_state=state))


@pytest.mark.parametrize("recorded", [lambda unit: unit, without_results], ids=["as it was", "unanswered"])
async def test_whoever_is_killed_while_a_unit_moves_is_succeeded_by_one_who_knows_where_it_was(
    tmp_path: Path, recorded: Callable[[SyncUnit], SyncUnit]
) -> None:
    stage = Stage(MemoryCluster(), "default", FileStore(tmp_path, look_every=timedelta(milliseconds=20)))
    await stage.add("shop", job("migrate", hook="PreSync"))
    stage.clusters.put(opened("there", cast(Cluster, MemoryCluster())))
    async with running(stage.engine) as engine:
        await begin(stage, engine)
    await stage.store.amend("shop", recorded)
    # Nobody is there to hear that somebody edits the file.
    declared = tmp_path / "shop.yaml"
    declared.write_text(declared.read_text().replace("here", "there"))
    stage.store = FileStore(tmp_path)
    (behind,) = (await stage.store.get("shop")).left
    assert (behind.cluster, [run.key.name for run in behind.state.hooks]) == ("here", ["migrate"])
    async with running(stage.new_engine()) as engine:
        await stage.until(lambda: bool(stage.events(HooksReleased)), "its hook is let go of")
        await stage.until(lambda: [each.name for each in engine.clusters()] == ["there"], "here is left")
    assert [each.cluster for each in stage.events(HooksReleased)] == ["here"]
    assert not await is_held(stage)
    assert (await stage.store.get("shop")).left == ()


async def test_a_cluster_that_its_last_unit_left_unheard_is_looked_into_once() -> None:
    stage = await waiting()
    async with running(stage.engine) as engine:
        await begin(stage, engine)
    await stage.store.delete("shop")
    dropped = len(stage.events(ClusterDropped))
    async with running(stage.new_engine()) as engine:
        await stage.until(lambda: len(stage.events(ClusterDropped)) > dropped, "it is left again")
        assert engine.clusters() == ()
    assert [each.unit for each in stage.events(HooksReleased)] == ["shop"]
    assert not await is_held(stage)


async def test_what_cannot_be_reached_any_more_is_said_and_given_up() -> None:
    stage = await waiting()
    async with running(stage.engine) as engine:
        await begin(stage, engine)
        stage.clusters.take_out("here")
        await stage.until(lambda: bool(stage.events(ClusterDropped)), "the cluster is no longer used")
        await stage.store.delete("shop")
        await stage.until(lambda: bool(stage.events(HooksReleased)), "that is said")
        (said,) = stage.events(HooksReleased)
        assert engine.clusters() == ()
    assert said.hooks == ()
    assert said.problems[0].startswith("Job.batch default/migrate: ")


async def test_an_engine_that_does_nothing_unasked_leaves_what_others_hold() -> None:
    stage = await waiting()
    async with running(stage.engine) as engine:
        await begin(stage, engine)
    await stage.store.delete("shop")
    await stage.add("other")
    modest = Engine(
        replace(QUICK, installation=stage.installation),
        stage.clusters,
        stage.sources,
        stage.store,
        automatic=False,
    )
    ready: list[object] = []
    modest.events.subscribe(lambda event: ready.append(event) if isinstance(event, ClusterReady) else None)
    async with running(modest):
        await modest.refresh("other")
    assert len(ready) == 1
    assert await is_held(stage)


def test_only_a_mark_of_the_own_installation_names_a_unit() -> None:
    ours = OwnerAnnotation("home")
    assert ours.unit_named(ours.mark_for("shop/web")) == "shop/web"
    assert ours.unit_named(OwnerAnnotation("other").mark_for("shop/web")) == ""
    assert ours.unit_named(Mark("argocd", "home/shop")) == ""
    # An Argo CD at work in the same cluster leaves the same marks.
    assert ArgoTracking().unit_named(ArgoTracking().mark_for("shop")) == ""

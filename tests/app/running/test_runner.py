"""Runners keep what is theirs, share it without ever meeting, and leave alone what is not theirs."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from tests.app.running.stage import CONFIG_MAPS, NAMESPACE, Stage, running
from tests.engine.stage import config_map, job
from trimtab.apiserver import MemoryCluster
from trimtab.app.handing import agreed
from trimtab.app.running.declared import Snapshot
from trimtab.app.running.declaring import Declarations
from trimtab.app.running.events import (
    ShardHandedOver,
    ShardHeldElsewhere,
    ShardLost,
    ShardTaken,
    UnitWithdrawn,
)
from trimtab.app.running.runner import Runner
from trimtab.app.shards import app_lease
from trimtab.app.unitfiles import Origin
from trimtab.engine.events import ClusterLost, OperationEnded, OperationWaits
from trimtab.engine.operations import Operation
from trimtab.engine.places import Place
from trimtab.engine.rows import Verdict
from trimtab.engine.stores.records import SECRETS
from trimtab.engine.units import Destination, Policy, SyncUnit, UnitStatus
from trimtab.errors import ClusterUnreachable
from trimtab.kube import Lease
from trimtab.kube.cluster import Cluster, PatchType
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import NotFound
from trimtab.tasks import ManualClock, SystemClock, plain_group

JOBS = Resource(group="batch", version="v1", kind="Job", plural="jobs", namespaced=True)


@pytest.fixture
async def stage() -> Stage:
    made = Stage()
    await made.open()
    return made


def is_synced(unit: SyncUnit | None) -> bool:
    return unit is not None and unit.status.verdict is Verdict.SYNCED and unit.operation is None


async def test_automated_units_are_synced_others_looked_at_and_folders_left_to_their_owners(
    stage: Stage,
) -> None:
    await stage.add("auto")
    await stage.add("manual", policy=Policy())
    owned = await stage.add("owned", source={"folder": "/home/ann/shop"})
    runner = stage.runner("one")
    async with running(runner):
        await stage.until_record("auto", is_synced, "auto is synced")
        await stage.until_record(
            "manual",
            lambda unit: unit is not None and unit.status.verdict is Verdict.OUT_OF_SYNC,
            "manual was looked at",
        )
        (stand,) = runner.stands()
        assert (stand.held, stand.known, stand.holder) == (True, True, "one")
        assert [unit.id for unit in stand.units] == ["auto", "manual"]
        assert "a folder of somebody's machine" in stand.left["owned"]
    assert (await stage.value("auto"), await stage.value("manual")) == ("1", None)
    places = [(await stage.records.get(name)).places for name in ("auto", "manual")]
    assert places == [(Place("", "ConfigMap", "default"),)] * 2, "commands need not look elsewhere"
    assert await stage.records.get("owned") == owned


async def test_a_unit_whose_file_goes_ends_what_is_under_way_before_its_record_goes(stage: Stage) -> None:
    origin = Origin(url="https://git.example/units.git")
    unit = await stage.add("web", policy=Policy(), declared_in=str(origin))
    endless = job("migrate", hook="PreSync")
    endless["spec"]["suspend"] = True
    stage.sources.declare("web", endless)
    declarations = Declarations(origin, clock=SystemClock(), tell=lambda event: stage.hear("files", event))
    declarations.read(Snapshot(revision="1", units={"web": unit}, problems={}))
    async with running(stage.runner("one", declarations=declarations)):
        await stage.records.set_operation("web", Operation(asked_by="ann"))
        await stage.until(lambda: stage.events(OperationWaits), "its hook runs")
        declarations.read(Snapshot(revision="2", units={}, problems={}))
        await stage.until(lambda: stage.events(UnitWithdrawn), "the unit is withdrawn")
    ends = [type(event) for _, event in stage.events(OperationEnded, UnitWithdrawn)]
    assert ends == [OperationEnded, UnitWithdrawn]
    # It was told to go, and is held by the server's own garbage collection alone, which does not run here.
    left = (await stage.memory.get(JOBS, "migrate", namespace="default")).metadata
    assert left.deletion_timestamp is not None
    assert left.finalizers == ("foregroundDeletion",)


async def test_drift_is_healed(stage: Stage) -> None:
    await stage.add("web")
    async with running(stage.runner("one")):
        await stage.until_record("web", is_synced, "web is synced")
        await _scribble(stage, "web", "2")
        await stage.until_value("web", "1")
        await stage.until_record("web", is_synced, "the healing is over")


async def test_what_a_killed_process_left_among_the_records_is_taken_away() -> None:
    clock = ManualClock()
    stage = Stage(clock)
    await stage.open()
    labels = {"trimtab.dev/record": "chunk"}
    for name in ("left-long-ago", "left-just-now"):
        await stage.memory.create(
            SECRETS,
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}},
            namespace=NAMESPACE,
        )
        await clock.advance(1800.5)

    async def is_gone() -> bool:
        try:
            await stage.memory.get(SECRETS, "left-long-ago", namespace=NAMESPACE)
        except NotFound:
            return True
        return False

    async with running(stage.runner("one")):
        await stage.until(is_gone, "what was left long ago is gone")
    assert (await stage.memory.get(SECRETS, "left-just-now", namespace=NAMESPACE)).metadata.uid


async def test_what_was_asked_of_a_unit_through_its_record_is_carried_out(stage: Stage) -> None:
    await stage.add("web", policy=Policy())
    async with running(stage.runner("one")):
        await stage.until_record("web", lambda unit: bool(unit and unit.status.revision), "it is known")
        await stage.records.set_operation("web", Operation(asked_by="ann"))
        await stage.until_record("web", is_synced, "the operation is over")
    assert await stage.value("web") == "1"


async def test_a_second_runner_stands_by_and_takes_over_when_the_first_one_ends(stage: Stage) -> None:
    await stage.add("web")
    async with plain_group() as group:
        first = group.create_task(stage.runner("one").run())
        await stage.until_record("web", is_synced, "the first one works")
        second = group.create_task(stage.runner("two").run())
        await stage.until(lambda: stage.events(ShardHeldElsewhere), "the second one stands by")
        assert [(who, event.holder) for who, event in stage.events(ShardHeldElsewhere)] == [("two", "one")]
        first.cancel()
        await stage.until(lambda: len(stage.events(ShardTaken)) == 2, "the second one takes over")
        await _scribble(stage, "web", "2")
        await stage.until_value("web", "1")
        second.cancel()
    assert [who for who, _ in stage.events(ShardTaken)] == ["one", "two"]


async def test_shards_are_shared_and_every_unit_is_kept_by_exactly_one(stage: Stage) -> None:
    names = [f"web-{number}" for number in range(8)]
    for name in names:
        await stage.add(name)
    one, two = (stage.runner(me, shards=2, most_shards=1) for me in ("one", "two"))
    async with running(one, two):
        for name in names:
            await stage.until_record(name, is_synced, f"{name} is synced")
        kept = [{unit.id for each in runner.stands() for unit in each.units} for runner in (one, two)]
        assert kept[0] | kept[1] == set(names)
        assert not kept[0] & kept[1]
    ended = [event.unit for _, event in stage.events(OperationEnded)]
    assert sorted(ended) == names


async def test_a_runner_never_takes_more_shards_than_it_has_room_for(stage: Stage) -> None:
    runner = stage.runner("one", shards=4, most_shards=1)
    async with running(runner):
        await stage.until(lambda: stage.events(ShardTaken), "one is taken")
        async with running(stage.runner("two", shards=4)):
            await stage.until(lambda: len(stage.events(ShardTaken)) == 4, "another takes the others")
    assert [who for who, _ in stage.events(ShardTaken)] == ["one", "two", "two", "two"]


async def test_a_runner_that_comes_later_is_handed_its_share_and_nothing_is_done_twice(stage: Stage) -> None:
    names = [f"web-{number}" for number in range(8)]
    for name in names:
        await stage.add(name)
    one, two = (stage.runner(me, shards=4) for me in ("one", "two"))
    async with running(one):
        for name in names:
            await stage.until_record(name, is_synced, f"{name} is synced")
        await stage.until(lambda: kept_by(one) == 4, "the first one keeps all")
        async with running(two):
            await stage.until(lambda: (kept_by(one), kept_by(two)) == (2, 2), "they share")
            for name in names:
                await _scribble(stage, name, "2")
                await stage.until_value(name, "1")
            # Each was synced once and healed once, whoever kept it.
            await stage.until(lambda: ended_in(stage) == dict.fromkeys(names, 2), "all are healed")
        await stage.until(lambda: kept_by(one) == 4, "what the second one leaves is taken back")
    handed = stage.events(ShardHandedOver)
    assert [(who, event.to) for who, event in handed] == [("one", "two")] * 2
    assert ended_in(stage) == dict.fromkeys(names, 2)


def ended_in(stage: Stage) -> Counter[str]:
    """How many operations of each unit have ended."""
    return Counter(event.unit for _, event in stage.events(OperationEnded))


def kept_by(runner: Runner) -> int:
    return sum(stand.held for stand in runner.stands())


async def test_runners_that_divide_units_otherwise_never_work_at_the_same_time(stage: Stage) -> None:
    await stage.add("web")
    async with running(stage.runner("two", shards=2)):
        async with running(stage.runner("one")):
            await stage.until(lambda: len(stage.events(ShardTaken)) >= 1, "somebody works")
            await stage.until(
                lambda: any("have to agree" in event.reason for _, event in stage.events(ShardLost)),
                "the others wait",
            )
            counts = {event.shard.split()[-1] for _, event in stage.events(ShardTaken)}
            assert len(counts) == 1
        await stage.until_record("web", is_synced, "whoever is left has synced it")


async def test_an_app_that_somebody_works_on_is_left_alone_until_he_is_done(stage: Stage) -> None:
    status = UnitStatus(revision="as ann left it")
    await stage.add("web", status=status, operation=Operation(asked_by="ann"))
    await stage.add("other")
    lease = Lease(stage.memory, namespace=NAMESPACE, name=app_lease("web"), me="ann", clock=SystemClock())
    runner = stage.runner("one")

    async def ann() -> None:
        async with running(runner):
            await stage.until_record("other", is_synced, "the runner works")
            (stand,) = runner.stands()
            assert "works on it from a command line" in stand.left["web"]
            assert (await stage.records.get("web")).status == status
            assert await stage.value("web") is None

    await lease.hold(ann)
    async with running(stage.runner("two")):
        await stage.until_record("web", is_synced, "what ann began is finished")


class Unreachable(AbstractAsyncContextManager[Cluster]):
    """A cluster that cannot be reached."""

    async def __aenter__(self) -> Cluster:
        raise ClusterUnreachable("cluster dead", "nobody answers")

    async def __aexit__(self, *_: object) -> None:
        """Nothing was opened."""


async def test_a_dead_cluster_harms_only_its_own_units(stage: Stage) -> None:
    other = MemoryCluster()
    await stage.add("here")
    await stage.add("far", destination=Destination(cluster="far"))
    await stage.add("gone", destination=Destination(cluster="dead"))
    await stage.add("nowhere", destination=Destination(cluster="unheard-of"))
    runner = stage.runner("one", others={"far": lambda: nullcontext(other), "dead": Unreachable})
    async with running(runner):
        for name in ("here", "far"):
            await stage.until_record(name, is_synced, f"{name} is synced")
        await stage.until(lambda: stage.events(ClusterLost), "the dead one is told")
        await stage.until_record(
            "gone", lambda unit: bool(unit and unit.status.conditions), "its unit says why it waits"
        )
        (stand,) = runner.stands()
        states = {each.name: each.state for each in stand.clusters}
        assert (states["here"], states["far"], states["dead"]) == ("ready", "ready", "lost")
    found = await other.get(CONFIG_MAPS, "far", namespace="default")
    assert found.manifest()["data"] == {"value": "1"}


async def test_in_namespace_mode_nothing_else_is_read_or_written(stage: Stage) -> None:
    await stage.add("inside")
    await stage.add("outside", destination=Destination(cluster="here", namespace="kube-public"))
    async with running(stage.runner("one", namespaces=("default",))):
        await stage.until_record("inside", is_synced, "inside is synced")
        await stage.until_record(
            "outside", lambda unit: bool(unit and unit.status.conditions), "outside says what is wrong"
        )
    assert {each.name for each in stage.counted.writes() if each.kind == "ConfigMap"} == {"inside"}


async def test_deletions_that_wait_are_carried_out_once_somebody_agrees_in_the_record(stage: Stage) -> None:
    many = [config_map(f"c{number}") for number in range(12)]
    await stage.add("web", policy=Policy())
    stage.sources.declare("web", config_map("web"), *many)
    async with running(stage.runner("one")):
        await stage.until_record("web", lambda unit: bool(unit and unit.status.revision), "it is known")
        await stage.records.set_operation("web", Operation())
        await stage.until_record("web", is_synced, "all is there")
        stage.sources.declare("web", config_map("web"))
        await stage.records.set_operation("web", Operation(prune=True))
        await stage.until_record("web", waits, "the deletions wait")
        assert not [each for each in stage.counted.writes() if each.verb == "delete"]
        await stage.records.amend("web", agreed(SystemClock().now()))
        await stage.until_record("web", lambda unit: bool(unit and unit.operation is None), "it is over")
    deleted = {
        each.name for each in stage.counted.writes() if each.kind == "ConfigMap" and each.verb == "delete"
    }
    assert deleted == {f"c{number}" for number in range(12)}


def waits(unit: SyncUnit | None) -> bool:
    state = unit.status.operation_state if unit is not None else None
    return state is not None and state.waiting_since is not None


async def _scribble(stage: Stage, name: str, value: str) -> None:
    await stage.memory.patch(
        CONFIG_MAPS, name, {"data": {"value": value}}, how=PatchType.MERGE, namespace="default"
    )

"""With a runner on an app, commands leave the work to it; without one they work themselves. Never both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.app.running.stage import CONFIG_MAPS, NAMESPACE, QUICK, Stage, running
from tests.engine.stage import Counted, config_map
from trimtab.app import Apps, Work
from trimtab.app.apps import SyncFailed
from trimtab.app.handing import told_between
from trimtab.app.running.events import ShardTaken
from trimtab.app.shards import Shard, is_app_lease
from trimtab.engine.events import OperationWaits, StepDone, UnitEvent
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    OperationState,
    StepResult,
    StepStatus,
    SyncPhase,
)
from trimtab.engine.units import Automated, Destination, Policy, SyncUnit
from trimtab.errors import Conflict
from trimtab.kube.cluster import Cluster, PatchType
from trimtab.kube.leases import LEASES, LeaseTerms, lease_manifest
from trimtab.resources.keys import ResourceKey
from trimtab.tasks import SystemClock

GATE: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "gate", "annotations": {"trimtab.dev/hook": "PreSync"}},
    "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "gate", "image": "gate"}]}}
    },
}
SHOP = SyncUnit(
    id="shop",
    source={"repoURL": "https://git.example/shop.git"},
    destination=Destination(cluster="here"),
    policy=Policy(options=("PrunePropagationPolicy=background",)),
)
AUTOMATED = replace(SHOP, policy=replace(SHOP.policy, automated=Automated(prune=True, self_heal=True)))


@pytest.fixture
async def stage() -> Stage:
    made = Stage()
    await made.open()
    return made


class Ann:
    """Somebody at a command line, whose writes are counted apart."""

    def __init__(self, stage: Stage, cluster: Any = None) -> None:
        self._counted = Counted(cluster or stage.memory)
        self.apps = Apps(
            cast(Cluster, self._counted), QUICK, stage.sources, stage.installation, "ann@desk (process 1)"
        )
        self.heard: list[UnitEvent] = []
        self.held: list[str] = []

    def wrote(self) -> set[str]:
        """The kinds that her own process wrote."""
        return {each.kind for each in self._counted.writes()}

    @asynccontextmanager
    async def at(self, unit: SyncUnit = SHOP) -> AsyncIterator[Work]:
        recorded = await self.apps.find(unit.id)
        async with self.apps.work_on(recorded or unit) as work:
            work.engine.on_unit_event(lambda _app, event: self.heard.append(event))
            yield work

    async def sync(self, unit: SyncUnit = SHOP, *, consent: bool = False, **asked: Any) -> OperationState:
        operation = Operation(asked_by="trimtab sync", **asked)
        async with self.at(unit) as work:
            plan = await work.plan(operation)
            return await work.carry_out(operation, plan, consent=consent, held=self.held.append)


async def test_without_a_runner_a_command_works_itself(stage: Stage) -> None:
    ann = Ann(stage)
    stage.sources.declare("shop", config_map("web"))
    assert (await ann.sync()).phase is OperationPhase.SUCCEEDED
    assert ann.wrote() == {"ConfigMap", "Lease", "Secret"}
    assert [each.person for each in (await stage.records.get("shop")).status.history] == ["ann@desk"]


async def test_with_a_runner_exactly_what_was_agreed_to_is_done_by_it(stage: Stage) -> None:
    ann, revision = Ann(stage), stage.sources.declare("shop", config_map("web"), config_map("api"))
    async with running(stage.runner("one")):
        await stage.until(lambda: stage.events(ShardTaken), "the runner works")
        state = await ann.sync()
        assert (state.phase, state.revision) == (OperationPhase.SUCCEEDED, revision)
        async with ann.at() as work:
            await work.until_well(60)
    assert ann.wrote() == {"Lease", "Secret"}
    done = [event.key.name for event in ann.heard if isinstance(event, StepDone)]
    assert sorted(done) == ["api", "web"]
    recorded = await stage.records.get("shop")
    assert recorded.operation is None
    assert [(each.revision, each.asked_by, each.person) for each in recorded.status.history] == [
        (revision, "trimtab sync", "ann@desk")
    ]


async def test_consent_is_handed_over_with_the_plan_it_was_given_for(stage: Stage) -> None:
    ann, many = Ann(stage), [config_map(f"c{number}") for number in range(12)]
    stage.sources.declare("shop", config_map("web"), *many)
    async with running(stage.runner("one")):
        await stage.until(lambda: stage.events(ShardTaken), "the runner works")
        await ann.sync()
        stage.sources.declare("shop", config_map("web"))
        with pytest.raises(Conflict, match="12 deletions need consent"):
            await ann.sync(prune=True)
        assert await stage.value("c0") == "1"
        assert (await ann.sync(prune=True, consent=True)).phase is OperationPhase.SUCCEEDED
        await stage.until_value("c0", None)
    assert ann.wrote() == {"Lease", "Secret"}


async def test_a_plan_that_no_longer_holds_is_not_carried_out_by_the_runner_either(stage: Stage) -> None:
    ann, operation = Ann(stage), Operation()
    stage.sources.declare("shop", config_map("web"))
    async with running(stage.runner("one")):
        await stage.until(lambda: stage.events(ShardTaken), "the runner works")
        async with ann.at() as work:
            plan = await work.plan(operation)
            await stage.memory.create(CONFIG_MAPS, config_map("web", "somebody's"), namespace="default")
            with pytest.raises(SyncFailed):
                await work.carry_out(operation, plan, consent=False, held=ann.held.append)
    assert await stage.value("web") == "somebody's"


async def test_what_a_dead_runner_was_handed_is_seen_through_by_the_command(stage: Stage) -> None:
    """The lease still names a holder, who does not renew it: it is waited for, and then done without him."""
    ann = Ann(stage)
    stage.sources.declare("shop", config_map("web"))
    lease = lease_manifest(NAMESPACE, Shard(0, 1).lease, None, "dead", LeaseTerms(), SystemClock().now())
    lease["spec"]["leaseDurationSeconds"] = 1
    await stage.memory.create(LEASES, lease, namespace=NAMESPACE)
    assert (await ann.sync()).phase is OperationPhase.SUCCEEDED
    assert await stage.value("web") == "1"
    assert len((await stage.records.get("shop")).status.history) == 1


class RunnerComes:
    """A cluster in which a runner takes the shard in the moment in which somebody takes an app's lease."""

    def __init__(self, stage: Stage, group: asyncio.TaskGroup) -> None:
        self._stage, self._group = stage, group
        self.runner: asyncio.Task[None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage.memory, name)

    async def create(self, resource: Any, body: Any, **options: Any) -> Any:
        if resource.kind == "Lease" and is_app_lease(body["metadata"]["name"]) and self.runner is None:
            self.runner = self._group.create_task(self._stage.runner("one").run())
            await self._stage.until(lambda: self._stage.events(ShardTaken), "the runner works")
        return await self._stage.memory.create(resource, body, **options)


async def test_a_runner_that_comes_in_the_last_moment_gets_the_work(stage: Stage) -> None:
    stage.sources.declare("shop", config_map("web"))
    async with asyncio.TaskGroup() as group:
        ann = Ann(stage, coming := RunnerComes(stage, group))
        assert (await ann.sync()).phase is OperationPhase.SUCCEEDED
        assert coming.runner is not None
        coming.runner.cancel()
    assert (ann.wrote(), await stage.value("web")) == ({"Lease", "Secret"}, "1")


async def test_a_folder_does_not_take_the_place_of_what_a_runner_keeps(stage: Stage) -> None:
    await stage.records.create(SHOP)
    stage.sources.declare("shop", config_map("web"))
    ann, operation = Ann(stage), Operation()
    async with running(stage.runner("one")):
        await stage.until(lambda: stage.events(ShardTaken), "the runner works")
        async with ann.apps.work_on(replace(SHOP, source={"folder": "/home/ann/shop"})) as work:
            plan = await work.plan(operation)
            with pytest.raises(Conflict, match="a runner keeps it"):
                await work.carry_out(operation, plan, consent=False, held=ann.held.append)
    assert "ConfigMap" not in ann.wrote()


async def test_what_a_runner_is_at_is_ended_through_the_record(stage: Stage) -> None:
    ann = Ann(stage)
    stage.sources.declare("shop", GATE, config_map("web"))
    await stage.records.create(replace(SHOP, operation=Operation()))
    async with running(stage.runner("one")):
        await stage.until_record("shop", _waits, "it waits at the gate")
        async with ann.at() as work:
            ended = await work.end(held=ann.held.append)
    assert (ended.phase, ann.wrote()) == (OperationPhase.FAILED, {"Secret"})
    assert await stage.value("web") is None


async def test_an_automated_app_is_deleted_by_its_runner_and_does_not_come_back(stage: Stage) -> None:
    ann = Ann(stage)
    stage.sources.declare("shop", config_map("web"))
    await stage.records.create(AUTOMATED)
    async with running(stage.runner("one")):
        await stage.until_value("web", "1")
        await stage.until_record("shop", lambda unit: bool(unit and unit.operation is None), "it is over")
        async with ann.at() as work:
            plan = await work.plan(Operation(delete=True, prune=True, asked_by="trimtab delete"))
            await work.delete(plan, consent=True, seconds=60, held=ann.held.append, told=ann.held.append)
        await stage.until_record("shop", lambda unit: unit is None, "the record is gone")
        assert await stage.value("web") is None
    assert "ConfigMap" not in ann.wrote()


def _waits(unit: SyncUnit | None) -> bool:
    state = unit.status.operation_state if unit is not None else None
    return state is not None and state.waiting_since is not None


async def test_a_command_begins_nothing_by_itself_on_an_automated_app(stage: Stage) -> None:
    stage.sources.declare("shop", config_map("web"))
    await stage.records.create(AUTOMATED)
    ann = Ann(stage)
    async with ann.at() as work:
        await work.look()
        await work.look()
    assert (ann.wrote(), await stage.value("web")) == (set(), None)


def test_what_happened_between_two_readings_is_told_once() -> None:
    now = SystemClock().now()
    key = ResourceKey("", "ConfigMap", "default", "web")
    begun = OperationState(operation=Operation(), started_at=now)
    done = StepResult(key=key, sync_phase=SyncPhase.SYNC, status=StepStatus.SYNCED, message="created")
    waits = replace(begun, results=(done,), waiting_since=now, message="waiting for web")
    told = list(told_between("shop", begun, waits))
    assert [type(each) for each in told] == [StepDone, OperationWaits]
    assert [str(each) for each in told] == [
        "ConfigMap default/web Synced: created",
        "waiting for web",
    ]
    assert list(told_between("shop", waits, waits)) == []
    assert [type(each) for each in told_between("shop", None, waits)] == [StepDone, OperationWaits]


async def test_whoever_asks_while_the_runner_is_busy_waits_and_gets_no_other_plan_than_agreed_to(
    stage: Stage,
) -> None:
    ann = Ann(stage)
    stage.sources.declare("shop", GATE, config_map("web"))
    await stage.records.create(replace(SHOP, operation=Operation(asked_by="bob")))
    async with running(stage.runner("one")):
        await stage.until_record("shop", _waits, "bob's sync waits at the gate")
        async with asyncio.TaskGroup() as group:
            mine = group.create_task(_sync_anew(ann))
            await stage.until(lambda: ann.held, "ann is told that she waits")
            await _finish_job(stage)
            assert "the plan that was agreed to is not what would be done now" in await mine
    assert ["busy with what somebody asked for" in each for each in ann.held] == [True]
    (deployed,) = (await stage.records.get("shop")).status.history
    assert deployed.asked_by == "bob"


async def _sync_anew(ann: Ann) -> str:
    """What becomes of a sync by somebody who read the record before the other one began."""
    async with ann.apps.work_on(SHOP) as work:
        operation = Operation(asked_by="ann")
        plan = await work.plan(operation)
        try:
            await work.carry_out(operation, plan, consent=False, held=ann.held.append)
        except SyncFailed as failed:
            return str(failed)
    return "it was done"


async def _finish_job(stage: Stage) -> None:
    """Play the controller that runs Jobs."""
    served = (await stage.memory.discover()).resources
    jobs = next(each for each in served if each.kind == "Job")
    now = SystemClock().now().strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"succeeded": 1, "startTime": now, "completionTime": now, "conditions": conditions}
    await stage.memory.patch(
        jobs, "gate", {"status": status}, how=PatchType.MERGE, namespace="default", subresource="status"
    )

"""The engine on a cluster in memory: what it does by itself, when asked, and what it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from tests.engine.stage import QUICK, Stage, config_map, running
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.engine import FileStore, MemoryStore
from trimtab.engine.clusters import opened
from trimtab.engine.control.policy import Refresh, rollback
from trimtab.engine.events import (
    ComparisonFailed,
    OperationEnded,
    OperationVetoed,
    SyncLeft,
    SyncRefused,
    UnitQuarantined,
    UnitRefreshed,
    UnitUnreadable,
)
from trimtab.engine.health import HealthStatus
from trimtab.engine.operations import Operation, OperationPhase, RetryLimits, Selected, StepStatus
from trimtab.engine.rows import Verdict
from trimtab.engine.sync.steps import Apply, Step
from trimtab.engine.units import Automated, ConditionType, Policy, SyncUnit, UnitHeld, UnitStatus
from trimtab.errors import Conflict, GitUnreachable, InvalidSpec, RenderFailed, StoreUnavailable
from trimtab.kube.cluster import Cluster

AUTOMATED = Policy(automated=Automated(prune=True))
ONCE = Policy(automated=Automated(prune=True), retry=RetryLimits())
HEALING = Policy(automated=Automated(prune=True, self_heal=True))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    cluster = MemoryCluster()
    async with behaviours_of(cluster, timing=AT_ONCE):
        yield Stage(cluster, "default")


def ended(stage: Stage, count: int = 1) -> bool:
    return len(stage.events(OperationEnded)) >= count


async def synced(stage: Stage, unit_id: str) -> None:
    await stage.until(lambda: stage.is_synced(unit_id), f"{unit_id} is synced")


async def settled(stage: Stage, unit_id: str) -> None:
    """Return when a unit is synced, and the look that every sync is followed by has been made."""
    await synced(stage, unit_id)
    await stage.engine.refresh(unit_id)


# -- by itself -------------------------------------------------------------------------------------------


@pytest.mark.fact("A1", "A12")
async def test_an_automated_unit_is_synced_and_looked_at_again(stage: Stage) -> None:
    revision = await stage.add("web", config_map("a"), config_map("b"), policy=AUTOMATED)
    async with running(stage.engine):
        await synced(stage, "web")
    unit = stage.engine.unit("web")
    assert await stage.names("ConfigMap") >= {"a", "b"}
    assert (unit.status.revision, unit.status.health.status) == (revision, HealthStatus.HEALTHY)
    assert unit.operation is None
    assert [entry.revision for entry in unit.status.history] == [revision]


async def test_a_unit_that_is_not_automated_is_compared_and_left_alone(stage: Stage) -> None:
    await stage.add("web", config_map("a"))
    async with running(stage.engine) as engine:
        unit = await engine.refresh("web")
        await stage.until(lambda: bool(stage.events(SyncLeft)), "it says why")
    assert (unit.status.verdict, unit.status.health.status) == (Verdict.OUT_OF_SYNC, HealthStatus.MISSING)
    assert [str(event) for event in stage.events(SyncLeft)] == ["the unit is not automated"]
    assert stage.cluster.writes() == []


async def test_a_change_in_git_writes_exactly_the_changed_object(stage: Stage) -> None:
    many = [config_map(f"c{number}") for number in range(20)]
    await stage.add("web", *many, policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        stage.cluster.requests.clear()
        stage.sources.declare("web", *many[:7], config_map("c7", "2"), *many[8:])
        await engine.refresh("web")
        await stage.until(lambda: ended(stage, 2), "it is synced again")
        await synced(stage, "web")
    assert [(each.verb, each.name) for each in stage.cluster.writes()] == [("apply", "c7")]


async def test_what_git_no_longer_wants_is_pruned(stage: Stage) -> None:
    await stage.add("web", config_map("a"), config_map("b"), policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        stage.sources.declare("web", config_map("a"))
        await engine.refresh("web")
        await stage.until(lambda: ended(stage, 2), "it is synced again")
        await synced(stage, "web")
    assert await stage.names("ConfigMap") & {"a", "b"} == {"a"}


async def test_drift_is_healed_by_one_write_without_asking_git(stage: Stage) -> None:
    await stage.add("web", *[config_map(f"c{number}") for number in range(20)], policy=HEALING)
    async with running(stage.engine):
        await settled(stage, "web")
        stage.cluster.requests.clear()
        asked = len(stage.sources.asked)
        await stage.patch("ConfigMap", "c3", {"data": {"value": "mine"}})
        await stage.until(lambda: ended(stage, 2), "it is healed")
        await synced(stage, "web")
    found = await stage.get("ConfigMap", "c3")
    assert found is not None
    assert found["data"] == {"value": "1"}
    assert [each.name for each in stage.cluster.writes() if each.verb == "apply"] == ["c3"]
    assert [revision for _, revision, _ in stage.sources.asked[asked:] if not revision] == [""]
    healed = stage.events(OperationEnded)[-1]
    assert healed.phase is OperationPhase.SUCCEEDED


async def test_a_deleted_object_is_made_again(stage: Stage) -> None:
    await stage.add("web", config_map("a"), config_map("b"), policy=HEALING)
    async with running(stage.engine):
        await synced(stage, "web")
        await stage.delete("ConfigMap", "a")
        await stage.until(lambda: ended(stage, 2), "it is healed")
        await synced(stage, "web")
    assert await stage.names("ConfigMap") >= {"a", "b"}


async def test_without_self_heal_drift_is_shown_and_left(stage: Stage) -> None:
    await stage.add("web", config_map("a"), policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        await stage.patch("ConfigMap", "a", {"data": {"value": "mine"}})
        await stage.until(
            lambda: engine.unit("web").status.verdict is Verdict.OUT_OF_SYNC, "the drift is seen"
        )
        await stage.until(lambda: "self-heal is off" in str(stage.events(SyncLeft)[-1]), "it says why")
    assert not ended(stage, 2)


async def test_an_unchanged_unit_costs_no_request_and_no_writing(stage: Stage) -> None:
    await stage.add("web", *[config_map(f"c{number}") for number in range(50)], policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await settled(stage, "web")
        stage.cluster.requests.clear()
        before = await stage.store.get("web")
        await engine.refresh("web")
        await engine.refresh("web", Refresh.HARD)
        after = await stage.store.get("web")
    assert stage.cluster.requests == []
    assert after is before


async def test_status_traffic_causes_no_look() -> None:
    stage = Stage(MemoryCluster(), "default")  # nobody but this test touches the claim
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    await stage.add("web", claim, config_map("a"), policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await settled(stage, "web")
        await stage.patch("PersistentVolumeClaim", "disk", {"status": {"phase": "Bound"}}, "status")
        await stage.until(
            lambda: engine.unit("web").status.health.status is HealthStatus.HEALTHY, "the health is told"
        )
        looks = len(stage.events(UnitRefreshed))
        for number in range(5):
            busy = {"status": {"capacity": {"storage": f"{number + 1}Gi"}}}
            await stage.patch("PersistentVolumeClaim", "disk", busy, "status")
        await stage.patch("ConfigMap", "a", {"data": {"value": "mine"}})
        await stage.until(lambda: engine.unit("web").status.verdict is Verdict.OUT_OF_SYNC, "drift is seen")
    assert len(stage.events(UnitRefreshed)) == looks + 1


async def test_a_unit_is_looked_at_again_after_the_interval(stage: Stage) -> None:
    await stage.add("web", config_map("a"), policy=AUTOMATED)
    often = replace(QUICK, refresh_every=timedelta(milliseconds=50))
    stage.engine = stage.new_engine(often)
    async with running(stage.engine):
        await synced(stage, "web")
        stage.sources.declare("web", config_map("a"), config_map("late"))
        await stage.until(lambda: ended(stage, 2), "the new revision is found")
    assert "late" in await stage.names("ConfigMap")


async def test_somebody_who_asks_first_goes_first(stage: Stage) -> None:
    await stage.add("web", config_map("a"), policy=AUTOMATED)
    usual = stage.store.set_operation

    async def set_operation(
        unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        if operation is not None and operation.automated:
            await usual(unit_id, Operation(asked_by="ada"))
        return await usual(unit_id, operation, status=status)

    stage.store.set_operation = set_operation  # type: ignore[method-assign]  # the seam is the store itself
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        await synced(stage, "web")
    assert [entry.asked_by for entry in engine.unit("web").status.history] == ["ada"]


class Written(MemoryStore):
    """A store that says what it was made to write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        self.writes.append("how it stands")
        return await super().set_status(unit_id, status)

    async def set_operation(
        self, unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        self.writes.append("what is asked" if operation else "that it is done")
        return await super().set_operation(unit_id, operation, status=status)


async def test_a_sync_is_stored_when_it_is_asked_for_before_its_first_write_and_at_its_end() -> None:
    store = Written()
    stage = Stage(MemoryCluster(), "default", store=store)
    # A look in between, at what it has written so far, would be stored as well.
    stage.engine = stage.new_engine(replace(QUICK, settle_while_syncing=timedelta(minutes=1)))
    await stage.add("web", config_map("a"), config_map("b"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        store.writes.clear()
        await engine.sync("web")
        assert store.writes == ["what is asked", "how it stands", "that it is done"]


# -- what is never done ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        GitUnreachable("repository shop", "no answer"),
        RenderFailed("chart web", "it needs a tag", "Set it"),
        InvalidSpec("web.yaml", "a bracket is missing", "Close it"),
    ],
)
async def test_a_generator_that_fails_deletes_nothing_and_is_told(stage: Stage, error: Exception) -> None:
    await stage.add("web", config_map("a"), config_map("b"), policy=HEALING)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        stage.cluster.requests.clear()
        stage.sources.error = error
        engine.request_refresh("web")
        await stage.until(lambda: engine.unit("web").status.verdict is Verdict.UNKNOWN, "it is unknown")
        assert await stage.names("ConfigMap") >= {"a", "b"}
        (condition,) = engine.unit("web").status.conditions
        assert str(error) in condition.message
        assert stage.events(ComparisonFailed)
        assert stage.cluster.writes() == []


async def test_within_the_grace_a_generator_that_is_out_of_reach_changes_nothing(stage: Stage) -> None:
    await stage.add("web", config_map("a"), policy=HEALING)
    stage.engine = stage.new_engine(replace(QUICK, error_grace=timedelta(hours=1)))
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        stage.sources.error = GitUnreachable("repository shop", "no answer")
        with pytest.raises(GitUnreachable):
            await engine.refresh("web")
        assert engine.unit("web").status.verdict is Verdict.SYNCED


async def test_an_emptied_source_prunes_nothing_until_that_is_allowed(stage: Stage) -> None:
    await stage.add("web", config_map("a"), config_map("b"), policy=HEALING)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        stage.sources.declare("web")
        await engine.refresh("web")
        await stage.until(lambda: bool(stage.events(SyncRefused)), "it is refused")
        assert await stage.names("ConfigMap") >= {"a", "b"}
        assert [each.type for each in engine.unit("web").status.conditions] == [ConditionType.SYNC]
        allowed = Policy(automated=Automated(prune=True, allow_empty=True))
        await stage.store.update(replace(engine.unit("web"), policy=allowed))
        await stage.until(lambda: ended(stage, 2), "it is synced again")
        await synced(stage, "web")
        assert engine.unit("web").status.conditions == ()
    assert await stage.names("ConfigMap") & {"a", "b"} == set()


async def test_a_large_prune_waits_for_confirmation(stage: Stage) -> None:
    many = [config_map(f"c{number}") for number in range(30)]
    await stage.add("web", *many, policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        stage.sources.declare("web", *many[:2])
        await engine.refresh("web")
        await stage.until(
            lambda: (
                (state := engine.unit("web").status.operation_state) is not None
                and state.waiting_since is not None
            ),
            "it waits",
        )
        assert len(await stage.names("ConfigMap")) >= 30
        engine.approve_deletions("web")
        state = await engine.wait_for_sync("web")
        await synced(stage, "web")
    assert state.phase is OperationPhase.SUCCEEDED
    assert len(await stage.names("ConfigMap") & {f"c{number}" for number in range(30)}) == 2


@pytest.mark.fact("A3", "A9", "A10")
async def test_a_sync_that_fails_is_retried_then_said_and_not_repeated(stage: Stage) -> None:
    bad = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 0}]}}
    retry = replace(Policy().retry, limit=1, wait=timedelta(milliseconds=10))
    await stage.add("web", bad, policy=replace(AUTOMATED, retry=retry))
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(stage.events(SyncRefused)), "it is refused")
        unit = engine.unit("web")
    state = unit.status.operation_state
    assert state is not None
    assert (state.phase, state.retry_count) == (OperationPhase.FAILED, 1)
    assert [result.status for result in state.results] == [StepStatus.SYNC_FAILED]
    assert len(stage.events(OperationEnded)) == 1
    assert [each.type for each in unit.status.conditions] == [ConditionType.SYNC]


# -- when asked ------------------------------------------------------------------------------------------


async def test_a_sync_that_is_asked_for_happens_once(stage: Stage) -> None:
    revision = await stage.add("web", config_map("a"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        state = await engine.sync("web", Operation(asked_by="ada"))
        assert await engine.wait_for_sync("web") == state
    assert (state.phase, state.revision) == (OperationPhase.SUCCEEDED, revision)
    assert [each.name for each in stage.cluster.writes()] == ["a"]
    assert engine.unit("web").status.history[-1].asked_by == "ada"


async def test_a_plan_says_what_would_be_done_and_does_nothing(stage: Stage) -> None:
    await stage.add("web", config_map("a"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        plan = await engine.plan("web")
        assert [(type(step), step.key.name) for step in plan.steps] == [(Apply, "a")]
        assert stage.cluster.writes() == []
        state = await engine.sync("web", Operation(plan_digest=plan.digest))
        assert state.phase is OperationPhase.SUCCEEDED
        assert (await engine.plan("web")).steps == ()


async def test_a_plan_that_was_agreed_to_is_not_carried_out_when_it_has_changed(stage: Stage) -> None:
    await stage.add("web", config_map("a"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        plan = await engine.plan("web")
        stage.sources.declare("web", config_map("a", "2"))
        state = await engine.sync("web", Operation(plan_digest=plan.digest))
    assert state.phase is OperationPhase.FAILED
    assert stage.cluster.writes() == []


async def test_a_dry_run_changes_nothing_and_is_no_attempt(stage: Stage) -> None:
    await stage.add("web", config_map("a"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        state = await engine.sync("web", Operation(dry_run=True))
    assert state.phase is OperationPhase.SUCCEEDED
    assert stage.cluster.writes() == []
    assert (engine.unit("web").status.attempted, engine.unit("web").status.history) == (None, ())


async def test_a_selected_object_is_synced_alone(stage: Stage) -> None:
    await stage.add("web", config_map("a"), config_map("b"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        chosen = (Selected(kind="ConfigMap", name="b"),)
        state = await engine.sync("web", Operation(resources=chosen))
    assert [each.name for each in stage.cluster.writes()] == ["b"]
    assert state.phase is OperationPhase.SUCCEEDED
    assert engine.unit("web").status.history == ()


async def test_a_busy_unit_refuses_another_operation(stage: Stage) -> None:
    await stage.add("web", config_map("a", hook="PreSync"), config_map("b"))
    hold = asyncio.Event()

    async def ask(unit: SyncUnit, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        await hold.wait()
        return steps

    async with running(stage.engine) as engine:
        await engine.refresh("web")
        engine.on_before_sync(ask)
        await engine.start_sync("web")
        with pytest.raises(Conflict, match="another operation"):
            await engine.start_sync("web")
        hold.set()
        assert (await engine.wait_for_sync("web")).phase is OperationPhase.SUCCEEDED


@pytest.mark.fact("A35")
async def test_a_paused_unit_is_left_alone_until_it_is_resumed(stage: Stage) -> None:
    await stage.add("web", config_map("settings"), policy=HEALING)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        await engine.pause("web", reason="migration", by="ann")
        await stage.patch("ConfigMap", "settings", {"data": {"value": "drifted"}})
        await stage.until(
            lambda: engine.unit("web").status.verdict is Verdict.OUT_OF_SYNC, "the drift is seen"
        )
        with pytest.raises(UnitHeld, match="paused by ann"):
            await engine.start_sync("web")
        assert engine.unit("web").operation is None
        assert "migration" in stage.events(SyncLeft)[-1].reason
        await engine.resume("web")
        await synced(stage, "web")
    assert (await stage.store.get("web")).paused is None


async def test_a_rollback_brings_an_earlier_revision_back(stage: Stage) -> None:
    first = await stage.add("web", config_map("a", "1"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        await engine.sync("web")
        stage.sources.declare("web", config_map("a", "2"))
        await engine.sync("web")
        state = await engine.sync("web", rollback(engine.unit("web"), 1))
    found = await stage.get("ConfigMap", "a")
    assert found is not None
    assert (state.revision, found["data"]) == (first, {"value": "1"})
    assert [entry.revision for entry in engine.unit("web").status.history][::2] == [first, first]


@pytest.mark.fact("A15")
async def test_a_sync_without_a_revision_of_its_own_goes_to_the_newest(stage: Stage) -> None:
    first = await stage.add("web", config_map("a", "1"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        newest = stage.sources.declare("web", config_map("a", "2"))
        pinned = await engine.sync("web", Operation(revision=first))
        state = await engine.sync("web", Operation())
    assert (pinned.revision, state.revision) == (first, newest)


@pytest.mark.fact("A16")
async def test_a_unit_deleted_in_the_middle_of_its_sync_ends_it_silently(stage: Stage) -> None:
    await stage.add("web", config_map("a"))

    async def ask(_: SyncUnit, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        await stage.store.delete("web")
        return steps

    async with running(stage.engine) as engine:
        await engine.refresh("web")
        engine.on_before_sync(ask)
        await engine.start_sync("web")
        await stage.until(lambda: not engine.units(), "it is forgotten")
    assert stage.cluster.writes() == []
    assert stage.events(OperationEnded, UnitQuarantined) == []


@pytest.mark.fact("A16")
async def test_a_store_that_fails_for_a_while_is_written_to_again(stage: Stage) -> None:
    await stage.add("web", config_map("a"))
    usual, failures = stage.store.set_status, [StoreUnavailable("the store", "the disk is full")] * 3

    async def set_status(unit_id: str, status: UnitStatus) -> SyncUnit:
        if failures:
            raise failures.pop()
        return await usual(unit_id, status)

    async with running(stage.engine) as engine:
        await engine.refresh("web")
        stage.store.set_status = set_status  # type: ignore[method-assign]  # the seam is the store itself
        state = await engine.sync("web", Operation())
    assert (state.phase, failures) == (OperationPhase.SUCCEEDED, [])
    assert (await stage.store.get("web")).status.operation_state == state


# -- callbacks -------------------------------------------------------------------------------------------


async def test_whoever_is_asked_before_a_sync_may_drop_and_reorder(stage: Stage) -> None:
    await stage.add("web", config_map("a"), config_map("b"), config_map("c"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        leave = engine.on_before_sync(lambda _, steps: tuple(step for step in steps if step.key.name != "b"))
        await engine.sync("web")
        assert await stage.names("ConfigMap") & {"a", "b", "c"} == {"a", "c"}
        leave()
        await engine.sync("web")
    assert await stage.names("ConfigMap") >= {"a", "b", "c"}


async def test_whoever_is_asked_before_a_sync_may_veto(stage: Stage) -> None:
    await stage.add("web", config_map("a"))

    def ask(unit: SyncUnit, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        raise Conflict("the window", "it is Friday", "Wait until Monday")

    async with running(stage.engine) as engine:
        await engine.refresh("web")
        engine.on_before_sync(ask)
        state = await engine.sync("web")
    assert state.phase is OperationPhase.FAILED
    assert "it is Friday" in state.message
    assert ["it is Friday" in event.reason for event in stage.events(OperationVetoed)] == [True]
    assert stage.cluster.writes() == []


async def test_callbacks_tell_until_they_are_taken_back(stage: Stage) -> None:
    await stage.add("web", config_map("a"), config_map("b"), policy=AUTOMATED)
    heard: list[str] = []
    engine = stage.engine
    leave = [
        engine.on_sync_completed(
            lambda unit, state: heard.append(f"completed {unit.id} {state.phase.value}")
        ),
        engine.on_cluster_cache_initialized(lambda name: heard.append(f"cluster {name}")),
        engine.on_resource_updated(lambda _, live: heard.append(f"updated {live.key.name}")),
        engine.on_resource_removed(lambda _, key: heard.append(f"removed {key.name}")),
        engine.on_unit_event(lambda unit_id, event: heard.append(f"{unit_id} {type(event).__name__}")),
    ]
    async with running(engine):
        await synced(stage, "web")
        await stage.delete("ConfigMap", "b")
        await stage.until(lambda: engine.unit("web").status.verdict is Verdict.OUT_OF_SYNC, "it is seen")
        expected = {"cluster here", "updated a", "removed b", "completed web Succeeded", "web OperationEnded"}
        assert expected <= set(heard)
        for one in leave:
            one()
        heard.clear()
        await engine.sync("web")
    assert heard == []


# -- units and their store -------------------------------------------------------------------------------


async def test_a_unit_that_is_created_changed_and_deleted_while_the_engine_runs(stage: Stage) -> None:
    async with running(stage.engine) as engine:
        await stage.add("web", config_map("a"), policy=AUTOMATED)
        await stage.until(lambda: ended(stage), "it is synced")
        await synced(stage, "web")
        stage.sources.declare("web", config_map("z"))
        await stage.store.update(replace(engine.unit("web"), source={"unit": "web", "path": "other"}))
        await stage.until(lambda: ended(stage, 2), "the new source is synced")
        await stage.store.delete("web")
        await stage.until(lambda: not engine.units(), "it is forgotten")
    assert "z" in await stage.names("ConfigMap")


@pytest.mark.fact("A36")
async def test_two_units_that_want_one_object_are_told_and_neither_takes_it_from_the_other(
    stage: Stage,
) -> None:
    await stage.add("one", config_map("a", "one"), policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await synced(stage, "one")
        await stage.add("two", config_map("a", "two"), config_map("mine"), policy=ONCE)
        await stage.until(
            lambda: any(event.unit == "two" for event in stage.events(OperationEnded)), "two tried"
        )
        unit = await engine.refresh("two")
    found = await stage.get("ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"value": "one"}
    assert ConditionType.SHARED in {each.type for each in unit.status.conditions}
    state = unit.status.operation_state
    assert state is not None
    assert state.phase is OperationPhase.FAILED
    assert "managed by" in state.message


async def test_an_object_of_another_installation_is_refused_and_not_pruned(stage: Stage) -> None:
    foreign = config_map("a", "theirs", owner="elsewhere/web")
    await stage.create(foreign)
    await stage.add("web", config_map("a"), policy=ONCE)
    async with running(stage.engine):
        await stage.until(lambda: ended(stage), "it was tried")
    found = await stage.get("ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"value": "theirs"}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"apiVersion": "v1", "metadata": {"name": "x"}}, "kind is missing"),
        ({"kind": "ConfigMap", "metadata": {"name": "x"}}, "apiVersion is missing"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}, "metadata.name is missing"),
        ({"apiVersion": "nobody/v1", "kind": "Gizmo", "metadata": {"name": "x"}}, "knows no Gizmo"),
        (config_map("a", "twice"), "declared 2 times"),
        (config_map("huge", "x" * (2 << 20)), "bytes and may have"),
    ],
)
async def test_a_bad_object_is_told_with_its_remedy_and_never_takes_others_along(
    stage: Stage, bad: dict[str, object], words: str
) -> None:
    await stage.add("bad", config_map("a"), bad)
    await stage.add("good", config_map("g"), policy=AUTOMATED)
    async with running(stage.engine) as engine:
        unit = await engine.refresh("bad")
        await synced(stage, "good")
    assert any(words in each.message for each in unit.status.conditions), unit.status.conditions


async def test_a_unit_of_an_unknown_cluster_harms_no_other(stage: Stage) -> None:
    await stage.add("lost", config_map("x"), policy=AUTOMATED)
    lost = await stage.store.get("lost")
    await stage.store.update(replace(lost, destination=replace(lost.destination, cluster="nowhere")))
    await stage.add("web", config_map("a"), policy=AUTOMATED)
    async with running(stage.engine) as engine:
        await synced(stage, "web")
        await stage.until(lambda: bool(engine.unit("lost").status.conditions), "it is told")
    (condition,) = engine.unit("lost").status.conditions
    assert "cluster nowhere: there is no such cluster" in condition.message


async def test_an_operation_waits_for_a_cluster_that_comes_later(stage: Stage) -> None:
    await stage.add("late", config_map("x"))
    late = await stage.store.get("late")
    await stage.store.update(replace(late, destination=replace(late.destination, cluster="later")))
    async with running(stage.engine) as engine:
        await stage.until(lambda: bool(engine.unit("late").status.conditions), "it is told")
        await engine.start_sync("late")
        stage.clusters.put(opened("later", cast(Cluster, stage.cluster)))
        state = await engine.wait_for_sync("late")
    assert state.phase is OperationPhase.SUCCEEDED


async def test_units_in_files_are_synced_as_they_are_edited_and_kept_while_they_are_broken(
    stage: Stage, tmp_path: Path
) -> None:
    stage.store = FileStore(tmp_path, look_every=timedelta(milliseconds=20))
    stage.engine = stage.new_engine()
    stage.sources.declare("web", config_map("a"))
    by_hand = "source: git\ndestination: {cluster: here}\npolicy: {automated: {prune: true}}\n"
    async with running(stage.engine) as engine:
        (tmp_path / "web.yaml").write_text(by_hand)
        await stage.until(lambda: ended(stage), "it is synced")
        await synced(stage, "web")
        (tmp_path / "web.yaml").write_text("source: [")
        await stage.until(lambda: bool(stage.events(UnitUnreadable)), "it is told")
        assert engine.unit("web").status.verdict is Verdict.SYNCED
    assert "a" in await stage.names("ConfigMap")
    assert (await FileStore(tmp_path).list()) == ()


# -- restart ---------------------------------------------------------------------------------------------


async def test_an_operation_that_was_accepted_happens_in_the_next_process(stage: Stage) -> None:
    await stage.add("web", config_map("a"), operation=Operation(asked_by="ada"))
    async with running(stage.engine) as engine:
        state = await engine.wait_for_sync("web")
    assert state.phase is OperationPhase.SUCCEEDED
    assert "a" in await stage.names("ConfigMap")


async def test_an_operation_that_had_ended_is_only_closed_by_the_next_process(stage: Stage) -> None:
    await stage.add("web", config_map("a"))
    async with running(stage.engine) as engine:
        await engine.refresh("web")
        await engine.sync("web", Operation(asked_by="ada"))
    left = replace(engine.unit("web"), operation=Operation(asked_by="ada"))
    stage.store = MemoryStore([left])
    stage.cluster.requests.clear()
    stage.engine = stage.new_engine()
    async with running(stage.engine) as again:
        await again.wait_for_sync("web")
        assert again.unit("web").operation is None
    assert stage.cluster.writes() == []
    assert len(again.unit("web").status.history) == 1

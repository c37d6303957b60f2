"""Operations that cannot be carried on as they were planned: what they hold is let go, nothing is deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.engine.stage import Json, Stage, config_map, job, running
from trimtab.apiserver import MemoryCluster
from trimtab.engine.compare.ignoring import IgnoreRule
from trimtab.engine.events import OperationEnded, OperationWaits
from trimtab.engine.operations import Operation, OperationPhase, RetryLimits
from trimtab.engine.units import ConditionType, Policy
from trimtab.errors import Missing, Unavailable
from trimtab.kube.cluster import Write, Written

RESPECTING = Policy(
    retry=RetryLimits(),
    options=("RespectIgnoreDifferences=true",),
    ignore_differences=(
        IgnoreRule(
            kind="ConfigMap", json_pointers=("/data/value",), jq_path_expressions=('.data["counted"]',)
        ),
    ),
)
ONCE = Policy(retry=RetryLimits())


async def interrupted() -> Stage:
    """A process died while the hook of its operation ran; nothing here ever ends a Job."""
    stage = Stage(MemoryCluster(), "default")
    await stage.add("shop", config_map("a"), job("migrate", hook="PreSync"), policy=ONCE)
    async with running(stage.engine) as engine:
        await engine.start_sync("shop")
        await stage.until(lambda: bool(stage.events(OperationWaits)), "it waits for the hook")
    held = await stage.get("Job", "migrate")
    assert held is not None
    assert held["metadata"]["finalizers"] == ["trimtab.dev/hook-finalizer"]
    return stage


async def test_an_operation_that_cannot_be_planned_again_lets_go_of_its_running_hooks() -> None:
    stage = await interrupted()
    stage.sources.error = Missing("revision 4f2c9e1", "it was removed by force")
    async with running(stage.new_engine()) as engine:
        state = await engine.wait_for_sync("shop")
    assert state.phase is OperationPhase.ERROR
    assert "it was removed by force" in state.message
    hook = await stage.get("Job", "migrate")
    assert hook is not None
    assert hook["metadata"].get("finalizers") is None


async def test_a_hook_that_the_plan_no_longer_names_is_let_go_of() -> None:
    stage = await interrupted()
    new = stage.new_engine()
    new.on_before_sync(lambda _unit, steps: tuple(step for step in steps if step.key.kind != "Job"))
    async with running(new) as engine:
        state = await engine.wait_for_sync("shop")
    assert state.phase is OperationPhase.SUCCEEDED
    hook = await stage.get("Job", "migrate")
    assert hook is not None
    assert hook["metadata"].get("finalizers") is None


async def test_what_took_the_place_of_a_hook_is_not_touched() -> None:
    stage = await interrupted()
    await stage.delete("Job", "migrate")
    await stage.patch("Job", "migrate", {"metadata": {"finalizers": None}})
    stranger = job("migrate")
    stranger["metadata"]["finalizers"] = ["trimtab.dev/hook-finalizer"]
    await stage.create(stranger)
    stage.sources.error = Missing("revision 4f2c9e1", "it was removed by force")
    async with running(stage.new_engine()) as engine:
        await engine.wait_for_sync("shop")
    hook = await stage.get("Job", "migrate")
    assert hook is not None
    assert hook["metadata"]["finalizers"] == ["trimtab.dev/hook-finalizer"]


@pytest.mark.parametrize("options", ["", "Replace=true"])
async def test_ignored_fields_stay_as_they_are_when_something_else_is_written(options: str) -> None:
    stage = Stage(MemoryCluster(), "default")
    told = {"sync_options": options} if options else {}

    def wanted(colour: str) -> Json:
        made = config_map("a", "from Git", **told)
        made["data"] |= {"counted": "0", "colour": colour}
        return made

    await stage.add("shop", wanted("red"), policy=RESPECTING)
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        heard = asyncio.Event()
        engine.on_resource_updated(lambda _cluster, live: heard.set() if live.key.name == "a" else None)
        await stage.patch("ConfigMap", "a", {"data": {"value": "by hand", "counted": "7"}})
        await heard.wait()
        stage.sources.declare("shop", wanted("blue"))
        state = await engine.sync("shop")
    assert state.phase is OperationPhase.SUCCEEDED
    found = await stage.get("ConfigMap", "a")
    assert found is not None
    assert found["data"] == {"value": "by hand", "counted": "7", "colour": "blue"}


async def test_sync_options_of_an_operation_that_mean_nothing_are_said_at_its_end() -> None:
    stage = Stage(MemoryCluster(), "default")
    await stage.add("shop", config_map("a"), policy=Policy(options=("PruneFirst=true",)))
    async with running(stage.engine) as engine:
        said = ("PruneFirst=true", "Foo=bar", "Replace=true")
        state = await engine.sync("shop", Operation(options=said))
        (ended,) = stage.events(OperationEnded)
        recorded = (await stage.store.get("shop")).status.operation_state
    assert state.phase is OperationPhase.SUCCEEDED
    assert state.message.endswith("; sync options that mean nothing: Foo=bar")
    assert ended.message == state.message
    assert recorded is not None
    assert recorded.message == state.message


async def test_sync_options_that_mean_nothing_are_said_on_the_unit() -> None:
    stage = Stage(MemoryCluster(), "default")
    policy = Policy(options=("PruneFirst=true",))
    await stage.add("shop", config_map("a", sync_options="Prun=false,Replace=true"), policy=policy)
    async with running(stage.engine) as engine:
        unit = await engine.refresh("shop")
    (condition,) = unit.status.conditions
    assert condition.type is ConditionType.OPTIONS
    assert "ConfigMap default/a: nothing is meant by Prun=false" in condition.message
    assert "unit shop: nothing is meant by PruneFirst=true" in condition.message


class Away:
    """A cluster that does not answer the next questions of what an apply would make."""

    def __init__(self) -> None:
        self._cluster, self.unanswered = MemoryCluster(), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def apply(self, *arguments: Any, write: Write, **options: Any) -> Written:
        if write.dry_run and self.unanswered:
            self.unanswered -= 1
            raise Unavailable("the cluster", "it is away for a moment")
        return await self._cluster.apply(*arguments, write=write, **options)


async def test_a_server_that_is_away_while_an_operation_is_planned_is_borne_with() -> None:
    cluster = Away()
    stage = Stage(cluster, "default")
    await stage.add("shop", config_map("a"), policy=ONCE)
    async with running(stage.engine) as engine:
        await engine.sync("shop")
        await engine.refresh("shop")
        stage.sources.declare("shop", config_map("a", "2"))
        cluster.unanswered = 1
        state = await engine.sync("shop")
    assert (state.phase, cluster.unanswered) == (OperationPhase.SUCCEEDED, 0)

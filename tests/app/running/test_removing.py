"""Objects go with a unit's file only where that was asked for, only on a full reading, and to the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.app.running.stage import CONFIG_MAPS, HEALED, Stage, running
from tests.app.running.test_runner import is_synced
from tests.engine.stage import config_map, job
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.app.running.declared import Origin, Snapshot
from trimtab.app.running.declaring import Declarations
from trimtab.app.running.events import (
    UnitRemovalHeld,
    UnitRemoved,
    UnitRemoving,
    UnitWithdrawn,
)
from trimtab.app.running.removing import (
    AGAIN_AFTER,
    REMOVAL,
    Ask,
    Done,
    End,
    Look,
    Step,
    Sync,
    Wait,
    next_step,
    step_back,
)
from trimtab.engine.operations import Operation, OperationPhase, OperationState
from trimtab.engine.units import Destination, OnRemoval, Pause, Policy, SyncUnit, UnitStatus
from trimtab.errors import InvalidSpec
from trimtab.kube.cluster import PatchType
from trimtab.kube.discovery import Resource
from trimtab.tasks import SystemClock

JOBS = Resource(group="batch", version="v1", kind="Job", plural="jobs", namespaced=True)
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
FILES = Origin(folder="/srv/units")
WEB = SyncUnit(
    id="web",
    source={"repoURL": "https://git.example/web.git"},
    destination=Destination(cluster="here"),
    policy=HEALED,
    on_removal=OnRemoval.DELETE,
    declared_in=str(FILES),
)


def standing(
    operation: Operation | None,
    phase: OperationPhase = OperationPhase.RUNNING,
    *,
    last: Operation | None = None,
    ago: timedelta = timedelta(0),
    **more: Any,
) -> SyncUnit:
    asked = last or operation
    state = OperationState(
        operation=asked or Operation(), started_at=NOW, phase=phase, message="so", finished_at=NOW - ago
    )
    return replace(WEB, operation=operation, status=UnitStatus(operation_state=state), **more)


THEIRS = Operation(delete=True, asked_by="trimtab delete")
SUCCEEDED, FAILED = OperationPhase.SUCCEEDED, OperationPhase.FAILED


@pytest.mark.parametrize(
    ("unit", "step"),
    [
        (WEB, Ask()),
        (standing(None, SUCCEEDED), Ask()),
        (replace(WEB, paused=Pause(by="ann")), Wait("it is paused by ann")),
        (standing(Operation()), End()),
        (standing(Operation(ended_by="us")), Wait("what is under way ends first")),
        (standing(REMOVAL), Wait("so")),
        (standing(None, SUCCEEDED, last=REMOVAL), Look()),
        # whoever deletes it from a command line forgets it himself, unless he was stopped
        (standing(None, SUCCEEDED, last=THEIRS), Wait("somebody deletes it, and forgets it then")),
        (standing(None, SUCCEEDED, last=THEIRS, ago=AGAIN_AFTER), Ask()),
        (standing(None, FAILED, last=REMOVAL), Wait("deleting failed: so")),
        (standing(None, FAILED, last=REMOVAL, ago=AGAIN_AFTER), Ask()),
    ],
)
def test_a_unit_without_a_file_is_seen_out_step_by_step(unit: SyncUnit, step: Step) -> None:
    assert next_step(unit, NOW) == step


@pytest.mark.parametrize(
    ("unit", "step"),
    [
        (WEB, Done()),
        (standing(Operation()), Done()),
        # what somebody asked for at a command line is his
        (standing(THEIRS), Done()),
        (standing(REMOVAL), End()),
        (standing(replace(REMOVAL, ended_by="us")), Wait("its file is back")),
        (standing(None, FAILED, last=REMOVAL), Sync()),
        (standing(None, SUCCEEDED, last=REMOVAL, policy=Policy()), Done()),
    ],
)
def test_a_file_that_comes_back_ends_what_was_begun(unit: SyncUnit, step: Step) -> None:
    assert step_back(unit) == step


def read(*units: SyncUnit, **problems: str) -> Snapshot:
    errors = {name: InvalidSpec(name, reason) for name, reason in problems.items()}
    return Snapshot(revision="1", units={unit.id: unit for unit in units}, problems=errors)


class Scene:
    """A stage whose units are declared in files."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.units: dict[str, SyncUnit] = {}
        self.files = Declarations(
            FILES, clock=SystemClock(), tell=lambda event: stage.hear("the files", event)
        )

    def unit(self, name: str, **more: Any) -> SyncUnit:
        self.stage.sources.declare(name, config_map(name, "1"))
        source = {"repoURL": f"https://git.example/{name}.git"}
        return replace(WEB, id=name, source=source, **more)

    @asynccontextmanager
    async def kept(self, *units: SyncUnit, me: str = "one") -> AsyncIterator[None]:
        """A runner that has synced these units, as their files declare them."""
        self.files.read(read(*units))
        async with running(self.stage.runner(me, declarations=self.files)):
            for unit in units:
                await self.stage.until_record(unit.id, is_synced, f"{unit.id} is synced")
            yield

    async def until_held(self, why: str) -> None:
        def told() -> bool:
            return any(why in event.reason for _, event in self.stage.events(UnitRemovalHeld))

        await self.stage.until(told, f"it is held: {why}")

    async def until_removed(self, name: str) -> None:
        def told() -> bool:
            return any(event.unit == name for _, event in self.stage.events(UnitRemoved))

        await self.stage.until(told, f"{name} is removed")


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    stage = Stage()
    await stage.open()
    async with behaviours_of(stage.memory, timing=AT_ONCE):  # of them the garbage collector
        yield Scene(stage)


async def test_objects_go_with_the_file_of_a_unit_that_asked_for_it_and_stay_with_all_others(
    scene: Scene,
) -> None:
    stage = scene.stage
    web, keeps, stays = (
        scene.unit("web"),
        scene.unit("keeps", on_removal=OnRemoval.KEEP),
        scene.unit("stays"),
    )
    async with scene.kept(web, keeps, stays):
        scene.files.read(read(stays))
        await scene.until_removed("web")
        await stage.until(lambda: stage.events(UnitWithdrawn), "the other is withdrawn")
        assert [unit.id for unit in await stage.records.list()] == ["stays"]
    assert [await stage.value(name) for name in ("web", "keeps", "stays")] == [None, "1", "1"]
    assert [event.unit for _, event in stage.events(UnitRemoving)] == ["web"]


async def test_no_objects_go_by_an_empty_folder_one_that_cannot_be_read_or_a_file_with_an_error(
    scene: Scene,
) -> None:
    stage, web, stays = scene.stage, scene.unit("web"), scene.unit("stays")
    async with scene.kept(web, stays):
        scene.files.unread("it is on fire")
        for doubtful, why in ((read(), "an empty folder"), (read(stays, other="broken"), "(other)")):
            scene.files.read(doubtful)
            await scene.until_held(why)
        assert [unit.id for unit in await stage.records.list()] == ["stays", "web"]
    assert (await stage.value("web"), await stage.value("stays")) == ("1", "1")
    assert not stage.events(UnitRemoving, UnitRemoved, UnitWithdrawn)


async def test_a_runner_that_dies_half_way_is_succeeded_by_one_that_sees_the_unit_out(scene: Scene) -> None:
    stage, web, stays = scene.stage, scene.unit("web"), scene.unit("stays")
    async with scene.kept(web, stays):
        await _hold(stage, "web", "example.com/not-yet")
        scene.files.read(read(stays))
        await scene.until_held("ConfigMap default/web is still there")
        assert not stage.events(UnitRemoved)
    assert "web" in [unit.id for unit in await stage.records.list()]
    async with running(stage.runner("two", declarations=scene.files)):
        await _hold(stage, "web", None)
        await scene.until_removed("web")
    assert await stage.value("web") is None
    assert [unit.id for unit in await stage.records.list()] == ["stays"]


async def test_a_unit_whose_file_comes_back_in_time_is_synced_again(scene: Scene) -> None:
    stage, web, stays = scene.stage, scene.unit("web"), scene.unit("stays")
    async with scene.kept(web, stays):
        await _hold(stage, "web", "example.com/not-yet")
        scene.files.read(read(stays))
        await stage.until(lambda: stage.events(UnitRemoving), "it begins")
        scene.files.read(read(web, stays))
        await _hold(stage, "web", None)
        await stage.until_record("web", is_synced, "it is there again")
        await stage.until_value("web", "1")
    assert not stage.events(UnitRemoved)


async def test_hooks_of_the_deletion_run_around_it_when_a_file_goes_and_nothing_of_them_stays(
    scene: Scene,
) -> None:
    stage, stays, web = scene.stage, scene.unit("stays"), scene.unit("web")
    hooks = job("backup", hook="PreDelete"), job("farewell", hook="PostDelete")
    stage.sources.declare("web", config_map("web"), *hooks)
    async with scene.kept(web, stays):
        scene.files.read(read(stays))
        await scene.until_removed("web")
    seen = [(each.verb, each.name) for each in stage.counted.writes()]
    order = [("apply", "backup"), ("delete", "web"), ("apply", "farewell")]
    assert [each for each in seen if each in order] == order
    jobs = [each.metadata.name async for page in stage.memory.list(JOBS) for each in page.objects]
    assert (jobs, await stage.value("web")) == ([], None)


async def test_a_hook_that_fails_keeps_the_objects_of_a_unit_without_a_file_until_it_is_mended(
    scene: Scene,
) -> None:
    stage, stays = scene.stage, scene.unit("stays")
    web = scene.unit("web")
    stage.sources.declare("web", config_map("web"), job("backup", simulate="fail", hook="PreDelete"))
    async with scene.kept(web, stays):
        scene.files.read(read(stays))
        await scene.until_held("a PreDelete hook failed, so its objects stay")
        assert await stage.value("web") == "1"
        stage.sources.declare("web", config_map("web"), job("backup", hook="PreDelete"))
        scene.files.read(read(web, stays))
        await stage.until_record("web", is_synced, "it is wanted again")
        scene.files.read(read(stays))
        await scene.until_removed("web")
    assert await stage.value("web") is None


async def _hold(stage: Stage, name: str, finalizer: str | None) -> None:
    held = {"metadata": {"finalizers": [finalizer] if finalizer else None}}
    await stage.memory.patch(CONFIG_MAPS, name, held, how=PatchType.MERGE, namespace="default")

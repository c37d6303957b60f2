"""Looking at one app: what differs, what it owns, and waiting for it; in a cluster in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.app.why.stage import Stage, embedded
from tests.engine.stage import config_map, deployment
from trimtab.app.differing import Change, diff_report
from trimtab.app.goals import Goal, Recorded
from trimtab.app.holds import pause, resume
from trimtab.app.trees import lines_of
from trimtab.app.waiting import NotWell
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Pin, SyncUnit
from trimtab.errors import Missing

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "keys"},
    "stringData": {"token": "canary-in-the-mine"},
}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with asyncio.timeout(60), embedded() as made:
        yield made


async def test_what_is_not_there_what_drifted_and_what_is_not_declared_differ(stage: Stage) -> None:
    await stage.sync(config_map("drifts"), config_map("stays"), config_map("extra"), SECRET)
    await stage.patch("ConfigMap", "drifts", {"data": {"value": "else"}})
    await stage.patch("Secret", "keys", {"data": {"token": "Y2FuYXJ5IHR3bw=="}})
    stage.declare(config_map("drifts"), config_map("stays"), config_map("new"), SECRET)
    async with stage.apps.work_on(await stage.unit()) as work:
        found = await work.differing()
    assert [(each.key.name, each.change) for each in found.objects] == [
        ("drifts", Change.UPDATE),
        ("extra", Change.PRUNE),
        ("new", Change.CREATE),
        ("keys", Change.UPDATE),
    ]
    drifted, *_, secret = found.objects
    assert [(each.path, each.manager) for each in secret.fields] == [("/data/token", "kubectl-edit")]
    (field,) = drifted.fields
    assert (field.path, field.live, field.desired) == ("/data/value", "else", "1")
    told = repr([diff_report(each) for each in found.objects])
    assert [word for word in ("canary", "Y2FuYXJ5") if word in told] == []


async def test_what_is_pinned_is_compared_with_its_pin(stage: Stage) -> None:
    for value in ("1", "2"):
        await stage.sync(config_map("settings", value))
    stage.declare(config_map("settings", "3"))
    recorded = await stage.unit()
    unit = replace(recorded, pinned=Pin(entry=1, revision=recorded.status.history[0].revision))
    async with stage.apps.work_on(unit) as work:
        (found,) = (await work.differing()).objects
    assert [(each.live, each.desired) for each in found.fields] == [("2", "1")]


async def test_a_tree_goes_down_to_the_pods(stage: Stage) -> None:
    await stage.sync(config_map("settings"), deployment("web", replicas=2))
    await stage.until("Deployment", lambda web: web.get("status", {}).get("availableReplicas") == 2)
    async with stage.apps.work_on(await stage.unit()) as work:
        unit, nodes = await work.tree()
    drawn = [(len(each.last), each.node.key.kind, each.node.sync) for each in lines_of(nodes)]
    assert drawn == [
        (1, "ConfigMap", "Synced"),
        (1, "Deployment", "Synced"),
        (2, "ReplicaSet", ""),
        (3, "Pod", ""),
        (3, "Pod", ""),
    ]
    assert unit.status.verdict is Verdict.SYNCED


async def test_waiting_hears_of_a_change_and_ends_when_it_is_as_wanted(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    await stage.patch("ConfigMap", "settings", {"data": {"value": "else"}})
    looked, seen = asyncio.Event(), list[Verdict]()

    def hear(unit: SyncUnit) -> None:
        seen.append(unit.status.verdict)
        looked.set()

    async with stage.apps.work_on(await stage.unit()) as work, asyncio.TaskGroup() as group:
        waiting = group.create_task(work.until([Goal.HEALTHY, Goal.SYNCED], 60, hear))
        await looked.wait()
        await stage.patch("ConfigMap", "settings", {"data": {"value": "1"}})
        unit = await waiting
    assert (seen[0], seen[-1]) == (Verdict.OUT_OF_SYNC, Verdict.SYNCED)
    assert unit.status.verdict is Verdict.SYNCED


async def test_waiting_too_long_says_how_the_app_stands(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    async with stage.apps.work_on(await stage.unit()) as work:
        assert (await work.until([Goal.HEALTHY], 0)).id == "shop"
        with pytest.raises(NotWell, match=r"app shop: after 0 s it is Synced and Healthy"):
            await work.until([Goal.DEGRADED], 0)


async def test_an_app_that_is_not_recorded_is_deleted_and_missing(stage: Stage) -> None:
    await stage.apps.until("shop", Recorded.DELETED, 60)
    await stage.apps.until("shop", Recorded.DELETED, 0)
    with pytest.raises(Missing, match="app shop: there is no such app"):
        await stage.apps.named("shop")
    await stage.sync(config_map("settings"))
    assert (await stage.apps.named("shop")).id == "shop"
    with pytest.raises(NotWell, match="it is not deleted, after 0 s"):
        await stage.apps.until("shop", Recorded.DELETED, 0)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(stage.apps.until("shop", Recorded.DELETED, 60))
        await stage.apps.records().delete("shop")
        await waiting


async def test_an_app_may_be_named_as_it_is_printed_unless_another_is_called_so(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    assert (await stage.apps.named("app/shop")).id == "shop"
    assert await stage.apps.find("app/shop") is None
    assert (await pause(stage.apps, "app/shop", reason="", by="ann", now=NOON)).hold
    assert (await resume(stage.apps, "app/shop")).id == "shop"
    await stage.apps.until("app/shop", Recorded.IDLE, 60)
    with pytest.raises(NotWell, match="it is not deleted, after 0 s"):
        await stage.apps.until("app/shop", Recorded.DELETED, 0)
    await stage.sync(config_map("others"), app="app/shop")
    assert (await stage.apps.named("app/shop")).id == "app/shop"
    with pytest.raises(Missing, match="app app/none: there is no such app"):
        await stage.apps.named("app/none")


async def test_an_app_is_idle_when_nobody_works_on_it(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    await stage.apps.until("shop", Recorded.IDLE, 60)
    await stage.apps.until("shop", Recorded.IDLE, 0)
    await stage.apps.until("nobody", Recorded.DELETED, 0)
    records = stage.apps.records()
    await records.set_operation("shop", Operation())
    with pytest.raises(NotWell, match=r"it is not idle, after 0 s. Ask why with: trimtab why shop"):
        await stage.apps.until("shop", Recorded.IDLE, 0)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(stage.apps.until("shop", Recorded.IDLE, 60))
        await records.set_operation("shop", None)
        await waiting

"""While a source is away, whoever looks is shown how things compare with what was synced last."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.app.world import World, config_map
from trimtab.app.lastknown import away_of
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Condition, ConditionType
from trimtab.errors import GitUnreachable
from trimtab.kube.cluster import PatchType

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


async def test_an_app_is_compared_with_what_was_synced_last_while_its_source_is_away() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    revision = world.sources.declare("shop", config_map("settings"))
    world.sources.declare("shop", config_map("settings", "2"))
    world.sources.is_down = True
    apps = await world.apps()
    async with apps.work_on(await world.unit("shop"), renders=True, only_looks=True) as work:
        unit = await work.look()
    assert (unit.status.verdict, unit.status.revision) == (Verdict.SYNCED, revision)
    (warning,) = unit.status.conditions
    assert warning.type is ConditionType.SOURCE
    assert f"compared with {revision}, which was synced at 20" in warning.message
    assert work.away is not None
    assert isinstance(work.away.error, GitUnreachable)

    settings = await world.resource("ConfigMap")
    body = {"data": {"value": "drifted"}}
    await world.cluster.patch(settings, "settings", body, how=PatchType.MERGE, namespace="default")
    async with apps.work_on(await world.unit("shop"), only_looks=True) as work:
        assert (await work.tree())[0].status.verdict is Verdict.OUT_OF_SYNC
        (drifted,) = (await work.differing()).objects
    assert [each.path for each in drifted.fields] == ["/data/value"]


async def test_whoever_works_on_an_app_or_one_that_was_never_synced_is_told_that_its_source_is_away() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    world.sources.is_down = True
    apps = await world.apps()
    for app, only_looks in (("shop", False), ("new", True)):
        async with apps.work_on(await world.unit(app), only_looks=only_looks) as work:
            with pytest.raises(GitUnreachable):
                await work.look()


async def test_a_source_that_goes_away_after_a_sync_takes_nothing_from_what_was_done() -> None:
    world = World()
    revision = world.sources.declare("shop", config_map("settings"))
    apps = await world.apps()
    async with apps.work_on(await world.unit("shop")) as work:
        operation = Operation()
        plan = await work.plan(operation)
        await work.carry_out(operation, plan, consent=False, held=lambda _: None)
        world.sources.is_down = True
        unit = await work.until_well(60)
    assert (unit.status.verdict, unit.status.revision) == (Verdict.SYNCED, revision)
    assert work.away is not None


async def test_since_when_it_is_away_is_told_as_far_as_it_was_recorded() -> None:
    world = World()
    await world.sync("shop", config_map("settings"))
    unit = await world.unit("shop")
    (entry,) = unit.status.history
    entry = replace(entry, revision="4f2c9e1", deployed_at=NOON)
    down = GitUnreachable("git.example", "nobody answers")
    seen = replace(unit, status=replace(unit.status, reconciled_at=NOON))
    compared = "It is compared with 4f2c9e1, which was synced at 2026-01-02T12:00:00Z."
    assert str(away_of(seen, entry, down)) == (
        f"git.example: nobody answers. The app was last looked at 2026-01-02T12:00:00Z. {compared}"
    )
    noticed = Condition(type=ConditionType.SOURCE, message="no answer", since=NOON)
    kept = replace(seen, status=replace(seen.status, conditions=(noticed,)))
    assert str(away_of(kept, entry, down)) == (
        f"git.example: nobody answers. It has been so since 2026-01-02T12:00:00Z. {compared}"
    )

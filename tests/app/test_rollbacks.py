"""Going back to an entry of history: without the source, by anybody, and after any death on the way."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.app.world import AT_ONCE, RECORDS, Mortal, World, config_map, died
from trimtab.app import Apps
from trimtab.app.rollbacks import pin_for
from trimtab.engine.control.policy import rollback
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Deployed, Destination, Pin, SyncUnit, UnitHeld, UnitStatus
from trimtab.errors import Missing

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def entry(number: int, rendered: str) -> Deployed:
    return Deployed(
        id=number, revision=f"r{number}", source={}, started_at=NOW, deployed_at=NOW, rendered=rendered
    )


def unit(*history: Deployed) -> SyncUnit:
    return SyncUnit(
        id="shop", source={}, destination=Destination(cluster="here"), status=UnitStatus(history=history)
    )


def test_without_a_number_one_goes_back_to_the_last_that_was_something_else() -> None:
    history = unit(entry(1, "a"), entry(2, "b"), entry(3, "c"), entry(4, "c"))
    pin = pin_for(history, None, reason="", by="ann", now=NOW)
    assert (pin.entry, pin.revision, pin.reason) == (2, "r2", "rolled back from r4")
    assert pin_for(history, 1, reason="b crashes", by="ann", now=NOW).reason == "b crashes"


def test_of_a_pinned_app_one_goes_further_back_once_it_is_where_it_is_pinned() -> None:
    pin = Pin(entry=2, revision="r2")
    on_the_way = unit(entry(1, "a"), entry(2, "b"), entry(3, "c"))
    assert pin_for(replace(on_the_way, pinned=pin), None, reason="", by="", now=NOW).entry == 2
    there = unit(entry(1, "a"), entry(2, "b"), entry(3, "c"), entry(4, "b"))
    assert pin_for(replace(there, pinned=pin), None, reason="", by="", now=NOW).entry == 1


def test_what_is_not_in_the_history_is_named_with_what_is() -> None:
    with pytest.raises(Missing, match=r"no entry 9.*It has 1, 2"):
        pin_for(unit(entry(1, "a"), entry(2, "b")), 9, reason="", by="", now=NOW)
    with pytest.raises(Missing, match="nothing else to go back to"):
        pin_for(unit(entry(1, "a"), entry(2, "a")), None, reason="", by="", now=NOW)
    with pytest.raises(Missing, match="no sync of it has succeeded yet"):
        pin_for(unit(), None, reason="", by="", now=NOW)


async def roll_back(apps: Apps, app: str = "shop") -> None:
    """What the verb does, but for asking."""
    found = await apps.find(app)
    assert found is not None
    pin = pin_for(found, None, reason="", by="ann", now=NOW)
    pinned = replace(found, pinned=pin)
    operation = rollback(pinned, pin.entry, prune=True)
    async with apps.work_on(pinned, operation=operation, narrowly=True) as work:
        if work.unfinished is not None:
            await work.end(held=lambda _: None)
        plan = await work.plan(operation)
        await work.carry_out(operation, plan, consent=True, held=lambda _: None, pin=pin)
        looked = await work.look()
    assert (looked.status.verdict, looked.status.revision) == (Verdict.SYNCED, pin.revision)


async def two_versions() -> World:
    """An app that was synced twice, and whose source is gone since."""
    world = World()
    await world.sync("shop", config_map("settings", "old"), config_map("legacy"))
    await world.sync("shop", config_map("settings", "new"), config_map("more"), prune=True)
    assert await world.values() == {"settings": "new", "more": "1"}
    world.sources.is_down = True
    return world


async def test_an_app_goes_back_while_git_is_down_and_stays_there_until_it_is_resumed() -> None:
    world = await two_versions()
    await roll_back(await world.apps())
    assert await world.values() == {"settings": "old", "legacy": "1"}
    assert (await world.unit("shop")).pinned is not None

    world.sources.is_down = False
    with pytest.raises(UnitHeld, match=r"pinned to entry 1 .* Let it go on with: trimtab resume shop"):
        await world.sync("shop")
    records = (await world.apps()).records()
    await records.amend("shop", lambda stored: replace(stored, pinned=None))
    await world.sync("shop", prune=True)
    assert await world.values() == {"settings": "new", "more": "1"}


async def test_renders_are_sealed_and_go_with_the_entries_that_speak_of_them() -> None:
    world = World()
    world.sources.declare("shop", config_map("settings", "canary-0"))
    short = replace(await world.unit("shop"), policy=replace(AT_ONCE, history_limit=2))
    apps = await world.apps()
    await apps.record_installation()
    await apps.records().create(short)
    for number in range(4):
        await world.sync("shop", config_map("settings", f"canary-{number}"))
    kept = [name for name in await world.names("Secret", RECORDS) if name.startswith("trimtab-render")]
    assert len(kept) == 2
    for name in kept:
        assert "canary" not in str(await world.get("Secret", name, RECORDS))


async def is_back(world: World) -> bool:
    """Whether somebody who looks sees that the rollback is over."""
    found = await world.unit("shop")
    return found.operation is None and len(found.status.history) == 3


async def test_whoever_dies_on_the_way_back_is_succeeded_by_anybody() -> None:
    # Every third write, because each world costs time.
    write, deaths = 2, 0
    while True:
        world = await two_versions()

        async def act(mortal: Mortal, world: World = world) -> None:
            await roll_back(await world.apps(mortal))

        if not await died(act, Mortal(world.cluster, write)):
            break
        deaths += 1
        await world.bury()
        if not await is_back(world):
            await roll_back(await world.apps())
        assert await world.values() == {"settings": "old", "legacy": "1"}, f"after write {write}"
        write += 3
    assert deaths > 2

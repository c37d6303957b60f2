"""One look at a unit: what is asked of the generator, and what is remembered of its answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import cast

from msgspec.structs import replace

from tests.engine.stage import Sources, config_map
from trimtab.apiserver import MemoryCluster
from trimtab.engine.clusters import opened
from trimtab.engine.compare.tracking import OWNER, OwnerAnnotation
from trimtab.engine.control.desks import Desk, ways_of
from trimtab.engine.control.looking import Looker
from trimtab.engine.control.policy import Refresh
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Verdict
from trimtab.engine.stores import MemoryArchive
from trimtab.engine.stretches import STRETCH
from trimtab.engine.units import (
    Deployed,
    Destination,
    Pin,
    ReconciliationSettings,
    SyncUnit,
    UnitStatus,
)
from trimtab.kube.cluster import Cluster
from trimtab.resources.secrets import StandIns
from trimtab.settings import CacheSettings
from trimtab.tasks import SystemClock

NOW = datetime(2026, 3, 4, tzinfo=UTC)


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    cluster = cast(Cluster, MemoryCluster())
    made = Desk(
        opened("here", cluster),
        cluster,
        ways_of(ReconciliationSettings(), OwnerAnnotation("test")),
        settings=CacheSettings(),
        stand_ins=StandIns(b"k" * 32),
        digest_key=b"k" * 32,
        manager="trimtab",
        jq=None,
        clock=SystemClock(),
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.cache.run())
        await made.cache.complete()
        yield made
        task.cancel()


def unit(name: str) -> SyncUnit:
    return SyncUnit(id=name, source=name, destination=Destination(cluster="here"))


async def test_a_change_in_the_cluster_alone_asks_the_generator_nothing() -> None:
    sources = Sources()
    sources.declare("web", config_map("a"))
    looker = Looker(sources, kept_objects=100)
    async with desk() as here:
        first = await looker.look(unit("web"), here, Refresh.USUAL)
        again = await looker.look(unit("web"), here, Refresh.LIVE)
    assert sources.asked == [("web", "", False)]
    assert again.wanted is first.wanted
    assert [row.verdict for row in again.rows] == [Verdict.OUT_OF_SYNC]


async def test_what_rendered_the_same_is_not_read_again_and_a_hard_look_says_so_to_the_generator() -> None:
    sources = Sources()
    sources.declare("web", config_map("a"))
    looker = Looker(sources, kept_objects=100)
    async with desk() as here:
        first = await looker.look(unit("web"), here, Refresh.USUAL)
        again = await looker.look(unit("web"), here, Refresh.HARD)
        sources.declare("web", config_map("a", "2"))
        other = await looker.look(unit("web"), here, Refresh.USUAL)
    assert [no_cache for _, _, no_cache in sources.asked] == [False, True, False]
    assert again.wanted is first.wanted
    assert other.wanted is not first.wanted


async def test_only_so_many_objects_are_kept_and_the_rest_is_rendered_again() -> None:
    sources = Sources()
    looker = Looker(sources, kept_objects=3)
    for name in ("one", "two"):
        sources.declare(name, config_map(f"{name}-a"), config_map(f"{name}-b"))
    async with desk() as here:
        await looker.look(unit("one"), here, Refresh.USUAL)
        await looker.look(unit("two"), here, Refresh.USUAL)
        await looker.look(unit("two"), here, Refresh.LIVE)
        await looker.look(unit("one"), here, Refresh.LIVE)
    assert [name for name, _, _ in sources.asked] == ["one", "two", "one"]


async def test_another_revision_is_looked_at_without_being_remembered() -> None:
    sources = Sources()
    old = sources.declare("web", config_map("a", "old"))
    sources.declare("web", config_map("a", "new"))
    looker = Looker(sources, kept_objects=100)
    async with desk() as here:
        await looker.look(unit("web"), here, Refresh.USUAL)
        before = await looker.look_at(unit("web"), here, Operation(), old)
        now = await looker.look(unit("web"), here, Refresh.LIVE)
    values = [sight.wanted.desired[0].manifest["data"]["value"] for sight in (before, now)]
    assert values == ["old", "new"]


async def test_what_an_operation_has_read_is_not_read_again_by_the_next_or_by_a_look() -> None:
    sources = Sources()
    sources.declare("web", config_map("a"))
    looker = Looker(sources, kept_objects=100)
    async with desk() as here:
        planned = await looker.look_at(unit("web"), here, Operation(), "")
        done = await looker.look_at(unit("web"), here, Operation(), planned.revision)
        looked = await looker.look(unit("web"), here, Refresh.USUAL)
        moved = replace(unit("web"), destination=Destination(cluster="here", namespace="other"))
        elsewhere = await looker.look(moved, here, Refresh.USUAL)
    assert planned.wanted is done.wanted
    assert planned.wanted is looked.wanted
    assert elsewhere.wanted.desired[0].key.namespace == "other"


async def test_a_pinned_unit_is_looked_at_as_its_entry_without_asking_the_source_again() -> None:
    sources, archive = Sources(), MemoryArchive()
    old = sources.declare("web", config_map("a", "old"))
    kept = await sources.generate(unit("web"), old)
    await archive.keep("web", kept)
    sources.declare("web", config_map("a", "new"))
    entry = Deployed(id=3, revision=old, source={}, started_at=NOW, deployed_at=NOW, rendered=kept.digest)
    pinned = replace(unit("web"), pinned=Pin(entry=3, revision=old), status=UnitStatus(history=(entry,)))
    sources.asked.clear()
    async with desk() as here:
        archived = Looker(sources, kept_objects=100, archive=archive)
        sights = [await archived.look(pinned, here, level) for level in (Refresh.USUAL, Refresh.HARD)]
        assert (sources.asked, {sight.revision for sight in sights}) == ([], {old})
        without = Looker(sources, kept_objects=100)
        again = [await without.look(pinned, here, Refresh.USUAL) for _ in range(2)]
    assert [sight.wanted.desired[0].manifest["data"]["value"] for sight in again] == ["old", "old"]
    assert [revision for _, revision, _ in sources.asked] == [old]


async def test_a_large_unit_is_read_in_turns_with_others() -> None:
    sources = Sources()
    sources.declare("web", *(config_map(f"c{number}") for number in range(6 * STRETCH)))
    looker, turns = Looker(sources, kept_objects=10_000), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with desk() as here, asyncio.TaskGroup() as group:
        beside = group.create_task(others())
        await looker.look(unit("web"), here, Refresh.USUAL)
        first, turns = turns, 0
        await looker.look(unit("web"), here, Refresh.USUAL)
        beside.cancel()
    assert (first >= 6, turns < 6) == (True, True)


async def test_what_was_read_by_old_ways_while_they_changed_is_read_again() -> None:
    sources = Sources()
    sources.declare("web", *(config_map(f"c{number}") for number in range(2 * STRETCH)))
    looker = Looker(sources, kept_objects=10_000)
    async with desk() as here, asyncio.TaskGroup() as group:
        look = group.create_task(looker.look(unit("web"), here, Refresh.USUAL))
        await asyncio.sleep(0)
        here.change(replace(here.ways, tracking=OwnerAnnotation("other")))
        await look
        again = await looker.look(unit("web"), here, Refresh.LIVE)
    assert {each.manifest["metadata"]["annotations"][OWNER] for each in again.wanted.desired} == {"other/web"}

"""Whoever loses a lease writes no more: not while it is let go, not after it stood still, not ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any, cast

import pytest

from tests.app.running.stage import CONFIG_MAPS, LIMIT, NAMESPACE, Stage, running
from tests.engine.stage import config_map
from trimtab.apiserver import MemoryCluster
from trimtab.app.fencing import FencedCluster, fenced
from trimtab.app.running.events import ShardLost, ShardTaken
from trimtab.app.shards import Shard
from trimtab.engine.units import Policy
from trimtab.kube import Lease
from trimtab.kube.cluster import Cluster, PatchType
from trimtab.kube.leases import LEASES, LeaseLost, LeaseTerms, lease_manifest
from trimtab.tasks import SystemClock

TERMS = LeaseTerms(
    duration=timedelta(seconds=15), give_up_after=timedelta(seconds=10), rhythm=timedelta(seconds=2)
)
WEB = config_map("web")
WRITES: dict[str, Callable[[Cluster], Awaitable[object]]] = {
    "create": lambda cluster: cluster.create(CONFIG_MAPS, WEB, namespace="default"),
    "update": lambda cluster: cluster.update(CONFIG_MAPS, "web", config_map("web", "2"), namespace="default"),
    "patch": lambda cluster: cluster.patch(
        CONFIG_MAPS, "web", {"data": {"value": "3"}}, how=PatchType.MERGE, namespace="default"
    ),
    "apply": lambda cluster: cluster.apply(CONFIG_MAPS, "web", WEB, namespace="default"),
    "delete": lambda cluster: cluster.delete(CONFIG_MAPS, "web", namespace="default"),
    "delete_all": lambda cluster: cluster.delete_all(CONFIG_MAPS, namespace="default"),
}


@pytest.mark.parametrize("verb", sorted(WRITES))
async def test_every_way_to_write_asks_whether_the_lease_is_held(verb: str) -> None:
    held = [True]
    cluster = MemoryCluster()
    if verb != "create":
        await cluster.create(CONFIG_MAPS, WEB, namespace="default")
    behind = FencedCluster(cluster, lambda: held[0])
    before = await _state(cluster)
    held[0] = False
    with pytest.raises(LeaseLost):
        await WRITES[verb](behind)
    assert await _state(cluster) == before
    held[0] = True
    await WRITES[verb](behind)
    assert await _state(cluster) != before


async def _state(cluster: Cluster) -> list[tuple[str, str]]:
    pages = cluster.list(CONFIG_MAPS, namespace="default")
    return [
        (each.metadata.name, each.metadata.resource_version) async for page in pages for each in page.objects
    ]


async def test_reading_needs_no_lease() -> None:
    memory = MemoryCluster()
    await memory.create(CONFIG_MAPS, WEB, namespace="default")
    behind = FencedCluster(memory, lambda: False)
    assert (await behind.get(CONFIG_MAPS, "web", namespace="default")).metadata.name == "web"
    assert (await behind.discover()).resources == (await memory.discover()).resources
    assert await behind.version() == await memory.version()
    assert await behind.schema("v1") == await memory.schema("v1")
    async with behind.watch(CONFIG_MAPS, since="0", namespace="default") as events:
        assert (await anext(events)).object.metadata.name == "web"


class StandingStill(SystemClock):
    """The clock of a process that is stopped for a while, without having noticed."""

    def __init__(self) -> None:
        self.slept = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept


async def test_a_process_that_stood_still_does_not_write_before_it_has_looked_at_the_clock() -> None:
    cluster, clock = MemoryCluster(), StandingStill()
    lease = Lease(cluster, namespace="default", name="lock", me="me", clock=clock, terms=TERMS)

    async def work() -> None:
        behind = FencedCluster(cluster, lambda: lease.is_held)
        await behind.create(CONFIG_MAPS, WEB, namespace="default")
        clock.slept = 10.0
        # No turn of the loop lies between: nobody can have told this task anything.
        with pytest.raises(LeaseLost):
            await behind.delete(CONFIG_MAPS, "web", namespace="default")

    assert not lease.is_held
    await lease.hold(work)
    assert not lease.is_held
    assert [name for name, _ in await _state(cluster)] == ["web"]


class Recorded:
    """A cluster that notes each write when it is asked for and when it was made, and can be slow."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self.notes: list[tuple[str, str]] = []
        self.slow = asyncio.Event()
        self.slow.set()
        self.asked = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        if name not in WRITES:
            return found

        async def noted(resource: Any, *arguments: Any, **options: Any) -> Any:
            if resource.kind == "ConfigMap" and not getattr(options.get("write"), "dry_run", False):
                self.asked.set()
                await self.slow.wait()
            made = await found(resource, *arguments, **options)
            holder = made.object.manifest()["spec"]["holderIdentity"] if resource.kind == "Lease" else ""
            self.notes.append((resource.kind, holder))
            return made

        return noted


@pytest.fixture
async def stage() -> Stage:
    made = Stage()
    await made.open()
    return made


async def test_nothing_is_written_once_somebody_else_has_the_lease(stage: Stage) -> None:
    """The engine is in the middle of a write when the lease goes: that one is not made, nor any later one."""
    cluster = Recorded(stage.memory)
    cluster.slow.clear()
    await stage.add("web")
    async with running(stage.runner("one", cluster=cast(Cluster, cluster))):
        async with asyncio.timeout(LIMIT):
            await cluster.asked.wait()
        await _steal(stage.memory)
        await stage.until(lambda: stage.events(ShardLost), "the runner has noticed")
        written = len(cluster.notes)
        cluster.slow.set()
        assert "thief took it over" in stage.events(ShardLost)[0][1].reason
    assert await stage.value("web") is None
    assert [note for note in cluster.notes[written:] if note[0] != "Lease"] == []


async def test_a_lease_is_let_go_only_after_the_last_write(stage: Stage) -> None:
    """Ended in the middle of its work, a runner lets go of the lease when nothing of it can write."""
    cluster = Recorded(stage.memory)
    for number in range(20):
        await stage.add(f"web-{number}")
    async with running(stage.runner("one", cluster=cast(Cluster, cluster))):
        await stage.until(lambda: _config_maps(cluster) > 3, "it is in the middle of its work")
    released = cluster.notes.index(("Lease", ""))
    assert released == len(cluster.notes) - 1


def _config_maps(cluster: Recorded) -> int:
    """How many writes of ConfigMaps were made."""
    return sum(kind == "ConfigMap" for kind, _ in cluster.notes)


async def _steal(cluster: Cluster) -> None:
    """Take the lease of the shard from its holder, as somebody may who has not heard of him for too long."""
    name = Shard(0, 1).lease
    found = await cluster.get(LEASES, name, namespace=NAMESPACE)
    stolen = lease_manifest(NAMESPACE, name, None, "thief", TERMS, SystemClock().now())
    stolen["metadata"]["resourceVersion"] = found.metadata.resource_version
    await cluster.update(LEASES, name, stolen, namespace=NAMESPACE)


async def test_a_connection_is_fenced_for_as_long_as_it_lasts() -> None:
    async with fenced(nullcontext(MemoryCluster()), lambda: False) as cluster:
        with pytest.raises(LeaseLost):
            await cluster.create(CONFIG_MAPS, WEB, namespace="default")


async def test_a_runner_whose_lease_was_stolen_takes_it_again_when_it_is_free(stage: Stage) -> None:
    await stage.add("web", policy=Policy())
    async with running(stage.runner("one")):
        await stage.until(lambda: stage.events(ShardTaken), "it is taken")
        await _steal(stage.memory)
        await stage.until(lambda: stage.events(ShardLost), "it is lost")
        await stage.memory.delete(LEASES, Shard(0, 1).lease, namespace=NAMESPACE)
        await stage.until(lambda: len(stage.events(ShardTaken)) == 2, "it is taken again")

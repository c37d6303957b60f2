"""A sync that is cut off after any of its writes is finished by whoever comes next; nothing is done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from tests.contract.behaviours.stage import add_namespace
from tests.engine.sync.world import World, annotated, config_map, deployment, job, wanted, world_of
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.apiserver.store import Change, ChangeType
from trimtab.engine.operations import Operation, OperationPhase, OperationState, started
from trimtab.kube.cluster import Cluster, Deletion, Write

WRITES = ("create", "update", "patch", "apply", "delete")
BEFORE = [
    config_map("kept", x="1"),
    config_map("gone"),
    config_map("gone-first", wave=2),
    job("left", hook="PreSync"),
]
AFTER = [
    config_map("kept", x="2"),
    deployment("web", wave=-1),
    config_map("new", wave=1),
    job("left", hook="PreSync"),
    job("unnamed-", hook="PreSync", generate=True),
    job("during", hook="Sync", policy="HookSucceeded"),
    job("after", hook="PostSync", policy="HookSucceeded", wave=1),
    job("sad", hook="SyncFail"),
    annotated(config_map("told"), hook="PostSync"),
]


class Killed(Exception):
    """The process is no more."""


class Mortal:
    """A cluster whose user dies after so many writes; the last one is made, but its answer is not heard."""

    def __init__(self, cluster: Cluster, lives: int) -> None:
        self._cluster, self.left = cluster, lives
        self.dead = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._cluster, name)
        return self._dying(real) if name in WRITES else real

    def _dying(self, real: Any) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            if self.dead.is_set():
                raise Killed
            answer = await real(*args, **options)
            write, how = options.get("write") or Write(), options.get("how")
            if write.dry_run or (isinstance(how, Deletion) and how.dry_run):
                return answer
            self.left -= 1
            if self.left == 0:
                self.dead.set()
                raise Killed
            return answer

        return call


class Audit:
    """Counts the objects that were made, by name without what tells the time."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()

    def hear(self, change: Change) -> None:
        if change.type is ChangeType.ADDED and "jobs" in change.collection:
            name = change.entry.key.rpartition("/")[2]
            self.made[name.rpartition("-")[0] if name.startswith("unnamed") else name] += 1


@asynccontextmanager
async def prepared() -> AsyncIterator[tuple[MemoryCluster, Audit]]:
    """A cluster that holds what Git wanted before."""
    cluster, audit = MemoryCluster(), Audit()
    async with behaviours_of(cluster, timing=AT_ONCE) as behaviours:
        await add_namespace(cluster, "shop")
        await behaviours.settled()
        discovery = await cluster.discover()
        for each in (wanted(manifest, "shop", discovery, "unit-of-shop") for manifest in BEFORE):
            resource = discovery.resource(each.api_version, each.key.kind)
            assert resource is not None
            await cluster.apply(resource, each.key.name, each.manifest, namespace="shop")
        await behaviours.settled()
        cluster.api.store.subscribe(audit.hear)
        yield cluster, audit


async def told(world: World) -> dict[str, Any]:
    """How the cluster stands at the end."""
    for name in ("gone", "gone-first"):
        await world.until(world.key("ConfigMap", name), lambda live: live is None)
    for name in ("during", "after"):
        await world.until(world.key("Job", name, "batch"), lambda live: live is None)
    maps = {
        name: (await world.get("ConfigMap", name) or {}).get("data")
        for name in await world.names("ConfigMap")
    }
    jobs = [name for name in await world.names("Job") if not name.startswith("unnamed")]
    left = {name: (await world.get("Job", name) or {})["metadata"].get("finalizers") for name in jobs}
    return {
        "maps": {**maps, "kube-root-ca.crt": None},
        "jobs": left,
        "deployments": await world.names("Deployment"),
    }


async def undisturbed() -> tuple[dict[str, Any], Counter[str], int]:
    async with prepared() as (cluster, audit), world_of(cluster, "shop") as world:
        mortal = Mortal(cluster, lives=-1)
        state = await world.sync(AFTER, Operation(prune=True), cluster=mortal)
        assert state.phase is OperationPhase.SUCCEEDED, state.message
        return await told(world), audit.made, -1 - mortal.left


async def cut_off_after(writes: int) -> tuple[dict[str, Any], Counter[str], OperationState]:
    async with prepared() as (cluster, audit):
        async with world_of(cluster, "shop") as world:
            state = started(Operation(prune=True), "4f2c9e1a7b3d", world.clock.now())
            world.records.append(state)
            with suppress(Killed):
                await world.sync(AFTER, state=state, cluster=Mortal(cluster, lives=writes))
            left = msgspec.json.encode(world.records[-1])
        async with world_of(cluster, "shop") as world:
            state = await world.sync(AFTER, state=msgspec.json.decode(left, type=OperationState))
            return await told(world), audit.made, state


@pytest.mark.timeout(600)
async def test_a_sync_that_is_cut_off_after_any_write_is_finished_and_nothing_is_done_twice() -> None:
    end, made, writes = await undisturbed()
    assert writes > 15
    assert set(made.values()) == {1}
    for count in range(1, writes + 1):
        found, jobs, state = await cut_off_after(count)
        assert state.phase is OperationPhase.SUCCEEDED, (count, state.message)
        assert (found, jobs) == (end, made), f"cut off after write {count} of {writes}"

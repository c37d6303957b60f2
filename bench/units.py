"""Our side of the engine's benchmark: one process that syncs units and says what that took, as JSON.

Everything is measured inside this process: seconds by the wall, processor seconds of its own, requests that
it made. The raw rate that the syncs are held against is taken in the same process, right before them. Values
that nobody reaches are looked for as rarely as in our commands.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from bench.client import CONFIG_MAPS, at_once
from bench.sampling import Cost, biggest_costs, profiled
from bench.shapes import config_map
from trimtab.engine import Engine, GivenClusters, MemoryStore
from trimtab.engine.events import Event, OperationEnded
from trimtab.engine.operations import Operation, OperationPhase
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Automated, Destination, Generated, Policy, SyncUnit
from trimtab.kube import Cluster, connect, from_kubeconfig
from trimtab.kube.cluster import PatchType, Write
from trimtab.resources.manifests import Found
from trimtab.settings import ClusterSettings, EngineSettings
from trimtab.tasks.clock import SystemClock
from trimtab.tasks.loops import run_main, stay

WORKERS = 32
COSTS = 3
SETTINGS = EngineSettings(installation="bench", refresh_every=timedelta(0))
HEALING = Policy(automated=Automated(self_heal=True, prune=True))
_REQUESTS = frozenset({"get", "list", "create", "update", "patch", "apply", "delete", "discover"})


class Took(Struct, frozen=True, kw_only=True):
    """What a piece of work took."""

    seconds: float
    cpu: float
    requests: int
    writes: int


class Report(Struct, frozen=True, kw_only=True):
    """Everything that was measured."""

    objects: int
    raw: Took
    first: Took
    no_op: Took
    changed: Took
    drifted: Took
    units_first: Took
    units_no_op: Took
    #: where the processor time of looking at unchanged units goes
    costs: tuple[Cost, ...]


class Counted:
    """A cluster that counts what it is asked; watches do not count."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.requests = 0
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        if name not in _REQUESTS:
            return found

        def counted(*arguments: Any, **options: Any) -> Any:
            self.requests += 1
            how = options.get("write")
            reads = name in {"get", "list", "discover"} or (how is not None and how.dry_run)
            self.writes += not reads
            return found(*arguments, **options)

        return counted


class Given:
    """What Git would say: ConfigMaps by unit, already rendered, as a generator's cache would have them."""

    def __init__(self) -> None:
        self._rendered: dict[str, Generated] = {}

    def declare(self, unit: str, numbers: range, *, changed: int = -1) -> None:
        """Have a unit want so many ConfigMaps, one of them changed."""
        manifests = tuple(
            Found(manifest=config_map(number, state=int(number == changed)), where=f"{number}")
            for number in numbers
        )
        name = f"{unit} {changed}"
        self._rendered[unit] = Generated(manifests=manifests, revision=name, digest=name)

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:  # noqa: ARG002 - one state each
        """The manifests of a unit."""
        return self._rendered[unit.id]


class Bench:
    """One engine under measurement."""

    def __init__(self, cluster: Cluster, count: int) -> None:
        self.cluster = Counted(cluster)
        self.count = count
        self.given = Given()
        self.store = MemoryStore()
        clusters = GivenClusters({"here": cast(Cluster, self.cluster)})
        self.engine = Engine(SETTINGS, clusters, self.given, self.store)

    async def took(self, work: Callable[[], Awaitable[object]]) -> Took:
        """What some work took."""
        requests, writes = self.cluster.requests, self.cluster.writes
        cpu, begun = time.process_time(), time.monotonic()
        await work()
        return Took(
            seconds=time.monotonic() - begun,
            cpu=time.process_time() - cpu,
            requests=self.cluster.requests - requests,
            writes=self.cluster.writes - writes,
        )

    async def raw(self) -> Took:
        """Apply as many new objects without an engine, as fast as the server takes them."""

        async def apply(number: int) -> None:
            manifest = config_map(number)
            await cast(Cluster, self.cluster).apply(
                CONFIG_MAPS,
                manifest["metadata"]["name"],
                manifest,
                namespace="raw",
                force=True,
                write=Write(manager="bench"),
            )

        # The first requests open the connections that all later ones use.
        await at_once(apply, range(self.count, self.count + 2 * WORKERS), WORKERS)
        return await self.took(lambda: at_once(apply, range(self.count), WORKERS))

    async def add(self, name: str, numbers: range, namespace: str, policy: Policy | None = None) -> None:
        """A unit of so many ConfigMaps."""
        self.given.declare(name, numbers)
        place = Destination(cluster="here", namespace=namespace)
        unit = SyncUnit(id=name, source=name, destination=place, policy=policy or Policy())
        await self.store.create(unit)

    async def sync(self, name: str) -> None:
        """Sync a unit, which has to succeed."""
        state = await self.engine.sync(name, Operation())
        if state.phase is not OperationPhase.SUCCEEDED:
            raise SystemExit(f"{name}: {state.message}")

    async def until_synced(self, name: str) -> None:
        """Look until the cluster has told of everything that was written; a look waits for that."""
        while (await self.engine.refresh(name)).status.verdict is not Verdict.SYNCED:
            pass

    async def heal(self, name: str) -> None:
        """Wait until the unit has put back what somebody changed."""
        healed = asyncio.Event()

        def told(event: Event) -> None:
            if isinstance(event, OperationEnded) and event.unit == name:
                healed.set()

        leave = self.engine.events.subscribe(told)
        await cast(Cluster, self.cluster).patch(
            CONFIG_MAPS,
            config_map(7)["metadata"]["name"],
            {"data": {"state": "mine"}},
            how=PatchType.MERGE,
            namespace="one",
            write=Write(manager="somebody"),
        )
        await healed.wait()
        leave()

    async def look_at_all(self, names: list[str]) -> None:
        """Look at every unit once."""
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(self.engine.refresh(name))

    async def sync_all(self, names: list[str]) -> None:
        """Sync every unit once."""
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(self.sync(name))


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    """The engine at work."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.engine.run(20, 32))
        await bench.engine.known()
        try:
            yield
        finally:
            task.cancel()


async def measure(cluster: Cluster, count: int) -> Report:
    """Measure everything, one thing after another."""
    bench = Bench(cluster, count)
    raw = await bench.raw()
    async with running(bench):
        await bench.add("one", range(count), "one")
        await bench.engine.refresh("one")
        first = await bench.took(lambda: bench.sync("one"))
        await bench.until_synced("one")
        no_op = await bench.took(lambda: bench.engine.refresh("one"))
        bench.given.declare("one", range(count), changed=5)
        changed = await bench.took(lambda: bench.sync("one"))
        await bench.until_synced("one")
        await bench.store.update(msgspec.structs.replace(bench.engine.unit("one"), policy=HEALING))
        await bench.until_synced("one")
        drifted = await bench.took(lambda: bench.heal("one"))
        names = [f"unit-{number}" for number in range(count)]
        for number, name in enumerate(names):
            await bench.add(name, range(number, number + 1), "many")
        await bench.look_at_all(names)
        units_first = await bench.took(lambda: bench.sync_all(names))
        for name in names:
            await bench.until_synced(name)
        units_no_op = await bench.took(lambda: bench.look_at_all(names))
        with profiled() as profile:
            for _ in range(3):
                await bench.look_at_all(names)
    return Report(
        objects=count,
        raw=raw,
        first=first,
        no_op=no_op,
        changed=changed,
        drifted=drifted,
        units_first=units_first,
        units_no_op=units_no_op,
        costs=tuple(biggest_costs(profile.seconds, COSTS)),
    )


async def main(kubeconfig: Path, count: int) -> None:
    """Measure against a cluster and print the report."""
    settings = ClusterSettings()
    access = from_kubeconfig([kubeconfig], settings=settings, clock=SystemClock(), environment={})
    async with connect(access, settings) as cluster:
        report = await measure(cluster, count)
    sys.stdout.write(msgspec.json.encode(report).decode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--count", type=int, required=True)
    chosen = parser.parse_args()
    stay()
    run_main(main(chosen.kubeconfig, chosen.count))

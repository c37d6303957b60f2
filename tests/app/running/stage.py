"""Where runner tests play: one cluster with records, sources that say what is wanted, and runners by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from datetime import timedelta
from typing import Any, cast

from msgspec.structs import replace

from tests.engine.stage import Counted, Sources, config_map
from trimtab.apiserver import MemoryCluster
from trimtab.app.installation import find_installation, record_installation
from trimtab.app.running.clusters import Clusters, Connect
from trimtab.app.running.declaring import Declarations
from trimtab.app.running.events import AnyEvent
from trimtab.app.running.runner import Home, Runner
from trimtab.engine import Keyring, RecordStore
from trimtab.engine.units import Automated, Destination, Policy, SyncUnit, UnitMissing
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import NotFound
from trimtab.settings import EngineSettings, RunnerSettings, Settings
from trimtab.tasks import Clock, SystemClock, plain_group

LIMIT = 60.0  # seconds that something may take on a busy machine
NAMESPACE = "trimtab-system"
CONFIG_MAPS = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True)
QUICK = Settings(
    engine=EngineSettings(
        refresh_every=timedelta(0), settle=timedelta(milliseconds=5), error_grace=timedelta(0)
    ),
    # A runner that stands still for two thirds of the takeover loses its shard: busy machines do stand still.
    runner=RunnerSettings(takeover=timedelta(seconds=9), looks_at_once=4, syncs_at_once=4),
)
HEALED = Policy(automated=Automated(prune=True, self_heal=True))


class Stage:
    """A cluster with records and everything that runners tell."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.memory = MemoryCluster(clock=clock or SystemClock())
        self.counted = Counted(self.memory)
        self.cluster = cast(Cluster, self.counted)
        self.sources = Sources()
        self.told: list[tuple[str, AnyEvent]] = []
        self._news = asyncio.Event()

    async def open(self) -> None:
        """Record the installation."""
        found = await find_installation(self.memory, NAMESPACE)
        self.installation = await record_installation(self.memory, found)
        self.records = RecordStore(self.memory, namespace=NAMESPACE, keys=Keyring(self.installation.key))

    def runner(
        self,
        me: str,
        *,
        cluster: Cluster | None = None,
        others: Mapping[str, Connect] | None = None,
        clock: Clock | None = None,
        declarations: Declarations | None = None,
        settings: Settings = QUICK,
        **more: Any,
    ) -> Runner:
        """A runner of this name."""
        settings = replace(settings, runner=replace(settings.runner, **more))
        home, clock = cluster or self.cluster, clock or SystemClock()
        connections: dict[str, Connect] = {"here": lambda: nullcontext(home), **(others or {})}
        return Runner(
            Home(cluster=home, installation=self.installation, me=me),
            Clusters(connections, namespaces=settings.runner.namespaces, clock=clock),
            self.sources,
            None,
            settings,
            clock=clock,
            tell=lambda event: self.hear(me, event),
            declarations=declarations,
        )

    def hear(self, who: str, event: AnyEvent) -> None:
        self.told.append((who, event))
        self._news.set()

    def events(self, *kinds: type[Any]) -> list[tuple[str, Any]]:
        return [(who, event) for who, event in self.told if isinstance(event, kinds)]

    async def add(self, name: str, *values: str, policy: Policy = HEALED, **more: Any) -> SyncUnit:
        """Record a unit from Git that wants a ConfigMap of its name with this value."""
        self.sources.declare(name, *(config_map(name, value) for value in values or ("1",)))
        unit = SyncUnit(
            id=name,
            source={"repoURL": f"https://git.example/{name}.git"},
            destination=Destination(cluster="here"),
            policy=policy,
        )
        return await self.records.create(replace(unit, **more))

    async def value(self, name: str) -> str | None:
        """What the ConfigMap of this name says now."""
        try:
            found = await self.memory.get(CONFIG_MAPS, name, namespace="default")
        except NotFound:
            return None
        value: str = found.manifest()["data"]["value"]
        return value

    async def until(self, holds: Callable[[], Any], what: str) -> None:
        """Wait until something holds, looking whenever a runner tells something, and now and then."""
        try:
            async with asyncio.timeout(LIMIT):
                while not await _answer(holds):
                    self._news.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._news.wait(), 0.05)
        except TimeoutError:
            last = "\n".join(f"{who}: {type(event).__name__}: {event}" for who, event in self.told[-20:])
            raise AssertionError(f"it never came that {what}; the last events:\n{last}") from None

    async def until_value(self, name: str, value: str | None) -> None:
        async def holds() -> bool:
            return await self.value(name) == value

        await self.until(holds, f"{name} is {value}")

    async def until_record(self, name: str, holds: Callable[[SyncUnit | None], bool], what: str) -> None:
        async def held() -> bool:
            try:
                return holds(await self.records.get(name))
            except UnitMissing:
                return holds(None)

        await self.until(held, what)


async def _answer(holds: Callable[[], Any]) -> bool:
    answer = holds()
    return bool(await answer if asyncio.iscoroutine(answer) else answer)


@asynccontextmanager
async def running(*runners: Runner) -> AsyncIterator[None]:
    """Runners at work; they end in order with the block."""
    async with plain_group() as group:
        tasks = [group.create_task(runner.run()) for runner in runners]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()

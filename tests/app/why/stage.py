"""Where stories of broken apps play: one app in a cluster, synced as the command does, then asked about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Any, cast

from tests.engine.stage import Json, Sources
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import Timing, behaviours_of
from trimtab.app.apps import Apps
from trimtab.app.appsources import HERE, AppSource, recorded
from trimtab.app.installation import find_installation
from trimtab.app.why import explain
from trimtab.app.why.chain import Answer
from trimtab.engine.events import OperationWaits, UnitEvent
from trimtab.engine.operations import Operation, OperationState
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import Destination, ManifestGenerator, SyncUnit
from trimtab.errors import TrimtabError
from trimtab.kube import follow
from trimtab.kube.cluster import Cluster, PatchType, Write
from trimtab.kube.picture import Complete, Removed, Upserted
from trimtab.settings import AppsSettings, EngineSettings, Settings
from trimtab.tasks import SystemClock

LIMIT = 60.0  # seconds that something may take on a busy machine
BRIEFLY = timedelta(milliseconds=10)
QUICK = Timing(start=BRIEFLY, ready=BRIEFLY, run=BRIEFLY)


class Stage:
    """One installation with its apps; `shop` is the one that stories are about."""

    def __init__(self, cluster: Cluster, apps: Apps, sources: Sources, namespace: str) -> None:
        self.cluster, self.apps, self.sources, self.namespace = cluster, apps, sources, namespace

    def declare(self, *manifests: Json, app: str = "shop") -> None:
        """Have an app want these."""
        self.sources.declare(app, *manifests)

    async def unit(self, app: str = "shop") -> SyncUnit:
        """The app as it is recorded, or as it would be."""
        source = recorded(AppSource(folder=f"/srv/{app}"))
        made = SyncUnit(
            id=app, source=source, destination=Destination(cluster=HERE, namespace=self.namespace)
        )
        return await self.apps.find(app) or made

    async def sync(
        self,
        *manifests: Json,
        app: str = "shop",
        between: Callable[[SyncPlan], Any] | None = None,
        **asked: Any,
    ) -> OperationState | None:
        """Sync an app as the command does; None if that came to a bad end, which is recorded."""
        if manifests:
            self.declare(*manifests, app=app)
        operation = Operation(**asked)
        async with self.apps.work_on(await self.unit(app)) as work:
            plan = await work.plan(operation)
            if between is not None:
                await between(plan)
            try:
                return await work.carry_out(operation, plan, consent=True, held=lambda _: None)
            except TrimtabError:
                return None

    @asynccontextmanager
    async def syncing(self, *manifests: Json) -> AsyncIterator[asyncio.Task[Any]]:
        """A sync under way that only waits, in a process of its own; it ends with the block."""
        self.declare(*manifests)
        waits = asyncio.Event()

        def hear(_app: str, event: UnitEvent) -> None:
            if isinstance(event, OperationWaits):
                waits.set()

        async def carry_out() -> None:
            async with self.apps.work_on(await self.unit()) as work:
                work.engine.on_unit_event(hear)
                operation = Operation(asked_by="ann")
                plan = await work.plan(operation)
                await work.carry_out(operation, plan, consent=True, held=lambda _: None)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(carry_out())
            async with asyncio.timeout(LIMIT):
                await waits.wait()
            yield task
            task.cancel()

    async def why(self, about: str = "shop") -> Answer:
        """What somebody is told who asks."""
        opening = nullcontext(self.apps)
        return await explain(opening, about, namespace=self.namespace, clock=SystemClock())

    async def until(self, kind: str, holds: Callable[[Json], Any]) -> Json:
        """The first object of a kind in the namespace of which something holds."""
        resource = await self.resource(kind)
        async with (
            asyncio.timeout(LIMIT),
            aclosing(follow(self.cluster, resource, namespace=self.namespace)) as told,
        ):
            async for news in told:
                if isinstance(news, Upserted) and holds(manifest := news.object.manifest()):
                    return manifest
        raise AssertionError(f"no {kind} ever did")

    async def until_gone(self, kind: str, name: str) -> None:
        """Return when there is no such object."""
        resource = await self.resource(kind)
        followed = follow(self.cluster, resource, namespace=self.namespace)
        there: set[str] = set()
        async with asyncio.timeout(LIMIT), aclosing(followed) as told:
            async for news in told:
                if isinstance(news, Upserted):
                    there.add(news.object.metadata.name)
                elif isinstance(news, Removed):
                    there.discard(news.name)
                elif not isinstance(news, Complete):
                    continue
                if name not in there and not isinstance(news, Upserted):
                    return

    async def resource(self, kind: str) -> Any:
        served = (await self.cluster.discover()).resources
        return next(each for each in served if each.kind == kind and "list" in each.verbs)

    async def create(self, manifest: Json) -> None:
        """Make an object behind everybody's back."""
        resource = await self.resource(manifest["kind"])
        space = self.namespace if resource.namespaced else ""
        await self.cluster.create(resource, manifest, namespace=space)

    async def patch(self, kind: str, name: str, body: Json) -> None:
        """Change an object behind everybody's back."""
        resource, how, write = await self.resource(kind), PatchType.MERGE, Write(manager="kubectl-edit")
        await self.cluster.patch(resource, name, body, how=how, namespace=self.namespace, write=write)

    async def delete(self, kind: str, name: str) -> None:
        """Delete an object behind everybody's back."""
        await self.cluster.delete(await self.resource(kind), name, namespace=self.namespace)


async def stage_in(cluster: Cluster, namespace: str, manifests: ManifestGenerator | None = None) -> Stage:
    """A stage whose records are where its objects are."""
    engine = EngineSettings(patience=timedelta(seconds=1))  # what refuses here goes on refusing
    settings = Settings(apps=AppsSettings(namespace=namespace), engine=engine)
    sources = Sources()
    installation = await find_installation(cluster, namespace)
    apps = Apps(cluster, settings, manifests or sources, installation, "ann@here")
    return Stage(cluster, apps, sources, namespace)


@asynccontextmanager
async def embedded(manifests: ManifestGenerator | None = None) -> AsyncIterator[Stage]:
    """A stage in a cluster in memory, with controllers that do everything at once."""
    cluster = MemoryCluster()
    async with behaviours_of(cluster, timing=QUICK):
        yield await stage_in(cast(Cluster, cluster), "default", manifests)


def causes(answer: Answer) -> list[str]:
    """The names of the causes, in order."""
    return [chain.cause for chain in answer.chains]


def objects(answer: Answer) -> list[str]:
    """What the first chain goes through."""
    return [link.object for link in answer.chains[0].links]


def simulating(deployment: Json, trouble: str) -> Json:
    """The Deployment with pods that get into trouble."""
    template = deployment["spec"]["template"]
    metadata = {**template["metadata"], "annotations": {"trimtab.dev/simulate": trouble}}
    spec = {**deployment["spec"], "template": {**template, "metadata": metadata}}
    return {**deployment, "spec": spec}


def waits_for(reason: str) -> Callable[[Json], bool]:
    """Whether a pod has a container that waits for this reason."""

    def holds(pod: Json) -> bool:
        statuses = pod.get("status", {}).get("containerStatuses", [])
        return any(each.get("state", {}).get("waiting", {}).get("reason") == reason for each in statuses)

    return holds

"""Where syncs are tried: a cluster with its behaviours, the cache of it, and a way to ask for operations.

Comparing is done here in the simplest way that is right for what these tests write, so that they say
something about planning and syncing alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from trimtab.engine.cache import ClusterCache
from trimtab.engine.cache.records import judged_by
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.live import Live
from trimtab.engine.operations import Operation, OperationState, started
from trimtab.engine.rows import Desired, Row, Verdict
from trimtab.engine.sync.apply import WriteSettings
from trimtab.engine.sync.hooks import Role, role_of
from trimtab.engine.sync.operate import AfterWave, Control, operate
from trimtab.engine.sync.options import SyncOptions
from trimtab.engine.sync.plan import Namespace, SyncRequest, plan_sync
from trimtab.engine.sync.prunes import PruneBudget
from trimtab.engine.sync.steps import SyncPlan
from trimtab.kube.cluster import Cluster, Deletion
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.failures import NotFound
from trimtab.resources import manifests as reading
from trimtab.resources.digests import digest
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest, generate_name, group, kind, name, namespace
from trimtab.resources.secrets import StandIns
from trimtab.settings import CacheSettings
from trimtab.tasks import Clock, SystemClock

TRACKING = OwnerAnnotation("here")
STAND_INS = StandIns(b"a key for nothing but tests")
REVISION = "4f2c9e1a7b3d"
PATIENCE = timedelta(seconds=1)  # what does not answer here never will


def wanted(manifest: Manifest, space: str, discovery: Discovery, unit: str = "shop") -> Desired:
    """A manifest as Git wants it: in its namespace, marked."""
    served = discovery.resource(str(manifest["apiVersion"]), str(manifest["kind"]))
    scoped = served.namespaced if served else True
    place = (namespace(manifest) or space) if scoped else ""
    marked = TRACKING.marked(manifest, unit)
    metadata = {**marked["metadata"], **({"namespace": place} if place else {})}
    whole = {**marked, "metadata": metadata}
    named = name(manifest) or generate_name(manifest)
    return Desired(
        key=ResourceKey(group(manifest), kind(manifest), place, named),
        api_version=str(manifest["apiVersion"]),
        manifest=whole,
        digest=bytes.fromhex(digest(whole)),
    )


def holds(live: Any, desired: Any) -> bool:
    """Whether the live value has all that is desired."""
    if isinstance(desired, dict):
        return isinstance(live, dict) and all(holds(live.get(key), each) for key, each in desired.items())
    if isinstance(desired, list):
        same = isinstance(live, list) and len(live) == len(desired)
        return same and all(map(holds, live, desired))
    return bool(live == desired)


class World:
    """One cluster, its cache, and one unit in it."""

    def __init__(self, cluster: Cluster, cache: ClusterCache, space: str, clock: Clock) -> None:
        self.cluster, self.cache, self.space, self.clock = cluster, cache, space, clock
        self.unit = f"unit-of-{space}"
        self.records: list[OperationState] = []
        self.plans: list[SyncPlan] = []
        self.options = SyncOptions()
        self.namespace = Namespace(name=space)
        self.budget = PruneBudget()
        self.foreign: dict[ResourceKey, Any] = {}

    async def discovery(self) -> Discovery:
        return await self.cluster.discover()

    async def resource(self, kind: str) -> Resource:
        found = (each for each in (await self.discovery()).resources if each.kind == kind)
        return next(each for each in found if "list" in each.verbs)

    # -- planning ----------------------------------------------------------------------------------------

    async def request(
        self, manifests: Iterable[Manifest], state: OperationState, *, earlier: bool = False
    ) -> SyncRequest:
        discovery = await self.discovery()
        objects = list(manifests)
        resources = [each for each in objects if role_of(reading.annotations(each)) is Role.RESOURCE]
        hooks = [each for each in objects if role_of(reading.annotations(each)) is Role.HOOK]
        desired = [wanted(each, self.space, discovery, self.unit) for each in resources]
        return SyncRequest(
            unit=self.unit,
            operation=state.operation,
            revision=state.revision,
            started_at=state.started_at,
            rows=tuple(self.rows(desired)),
            hooks=tuple(wanted(each, self.space, discovery, self.unit) for each in hooks),
            discovery=discovery,
            stand_ins=STAND_INS,
            options=self.options,
            namespace=self.namespace,
            budget=self.budget,
            earlier=state if earlier else None,
        )

    def rows(self, desired: Sequence[Desired]) -> Iterable[Row]:
        for each in desired:
            live = self.cache.get(each.key)
            kept = self.cache.manifest(each.key) if live else None
            same = kept is not None and holds(kept, each.manifest)
            verdict = Verdict.SYNCED if same else Verdict.OUT_OF_SYNC
            claim = live.mark if live and live.mark != TRACKING.mark_for(self.unit) else None
            yield Row(key=each.key, desired=each, live=live, verdict=verdict, claimed_by=claim)
        known = {each.key for each in desired}
        for live in self.cache.managed(TRACKING.mark_for(self.unit)):
            if live.key not in known:
                yield Row(key=live.key, desired=None, live=live, verdict=Verdict.OUT_OF_SYNC)

    async def plan(self, manifests: Iterable[Manifest], operation: Operation | None = None) -> SyncPlan:
        state = started(operation or Operation(), REVISION, self.clock.now())
        return plan_sync(await self.request(manifests, state), self.cache)

    # -- syncing -----------------------------------------------------------------------------------------

    async def sync(
        self,
        manifests: Iterable[Manifest],
        operation: Operation | None = None,
        *,
        control: Control | None = None,
        after_wave: AfterWave | None = None,
        state: OperationState | None = None,
        record: Callable[[OperationState], None] | None = None,
        cluster: Cluster | None = None,
        patience: timedelta = PATIENCE,
    ) -> OperationState:
        """Ask for an operation, or go on with one, and see it through."""
        objects = list(manifests)
        begun = state or started(operation or Operation(), REVISION, self.clock.now())

        async def keep(reached: OperationState) -> None:
            self.records.append(reached)
            if record is not None:
                record(reached)

        async def replan(reached: OperationState) -> SyncPlan:
            request = await self.request(objects, reached, earlier=True)
            self.plans.append(plan_sync(request, self.cache))
            return self.plans[-1]

        return await operate(
            cluster or self.cluster,
            self.cache,
            await replan(begun),
            begun,
            record=keep,
            clock=self.clock,
            discovery=await self.discovery(),
            judge=judged_by(),
            stand_ins=STAND_INS,
            settings=WriteSettings(patience=patience),
            control=control,
            replan=replan,
            after_wave=after_wave,
        )

    # -- looking -----------------------------------------------------------------------------------------

    async def get(self, kind: str, name: str) -> Manifest | None:
        resource = await self.resource(kind)
        space = self.space if resource.namespaced else ""
        try:
            return (await self.cluster.get(resource, name, namespace=space)).manifest()
        except NotFound:
            return None

    async def names(self, kind: str) -> list[str]:
        resource = await self.resource(kind)
        space = self.space if resource.namespaced else ""
        return sorted(
            [
                each.metadata.name
                async for page in self.cluster.list(resource, namespace=space)
                for each in page.objects
            ]
        )

    async def delete(self, kind: str, name: str) -> None:
        resource = await self.resource(kind)
        space = self.space if resource.namespaced else ""
        await self.cluster.delete(resource, name, namespace=space, how=Deletion())

    async def until(self, key: ResourceKey, holds: Callable[[Live | None], bool]) -> None:
        """Wait until the cache shows an object like that."""
        seen = asyncio.Event()
        ending = self.cache.subscribe(lambda change: seen.set() if change.key == key else None)
        try:
            while not holds(self.cache.get(key)):
                seen.clear()
                await seen.wait()
        finally:
            ending()

    def key(self, kind: str, name: str, group: str = "") -> ResourceKey:
        return ResourceKey(group, kind, self.space, name)


@asynccontextmanager
async def world_of(cluster: Cluster, space: str, clock: Clock | None = None) -> AsyncIterator[World]:
    """The world of a cluster, its cache complete."""
    cache = ClusterCache(cluster, CacheSettings(), TRACKING)
    async with asyncio.TaskGroup() as room:
        task = room.create_task(cache.run())
        await cache.complete()
        yield World(cluster, cache, space, clock or SystemClock())
        task.cancel()


# -- what states say ------------------------------------------------------------------------------------


def statuses(state: OperationState) -> dict[str, str]:
    """What became of every object, by kind and name."""
    return {f"{each.key.kind} {each.key.name}": each.status.value for each in state.results if each.status}


def phases(state: OperationState) -> dict[str, str]:
    return {f"{each.key.kind} {each.key.name}": each.phase.value for each in state.results}


def order(state: OperationState) -> list[str]:
    return [each.key.name for each in sorted(state.results, key=lambda each: each.order)]


def is_there(live: Live | None) -> bool:
    return live is not None


def is_gone(live: Live | None) -> bool:
    return live is None


# -- manifests -------------------------------------------------------------------------------------------


def annotated(manifest: Manifest, **told: str) -> Manifest:
    """The manifest with annotations of ours; `sync_wave="1"` becomes `trimtab.dev/sync-wave`."""
    metadata = manifest["metadata"]
    more = {f"trimtab.dev/{word.replace('_', '-')}": text for word, text in told.items()}
    return {**manifest, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **more}}}


def config_map(name: str, /, *, wave: int | None = None, options: str = "", **data: str) -> Manifest:
    told = {} if wave is None else {"sync_wave": str(wave)}
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        **({"data": data} if data else {}),
    }
    return annotated(made, **told, **({"sync_options": options} if options else {}))


def pod_spec(**more: Any) -> Manifest:
    return {"containers": [{"name": "main", "image": "registry.example/web:1"}], **more}


def deployment(name: str, *, wave: int = 0, simulate: str = "", **spec: Any) -> Manifest:
    told = {"trimtab.dev/simulate": simulate} if simulate else {}
    template = {"metadata": {"labels": {"app": name}, "annotations": told}, "spec": pod_spec()}
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }
    return annotated(made, sync_wave=str(wave))


def job(
    name: str, *, hook: str = "", policy: str = "", wave: int = 0, ends: str = "well", generate: bool = False
) -> Manifest:
    """A Job that ends `well`, `badly` (nowhere to run, and no time to wait for it) or `never`."""
    spec = pod_spec(restartPolicy="Never", **({} if ends == "well" else {"nodeSelector": {"is": "nowhere"}}))
    pods = {"metadata": {}, "spec": spec}
    made = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName" if generate else "name": name},
        "spec": {
            "backoffLimit": 0,
            "template": pods,
            **({"activeDeadlineSeconds": 1} if ends == "badly" else {}),
        },
    }
    said = {"hook": hook, "hook_delete_policy": policy, "sync_wave": str(wave) if wave else ""}
    return annotated(made, **{word: text for word, text in said.items() if text})


def replaced(manifest: Manifest, **fields: Any) -> Manifest:
    return {**manifest, **fields}

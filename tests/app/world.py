"""A cluster in memory, sources that can be lost, and people who work on apps and may die at it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, cast

from msgspec.structs import replace

from trimtab.apiserver import MemoryCluster
from trimtab.app import Apps
from trimtab.app.appsources import HERE
from trimtab.app.installation import find_installation
from trimtab.engine.operations import Operation, OperationState
from trimtab.engine.units import Destination, Generated, Policy, SyncUnit
from trimtab.errors import ClusterUnreachable, GitUnreachable, Missing
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import NotFound
from trimtab.kube.leases import LEASES, LeaseLost
from trimtab.resources.digests import digest
from trimtab.resources.manifests import Found
from trimtab.settings import Settings

Json = dict[str, Any]
RECORDS = "trimtab-system"
_WRITES = frozenset({"create", "update", "patch", "apply", "delete"})
#: nobody collects garbage here, and what is deleted is gone at once
AT_ONCE = Policy(options=("PrunePropagationPolicy=background",))
_READS = frozenset({"get", "discover", "version"})


class Sources:
    """What Git would say of each app, at every revision it ever had; or that it cannot be reached."""

    def __init__(self) -> None:
        self._now: dict[str, list[Json]] = {}
        self._revisions: dict[str, list[Json]] = {}
        self.is_down = False

    def declare(self, app: str, *manifests: Json) -> str:
        """Have an app want these; the answer is the revision."""
        revision = digest(list(manifests))[:12]
        self._now[app] = self._revisions[revision] = list(manifests)
        return revision

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        if self.is_down:
            raise GitUnreachable("the repository", "it is down")
        if revision and revision not in self._revisions:
            raise Missing(f"revision {revision}", "there is no such revision")
        found = self._revisions[revision] if revision else self._now[unit.id]
        return Generated(
            manifests=tuple(Found(manifest=each, where=unit.id) for each in found),
            revision=revision or digest(found)[:12],
            digest=digest(found),
        )


class Mortal:
    """A cluster that one process sees until it dies: right after its n-th write, before it hears of it."""

    def __init__(self, cluster: Any, dies_after: int) -> None:
        self._cluster = cluster
        self._left = dies_after
        self.died = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        return self._guarded(found, counts=name in _WRITES) if name in _WRITES | _READS else found

    def _guarded(self, act: Any, *, counts: bool) -> Any:
        async def acting(*arguments: Any, **options: Any) -> Any:
            if self.died.is_set():
                raise ClusterUnreachable("the cluster", "the dead reach nothing")
            answer = await act(*arguments, **options)
            how = options.get("write") or options.get("how")
            if counts and not (how is not None and getattr(how, "dry_run", False)):
                self._left -= 1
                if self._left == 0:
                    self.died.set()
                    raise ClusterUnreachable("the cluster", "nobody lived to hear the answer")
            return answer

        return acting


class World:
    """One cluster with its sources."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster()
        self.sources = Sources()

    async def apps(self, cluster: object | None = None, who: str = "") -> Apps:
        """The apps as one process sees them."""
        seen = cast(Cluster, cluster or self.cluster)
        installation = await find_installation(cast(Cluster, self.cluster), RECORDS)
        me = who or f"ann@desk (process {secrets.token_hex(4)})"
        return Apps(seen, Settings(), self.sources, installation, me)

    async def unit(self, app: str) -> SyncUnit:
        """The app as it is recorded, or a new one."""
        found = await (await self.apps()).find(app)
        return found or SyncUnit(
            id=app, source={"app": app}, destination=Destination(cluster=HERE), policy=AT_ONCE
        )

    async def sync(self, app: str, *manifests: Json, **operation: Any) -> OperationState:
        """Sync an app to these, or to what it wants already."""
        if manifests:
            self.sources.declare(app, *manifests)
        apps, asked = await self.apps(), Operation(**operation)
        async with apps.work_on(replace(await self.unit(app), operation=None)) as work:
            plan = await work.plan(asked)
            return await work.carry_out(asked, plan, consent=True, held=_nobody)

    async def resource(self, kind: str) -> Any:
        served = (await self.cluster.discover()).resources
        return next(each for each in served if each.kind == kind and "list" in each.verbs)

    async def get(self, kind: str, name: str, namespace: str = "default") -> Json | None:
        """An object as it is, if it is."""
        try:
            found = await self.cluster.get(await self.resource(kind), name, namespace=namespace)
        except NotFound:
            return None
        return found.manifest()

    async def names(self, kind: str, namespace: str = "default") -> list[str]:
        """What there is of a kind."""
        pages = self.cluster.list(await self.resource(kind), namespace=namespace)
        return sorted([each.metadata.name async for page in pages for each in page.objects])

    async def values(self) -> dict[str, str]:
        """Every ConfigMap, by name, with its one value."""
        pages = self.cluster.list(await self.resource("ConfigMap"), namespace="default")
        found = [each.manifest() async for page in pages for each in page.objects]
        return {each["metadata"]["name"]: each["data"]["value"] for each in found}

    async def bury(self) -> None:
        """Have the leases of the dead run out, without waiting for that."""
        for name in await self.names("Lease", RECORDS):
            await self.cluster.delete(LEASES, name, namespace=RECORDS)


async def died(act: Callable[[Mortal], Awaitable[object]], mortal: Mortal) -> bool:
    """Have somebody act until they die, or to the end; whether they died."""
    async with asyncio.TaskGroup() as group:
        life = group.create_task(_lived(act, mortal))
        death = group.create_task(mortal.died.wait())
        await asyncio.wait({life, death}, return_when=asyncio.FIRST_COMPLETED)
        life.cancel()
        death.cancel()
    return mortal.died.is_set()


async def _lived(act: Callable[[Mortal], Awaitable[object]], mortal: Mortal) -> None:
    try:
        await act(mortal)
    except* (ClusterUnreachable, LeaseLost):  # the dead keep no lease: on a busy machine they may notice
        if not mortal.died.is_set():
            raise


def _nobody(_holder: str) -> None:
    """Nobody else works on the app."""


def config_map(name: str, value: str = "1", **annotations: str) -> Json:
    """A ConfigMap with one value; underscores in annotations stand for what cannot be a name."""
    told = {f"trimtab.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    metadata = {"name": name, **({"annotations": told} if told else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}}

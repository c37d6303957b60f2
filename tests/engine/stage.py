"""Where engine tests play: sources that say what is wanted, a cluster that counts, an engine that runs."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine import Engine, GivenClusters, MemoryStore
from trimtab.engine.events import Event, OperationEnded, OperationStarted
from trimtab.engine.rows import Verdict
from trimtab.engine.units import (
    Destination,
    Generated,
    Policy,
    SyncUnit,
    SyncUnitStore,
)
from trimtab.errors import Missing
from trimtab.kube.cluster import Cluster, PatchType
from trimtab.kube.failures import NotFound
from trimtab.resources.digests import digest
from trimtab.resources.manifests import Found
from trimtab.settings import EngineSettings

Json = dict[str, Any]
LIMIT = 60.0  # seconds that something may take on a busy machine
QUICK = EngineSettings(
    refresh_every=timedelta(0),
    settle=timedelta(milliseconds=5),
    settle_while_syncing=timedelta(milliseconds=20),
    error_grace=timedelta(0),
)
_WRITES = frozenset({"create", "update", "patch", "apply", "delete", "delete_all"})
_READS = frozenset({"get", "list", "discover", "version", "schema", "may"})


class Request(Struct, frozen=True):
    """One request that a cluster was asked."""

    verb: str
    kind: str
    name: str
    dry_run: bool

    @property
    def is_write(self) -> bool:
        return self.verb in _WRITES and not self.dry_run


class Counted:
    """A cluster that keeps account of what it is asked; watches do not count."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.requests: list[Request] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        if name not in _WRITES | _READS:
            return found

        def counted(*arguments: Any, **options: Any) -> Any:
            self.requests.append(_request(name, arguments, options))
            return found(*arguments, **options)

        return counted

    def writes(self) -> list[Request]:
        return [each for each in self.requests if each.is_write]


def _request(verb: str, arguments: tuple[Any, ...], options: Json) -> Request:
    kind = arguments[0].kind if arguments else ""
    name = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], str) else ""
    if verb == "create":
        name = arguments[1]["metadata"].get("name", "") if isinstance(arguments[1], dict) else ""
    how = options.get("write") or options.get("how")
    return Request(verb, kind, name, bool(how is not None and getattr(how, "dry_run", False)))


class Sources:
    """What Git would say: manifests per unit, a revision for each state, and errors when they are wanted."""

    def __init__(self) -> None:
        self.wanted: dict[str, list[Json]] = {}
        self.error: Exception | None = None
        self.asked: list[tuple[str, str, bool]] = []
        self._history: dict[str, list[Json]] = {}

    def declare(self, unit: str, *manifests: Json) -> str:
        """Have a unit want these; the answer is the revision."""
        self.wanted[unit] = list(manifests)
        revision = digest(list(manifests))[:12]
        self._history[revision] = list(manifests)
        return revision

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        self.asked.append((unit.id, revision, no_cache))
        if self.error is not None:
            raise self.error
        if revision and revision not in self._history:
            raise Missing(f"revision {revision}", "there is no such revision")
        found = self._history[revision] if revision else self.wanted.get(unit.id, [])
        name = digest(found)
        return Generated(
            manifests=tuple(
                Found(manifest=each, where=f"{unit.id}.yaml, document {number}")
                for number, each in enumerate(found, 1)
            ),
            revision=revision or name[:12],
            digest=name,
        )


class Stage:
    """One engine with its sources, its clusters and all that it tells."""

    def __init__(
        self,
        cluster: Any,
        namespace: str,
        store: SyncUnitStore | None = None,
        sources: Sources | None = None,
    ) -> None:
        self.cluster = Counted(cluster)
        self.namespace = namespace
        self.sources = sources or Sources()
        self.store = store or MemoryStore()
        self.clusters = GivenClusters({"here": cast(Cluster, self.cluster)})
        #: several stages may stand in one cluster
        self.installation = f"test-{secrets.token_hex(4)}"
        self.engine = self.new_engine()
        self.told: list[Event] = []
        self._news = asyncio.Event()

    def new_engine(self, settings: EngineSettings = QUICK) -> Engine:
        own = replace(settings, installation=self.installation)
        engine = Engine(own, self.clusters, self.sources, self.store, key=b"k" * 32)
        engine.events.subscribe(self._hear)
        return engine

    def _hear(self, event: Event) -> None:
        self.told.append(event)
        self._news.set()

    def events(self, *kinds: type[Any]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kinds)]

    def is_synced(self, unit_id: str) -> bool:
        """Whether a unit is seen to be synced and nothing is under way: it may be seen so before the end."""
        begun, ended = (
            sum(event.unit == unit_id for event in self.events(kind))
            for kind in (OperationStarted, OperationEnded)
        )
        unit = self.engine.unit(unit_id)
        return unit.status.verdict is Verdict.SYNCED and unit.operation is None and begun <= ended

    async def add(self, unit_id: str, *manifests: Json, policy: Policy | None = None, **more: Any) -> str:
        """A unit that wants these; the answer is the revision."""
        revision = self.sources.declare(unit_id, *manifests)
        unit = SyncUnit(
            id=unit_id,
            source={"unit": unit_id},
            destination=Destination(cluster="here", namespace=self.namespace),
            policy=policy or Policy(),
        )
        await self.store.create(replace(unit, **more))
        return revision

    async def until(self, holds: Callable[[], bool], what: str, limit: float = LIMIT) -> None:
        """Wait until something holds, looking whenever the engine tells something."""
        try:
            async with asyncio.timeout(limit):
                while not holds():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            last = "\n".join(f"{type(event).__name__}: {event}" for event in self.told[-20:])
            raise AssertionError(f"it never came that {what}; the last events:\n{last}") from None

    async def resource(self, kind: str) -> Any:
        served = (await cast(Cluster, self.cluster).discover()).resources
        return next(each for each in served if each.kind == kind and "list" in each.verbs)

    async def get(self, kind: str, name: str) -> Json | None:
        """An object as it is, if it is."""
        resource = await self.resource(kind)
        space = self.namespace if resource.namespaced else ""
        try:
            found = await cast(Cluster, self.cluster).get(resource, name, namespace=space)
        except NotFound:
            return None
        return found.manifest()

    async def names(self, kind: str) -> set[str]:
        """What there is of a kind in the namespace."""
        resource = await self.resource(kind)
        pages = cast(Cluster, self.cluster).list(resource, namespace=self.namespace)
        return {each.metadata.name async for page in pages for each in page.objects}

    async def patch(self, kind: str, name: str, body: Json, subresource: str = "") -> None:
        """Change an object behind the engine's back."""
        await cast(Cluster, self.cluster).patch(
            await self.resource(kind),
            name,
            body,
            how=PatchType.MERGE,
            namespace=self.namespace,
            subresource=subresource,
        )

    async def create(self, manifest: Json) -> None:
        """Make an object behind the engine's back."""
        resource = await self.resource(manifest["kind"])
        space = self.namespace if resource.namespaced else ""
        await cast(Cluster, self.cluster).create(resource, manifest, namespace=space)

    async def delete(self, kind: str, name: str) -> None:
        """Delete an object behind the engine's back."""
        resource = await self.resource(kind)
        await cast(Cluster, self.cluster).delete(resource, name, namespace=self.namespace)


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator[Engine]:
    """The engine at work, knowing its units."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(engine.run(4, 4))
        try:
            await engine.known()
            yield engine
        finally:
            task.cancel()


def config_map(name: str, value: str = "1", **annotations: str) -> Json:
    """A ConfigMap with one value; underscores in annotations stand for what cannot be a name."""
    made: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"value": value},
    }
    if annotations:
        made["metadata"]["annotations"] = {
            f"trimtab.dev/{key.replace('_', '-')}": text for key, text in annotations.items()
        }
    return made


def _pod(image: str, command: Iterable[str] = ()) -> Json:
    container: Json = {"name": "main", "image": image}
    return {"containers": [container]}


def deployment(
    name: str, image: str = "registry.example/web:1", replicas: int = 2, **annotations: str
) -> Json:
    """A Deployment of some pods."""
    labels = {"app": name}
    made = config_map(name, **annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": made["metadata"],
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(image)},
        },
    }


def job(name: str, *, simulate: str = "", **annotations: str) -> Json:
    """A Job of one pod, which may be asked to fail where pods are simulated."""
    made = config_map(name, **annotations)
    template: Json = {"spec": {**_pod("registry.example/job:1"), "restartPolicy": "Never"}}
    if simulate:
        template["metadata"] = {"annotations": {"trimtab.dev/simulate": simulate}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": made["metadata"],
        "spec": {"backoffLimit": 0, "template": template},
    }

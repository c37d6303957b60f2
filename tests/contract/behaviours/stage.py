"""Where stories are played: a cluster, a namespace, and an audience that hears everything in there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, NamedTuple, Protocol

from tests.contract.behaviours.masks import (
    Names,
    condition_lines,
    event_lines,
    final_objects,
    masked_conditions,
)
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import Behaviours, behaviours_of
from trimtab.kube.cluster import Cluster, Deletion, PatchType, Propagation
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.picture import Complete, Removed, Upserted
from trimtab.kube.watch import follow
from trimtab.tasks import ManualClock

Json = dict[str, Any]
LIMIT = 80.0  # seconds that a real cluster may take for one step of a story
NODES = ("node-0", "node-1")
REST = 80.0  # and to come to rest after the last one
_ORDERED = ("Deployment", "ReplicaSet", "StatefulSet", "Pod", "Job", "CronJob", "ControllerRevision")
_HEARD = (
    *_ORDERED, "Namespace", "ConfigMap", "ServiceAccount", "DaemonSet", "Service", "Endpoints",
    "EndpointSlice", "PersistentVolumeClaim", "Event", "Secret", "ReplicationController",
    "PodDisruptionBudget", "HorizontalPodAutoscaler", "ResourceQuota", "ClusterRole", "Node",
)  # fmt: skip


class Audience:
    """Hears everything in a namespace: what is there, which conditions came in which order, what went."""

    def __init__(self, namespace: str) -> None:
        self.names = Names(namespace)
        self.objects: dict[str, Json] = {}  # by identity
        self.conditions: dict[str, dict[str, list[str]]] = {}
        self.came: list[tuple[int, str]] = []  # with the versions at which that happened: watches tell their
        self.went: list[tuple[int, str]] = []  # own kind in order, versions tell the order over all kinds
        self.events: dict[str, Json] = {}  # what users are told, by identity
        self._seen: set[str] = set()
        self._news = asyncio.Event()

    def hear(self, manifest: Json) -> None:
        """An object is there in this state."""
        self.names.learn(manifest)
        uid, title = manifest["metadata"]["uid"], _title(manifest)
        if uid not in self._seen:
            self._seen.add(uid)
            self.came.append((int(manifest["metadata"]["resourceVersion"]), title))
        self.objects[uid] = manifest
        if manifest["kind"] not in ("Pod", "PersistentVolume", "Node"):
            told = self.conditions.setdefault(title, {})
            for kind, line in condition_lines(manifest).items():
                lines = told.setdefault(kind, [])
                if not lines or lines[-1] != line:
                    lines.append(line)
        self._news.set()

    def hear_event(self, event: Json) -> None:
        """Users are told something."""
        self.events[event["metadata"]["uid"]] = event
        self._news.set()

    def lose(self, uid: str, version: str) -> None:
        """An object is gone, at this version."""
        gone = self.objects.pop(uid, None)
        if gone is not None:
            self.went.append((int(version), _title(gone)))
        self._news.set()

    def order(self, events: list[tuple[int, str]]) -> list[str]:
        """What came or went of the kinds whose order is fixed."""
        told = (self.names.masked(title) for _, title in sorted(events))
        return [title for title in told if title.partition(" ")[0] in _ORDERED]

    def find(self, kind: str, name: str) -> Json | None:
        """The object of this kind and name, if it is there."""
        for each in self.objects.values():
            if each["kind"] == kind and each["metadata"]["name"] == name:
                return each
        return None

    def all(self, kind: str) -> list[Json]:
        """Every object of this kind."""
        return [each for each in self.objects.values() if each["kind"] == kind]

    async def wait(self) -> None:
        """Return at the next news."""
        self._news.clear()
        await self._news.wait()


def _title(manifest: Json) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


class Time(Protocol):
    """How a stage waits for something to become true."""

    async def until(self, audience: Audience, holds: Callable[[], bool], what: str, limit: float) -> None:
        """Return when it holds."""


class RealTime:
    """Time passes by itself; the audience is told when something happens."""

    async def until(self, audience: Audience, holds: Callable[[], bool], what: str, limit: float) -> None:
        try:
            async with asyncio.timeout(limit):
                while not holds():
                    await audience.wait()
        except TimeoutError:
            raise AssertionError(f"it never came that {what}: {audience.conditions}") from None


class MovedTime:
    """Time passes when the test says so, a second at a time."""

    def __init__(self, behaviours: Behaviours, clock: ManualClock) -> None:
        self._behaviours, self._clock = behaviours, clock

    async def until(self, audience: Audience, holds: Callable[[], bool], what: str, limit: float) -> None:
        for _ in range(int(limit)):
            await self._behaviours.settled()
            await _let_everybody_hear()
            if holds():
                return
            await self._behaviours.advance(self._clock, 1)
        raise AssertionError(f"it never came that {what}: {audience.conditions}")


async def _let_everybody_hear() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


class Stage:
    """One story's cluster and namespace."""

    def __init__(
        self,
        cluster: Cluster,
        discovery: Discovery,
        namespace: str,
        audience: Audience,
        time: Time,
    ) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.audience = audience
        self._discovery = discovery
        self._time = time

    def resource(self, kind: str) -> Resource:
        """The resource of a kind, whatever its group."""
        served = (each for each in self._discovery.resources if each.kind == kind)
        return next(each for each in served if "list" in each.verbs)

    def _space(self, resource: Resource) -> str:
        return self.namespace if resource.namespaced else ""

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Make an object in the namespace."""
        resource = self.resource(manifest["kind"])
        await self.cluster.create(resource, manifest, namespace=self._space(resource))

    async def patch(self, kind: str, name: str, body: Mapping[str, Any], *, subresource: str = "") -> None:
        """Merge this into an object."""
        resource = self.resource(kind)
        await self.cluster.patch(
            resource,
            name,
            body,
            how=PatchType.MERGE,
            namespace=self._space(resource),
            subresource=subresource,
        )

    async def delete(self, kind: str, name: str, propagation: Propagation | None = None) -> None:
        """Delete an object."""
        resource = self.resource(kind)
        how = Deletion(propagation=propagation)
        await self.cluster.delete(resource, name, namespace=self._space(resource), how=how)

    async def until(self, holds: Callable[[], bool], what: str, limit: float = LIMIT) -> None:
        """Wait until it holds."""
        await self._time.until(self.audience, holds, what, limit)

    async def until_gone(self, kind: str, name: str) -> None:
        """Wait until there is no such object."""
        await self.until(lambda: self.audience.find(kind, name) is None, f"{kind} {name} is gone")

    async def until_status(self, kind: str, name: str, holds: Callable[[Json], bool]) -> None:
        """Wait until the object's status is as wished and as new as its spec."""

        def met() -> bool:
            found = self.audience.find(kind, name)
            return found is not None and holds(found.get("status") or {})

        await self.until(met, f"{kind} {name} is as wished")

    async def until_told(self, reason: str) -> None:
        """Wait until users are told this in an Event."""

        def told() -> bool:
            return any(each["reason"] == reason for each in self.audience.events.values())

        await self.until(told, f"users are told {reason}")

    def told(self) -> Json:
        """The story as it can be compared."""
        return {
            "conditions": masked_conditions(self.audience.conditions, self.audience.names),
            "came": self.audience.order(self.audience.came),
            "went": self.audience.order(self.audience.went),
            "events": event_lines(self.audience.events.values(), self.audience.names),
            "objects": final_objects(self.audience.objects.values(), self.audience.names),
        }


@asynccontextmanager
async def staged(cluster: Cluster, namespace: str, time: Time) -> AsyncIterator[Stage]:
    """A stage in a namespace that is there, with an audience that has heard of everything in it."""
    discovery = await cluster.discover()
    audience = Audience(namespace)
    kinds = {
        each.full_kind: each
        for each in reversed(discovery.resources)
        if each.kind in _HEARD and "watch" in each.verbs and each.group != "events.k8s.io"
    }
    waiting = set(kinds)
    complete = asyncio.Event()

    async def listen(resource: Resource) -> None:
        space = namespace if resource.namespaced else ""
        async with aclosing(follow(cluster, resource, namespace=space)) as told:
            async for news in told:
                match news:
                    case Upserted(object=found) if resource.kind == "Event":
                        audience.hear_event(found.manifest())
                    case Upserted(object=found) if resource.namespaced or found.metadata.name == namespace:
                        audience.hear(found.manifest())
                    case Removed(uid=uid, object=last):
                        audience.lose(uid, last.metadata.resource_version if last else "0")
                    case Complete():
                        waiting.discard(resource.full_kind)
                        if not waiting:
                            complete.set()
                    case _:
                        pass

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(listen(resource)) for resource in kinds.values()]
        await complete.wait()
        try:
            yield Stage(cluster, discovery, namespace, audience, time)
        finally:
            for task in tasks:
                task.cancel()


# --- namespaces, nodes, and a cluster in memory with our behaviours ----------------------------------------


async def add_node(cluster: Cluster, name: str) -> None:
    nodes = (await cluster.discover()).preferred("", "Node")
    assert nodes is not None
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}
    room = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }
    await cluster.create(nodes, node)


async def add_namespace(cluster: Cluster, name: str) -> None:
    namespaces = (await cluster.discover()).preferred("", "Namespace")
    assert namespaces is not None
    await cluster.create(namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def add_namespace_for_pods(cluster: Cluster, name: str) -> None:
    """Make a namespace, and return when the account that pods run as is there."""
    await add_namespace(cluster, name)
    accounts = (await cluster.discover()).preferred("", "ServiceAccount")
    assert accounts is not None
    async with aclosing(follow(cluster, accounts, namespace=name)) as told:
        async for news in told:
            if isinstance(news, Upserted):
                return


class Ours(NamedTuple):
    """Our cast: a cluster in memory, those who look after it, and the clock that they live by."""

    cluster: MemoryCluster
    behaviours: Behaviours
    clock: ManualClock

    @property
    def time(self) -> MovedTime:
        """How time passes for them."""
        return MovedTime(self.behaviours, self.clock)


@asynccontextmanager
async def in_memory(namespace: str) -> AsyncIterator[Ours]:
    """Our cast on a fresh cluster with nodes and a namespace, all at rest."""
    clock = ManualClock()
    cluster = MemoryCluster(clock=clock)
    for node in NODES:
        await add_node(cluster, node)
    async with behaviours_of(cluster, clock=clock) as behaviours:
        await behaviours.settled()
        await add_namespace(cluster, namespace)
        await behaviours.settled()
        yield Ours(cluster, behaviours, clock)

"""What the tests of behaviours share: objects as a server holds them, and a cluster in memory at work."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import Behaviours, Timing, behaviours_of
from trimtab.apiserver.behaviours.world import MOST_PODS
from trimtab.kube.cluster import Deletion, PatchType
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.times import seconds_text
from trimtab.tasks import ManualClock

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_numbers = itertools.count(1)


def made(api_version: str, kind: str, name: str, *, namespace: str = "shop", **parts: Any) -> Json:
    """An object as a server holds it; `metadata` adds to what every object has."""
    metadata = {
        "name": name,
        "uid": f"uid-of-{name}",
        "resourceVersion": str(next(_numbers)),
        "generation": 1,
        "creationTimestamp": seconds_text(NOW),
        **({"namespace": namespace} if namespace else {}),
        **parts.pop("metadata", {}),
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def owner_reference(owner: Mapping[str, Any], **more: Any) -> Json:
    metadata = owner["metadata"]
    kind = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**kind, "name": metadata["name"], "uid": metadata["uid"], **more}


def after(**duration: float) -> datetime:
    return NOW + timedelta(**duration)


class AtWork(Struct, frozen=True, kw_only=True):
    """A cluster in memory with behaviours at work on a clock that tests move."""

    cluster: MemoryCluster
    behaviours: Behaviours
    clock: ManualClock
    discovery: Discovery

    def resource(self, kind: str) -> Resource:
        return next(each for each in self.discovery.resources if each.kind == kind and "list" in each.verbs)

    def _space(self, kind: str) -> str:
        return "default" if self.resource(kind).namespaced else ""

    async def create(self, manifest: Mapping[str, Any]) -> None:
        kind = manifest["kind"]
        await self.cluster.create(self.resource(kind), manifest, namespace=self._space(kind))
        await self.behaviours.settled()

    async def patch(self, kind: str, name: str, body: Mapping[str, Any]) -> None:
        await self.cluster.patch(
            self.resource(kind), name, body, how=PatchType.MERGE, namespace=self._space(kind)
        )
        await self.behaviours.settled()

    async def delete(self, kind: str, name: str, how: Deletion | None = None) -> None:
        resource = self.resource(kind)
        await self.cluster.delete(resource, name, namespace=self._space(kind), how=how or Deletion())
        await self.behaviours.settled()

    async def get(self, kind: str, name: str) -> Json:
        found = await self.cluster.get(self.resource(kind), name, namespace=self._space(kind))
        return found.manifest()

    async def all(self, kind: str) -> list[Json]:
        pages = self.cluster.list(self.resource(kind), namespace=self._space(kind))
        return [found.manifest() async for page in pages for found in page.objects]

    async def wait(self, seconds: float) -> None:
        await self.behaviours.advance(self.clock, seconds)


@asynccontextmanager
async def at_work(timing: Timing | None = None, most_pods: int = MOST_PODS) -> AsyncIterator[AtWork]:
    clock = ManualClock(NOW)
    cluster = MemoryCluster(clock=clock)
    failures: list[Exception] = []

    def failed(title: str, name: tuple[str, str], error: Exception) -> None:
        failures.append(error)

    async with behaviours_of(
        cluster, clock=clock, timing=timing, on_failure=failed, most_pods=most_pods
    ) as behaviours:
        await behaviours.settled()
        discovery = await cluster.discover()
        yield AtWork(cluster=cluster, behaviours=behaviours, clock=clock, discovery=discovery)
    assert failures == []


def pod_template(app: str = "web", *, simulate: str = "", **spec: Any) -> Json:
    metadata: Json = {"labels": {"app": app}}
    if simulate:
        metadata["annotations"] = {"trimtab.dev/simulate": simulate}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "web:1"}], **spec}}


def deployment(name: str = "web", *, simulate: str = "", **spec: Any) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": pod_template(name, simulate=simulate),
            **spec,
        },
    }


def conditions(manifest: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    found = manifest["status"].get("conditions") or ()
    return {each["type"]: (each["status"], each.get("reason", "")) for each in found}

"""The demo's cluster, past the verbs: changed as somebody with kubectl would, and asked what happened in it.

What happened is replayed from the cluster's own memory, so it does not matter who looked when.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from trimtab.errors import Missing
from trimtab.interfaces.demo.order import version_of
from trimtab.kube import connect, from_kubeconfig
from trimtab.kube.cluster import Cluster, PatchType, Write
from trimtab.kube.discovery import Resource
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import SystemClock


async def change(kubeconfig: Path, key: ResourceKey, patch: Mapping[str, object]) -> None:
    """Change an object past Git."""
    async with _reached(kubeconfig) as cluster:
        resource, write = await _resource(cluster, key), Write(manager="kubectl-edit")
        await cluster.patch(
            resource, key.name, dict(patch), how=PatchType.MERGE, namespace=key.namespace, write=write
        )


async def version(kubeconfig: Path) -> str:
    """Where the cluster's memory is now."""
    async with _reached(kubeconfig) as cluster:
        resource = await _resource(cluster, ResourceKey("", "Namespace", "", ""))
        return [page.resource_version async for page in cluster.list(resource)][-1]


async def states(kubeconfig: Path, keys: Iterable[ResourceKey], since: str) -> list[KubeObject]:
    """Every state that these objects have had since that version, kind by kind."""
    asked = set(keys)
    found: list[KubeObject] = []
    async with _reached(kubeconfig) as cluster:
        for place in sorted({(key.group, key.kind, key.namespace) for key in asked}):
            resource = await _resource(cluster, ResourceKey(*place, ""))
            found += await _replayed(cluster, resource, place[-1], since)
    return [state for state in found if state.key in asked]


async def _replayed(cluster: Cluster, resource: Resource, namespace: str, since: str) -> Sequence[KubeObject]:
    """What a watch from there tells, up to the newest state that there is."""
    pages = [page async for page in cluster.list(resource, namespace=namespace)]
    newest = max((version_of(each) for page in pages for each in page.objects), default=0)
    told: list[KubeObject] = []
    if newest > int(since):
        async with cluster.watch(resource, since=since, namespace=namespace) as events:
            async for event in events:
                told.append(event.object)
                if version_of(event.object) >= newest:
                    break
    return told


@asynccontextmanager
async def _reached(kubeconfig: Path) -> AsyncIterator[Cluster]:
    reach = ClusterSettings()
    access = from_kubeconfig([kubeconfig], settings=reach, clock=SystemClock(), environment={})
    async with connect(access, reach) as cluster:
        yield cluster


async def _resource(cluster: Cluster, key: ResourceKey) -> Resource:
    resource = (await cluster.discover()).preferred(key.group, key.kind)
    if resource is None:
        raise Missing(key.kind, "the cluster does not serve it")
    return resource

"""Fills a control plane with the objects that the benchmarks read and apply.

There is neither scheduler nor kubelet: Pods are bound by their manifest and get their status from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from bench.client import AS_BENCH, CONFIG_MAPS, PODS, at_once
from bench.shapes import config_map, pod, pod_status
from trimtab.kube import Cluster
from trimtab.kube.cluster import PatchType, Selection
from trimtab.kube.discovery import Resource

WORKERS = 32
NAMESPACES = Resource(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False)


async def add_namespaces(cluster: Cluster, names: Iterable[str]) -> None:
    """Create namespaces."""
    for name in names:
        await cluster.create(NAMESPACES, {"metadata": {"name": name}}, write=AS_BENCH)


async def newest_version(cluster: Cluster, namespace: str) -> str:
    """The version that the ConfigMaps of a namespace have now."""
    select = Selection(fields="metadata.name=none")
    pages = [page async for page in cluster.list(CONFIG_MAPS, namespace=namespace, select=select)]
    return pages[-1].resource_version


async def fill_with_config_maps(cluster: Cluster, namespace: str, count: int) -> str:
    """Create so many ConfigMaps; the answer is the version before the first of them."""
    versions = [page.resource_version async for page in cluster.list(CONFIG_MAPS, namespace=namespace)]

    async def create(number: int) -> None:
        await cluster.create(CONFIG_MAPS, config_map(number), namespace=namespace, write=AS_BENCH)

    await at_once(create, range(count), WORKERS)
    return versions[-1]


async def fill_with_pods(cluster: Cluster, namespace: str, count: int) -> None:
    """Create so many Pods that say they run."""

    async def create(number: int) -> None:
        made = await cluster.create(PODS, pod(number), namespace=namespace, write=AS_BENCH)
        await patch_status(cluster, PODS, made.object.metadata.name, namespace, pod_status(number))

    await at_once(create, range(count), WORKERS)


async def patch_status(
    cluster: Cluster, of: Resource, name: str, where: str, body: Mapping[str, object]
) -> None:
    """Give an object a status."""
    await cluster.patch(
        of, name, body, how=PatchType.MERGE, namespace=where, subresource="status", write=AS_BENCH
    )


def write_manifests(path: Path, count: int, *, state: int) -> Path:
    """Write so many ConfigMaps as JSON lines, in this state, for both sides to apply."""
    manifests = [config_map(number, state=state) for number in range(count)]
    path.write_bytes(msgspec.json.Encoder().encode_lines(manifests))
    return path

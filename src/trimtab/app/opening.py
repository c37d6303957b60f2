"""Opens the apps of a cluster: what takes longest is begun first, and nothing waits that need not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trimtab.app.sources import open_manifests
from trimtab.programs import Tell, silently
from trimtab.tasks import WorkerProcesses, plain_group

if TYPE_CHECKING:
    from trimtab.app.apps import Apps
    from trimtab.app.installation import Installation
    from trimtab.kube import Access, Cluster
    from trimtab.settings import Settings
    from trimtab.sources.rendering.specs import Capabilities


@asynccontextmanager
async def open_apps(
    access: Access,
    settings: Settings,
    *,
    path: str,
    who: str,
    tell: Tell = silently,
    workers: WorkerProcesses | None = None,
) -> AsyncIterator[Apps]:
    """Open the apps of a cluster.

    `path` is where outside programs are looked for first; `who` names this process to others who wait for it.
    `tell` hears of programs that are fetched to render sources; `workers` may be at it already.
    """
    async with open_manifests(settings, path=path, tell=tell, workers=workers) as manifests:
        from trimtab.app.apps import Apps
        from trimtab.kube import connect

        async with connect(access, settings.cluster) as connected:
            known = await _known_of(connected, settings.apps.namespace, manifests.own_key)
            installation, (cluster, capabilities) = known
            manifests.learn(capabilities)
            manifests.use_key(installation.rendering_key)
            yield Apps(cluster, settings, manifests, installation, who)


async def _known_of(
    cluster: Cluster, namespace: str, own_key: bytes
) -> tuple[Installation, tuple[Cluster, Capabilities]]:
    """What has to be known of a cluster before anything is done there."""
    from trimtab.app.acquainted import acquainted
    from trimtab.app.installation import find_installation

    async with plain_group() as group:
        installation = group.create_task(find_installation(cluster, namespace, own_key=own_key))
        acquaintance = group.create_task(acquainted(cluster))
    return installation.result(), acquaintance.result()

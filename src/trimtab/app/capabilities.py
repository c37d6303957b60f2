"""What charts may ask about a cluster, as the cluster itself says it."""

from __future__ import annotations

from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Discovery, ServerVersion
from trimtab.sources.rendering.specs import Capabilities
from trimtab.tasks import plain_group


async def facts_of(cluster: Cluster) -> tuple[Discovery, ServerVersion]:
    """What a cluster says that it is, asked both at once."""
    async with plain_group() as group:
        version = group.create_task(cluster.version())
        discovery = group.create_task(cluster.discover())
    return discovery.result(), version.result()


async def capabilities_of(cluster: Cluster) -> Capabilities:
    """What charts may ask about the cluster."""
    return capabilities_from(*await facts_of(cluster))


def capabilities_from(discovery: Discovery, version: ServerVersion) -> Capabilities:
    """The same, of a cluster that was asked already."""
    served = {each.api_version for each in discovery.resources}
    kinds = {f"{each.api_version}/{each.kind}" for each in discovery.resources}
    return Capabilities(
        kube_version=version.git_version.removeprefix("v"),
        api_versions=tuple(sorted(served | kinds)),
    )

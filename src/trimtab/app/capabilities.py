"""What charts may ask about a cluster, as the cluster itself says it."""

from __future__ import annotations

from trimtab.kube.cluster import Cluster
from trimtab.sources.rendering.specs import Capabilities


async def capabilities_of(cluster: Cluster) -> Capabilities:
    """What charts may ask about the cluster."""
    version, discovery = await cluster.version(), await cluster.discover()
    served = {each.api_version for each in discovery.resources}
    kinds = {f"{each.api_version}/{each.kind}" for each in discovery.resources}
    return Capabilities(
        kube_version=version.git_version.removeprefix("v"), api_versions=tuple(sorted(served | kinds))
    )

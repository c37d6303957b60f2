"""A cluster that was asked what it is, and whose first answers serve the next who asks: a command asks once.

The engine begins where the command has just begun, with the same two questions. Whoever asks later asks the
server, for kinds come and go.
"""

from __future__ import annotations

from trimtab.app.capabilities import capabilities_from, facts_of
from trimtab.app.fencing import FencedCluster
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Discovery, ServerVersion
from trimtab.sources.rendering.specs import Capabilities


class AcquaintedCluster(FencedCluster):
    """Another cluster, of which the kinds and the version are known to whoever asks first."""

    def __init__(self, cluster: Cluster, discovery: Discovery, version: ServerVersion) -> None:
        super().__init__(cluster, lambda: True)
        self._discovery: Discovery | None = discovery
        self._version: ServerVersion | None = version

    async def discover(self) -> Discovery:
        """Every kind the server serves."""
        known, self._discovery = self._discovery, None
        return await super().discover() if known is None else known

    async def version(self) -> ServerVersion:
        """What the server says of itself."""
        known, self._version = self._version, None
        return await super().version() if known is None else known


class AskedOnceCluster(FencedCluster):
    """Another cluster that is asked once which kinds it serves: for who only looks and is gone."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, lambda: True)
        self._discovery: Discovery | None = None

    async def discover(self) -> Discovery:
        """Every kind the server served when it was asked."""
        if self._discovery is None:
            self._discovery = await super().discover()
        return self._discovery


async def acquainted(cluster: Cluster) -> tuple[Cluster, Capabilities]:
    """The cluster after the first questions, and what charts may ask about it."""
    facts = await facts_of(cluster)
    return AcquaintedCluster(cluster, *facts), capabilities_from(*facts)

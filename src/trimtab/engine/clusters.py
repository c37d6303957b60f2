"""Clusters that are known from the start: the simplest credentials store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext

from trimtab.engine.places import Place
from trimtab.engine.units import ClusterCame, ClusterEntry, ClusterNews, ClusterWent
from trimtab.errors import Missing
from trimtab.kube.cluster import Cluster


class GivenClusters:
    """Clusters by name, as they were given; more may be put in and taken out while an engine runs."""

    def __init__(self, clusters: Mapping[str, Cluster] | None = None) -> None:
        """Take connections that are open already, and stay so for as long as they are used."""
        self._entries: dict[str, ClusterEntry] = {}
        self._told: list[Callable[[ClusterNews], None]] = []
        for name, cluster in (clusters or {}).items():
            self.put(opened(name, cluster))

    def put(self, entry: ClusterEntry) -> None:
        """Add a cluster, or have one reached in another way."""
        self._entries[entry.name] = entry
        self._tell(ClusterCame(entry.name))

    def take_out(self, name: str) -> None:
        """Have a cluster used no more."""
        del self._entries[name]
        self._tell(ClusterWent(name))

    async def get_cluster(self, name: str) -> ClusterEntry:
        """The cluster of this name."""
        entry = self._entries.get(name)
        if entry is None:
            known = ", ".join(sorted(self._entries)) or "none"
            raise Missing(f"cluster {name}", "there is no such cluster", f"Known are: {known}")
        return entry

    async def watch_clusters(self, told: Callable[[ClusterNews], None]) -> None:
        """Tell of the clusters that are there, and of those that come, change and go."""
        for name in tuple(self._entries):
            told(ClusterCame(name))
        self._told.append(told)
        try:
            await asyncio.Event().wait()
        finally:
            self._told.remove(told)

    def _tell(self, news: ClusterNews) -> None:
        for told in tuple(self._told):
            told(news)


def opened(
    name: str,
    cluster: Cluster,
    *,
    namespaces: Iterable[str] = (),
    cluster_resources: bool = False,
    places: frozenset[Place] | None = None,
) -> ClusterEntry:
    """The entry of a cluster whose connection is open already."""
    context = nullcontext(cluster)
    return ClusterEntry(
        name=name,
        connect=lambda: context,
        namespaces=tuple(namespaces),
        cluster_resources=cluster_resources,
        places=places,
    )

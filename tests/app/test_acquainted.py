"""A command asks a cluster once what it is."""

from __future__ import annotations

from typing import cast

from trimtab.apiserver import MemoryCluster
from trimtab.app.acquainted import acquainted
from trimtab.app.capabilities import capabilities_of
from trimtab.kube import Cluster
from trimtab.kube.discovery import Discovery, ServerVersion


class Counting(MemoryCluster):
    """A cluster that notes what it is asked of itself."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def discover(self) -> Discovery:
        self.asked.append("kinds")
        return await super().discover()

    async def version(self) -> ServerVersion:
        self.asked.append("version")
        return await super().version()


async def test_the_first_answers_serve_the_next_who_asks_and_later_ones_ask_the_server() -> None:
    counting = Counting()
    cluster, capabilities = await acquainted(cast(Cluster, counting))
    first = (await cluster.discover(), await cluster.version())
    assert sorted(counting.asked) == ["kinds", "version"]
    assert (await cluster.discover(), await cluster.version()) == first
    assert sorted(counting.asked) == ["kinds", "kinds", "version", "version"]
    assert capabilities == await capabilities_of(cast(Cluster, counting))

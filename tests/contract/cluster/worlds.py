"""The implementations of `Cluster` that the suite runs against, each with nobody else writing to it."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.contract.cluster.kinds import (
    ACCOUNTS,
    DEFINITIONS,
    NAMESPACES,
    gadget_definition,
    is_established,
    named,
)
from tests.contract.cluster.stage import Stage
from tests.kube.world import connect_to
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import AlreadyExists

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane


class World:
    """One cluster, ready for cases."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def stage(self) -> Stage:
        """A stage in a namespace of its own, where pods may be created."""
        name = f"case-{secrets.token_hex(4)}"
        await self.cluster.create(NAMESPACES, named(NAMESPACES, name))
        stage = Stage(self.cluster, name)
        with contextlib.suppress(AlreadyExists):  # where namespaces come with one
            await stage.given(ACCOUNTS, named(ACCOUNTS, "default"))
        return stage

    async def prepare(self) -> None:
        """Make the kind that the cases share, if it is not there yet."""
        stage = Stage(self.cluster, "")
        try:
            await stage.given(DEFINITIONS, gadget_definition())
        except AlreadyExists:
            return
        await stage.until(DEFINITIONS, gadget_definition()["metadata"]["name"], is_established)


@asynccontextmanager
async def real_world(plane: ControlPlane) -> AsyncIterator[World]:
    """A real kube-apiserver on etcd, without controllers."""
    async with connect_to(plane) as cluster:
        world = World(cluster)
        await world.prepare()
        yield world

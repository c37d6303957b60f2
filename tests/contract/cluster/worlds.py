"""The implementations of `Cluster` that the suite runs against, each with nobody else writing to it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from testbed.problems import PartFailed
from tests.clocks import HurriedClock
from tests.contract.cluster.kinds import (
    ACCOUNTS,
    DEFINITIONS,
    GROUP,
    NAMESPACES,
    gadget_definition,
    is_established,
    named,
)
from tests.contract.cluster.stage import Stage
from tests.kube.world import TokenAccess, connect_to
from trimtab.apiserver import MemoryCluster, serve
from trimtab.kube import connect
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import AlreadyExists

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane


NAMES = ("real", "memory", "http")


class World:
    """One cluster, ready for cases."""

    def __init__(self, cluster: Cluster, forget: Callable[[], object]) -> None:
        self.cluster = cluster
        self._forget = forget

    async def forget(self) -> None:
        """End the history of the cluster here."""
        await asyncio.to_thread(self._forget)

    async def stage(self) -> Stage:
        """A stage in a namespace of its own, where pods may be created."""
        name = f"case-{secrets.token_hex(4)}"
        await self.cluster.create(NAMESPACES, named(NAMESPACES, name))
        stage = Stage(self.cluster, name, self.forget)
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
        await stage.served(gadget_definition())


@asynccontextmanager
async def real_world(plane: ControlPlane) -> AsyncIterator[World]:
    """A real kube-apiserver on etcd, without controllers."""
    async with connect_to(plane) as cluster:
        world = World(cluster, partial(_made_to_forget, plane))
        await world.prepare()
        yield world


def _made_to_forget(plane: ControlPlane) -> None:
    """Have etcd forget what pages are read from, and the API server what watches resume from."""
    plane.compact()
    plane.restart_apiserver()
    plane.apiserver.wait_until(partial(_watches, plane), what="watching the suite's own kind")


def _watches(plane: ControlPlane) -> bool:
    """Whether the server lets the suite's own kind be watched; it reads what there is of that when asked."""
    try:
        plane.call("GET", f"/apis/{GROUP}/v1/gadgets?watch=1&timeoutSeconds=-1")
    except PartFailed:
        return False
    except ValueError:  # several events, or none
        return True
    return True


@asynccontextmanager
async def memory_world() -> AsyncIterator[World]:
    """The embedded cluster, in process."""
    cluster = MemoryCluster()
    world = World(cluster, cluster.api.store.compact)
    await world.prepare()
    yield world


@asynccontextmanager
async def http_world() -> AsyncIterator[World]:
    """The embedded cluster over HTTPS, with the client that speaks to the real one."""
    api = MemoryCluster(clock=HurriedClock()).api
    async with serve(api) as served:
        tls = ssl.create_default_context(cadata=served.authority)
        async with connect(TokenAccess(served.url, served.token, tls)) as cluster:
            world = World(cluster, api.store.compact)
            await world.prepare()
            yield world


def embedded_world(name: str) -> AbstractAsyncContextManager[World]:
    """One of the worlds that need nothing but this process."""
    return memory_world() if name == "memory" else http_world()

"""A cluster that may be written to only while a lease is held.

Losing a lease cancels the work under it. That takes a few turns of the loop, and a process that stood still
for longer than its lease lasts is not even told before it goes on. So every write asks first, by the clock.
Reading needs no lease.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from trimtab.kube.cluster import (
    EVERYTHING,
    FOR_REAL,
    NEWEST,
    PLAINLY,
    AsOf,
    Body,
    Cluster,
    Deletion,
    PatchBody,
    PatchType,
    Question,
    Selection,
    Verdict,
    WatchEvent,
    Write,
    Written,
)
from trimtab.kube.discovery import Discovery, Resource, ServerVersion
from trimtab.kube.leases import LeaseLost
from trimtab.kube.objects import KubeObject, Page


class FencedCluster:
    """Another cluster, whose writes are refused as soon as `is_held` says no."""

    def __init__(self, cluster: Cluster, is_held: Callable[[], bool]) -> None:
        self._cluster = cluster
        self._is_held = is_held

    def _check(self, resource: Resource, name: str) -> None:
        if not self._is_held():
            raise LeaseLost(f"{resource.kind} {name}".rstrip(), "it is not ours to write any more")

    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = ""
    ) -> KubeObject:
        """Read one object."""
        return await self._cluster.get(resource, name, namespace=namespace, subresource=subresource)

    def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        as_of: AsOf = NEWEST,
        page_size: int | None = None,
    ) -> AsyncGenerator[Page]:
        """Read a collection."""
        return self._cluster.list(
            resource, namespace=namespace, select=select, as_of=as_of, page_size=page_size
        )

    def watch(
        self,
        resource: Resource,
        *,
        since: str,
        namespace: str = "",
        select: Selection = EVERYTHING,
        initial: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Hear of changes."""
        return self._cluster.watch(resource, since=since, namespace=namespace, select=select, initial=initial)

    async def create(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> Written:
        """Make a new object, if we may."""
        self._check(resource, name)
        return await self._cluster.create(
            resource, body, namespace=namespace, name=name, subresource=subresource, write=write
        )

    async def update(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> Written:
        """Replace an object, if we may."""
        self._check(resource, name)
        return await self._cluster.update(
            resource, name, body, namespace=namespace, subresource=subresource, write=write
        )

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: PatchBody,
        *,
        how: PatchType,
        namespace: str = "",
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> Written:
        """Change parts of an object, if we may."""
        self._check(resource, name)
        return await self._cluster.patch(
            resource, name, body, how=how, namespace=namespace, subresource=subresource, write=write
        )

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        force: bool = False,
        write: Write = FOR_REAL,
    ) -> Written:
        """Declare the fields this manager wants, if we may."""
        self._check(resource, name)
        return await self._cluster.apply(
            resource, name, body, namespace=namespace, subresource=subresource, force=force, write=write
        )

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", how: Deletion = PLAINLY
    ) -> KubeObject | None:
        """Delete an object, if we may."""
        self._check(resource, name)
        return await self._cluster.delete(resource, name, namespace=namespace, how=how)

    async def delete_all(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        how: Deletion = PLAINLY,
    ) -> None:
        """Delete a selection of one collection, if we may."""
        self._check(resource, "")
        await self._cluster.delete_all(resource, namespace=namespace, select=select, how=how)

    async def discover(self) -> Discovery:
        """Every kind the server serves."""
        return await self._cluster.discover()

    async def version(self) -> ServerVersion:
        """What the server says of itself."""
        return await self._cluster.version()

    async def schema(self, api_version: str) -> bytes:
        """The OpenAPI document of one group version."""
        return await self._cluster.schema(api_version)

    async def may(self, question: Question) -> Verdict:
        """Ask whether we have a right."""
        return await self._cluster.may(question)


@asynccontextmanager
async def fenced(
    connection: AbstractAsyncContextManager[Cluster], is_held: Callable[[], bool]
) -> AsyncIterator[Cluster]:
    """A connection whose writes are fenced."""
    async with connection as cluster:
        yield FencedCluster(cluster, is_held)

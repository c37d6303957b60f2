"""`MemoryCluster`: the `Cluster` protocol on an API in memory, in process.

    cluster = MemoryCluster(clock=clock)
    config_maps = (await cluster.discover()).preferred("", "ConfigMap")
    await cluster.create(config_maps, {"metadata": {"name": "colours"}}, namespace="default")

Refusals are the same errors that `HttpCluster` raises for the answers of a real server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import msgspec

from trimtab.apiserver.answering import Asked, answer, watched
from trimtab.apiserver.api import Answer, Api
from trimtab.apiserver.depths import too_deep
from trimtab.apiserver.documents import discovered, group_version_document, version_facts
from trimtab.apiserver.reading import Listed
from trimtab.apiserver.requests import Address
from trimtab.apiserver.routes import NO_PAGE, NoSuchGroup, Route, route
from trimtab.apiserver.seeds import seed
from trimtab.apiserver.stacks import with_room
from trimtab.apiserver.versions import shown
from trimtab.apiserver.watching import Event, bookmark_object
from trimtab.errors import Missing
from trimtab.kube import calls
from trimtab.kube.calls import Call
from trimtab.kube.cluster import (
    EVERYTHING,
    FOR_REAL,
    NEWEST,
    PLAINLY,
    AsOf,
    Body,
    Deletion,
    EventType,
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
from trimtab.kube.failures import failure, status_from, without_secrets
from trimtab.kube.objects import KubeObject, Page, object_from
from trimtab.kube.refusals import Refused
from trimtab.shapes import Shape
from trimtab.tasks.clock import Clock

PAGE = 500
_VERSION: Final = Shape(ServerVersion)


class MemoryCluster:
    """One Kubernetes API, in this process."""

    def __init__(self, *, clock: Clock | None = None, api: Api | None = None) -> None:
        """A cluster with what a fresh one holds, or the one behind an API that exists already."""
        self.api = api or Api(clock=clock)
        if api is None:
            seed(self.api)

    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = ""
    ) -> KubeObject:
        """Read one object, or its status or scale."""
        call = calls.get(resource, name, namespace=namespace, subresource=subresource)
        return self._asked(call).object

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        as_of: AsOf = NEWEST,
        page_size: int | None = None,
    ) -> AsyncGenerator[Page]:
        """Read a collection page by page, all pages at one version."""
        size = PAGE if page_size is None else page_size
        following = ""
        while True:
            page = self._page(
                calls.page(
                    resource, namespace=namespace, select=select, as_of=as_of, size=size, following=following
                )
            )
            yield page
            if not page.continue_token:
                return
            following = page.continue_token
            await asyncio.sleep(0)

    def _page(self, call: Call) -> Page:
        asked, found = self._answered(call)
        if not isinstance(found, Listed):
            raise TypeError(f"{call!r} is no list")
        served = asked.address.served
        bodies = with_room(lambda: [shown(entry, served) for entry in found.entries])
        return Page(
            objects=tuple(map(object_from, bodies)),
            resource_version=str(found.revision),
            continue_token=found.continue_token,
            remaining=found.remaining,
        )

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        *,
        since: str,
        namespace: str = "",
        select: Selection = EVERYTHING,
        initial: bool = False,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Hear of changes after a resource version, until the block ends the watch."""
        call = calls.watch(resource, since=since, namespace=namespace, select=select, initial=initial)
        with _told(call):
            address = self._route(call).address
            watch, _ = watched(self.api, address, call.query)

        async def events() -> AsyncIterator[WatchEvent]:
            while True:
                with _told(call):
                    pending = watch.pending()
                for event in pending:
                    yield _watch_event(event, address)
                await watch.changed()

        try:
            yield events()
        finally:
            watch.close()

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
        """Make a new object, or what an object's subresource makes."""
        return self._asked(
            calls.create(resource, body, namespace=namespace, name=name, subresource=subresource, write=write)
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
        """Replace an object; with a resourceVersion in the body only if nobody changed it meanwhile."""
        return self._asked(
            calls.update(resource, name, body, namespace=namespace, subresource=subresource, write=write)
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
        """Change parts of an object."""
        return self._asked(
            calls.patch(
                resource, name, body, how=how, namespace=namespace, subresource=subresource, write=write
            )
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
        """Declare the fields this manager wants (server-side apply)."""
        return self._asked(
            calls.apply(
                resource, name, body, namespace=namespace, subresource=subresource, force=force, write=write
            )
        )

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", how: Deletion = PLAINLY
    ) -> KubeObject | None:
        """Delete an object; the answer is the object while something keeps it, None once it is gone."""
        return calls.left_by(self._asked(calls.delete(resource, name, namespace=namespace, how=how)).object)

    async def delete_all(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        how: Deletion = PLAINLY,
    ) -> None:
        """Delete a selection of one collection."""
        self._answered(calls.delete_all(resource, namespace=namespace, select=select, how=how))

    async def discover(self) -> Discovery:
        """Every kind that is served."""
        return discovered(self.api.catalog)

    async def version(self) -> ServerVersion:
        """What the server says of itself."""
        return _VERSION.of(version_facts())

    async def schema(self, api_version: str) -> bytes:
        """The OpenAPI v3 document of one group version, as JSON."""
        document = group_version_document(self.api.catalog, api_version)
        if document is None:
            subject = f"get the schema of {api_version}"
            raise Missing(subject, "the server does not serve this group version", "Check its spelling.")
        return document

    async def may(self, question: Question) -> Verdict:
        """Everything is allowed here."""
        del question
        return Verdict(allowed=True)

    def _asked(self, call: Call) -> Written:
        """The object that answers a call, and what comes with it as warnings."""
        _, found = self._answered(call)
        if not isinstance(found, Answer):
            raise TypeError(f"{call!r} is about many objects")
        warnings = tuple(without_secrets(each, call.secrets) for each in found.warnings)
        return Written(object=object_from(found.body), warnings=warnings)

    def _answered(self, call: Call) -> tuple[Route, Answer | Listed]:
        with _told(call):
            found = self._route(call)
            asked = Asked(
                route=found,
                query=call.query,
                content=call.body or b"",
                media=call.content_type,
                agent=calls.AGENT,
            )
            return found, answer(self.api, asked)

    def _route(self, call: Call) -> Route:
        return route(self.api.catalog, call.method, call.path, watch="watch" in call.query)


def _watch_event(event: Event, address: Address) -> WatchEvent:
    entry = event.entry
    served = address.served
    raw = with_room(lambda: shown(entry, served)) if entry is not None else bookmark_object(event, served)
    return WatchEvent(EventType(event.type), object_from(raw))


@contextmanager
def _told(call: Call) -> Iterator[None]:
    """Raise refusals as the errors that `HttpCluster` would raise for the same answers."""
    try:
        yield
    except Refused as refused:
        status = status_from(refused.code, _encoded(refused), call.secrets)
        raise failure(call.subject, status) from refused
    except NoSuchGroup as nowhere:
        raise failure(call.subject, status_from(404, NO_PAGE.encode())) from nowhere
    except RecursionError as exc:
        raise failure(call.subject, status_from(400, _encoded(too_deep()))) from exc


def _encoded(refused: Refused) -> bytes:
    return msgspec.json.encode(refused.status())

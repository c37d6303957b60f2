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

import msgspec

from trimtab.apiserver.api import APPLY_PATCH, Answer, Api
from trimtab.apiserver.decoding import Body as Content
from trimtab.apiserver.documents import discovered, group_version_document, version_facts
from trimtab.apiserver.refusing import no_such_path
from trimtab.apiserver.requests import (
    Address,
    DeleteOptions,
    ListOptions,
    WatchOptions,
    WriteOptions,
    check_manager,
)
from trimtab.apiserver.routes import check_verb
from trimtab.apiserver.seeds import seed
from trimtab.apiserver.versions import shown
from trimtab.apiserver.watching import Event, bookmark_object
from trimtab.errors import Missing, TrimtabError
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
from trimtab.kube.failures import Status, failure
from trimtab.kube.merging.managers import manager_name
from trimtab.kube.objects import KubeObject, Page, object_from
from trimtab.kube.refusals import Refused, bad_request
from trimtab.tasks.clock import Clock

PAGE = 500
AGENT = "trimtab"  # whose writes they are that name no manager


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
        with _told("get", resource, namespace, name, subresource):
            address = self._address(resource, namespace, name, subresource, verb="get")
            return object_from(self.api.get(address).body)

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
        options = ListOptions(
            labels=select.labels,
            fields=select.fields,
            limit=PAGE if page_size is None else page_size,
            version=as_of.resource_version,
            match=as_of.match.value if as_of.match else "",
        )
        while True:
            page = self._page(resource, namespace, options)
            yield page
            if not page.continue_token:
                return
            options = msgspec.structs.replace(
                options, continue_token=page.continue_token, version="", match=""
            )
            await asyncio.sleep(0)

    def _page(self, resource: Resource, namespace: str, options: ListOptions) -> Page:
        with _told("list", resource, namespace):
            address = self._address(resource, namespace, verb="list")
            found = self.api.list(address, options)
        return Page(
            objects=tuple(object_from(shown(entry, address.served)) for entry in found.entries),
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
        options = WatchOptions(
            labels=select.labels,
            fields=select.fields,
            since=since,
            match="NotOlderThan" if initial else "",
            bookmarks=True,
            initial=True if initial else None,
        )
        with _told("watch", resource, namespace):
            address = self._address(resource, namespace, verb="watch")
            watch = self.api.watch(address, options)

        async def events() -> AsyncIterator[WatchEvent]:
            while True:
                with _told("watch", resource, namespace):
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
        with _told("create", resource, namespace, name, subresource):
            address = self._address(resource, namespace, name, subresource, verb="create")
            return _written(self.api.create(address, Content(body), _options("CreateOptions", write)))

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
        with _told("update", resource, namespace, name, subresource):
            address = self._address(resource, namespace, name, subresource, verb="update")
            return _written(self.api.update(address, Content(body), _options("UpdateOptions", write)))

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
        with _told("patch", resource, namespace, name, subresource):
            address = self._address(resource, namespace, name, subresource, verb="patch")
            options = _options("PatchOptions", write)
            return _written(self.api.patch(address, Content(body, how.value), options))

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
        with _told("apply", resource, namespace, name, subresource):
            address = self._address(resource, namespace, name, subresource, verb="patch")
            options = _options("PatchOptions", write, apply=True, force=force)
            return _written(self.api.patch(address, Content(body, APPLY_PATCH), options))

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", how: Deletion = PLAINLY
    ) -> KubeObject | None:
        """Delete an object; the answer is the object while something keeps it, None once it is gone."""
        with _told("delete", resource, namespace, name):
            address = self._address(resource, namespace, name, verb="delete")
            left = object_from(self.api.delete(address, _deletion(how)).body)
            return None if left.kind == "Status" else left

    async def delete_all(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        how: Deletion = PLAINLY,
    ) -> None:
        """Delete a selection of one collection."""
        with _told("delete all", resource, namespace):
            address = self._address(resource, namespace, verb="deletecollection")
            selection = ListOptions(labels=select.labels, fields=select.fields)
            self.api.delete_collection(address, selection, _deletion(how))

    async def discover(self) -> Discovery:
        """Every kind that is served."""
        return discovered(self.api.catalog)

    async def version(self) -> ServerVersion:
        """What the server says of itself."""
        return msgspec.convert(version_facts(), ServerVersion)

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

    def _address(
        self, resource: Resource, namespace: str, name: str = "", subresource: str = "", *, verb: str
    ) -> Address:
        served = self.api.catalog.find(resource.group, resource.version, resource.plural)
        if served is None:
            raise no_such_path()
        address = Address(
            served=served,
            namespace=namespace if served.namespaced else "",
            name=name,
            subresource=subresource,
        )
        check_verb(address, verb)
        return address


def _options(kind: str, write: Write, *, apply: bool = False, force: bool = False) -> WriteOptions:
    check_manager(kind, write.manager, apply=apply)
    return WriteOptions(
        manager=manager_name(write.manager, AGENT),
        dry_run=write.dry_run,
        validation=write.validation.value,
        force=force,
    )


def _deletion(how: Deletion) -> DeleteOptions:
    return DeleteOptions(
        policy=how.propagation.value if how.propagation else "",
        grace=how.grace_seconds,
        uid=how.uid,
        version=how.resource_version,
        dry_run=how.dry_run,
    )


def _written(answer: Answer) -> Written:
    return Written(object=object_from(answer.body), warnings=answer.warnings)


def _watch_event(event: Event, address: Address) -> WatchEvent:
    entry = event.entry
    served = address.served
    raw = shown(entry, served) if entry is not None else bookmark_object(event, served)
    return WatchEvent(EventType(event.type), object_from(raw))


@contextmanager
def _told(
    verb: str, resource: Resource, namespace: str = "", name: str = "", subresource: str = ""
) -> Iterator[None]:
    """Raise the API's refusals as the errors that everybody knows, with their subject."""
    try:
        yield
    except Refused as refused:
        raise _failure(refused, verb, resource, namespace, name, subresource) from refused
    except RecursionError as exc:
        deep = bad_request("exceeded max depth")
        raise _failure(deep, verb, resource, namespace, name, subresource) from exc


def _failure(refused: Refused, verb: str, resource: Resource, *place: str) -> TrimtabError:
    """The error that `HttpCluster` would raise for this refusal."""
    namespace, name, subresource = place
    parts = (verb, resource.full_kind, "/".join(filter(None, (namespace, name))), subresource)
    subject = " ".join(part for part in parts if part)
    return failure(subject, msgspec.convert(refused.status(), Status))

"""A Kubernetes API over HTTP: the `Cluster` protocol on a thin layer of aiohttp and msgspec.

Each verb is a request value and the reading of its answer; how requests travel is `transport`'s business.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from trimtab.errors import Missing, TrimtabError
from trimtab.kube import calls, discovery
from trimtab.kube.calls import Call
from trimtab.kube.cluster import (
    EVERYTHING,
    FOR_REAL,
    NEWEST,
    PLAINLY,
    AsOf,
    Body,
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
from trimtab.kube.discovery import Discovery, Resource, ServerVersion, group_version_path
from trimtab.kube.failures import unreachable
from trimtab.kube.frames import Lines, event_from
from trimtab.kube.objects import UNREADABLE, KubeObject, Page, answered_from, page_from
from trimtab.kube.transport import Answer, Exchange, Transport, connections
from trimtab.settings import ClusterSettings
from trimtab.tasks import plain_group
from trimtab.tasks.clock import Clock, SystemClock

if TYPE_CHECKING:
    from trimtab.kube.auth import Access

_T = TypeVar("_T")
_P = ParamSpec("_P")


@asynccontextmanager
async def connect(
    access: Access,
    settings: ClusterSettings | None = None,
    clock: Clock | None = None,
    *,
    told: Callable[[Exchange], None] | None = None,
) -> AsyncIterator[HttpCluster]:
    """Speak to one API server for the length of the block; `told` hears of each request that was sent."""
    settings = settings or ClusterSettings()
    async with connections(access, settings, clock or SystemClock(), told) as transport:
        yield HttpCluster(transport, settings)


class HttpCluster:
    """One Kubernetes API server, spoken to over HTTP; made by `connect`."""

    def __init__(self, transport: Transport, settings: ClusterSettings) -> None:
        self._transport = transport
        self._settings = settings

    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = ""
    ) -> KubeObject:
        """Read one object, or its status or scale."""
        request = calls.get(resource, name, namespace=namespace, subresource=subresource)
        return self._object(request, await self._transport.exchange(request))

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        as_of: AsOf = NEWEST,
        page_size: int | None = None,
    ) -> AsyncGenerator[Page]:
        """Read a collection page by page; only the page at hand is in memory."""
        size = self._settings.page_size if page_size is None else page_size
        following = ""
        while True:
            request = calls.page(
                resource, namespace=namespace, select=select, as_of=as_of, size=size, following=following
            )
            page = self._page(resource, request, await self._transport.exchange(request))
            if following and page.continue_token == following:
                reason = "answers every page with the promise of the same next one"
                raise unreachable(request.subject, self._transport.server, reason)
            following = page.continue_token
            yield page
            del page  # or it would be in memory until the next one is
            if not following:
                return

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
        """Hear of changes after a resource version, until the block or the server ends the watch."""
        request = calls.watch(resource, since=since, namespace=namespace, select=select, initial=initial)
        async with self._transport.stream(request) as chunks:
            yield self._events(resource, request, chunks)

    async def _events(
        self, resource: Resource, request: Call, chunks: AsyncIterator[bytes]
    ) -> AsyncIterator[WatchEvent]:
        """The events in the bytes of a watch; an event cut short was never told."""
        lines = Lines(self._settings.answer_limit)
        async for chunk in chunks:
            for line in lines.feed(chunk):
                yield self._event(resource, request, line)
            if lines.overlong:
                reason = "sends a watch event that never ends"
                raise unreachable(request.subject, self._transport.server, reason)
        if lines.rest:
            raise unreachable(request.subject, self._transport.server, "cut the connection")

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
        """Make a new object, or what an object's subresource makes: a binding, an eviction, a token."""
        call = calls.create(
            resource, body, namespace=namespace, name=name, subresource=subresource, write=write
        )
        return await self._written(call)

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
        call = calls.update(resource, name, body, namespace=namespace, subresource=subresource, write=write)
        return await self._written(call)

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
        call = calls.patch(
            resource, name, body, how=how, namespace=namespace, subresource=subresource, write=write
        )
        return await self._written(call)

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
        """Declare the fields this manager wants; the same declaration twice does no more than once."""
        call = calls.apply(
            resource, name, body, namespace=namespace, subresource=subresource, force=force, write=write
        )
        return await self._written(call)

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", how: Deletion = PLAINLY
    ) -> KubeObject | None:
        """Delete an object; the answer is the object while something keeps it, None once it is gone."""
        request = calls.delete(resource, name, namespace=namespace, how=how)
        left = self._object(request, await self._transport.exchange(request))
        return self._sound(request.subject, calls.left_by, left)

    async def delete_all(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        how: Deletion = PLAINLY,
    ) -> None:
        """Delete a selection of one collection."""
        await self._transport.exchange(
            calls.delete_all(resource, namespace=namespace, select=select, how=how)
        )

    async def discover(self) -> Discovery:
        """Every kind the server serves, and which group versions did not answer."""
        core, groups = await self._indexes(discovery.AGGREGATED)
        if all(self._sound("discover", discovery.is_aggregated, each) for each in (core, groups)):
            return self._sound("discover", discovery.aggregated, core, groups)
        # Behind one address may be servers of two versions: never mix the two forms.
        return await self._discover_one_by_one(*await self._indexes("application/json"))

    async def _indexes(self, accept: str) -> tuple[bytes, bytes]:
        async with plain_group() as group:
            core = group.create_task(self._read("discover /api", "/api", accept=accept))
            groups = group.create_task(self._read("discover /apis", "/apis", accept=accept))
        return core.result().body, groups.result().body

    async def _discover_one_by_one(self, core: bytes, groups: bytes) -> Discovery:
        resources: list[Resource] = []
        failed = {}
        for version in self._sound("discover", discovery.group_versions, core, groups):
            subject = f"discover {version}"
            try:
                answer = await self._read(subject, group_version_path(version))
                resources += self._sound(subject, discovery.legacy, version, answer.body)
            except TrimtabError as error:
                failed[version] = error.reason
        return Discovery(resources=tuple(resources), failed=failed)

    async def version(self) -> ServerVersion:
        """What the server says of itself."""
        answer = await self._read("get the server's version", "/version")
        return self._sound("get the server's version", _version.decode, answer.body)

    async def time(self) -> datetime | None:
        """What the server's clock says, in whole seconds; None if it does not say."""
        answer = await self._read("get the server's time", "/version")
        try:
            told = parsedate_to_datetime(answer.date)
        except ValueError:
            return None
        return told.replace(tzinfo=UTC) if told.tzinfo is None else told  # `-0000` is UTC, too

    async def schema(self, api_version: str) -> bytes:
        """The OpenAPI v3 document of one group version, as JSON."""
        subject = f"get the schema of {api_version}"
        index = self._sound(subject, _schema_index.decode, (await self._read(subject, "/openapi/v3")).body)
        entry = index.paths.get(group_version_path(api_version).removeprefix("/"))
        if entry is None:
            raise Missing(subject, "the server does not serve this group version", "Check its spelling.")
        path, _, query = entry.server_relative_url.partition("?")
        if not path.startswith("/"):  # behind the server's name it would name another server
            raise unreachable(subject, self._transport.server, f"keeps it at {path!r}, which is no path")
        return (await self._read(subject, path, query=dict(parse_qsl(query)))).body

    async def may(self, question: Question) -> Verdict:
        """Ask whether we have a right, without using it."""
        request = calls.review(question)
        answer = await self._transport.exchange(request)
        return self._sound(request.subject, _answered_review.decode, answer.body).status

    async def _read(
        self, subject: str, path: str, *, query: Mapping[str, str] = {}, accept: str = "application/json"
    ) -> Answer:
        return await self._transport.exchange(
            Call(subject=subject, path=path, query=query, accept=accept, repeatable=True)
        )

    async def _written(self, request: Call) -> Written:
        answer = await self._transport.exchange(request)
        return Written(object=self._object(request, answer), warnings=answer.warnings)

    def _object(self, request: Call, answer: Answer) -> KubeObject:
        return self._sound(request.subject, answered_from, answer.body)

    def _page(self, resource: Resource, request: Call, answer: Answer) -> Page:
        return self._sound(
            request.subject, page_from, answer.body, api_version=resource.api_version, kind=resource.kind
        )

    def _event(self, resource: Resource, request: Call, line: bytes) -> WatchEvent:
        event = self._sound(
            request.subject,
            event_from,
            line,
            api_version=resource.api_version,
            kind=resource.kind,
            subject=request.subject,
        )
        if isinstance(event, TrimtabError):
            raise event
        return event

    def _sound(self, subject: str, read: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What `read` finds in an answer; an answer that makes no sense is the server's failure."""
        try:
            return read(*args, **kwargs)
        except (*UNREADABLE, KeyError) as error:
            reason = f"answered with something that is not Kubernetes' JSON: {error}"
            raise unreachable(subject, self._transport.server, reason) from error


class _SchemaPath(Struct, frozen=True, rename={"server_relative_url": "serverRelativeURL"}):
    server_relative_url: str


class _SchemaIndex(Struct, frozen=True):
    paths: dict[str, _SchemaPath]


class _AnsweredReview(Struct, frozen=True):
    status: Verdict


_version = msgspec.json.Decoder(ServerVersion)
_schema_index = msgspec.json.Decoder(_SchemaIndex)
_answered_review = msgspec.json.Decoder(_AnsweredReview)

"""A Kubernetes API over HTTP: the `Cluster` protocol on a thin layer of aiohttp and msgspec.

Each verb is a request value and the reading of its answer; how requests travel is `transport`'s business.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from trimtab.errors import InvalidSpec, Missing, TrimtabError
from trimtab.kube import discovery
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
from trimtab.kube.objects import UNREADABLE, KubeObject, Page, object_from, page_from
from trimtab.kube.transport import Answer, Request, Transport, connections
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import Clock, SystemClock

if TYPE_CHECKING:
    from trimtab.kube.auth import Access

_APPLY = "application/apply-patch+yaml"
_T = TypeVar("_T")
_P = ParamSpec("_P")


@asynccontextmanager
async def connect(
    access: Access, settings: ClusterSettings | None = None, clock: Clock | None = None
) -> AsyncIterator[HttpCluster]:
    """Speak to one API server for the length of the block."""
    settings = settings or ClusterSettings()
    async with connections(access, settings, clock or SystemClock()) as transport:
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
        request = Request(
            subject=_subject("get", resource, namespace, name, subresource),
            path=_object_path(resource, namespace, name, subresource),
            repeatable=True,
        )
        return self._object(resource, request, await self._transport.exchange(request))

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
        query = {**_selecting(select), **({"limit": str(size)} if size else {})}
        following: Mapping[str, str] = _as_of(as_of)
        while True:
            request = Request(
                subject=_subject("list", resource, namespace),
                path=resource.path(namespace),
                query={**query, **following},
                repeatable=True,
            )
            page = self._page(resource, request, await self._transport.exchange(request))
            yield page
            if not page.continue_token:
                return
            following = {"continue": page.continue_token}

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
        request = Request(
            subject=_subject("watch", resource, namespace),
            path=resource.path(namespace),
            query=_watching(since, select, initial=initial),
        )
        async with self._transport.stream(request) as chunks:
            yield self._events(resource, request, chunks)

    async def _events(
        self, resource: Resource, request: Request, chunks: AsyncIterator[bytes]
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
        subject = _subject("create", resource, namespace, name or _name_in(body), subresource)
        path = resource.path(namespace, name, subresource)
        return await self._written(resource, _write_request(subject, "POST", path, resource, body, write))

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
        subject = _subject("update", resource, namespace, name, subresource)
        path = _object_path(resource, namespace, name, subresource)
        return await self._written(resource, _write_request(subject, "PUT", path, resource, body, write))

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
        subject = _subject("patch", resource, namespace, name, subresource)
        path = _object_path(resource, namespace, name, subresource)
        request = _write_request(subject, "PATCH", path, resource, body, write)
        return await self._written(resource, replace(request, content_type=how.value))

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
        subject = _subject("apply", resource, namespace, name, subresource)
        path = _object_path(resource, namespace, name, subresource)
        request = _write_request(subject, "PATCH", path, resource, body, write)
        query = {**request.query, **({"force": "true"} if force else {})}
        return await self._written(
            resource, replace(request, content_type=_APPLY, query=query, repeatable=True)
        )

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", how: Deletion = PLAINLY
    ) -> KubeObject | None:
        """Delete an object; the answer is the object while something keeps it, None once it is gone."""
        request = Request(
            subject=_subject("delete", resource, namespace, name),
            path=_object_path(resource, namespace, name),
            method="DELETE",
            body=msgspec.json.encode(_delete_options(how)),
        )
        left = self._object(resource, request, await self._transport.exchange(request))
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
        await self._transport.exchange(
            Request(
                subject=_subject("delete all", resource, namespace),
                path=resource.path(namespace),
                method="DELETE",
                query=_selecting(select),
                body=msgspec.json.encode(_delete_options(how)),
            )
        )

    async def discover(self) -> Discovery:
        """Every kind the server serves, and which group versions did not answer."""
        core, groups = await self._indexes(discovery.AGGREGATED)
        if all(self._sound("discover", discovery.is_aggregated, each) for each in (core, groups)):
            return self._sound("discover", discovery.aggregated, core, groups)
        # Behind one address may be servers of two versions: never mix the two forms.
        return await self._discover_one_by_one(*await self._indexes("application/json"))

    async def _indexes(self, accept: str) -> tuple[bytes, bytes]:
        core = await self._read("discover /api", "/api", accept=accept)
        groups = await self._read("discover /apis", "/apis", accept=accept)
        return core.body, groups.body

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
        request = Request(
            subject=f"ask whether we may {question.verb} {question.resource.full_kind}",
            path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            method="POST",
            body=msgspec.json.encode(_review(question)),
            repeatable=True,
        )
        answer = await self._transport.exchange(request)
        return self._sound(request.subject, _answered_review.decode, answer.body).status

    async def _read(
        self, subject: str, path: str, *, query: Mapping[str, str] = {}, accept: str = "application/json"
    ) -> Answer:
        return await self._transport.exchange(
            Request(subject=subject, path=path, query=query, accept=accept, repeatable=True)
        )

    async def _written(self, resource: Resource, request: Request) -> Written:
        answer = await self._transport.exchange(request)
        return Written(object=self._object(resource, request, answer), warnings=answer.warnings)

    def _object(self, resource: Resource, request: Request, answer: Answer) -> KubeObject:
        return self._sound(
            request.subject, object_from, answer.body, api_version=resource.api_version, kind=resource.kind
        )

    def _page(self, resource: Resource, request: Request, answer: Answer) -> Page:
        return self._sound(
            request.subject, page_from, answer.body, api_version=resource.api_version, kind=resource.kind
        )

    def _event(self, resource: Resource, request: Request, line: bytes) -> WatchEvent:
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
    paths: dict[str, _SchemaPath] = field(default_factory=dict)


class _AnsweredReview(Struct, frozen=True):
    status: Verdict


_version = msgspec.json.Decoder(ServerVersion)
_schema_index = msgspec.json.Decoder(_SchemaIndex)
_answered_review = msgspec.json.Decoder(_AnsweredReview)


def _subject(
    verb: str, resource: Resource, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """`apply Deployment.apps shop/web`, `get Deployment.apps shop/web scale`, `list Pod in shop`."""
    kind = resource.full_kind
    if not name:
        return f"{verb} {kind} in {namespace}" if namespace else f"{verb} {kind}"
    path = f"{namespace}/{name}" if namespace else name
    return f"{verb} {kind} {path} {subresource}".rstrip()


def _object_path(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object: without a name it would be the whole collection, and deleting it a massacre."""
    if not name:
        raise InvalidSpec(f"a {resource.full_kind}", "its name is empty", "Name the object.")
    return resource.path(namespace, name, subresource)


def _selecting(select: Selection) -> dict[str, str]:
    pairs = {"labelSelector": select.labels, "fieldSelector": select.fields}
    return {name: value for name, value in pairs.items() if value}


def _as_of(as_of: AsOf) -> dict[str, str]:
    version = {"resourceVersion": as_of.resource_version} if as_of.resource_version else {}
    return {**version, **({"resourceVersionMatch": as_of.match.value} if as_of.match else {})}


def _watching(since: str, select: Selection, *, initial: bool) -> dict[str, str]:
    query = {**_selecting(select), "watch": "true", "allowWatchBookmarks": "true"}
    if since:
        query["resourceVersion"] = since
    if initial:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    return query


def _write_request(
    subject: str, method: str, path: str, resource: Resource, body: PatchBody, write: Write
) -> Request:
    """A request that writes this body in the name of its manager."""
    return Request(
        subject=subject,
        path=path,
        method=method,
        query=_writing(write),
        body=_encoded(body),
        secrets=_secrets_in(subject, resource, body),
    )


def _writing(write: Write) -> dict[str, str]:
    query = {"fieldManager": write.manager, "fieldValidation": write.validation.value}
    return {**query, **({"dryRun": "All"} if write.dry_run else {})}


def _delete_options(how: Deletion) -> dict[str, Any]:
    preconditions = {
        name: value
        for name, value in (("uid", how.uid), ("resourceVersion", how.resource_version))
        if value is not None  # an empty one is one that never holds, not none
    }
    options = {
        "preconditions": preconditions or None,
        "propagationPolicy": how.propagation.value if how.propagation else None,
        "gracePeriodSeconds": how.grace_seconds,
        "dryRun": ["All"] if how.dry_run else None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return {"apiVersion": "v1", "kind": "DeleteOptions", **given}


def _review(question: Question) -> dict[str, Any]:
    asked = {
        "verb": question.verb,
        "group": question.resource.group,
        "version": question.resource.version,
        "resource": question.resource.plural,
        "namespace": question.namespace,
        "name": question.name,
        "subresource": question.subresource,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }


def _encoded(body: PatchBody) -> bytes:
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


def _decoded(body: PatchBody) -> Any:
    """A body as JSON values, for our own messages only; None when it is none: the server will say so."""
    if not isinstance(body, bytes):
        return body
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        return None


def _name_in(body: Body) -> str:
    """The name that a new object asks for."""
    match _decoded(body):
        case {"metadata": {"name": str(name)}} | {"metadata": {"generateName": str(name)}}:
            return name
        case _:
            return ""


def _secrets_in(subject: str, resource: Resource, body: PatchBody) -> tuple[str, ...] | None:
    """The values sent for a Secret: whatever the server says about it must not repeat them."""
    if resource.kind != "Secret" or resource.group:
        return None
    match _decoded(body):
        case list() as operations:
            return tuple(_values(operations))
        case dict() as manifest:
            metadata = manifest.get("metadata")
            annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
            return tuple(_values([manifest.get("data"), manifest.get("stringData"), annotations]))
        case _:
            reason = "what was to be sent is not JSON, so its values could not be kept out of messages"
            raise InvalidSpec(subject, reason, "Send the Secret as JSON.")


def _values(value: Any) -> Iterator[str]:
    match value:
        case bool():
            return
        case str() | int() | float():
            yield str(value)
        case dict():
            for each in value.values():
                yield from _values(each)
        case list():
            for each in value:
                yield from _values(each)
        case _:
            return

"""HTTP requests to the API in memory, and its answers as HTTP: the same codes, headers and words.

Everything that is decided is decided elsewhere; here bytes come in and go out.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import uuid
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import unquote

import msgspec
from aiohttp import HttpVersion11, web
from multidict import MultiDict, MultiDictProxy

from trimtab.apiserver import documents, health, negotiation, scales, wire
from trimtab.apiserver.answering import Asked, answer, check_size, watched
from trimtab.apiserver.api import Answer, Api, list_body, partial_list
from trimtab.apiserver.catalog import Served
from trimtab.apiserver.decoding import JSON, go_type
from trimtab.apiserver.depths import too_deep
from trimtab.apiserver.negotiation import (
    Form,
    check_shape,
    check_spoken,
    document_form,
    form_of,
    refusal_form,
    watch_form,
)
from trimtab.apiserver.openapi import swagger, swagger_outline
from trimtab.apiserver.patience import come_to
from trimtab.apiserver.reading import Listed
from trimtab.apiserver.refusing import TooLarge, forbidden, method_not_allowed
from trimtab.apiserver.requests import Address, asks_to_watch
from trimtab.apiserver.routes import NO_PAGE, NoKind, NoSuchGroup, Route, check_kind, route
from trimtab.apiserver.stacks import with_room
from trimtab.apiserver.versions import shown
from trimtab.apiserver.watching import Event, Watch, bookmark_object, next_bookmark
from trimtab.kube.refusals import Refused

logger = logging.getLogger(__name__)
LONGEST_WATCH = 1800.0  # seconds, where a client does not say
AT_ONCE = 1 << 18  # bytes of an answer that go out at once; what is larger waits to be read
FRESH = "no-cache, private"  # nobody may keep what is told
PLAIN = Form()
VARYING = MultiDictProxy(MultiDict((("Vary", "Accept-Encoding"), ("Vary", "Accept"))))
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
DEFECT = "Internal error occurred: see the server's log"


class Handler:
    """Answers requests from the API in memory."""

    def __init__(self, api: Api, token: str) -> None:
        self._api = api
        self._token = token.encode()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        return await _sent(await self._respond(request), request)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if (expected := request.headers.get("Expect")) and expected.lower() != "100-continue":
            return hung_up(417)
        if request.method == "OPTIONS" and request.raw_path == "*":
            return web.Response()
        try:
            response = await self._answered(request)
        except Refused as refused:
            response = _refusal(refused, refusal_form(request.headers.get("Accept", "")))
        except RecursionError:
            response = _refusal(too_deep())
        except NoSuchGroup:
            response = _page(404, NO_PAGE)
        except wire.BadTarget:
            return hung_up(400)
        except NoKind as nowhere:
            return _page(500, f"Internal Server Error: {nowhere}\n")
        except Exception:
            logger.exception("%s %s failed", request.method, request.path)
            response = _refusal(Refused(500, "InternalError", DEFECT))
        return response if response.prepared else _finished(response, request)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        path = unquote(wire.path_in(request.raw_path))
        check_kind(path)
        query = wire.query_in(request.raw_path)
        wire.check_timeout(path, query)
        if path in health.CHECKS:
            excluded = query.getall("exclude", [])
            return _page(200, health.told(path, excluded, verbose="verbose" in query))
        if health.is_check(path):
            return web.Response(text="ok")
        self._check_token(request, path)
        if path.startswith("/openapi/"):
            return self._openapi(path, request.headers.get("Accept", ""))
        if (found := self._document(path, request)) is None:
            return await self._objects(request)
        if request.method != "GET" and not documents.answers_any_method(path.rstrip("/") or path):
            raise method_not_allowed()
        return found

    def _document(self, path: str, request: web.BaseRequest) -> web.Response | None:
        """What the server says of itself at a path, if anything."""
        if path in ("/version", "/version/"):
            check_spoken(request.headers.get("Accept", ""), JSON, (JSON, "*/*"))
            return web.json_response(body=_laid_out(msgspec.json.encode(documents.version_facts())))
        if not path or "//" in path.rstrip("/") or path.startswith("//"):
            return None
        return self._discovery(path.rstrip("/") or path, request)

    def _check_token(self, request: web.BaseRequest, path: str) -> None:
        """Refuse whoever shows no token, or a wrong one; who we are is everybody's to know."""
        header = request.headers.get("Authorization", "")
        given = wire.bearer(header)
        if not given and path == "/version":
            return
        if not given:
            refused = self._unknown_user(request, path)
            if header.lower().startswith("bearer  "):
                refused.add_note(wire.EXTRA_SPACE)
            raise refused
        if not hmac.compare_digest(given.encode(), self._token):
            raise Refused(401, "Unauthorized", "Unauthorized")

    def _unknown_user(self, request: web.BaseRequest, path: str) -> Refused:
        told = 'User "system:anonymous" cannot'
        try:
            found = route(self._api.catalog, request.method, path)
        except (Refused, NoSuchGroup):
            why = f'forbidden: {told} {request.method.lower()} path "{path}"'
            return Refused(403, "Forbidden", why, details={})
        address = found.address
        served = address.served
        what = "/".join(filter(None, (served.plural, address.subresource)))
        place = f'in the namespace "{address.namespace}"' if address.namespace else "at the cluster scope"
        why = f'{told} {found.verb} resource "{what}" in API group "{served.group}" {place}'
        return forbidden(served.group, served.plural, address.name, why)

    # -- documents ----------------------------------------------------------------------------------------

    def _discovery(self, path: str, request: web.BaseRequest) -> web.Response | None:
        if path in ("/api", "/apis") and negotiation.is_aggregated(request.headers.get("Accept", "")):
            found = documents.aggregated(self._api.catalog, core=path == "/api")
            return web.Response(
                body=msgspec.json.encode(found), headers={"Content-Type": documents.AGGREGATED}
            )
        document = documents.found_document(self._api.catalog, path)
        if document is None:
            return None
        encoded, accept = msgspec.json.encode(document), request.headers.get("Accept", "")
        if path == "/":
            return web.json_response(body=_laid_out(encoded))
        if not documents.answers_any_method(path):
            check_spoken(accept)
        return _written(encoded, document_form(accept), 200, ())

    def _openapi(self, path: str, accept: str) -> web.Response:
        if path == "/openapi/v2" and negotiation.wants_protobuf_openapi(accept):
            return web.Response(body=swagger_outline(), headers={"Content-Type": negotiation.OPENAPI_V2})
        if path == "/openapi/v2" and not negotiation.wants_json_openapi(accept):
            return web.Response(status=406, headers=VARYING)
        if path == "/openapi/v2":
            return _json(swagger(self._api.catalog), VARYING)
        if path == "/openapi/v2/":
            raise NoSuchGroup
        if path == "/openapi/v3":
            return web.Response(
                body=msgspec.json.encode(documents.schema_index(self._api.catalog)), headers=TEXT
            )
        parts = path.removeprefix("/openapi/v3/").split("/")
        document = documents.group_version_document(self._api.catalog, "/".join(parts[1:]))
        if document is None:
            return web.Response(status=404)
        return web.Response(body=document, content_type=JSON)

    # -- objects ------------------------------------------------------------------------------------------

    async def _objects(self, request: web.BaseRequest) -> web.StreamResponse:
        query, accept = wire.query_in(request.raw_path), request.headers.get("Accept", "")
        watch = asks_to_watch(query)
        path = wire.path_in(request.raw_path)
        found = route(self._api.catalog, request.method, path, watch=watch)
        if found.verb == "watch":
            return await self._watch(request, found.address, query, watch_form(accept))
        form = form_of(accept, streams=found.verb == "list")
        body = await _body(request) if request.method in ("POST", "PUT", "PATCH", "DELETE") else b""
        try:
            return self._answer(request, found, query, form, body)
        except TooLarge as ahead:
            await come_to(ahead.asked, self._api.store, self._api.clock)
        return self._answer(request, found, query, form, body)

    def _answer(
        self, request: web.BaseRequest, found: Route, query: MultiDict[str], form: Form, body: bytes
    ) -> web.Response:
        asked = Asked(
            route=found,
            query=query,
            content=body,
            media=wire.media_of(request.method, request.headers.get("Content-Type", "")),
            agent=request.headers.get("User-Agent", ""),
        )
        result = answer(self._api, asked)
        if isinstance(result, Answer):
            return with_room(lambda: _object(result, found.address, form))
        return with_room(lambda: _list(result, found.address.served, form))

    # -- watching -----------------------------------------------------------------------------------------

    async def _watch(
        self, request: web.BaseRequest, address: Address, query: MultiDict[str], form: Form
    ) -> web.StreamResponse:
        watch, options = watched(self._api, address, query)
        if watch.ahead:
            watch.close()
            await come_to(watch.ahead, self._api.store, self._api.clock)
            watch, options = watched(self._api, address, query)
        response = web.StreamResponse(headers={"Content-Type": JSON, **_labels(request)})
        if request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        else:
            response.force_close()  # older clients know by this that all has been told
        seconds = options.timeout or LONGEST_WATCH
        try:
            with suppress(ConnectionResetError):  # whoever watched has gone
                await response.prepare(request)
                await _told(response, watch, address, form, seconds=seconds, bookmarks=options.bookmarks)
                await response.write_eof()
        finally:
            watch.close()
        return response


async def _told(
    response: web.StreamResponse,
    watch: Watch,
    address: Address,
    form: Form,
    *,
    seconds: float,
    bookmarks: bool,
) -> None:
    """Tell what happens until the time is over, the client is gone, or history is.

    A bookmark promises that all before it is told: who is slow to read gets none.
    """
    loop = asyncio.get_running_loop()
    end, untold = loop.time() + seconds, deque[Event]()
    try:
        while loop.time() < end:
            due = next_bookmark(loop.time(), end) if bookmarks else end
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await _follow(response, watch, untold, address, form)
            if bookmarks and not untold and loop.time() < end:
                await response.write(_frame(watch.bookmark(), address, form))
    except _Unshowable:
        return
    except Refused as refused:
        await response.write(b'{"type":"ERROR","object":' + msgspec.json.encode(refused.status()) + b"}\n")


async def _follow(
    response: web.StreamResponse, watch: Watch, untold: deque[Event], address: Address, form: Form
) -> NoReturn:
    """Tell every change, no faster than it is read; being cancelled loses none, since `untold` stays."""
    while True:
        if not untold:
            untold.extend(watch.pending())
        while untold:
            await response.write(_frames(untold, address, form))
        await watch.changed()


def _frames(untold: deque[Event], address: Address, form: Form) -> bytes:
    """The next events as they are sent, as many as go out at once."""
    frames, size = [], 0
    while untold and size < AT_ONCE:
        frames.append(_frame(untold.popleft(), address, form))
        size += len(frames[-1])
    return b"".join(frames)


class _Unshowable(Exception):
    """An event that has no form such as is asked for: a watch ends with it, without a word."""


def _frame(event: Event, address: Address, form: Form) -> bytes:
    return with_room(lambda: _written_event(event, address, form))


def _written_event(event: Event, address: Address, form: Form) -> bytes:
    entry = event.entry
    body = shown(entry, address.served) if entry is not None else bookmark_object(event, address.served)
    if form.shape == negotiation.PARTIAL_LIST:
        raise _Unshowable
    if form.shape:
        body = negotiation.partial(body, form.version)
    return b'{"type":"' + event.type.encode() + b'","object":' + body + b"}\n"


# -- bytes ------------------------------------------------------------------------------------------------


async def _body(request: web.BaseRequest) -> bytes:
    """The body, unless it is larger than the server takes; asked for where a client waits to be asked."""
    parts, size = [], 0
    if "Expect" in request.headers and request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # of the answer itself nothing is sent yet
    async for part in request.content.iter_any():
        size += len(part)
        check_size(size)
        parts.append(part)
    return b"".join(parts)


def _object(answer: Answer, address: Address, form: Form) -> web.Response:
    body = answer.body
    if form.shape and not negotiation.is_status(body):
        served = scales.kind() if address.subresource == "scale" else address.served
        check_shape(form, listed=False, type_name=go_type(served))
        body = negotiation.partial(body, form.version)
    return _written(body + b"\n", form, answer.code, answer.warnings)


def _list(found: Listed, served: Served, form: Form) -> web.Response:
    check_shape(form, listed=True, type_name=go_type(served, listed=True))
    body = partial_list(found, served, form.version) if form.shape else list_body(found, served)
    return _written(body, form, 200, (*_warnings(served), *found.warnings))


def _written(body: bytes, form: Form, code: int, warnings: tuple[str, ...]) -> web.Response:
    if form.media == negotiation.YAML:
        body = negotiation.in_yaml(body)
    elif form.for_people:
        body = _laid_out(body)
    response = web.Response(status=code, body=body, headers={"Content-Type": form.media})
    for text in warnings:
        response.headers.add("Warning", f"299 - {_quoted(text)}")
    return response


def _warnings(served: Served) -> tuple[str, ...]:
    return (served.deprecation,) if served.deprecation else ()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _json(value: Mapping[str, Any], headers: MultiDictProxy[str]) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), headers=headers, content_type=JSON)


def _refusal(refused: Refused, form: Form = PLAIN) -> web.Response:
    status = refused.status()
    body = msgspec.json.encode(status) + b"\n"
    response = _written(body, form, refused.code, getattr(refused, "__notes__", ()))
    after = (status.get("details") or {}).get("retryAfterSeconds")
    if after:
        response.headers["Retry-After"] = str(after)
    if refused.code == 403 and "system:anonymous" in refused.message:
        response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _page(code: int, text: str) -> web.Response:
    return web.Response(status=code, text=text, headers={"X-Content-Type-Options": "nosniff"})


def hung_up(code: int) -> web.Response:
    """The answer to what is no proper HTTP: the connection ends with it."""
    text = f"{code} {HTTPStatus(code).phrase}" if code != 417 else ""
    response = web.Response(status=code, text=text, headers={"Connection": "close"})
    response.force_close()
    return response


def _finished(response: web.StreamResponse, request: web.BaseRequest) -> web.StreamResponse:
    """An answer with the headers that all have, and laid out where people read it."""
    for name, text in _labels(request).items():
        response.headers.setdefault(name, text)
    if isinstance(response, web.Response) and isinstance(response.body, bytes):
        query = wire.query_in(request.raw_path)
        if response.content_type == JSON and wire.is_for_people(query, request.headers):
            response.body = _laid_out(response.body)
    return response


async def _sent(response: web.StreamResponse, request: web.BaseRequest) -> web.StreamResponse:
    """The answer; a large one is sent in pieces, no faster than it is read.

    Nothing of it may be left to whoever looks at the error of a client that hung up: hence the `del`.
    """
    if not isinstance(response, web.Response) or request.method == "HEAD":
        return response
    body = response.body
    if not isinstance(body, bytes) or len(body) <= AT_ONCE:
        return response
    streamed = web.StreamResponse(status=response.status, headers=response.headers)
    streamed.content_length = len(body)
    del response
    try:
        with suppress(ConnectionResetError):
            await streamed.prepare(request)
            for start in range(0, len(body), AT_ONCE):
                await streamed.write(body[start : start + AT_ONCE])
            await streamed.write_eof()
    finally:
        del body
    return streamed


def _labels(request: web.BaseRequest) -> dict[str, str]:
    """What every answer is labelled with: under which number it is found, and that nobody may keep it."""
    return {"Audit-Id": request.headers.get("Audit-ID") or str(uuid.uuid4()), "Cache-Control": FRESH}


def _laid_out(body: bytes) -> bytes:
    """The same JSON, laid out for people, unless that is more than anybody would read."""
    if negotiation.is_laid_out_beyond(body):
        return body
    try:
        return with_room(lambda: msgspec.json.format(body, indent=2))
    except RecursionError:
        return body

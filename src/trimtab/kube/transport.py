"""One exchange with an API server: deadlines, bounded concurrency, retries, credentials, errors.

Requests take turns, so many at a time, in the order in which they come; watches open connections of their
own, so however many there are they cannot starve requests. Nothing here knows verbs or kinds beyond the words
it puts into messages.
"""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, TypeVar

import aiohttp
from msgspec import Struct
from yarl import URL

from trimtab.errors import Retry, Throttled, TrimtabError
from trimtab.kube.calls import AGENT, Call
from trimtab.kube.failures import (
    Unauthenticated,
    failure,
    not_waited_for,
    status_from,
    unreachable,
    without_secrets,
)
from trimtab.tasks.backoff import Backoff, asked_pause, pause
from trimtab.tasks.chance import draw

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from multidict import CIMultiDict

    from trimtab.kube.auth import Access
    from trimtab.settings import ClusterSettings
    from trimtab.tasks.clock import Clock

_UNCOMPRESSED = {"Accept-Encoding": "identity"}
_BACKOFF = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=5))
_LONGEST_REFUSAL = 1 << 22
_LARGEST_PIECE = 1 << 20
_T = TypeVar("_T")


class Answer(Struct, frozen=True, kw_only=True):
    """A successful answer."""

    body: bytes
    warnings: tuple[str, ...] = ()
    #: the server's own time, as it said it
    date: str = ""


class Exchange(Struct, frozen=True, kw_only=True):
    """One request that was sent, whatever came of it."""

    #: as HTTP calls it; WATCH for a watch, which is answered when it begins
    method: str
    #: what the server answered; "error" if it did not
    code: str
    #: until the answer began
    seconds: float


@asynccontextmanager
async def connections(
    access: Access,
    settings: ClusterSettings,
    clock: Clock,
    told: Callable[[Exchange], None] | None = None,
) -> AsyncIterator[Transport]:
    """Keep connections to one API server open for the length of the block; `told` hears of each request."""
    async with (
        _session(settings) as requests,
        _session(settings, silence=settings.watch_silence.total_seconds()) as watches,
    ):
        yield Transport(access, settings, clock, requests=requests, watches=watches, told=told)


def _session(settings: ClusterSettings, *, silence: float | None = None) -> aiohttp.ClientSession:
    # How many connections there are follows from the turns. A connector with a limit of its own gives a free
    # one to whoever comes by before those who wait for it: a lease would never be renewed beside many writes.
    connector = aiohttp.TCPConnector(limit=0, socket_factory=_watched_socket)
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(
            total=None, sock_connect=settings.connect_timeout.total_seconds(), sock_read=silence
        ),
        headers={"User-Agent": AGENT},
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=True,
        middlewares=(_sent_once,),
    )


async def _sent_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Tell a cut in a word that aiohttp takes as final.

    By itself it sends a PUT or DELETE again after a cut, though the first may have been done; the second then
    hits whatever came after. Here only `_persist` repeats, and only what may be.
    """
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        raise aiohttp.ClientPayloadError(str(error)) from error


def _abandon(response: aiohttp.ClientResponse) -> None:
    """Cut the connection of a watch that nobody reads any more: there is nothing to say goodbye to."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _watched_socket(address: AddrInfoType) -> socket.socket:
    """A socket whose other end may vanish without a word: the kernel asks after it and finds out."""
    family, kind, protocol, _, _ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
    return opened


class Transport:
    """The connections to one API server."""

    def __init__(
        self,
        access: Access,
        settings: ClusterSettings,
        clock: Clock,
        *,
        requests: aiohttp.ClientSession,
        watches: aiohttp.ClientSession,
        told: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._told = told
        self._access = access
        self._settings = settings
        self._clock = clock
        self._requests = requests
        self._watches = watches
        self._turns = asyncio.Semaphore(settings.concurrency)
        wanted = not is_near(access.server) if settings.compression is None else settings.compression
        self._is_compressed = wanted and access.compression

    @property
    def server(self) -> str:
        """The address spoken to."""
        return self._access.server

    async def exchange(self, request: Call) -> Answer:
        """Send a request and read the whole answer, all tries within one deadline."""
        failures: list[TrimtabError] = []
        return await self._in_time(request, lambda: self._persist(request, failures), failures)

    async def _in_time(
        self, request: Call, ask: Callable[[], Awaitable[_T]], failures: Sequence[TrimtabError] = ()
    ) -> _T:
        """The answer, if it comes before the deadline; else the last failure, or that there was none."""
        await self._access.headers()  # a credential plugin has a deadline of its own; its answer is kept
        deadline = self._settings.request_timeout.total_seconds()
        try:
            async with asyncio.timeout(deadline):
                return await ask()
        except TimeoutError as timeout:
            if failures:
                raise failures[-1] from timeout
            raise unreachable(
                request.subject, self.server, f"gave no answer within {deadline:g} s"
            ) from timeout

    async def _persist(self, request: Call, failures: list[TrimtabError]) -> Answer:
        """Try until it works, is refused for good, or the tries or the time are used up."""
        begun, allowed = self._clock.monotonic(), self._settings.request_timeout.total_seconds()
        while True:
            try:
                return await self._attempt(request)
            except TrimtabError as error:
                failures.append(error)
                tries = len(failures)
                if tries >= self._settings.attempts or not is_worth_repeating(
                    error, repeatable=request.repeatable
                ):
                    raise
                if self._clock.monotonic() - begun + asked_pause(error) >= allowed:
                    raise not_waited_for(error, allowed) from None
                wait = pause(error, failures=tries, backoff=_BACKOFF, chance=draw())
            await self._clock.sleep(wait)

    async def _attempt(self, request: Call) -> Answer:
        async with self._turns, await self._opened(self._requests, request) as response:
            body = await self._whole(request, response, self._settings.answer_limit)
            warned = warnings_in(response.headers.getall("Warning", []))
            return Answer(
                body=body,
                warnings=tuple(without_secrets(each, request.secrets) for each in warned),
                date=response.headers.get("Date", ""),
            )

    @asynccontextmanager
    async def stream(self, request: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and hand out its bytes as they come; silence for too long counts as a cut."""
        async with await self._in_time(request, lambda: self._opened(self._watches, request)) as response:
            try:
                yield self._chunks(request, response)
            finally:
                _abandon(response)

    async def _opened(self, session: aiohttp.ClientSession, request: Call) -> aiohttp.ClientResponse:
        """The response to the request, if it is a success; refused credentials are renewed once."""
        headers = await self._headers(request)
        try:
            return await self._admitted(session, request, headers)
        except Unauthenticated:
            if not await self._access.rejected(headers):
                raise
        return await self._admitted(session, request, await self._headers(request))

    async def _admitted(
        self, session: aiohttp.ClientSession, request: Call, headers: CIMultiDict[str]
    ) -> aiohttp.ClientResponse:
        """The response to the request with these headers, if it is a success."""
        started, code = self._clock.monotonic(), "error"
        try:
            response = await self._sent(session, request, headers)
            code = str(response.status)
        finally:
            if self._told is not None:
                method = "WATCH" if session is self._watches else request.method
                self._told(Exchange(method=method, code=code, seconds=self._clock.monotonic() - started))
        if response.status < 300:
            return response
        async with response:
            raise await self._refusal(request, response)

    async def _sent(
        self, session: aiohttp.ClientSession, request: Call, headers: CIMultiDict[str]
    ) -> aiohttp.ClientResponse:
        tls = await self._access.tls()
        failed: Exception
        try:
            return await session.request(
                request.method,
                URL(self.server + request.path + _query(tuple(request.query.items())), encoded=True),
                data=_payload(request.body),
                headers=headers,
                ssl=tls or True,
                server_hostname=self._access.tls_server_name,
                proxy=self._access.proxy,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as error:
            failed = _without_request(error)
        # Raised outside the except block: the context would bring back what was taken out.
        raise unreachable(request.subject, self.server, _what_happened(failed)) from failed

    async def _headers(self, request: Call) -> CIMultiDict[str]:
        headers = await self._access.headers()
        headers["Accept"] = request.accept
        if not self._is_compressed:
            headers.update(_UNCOMPRESSED)
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        return headers

    async def _refusal(self, request: Call, response: aiohttp.ClientResponse) -> TrimtabError:
        body = await self._whole(request, response, _LONGEST_REFUSAL)
        status = status_from(response.status, body, request.secrets)
        return failure(
            request.subject, status, retry_after=seconds_in(response.headers.get("Retry-After", ""))
        )

    async def _whole(self, request: Call, response: aiohttp.ClientResponse, limit: int) -> bytes:
        """The whole body, refused once it grows past the limit."""
        chunks, size = [], 0
        while chunk := await self._chunk(request, response):
            size += len(chunk)
            if size > limit:
                reason = f"answered with more than {limit >> 20} MiB"
                raise unreachable(request.subject, self.server, reason)
            chunks.append(chunk)
        return b"".join(chunks)

    async def _chunks(self, request: Call, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The body as it comes."""
        while chunk := await self._chunk(request, response):
            yield chunk

    async def _chunk(self, request: Call, response: aiohttp.ClientResponse) -> bytes:
        """What has come of the body since, nothing at its end; a cut is told in our words."""
        try:
            return await response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(request.subject, self.server, _what_happened(error)) from error


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """The body as aiohttp likes it: what is large as a file, so that it is written in pieces."""
    return io.BytesIO(body) if body and len(body) > _LARGEST_PIECE else body


@lru_cache
def _query(query: tuple[tuple[str, str], ...]) -> str:
    """The end of an address that asks this; a sync asks the same of each of its objects."""
    return str(URL.build(query=query))


def is_near(server: str) -> bool:
    """Whether an address is one of this machine's own: what is carried there costs next to nothing."""
    host = URL(server).host or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_worth_repeating(error: TrimtabError, *, repeatable: bool) -> bool:
    """Whether a request that failed so may be sent again.

    A server that asks for a pause has done nothing yet, so any request may. After a cut or a failure nobody
    knows what was done, so only requests that do the same twice may.
    """
    return isinstance(error, Throttled) or (repeatable and error.retry is Retry.BACKOFF)


def seconds_in(retry_after: str) -> float | None:
    """The seconds in a Retry-After header; Kubernetes never sends the date form."""
    return float(retry_after) if retry_after.isdecimal() else None


def warnings_in(headers: list[str]) -> tuple[str, ...]:
    """The texts of Warning headers: `299 - "text"`, with quotes and backslashes escaped."""
    return tuple(_unquoted(header.split(" ", 2)[-1]) for header in headers)


def _unquoted(text: str) -> str:
    inner = text.strip().removeprefix('"').removesuffix('"')
    return inner.replace('\\"', '"').replace("\\\\", "\\")


def _without_request(error: Exception) -> Exception:
    """The error, unless it carries the request with its credentials: then the answer alone."""
    if not isinstance(error, aiohttp.ClientResponseError):
        return error
    kind = _RefusedByProxy if isinstance(error, aiohttp.ClientHttpProxyError) else aiohttp.ClientError
    return kind(f"{error.status} {error.message}")


class _RefusedByProxy(aiohttp.ClientError):
    """What a proxy said instead of opening the way; its address, with a password perhaps, left out."""


def _what_happened(error: Exception) -> str:
    """A library's failure in a few words that follow the server's address."""
    match error:
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
            return f"shows a certificate that is not trusted: {getattr(cause, 'verify_message', '') or cause}"
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return f"does not agree on TLS: {getattr(error, 'reason', '') or error}"
        case _RefusedByProxy():
            return f"cannot be reached through the proxy: {error}"
        case aiohttp.ClientProxyConnectionError(os_error=cause):
            return f"cannot be reached through the proxy: {cause.strerror or cause}"
        case aiohttp.ClientConnectorError(os_error=cause):
            return f"cannot be reached: {cause.strerror or cause}"
        case aiohttp.ServerTimeoutError() | TimeoutError():
            return "went silent"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | ConnectionError():
            return "cut the connection"
        case _:
            return f"cannot be spoken to: {str(error) or type(error).__name__}"

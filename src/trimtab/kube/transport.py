"""One exchange with an API server: deadlines, bounded concurrency, retries, credentials, errors.

Requests take turns, so many at a time, in the order in which they come; watches open connections of their
own, so however many there are they cannot starve requests. Nothing here knows verbs or kinds beyond the words
it puts into messages.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

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
from trimtab.kube.wires import Reply, Unspoken, Wires
from trimtab.tasks.backoff import Backoff, asked_pause, pause
from trimtab.tasks.chance import draw

if TYPE_CHECKING:
    from multidict import CIMultiDict

    from trimtab.kube.auth import Access
    from trimtab.settings import ClusterSettings
    from trimtab.tasks.clock import Clock

_BACKOFF = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=5))
_LONGEST_REFUSAL = 1 << 22
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


class Wiring(Protocol):
    """Whatever carries requests to one server."""

    async def ask(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]],
        body: bytes | None,
        *,
        tls: ssl.SSLContext | None,
        silence: float | None = None,
    ) -> Reply:
        """Send a request, once; the answer is there when it has begun. `Unspoken` says what went wrong."""

    async def close(self) -> None:
        """Cut every connection."""


@asynccontextmanager
async def connections(
    access: Access,
    settings: ClusterSettings,
    clock: Clock,
    told: Callable[[Exchange], None] | None = None,
) -> AsyncIterator[Transport]:
    """Keep connections to one API server open for the length of the block; `told` hears of each request."""
    requests, watches = _wiring(access, settings), _wiring(access, settings)
    try:
        yield Transport(access, settings, clock, requests=requests, watches=watches, told=told)
    finally:
        await watches.close()
        await requests.close()


def _wiring(access: Access, settings: ClusterSettings) -> Wiring:
    limit, name = settings.connect_timeout.total_seconds(), access.tls_server_name
    if access.proxy is None:
        return Wires(access.server, connect_timeout=limit, tls_name=name)
    from trimtab.kube.proxied import ProxiedWires  # most clusters are reached without a proxy

    return ProxiedWires(access.server, proxy=access.proxy, connect_timeout=limit, tls_name=name)


@contextmanager
def _ending(reply: Reply) -> Iterator[Reply]:
    """The answer, read no further than the block."""
    try:
        yield reply
    finally:
        reply.end()


class Transport:
    """The connections to one API server."""

    def __init__(
        self,
        access: Access,
        settings: ClusterSettings,
        clock: Clock,
        *,
        requests: Wiring,
        watches: Wiring,
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
        async with self._turns:
            with _ending(await self._opened(self._requests, request)) as reply:
                body = await self._whole(request, reply, self._settings.answer_limit)
            warned = warnings_in(reply.headers.getall("Warning", []))
            return Answer(
                body=body,
                warnings=tuple(without_secrets(each, request.secrets) for each in warned),
                date=reply.headers.get("Date", ""),
            )

    @asynccontextmanager
    async def stream(self, request: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and hand out its bytes as they come; silence for too long counts as a cut."""
        silence = self._settings.watch_silence.total_seconds()
        reply = await self._in_time(request, lambda: self._opened(self._watches, request, silence=silence))
        with _ending(reply):
            yield self._chunks(request, reply)

    async def _opened(self, wiring: Wiring, request: Call, *, silence: float | None = None) -> Reply:
        """The answer to the request, if it is a success; refused credentials are renewed once."""
        headers = await self._headers(request)
        try:
            return await self._admitted(wiring, request, headers, silence)
        except Unauthenticated:
            if not await self._access.rejected(headers):
                raise
        return await self._admitted(wiring, request, await self._headers(request), silence)

    async def _admitted(
        self, wiring: Wiring, request: Call, headers: CIMultiDict[str], silence: float | None
    ) -> Reply:
        """The answer to the request with these headers, if it is a success."""
        started, code = self._clock.monotonic(), "error"
        try:
            reply = await self._sent(wiring, request, headers, silence)
            code = str(reply.status)
        finally:
            if self._told is not None:
                method = "WATCH" if wiring is self._watches else request.method
                self._told(Exchange(method=method, code=code, seconds=self._clock.monotonic() - started))
        if reply.status < 300:
            return reply
        with _ending(reply):
            raise await self._refusal(request, reply)

    async def _sent(
        self, wiring: Wiring, request: Call, headers: CIMultiDict[str], silence: float | None
    ) -> Reply:
        tls = await self._access.tls()
        target = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        try:
            return await wiring.ask(
                request.method, target, headers.items(), request.body, tls=tls, silence=silence
            )
        except Unspoken as error:
            raise unreachable(request.subject, self.server, str(error)) from error

    async def _headers(self, request: Call) -> CIMultiDict[str]:
        headers = await self._access.headers()
        headers["Accept"] = request.accept
        headers["Accept-Encoding"] = "gzip" if self._is_compressed else "identity"
        headers["User-Agent"] = AGENT
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        return headers

    async def _refusal(self, request: Call, reply: Reply) -> TrimtabError:
        body = await self._whole(request, reply, _LONGEST_REFUSAL)
        status = status_from(reply.status, body, request.secrets)
        return failure(request.subject, status, retry_after=seconds_in(reply.headers.get("Retry-After", "")))

    async def _whole(self, request: Call, reply: Reply, limit: int) -> bytes:
        """The whole body, refused once it grows past the limit."""
        chunks, size = [], 0
        async for chunk in self._chunks(request, reply):
            size += len(chunk)
            if size > limit:
                reason = f"answered with more than {limit >> 20} MiB"
                raise unreachable(request.subject, self.server, reason)
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def _chunks(self, request: Call, reply: Reply) -> AsyncIterator[bytes]:
        """The body as it comes; a cut is told in our words."""
        try:
            async for chunk in reply.chunks():
                yield chunk
        except Unspoken as error:
            raise unreachable(request.subject, self.server, str(error)) from error


def is_near(server: str) -> bool:
    """Whether an address is one of this machine's own: what is carried there costs next to nothing."""
    host = urlsplit(server).hostname or ""
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

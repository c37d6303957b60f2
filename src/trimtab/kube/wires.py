"""Connections to one API server, kept for the next request: HTTP/1.1 without a library.

A command that is over in a second would spend a good part of it importing a general client. What is said over
a wire is decided in `messages`; when to ask, and when again, in `transport`. Servers behind a proxy are
reached by `proxied`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol, cast
from urllib.parse import urlsplit

import aiohappyeyeballs

from trimtab.kube import messages
from trimtab.kube.messages import Head, NotHttp

if TYPE_CHECKING:
    from multidict import CIMultiDict

    AddressInfo = tuple[int, int, int, str, tuple[str | bytes | int, ...]]

#: a connection that nobody used for so many seconds is not trusted to be there still
_IDLE: Final = 15.0
#: the second address of a server is tried beside the first after so many seconds
_NEXT_ADDRESS: Final = 0.25
#: so many bytes are read ahead of whoever takes them
_AHEAD: Final = 1 << 20
#: bodies are written in pieces of this size
_PIECE: Final = 1 << 20


class Unspoken(Exception):
    """What went wrong between us and a server, in words that follow its address."""


CUT: Final = "cut the connection"
SILENT: Final = "went silent"


class Reply(Protocol):
    """How a server answers; whoever has read enough ends it."""

    @property
    def status(self) -> int:
        """The code of the answer."""

    @property
    def headers(self) -> CIMultiDict[str]:
        """What was said before the body."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked; a cut raises `Unspoken`."""

    def end(self) -> None:
        """Read no more of it."""


class Wires:
    """The connections to one server."""

    def __init__(self, server: str, *, connect_timeout: float, tls_name: str | None = None) -> None:
        parts = urlsplit(server)
        self._host, self._is_tls = parts.hostname or "", parts.scheme.lower() == "https"
        self._port = parts.port or (443 if self._is_tls else 80)
        self._prefix, self._named = parts.path.rstrip("/"), parts.netloc.rpartition("@")[2]
        self._tls_name = tls_name or self._host
        self._connect_timeout = connect_timeout
        self._free: list[_Wire] = []
        self._open: set[_Wire] = set()

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
        """Send a request, once; the answer is there when it has begun. Silence beyond the limit is a cut."""
        named = (("Host", self._named), *headers)
        try:
            said = messages.request(method, self._prefix + target, named, body)
        except NotHttp as error:
            raise Unspoken(f"cannot be spoken to: {error}") from error
        wire = self._kept(tls) or await self._connected(tls)
        try:
            await wire.send(said, body)
            return await _answered(wire, silence, self._give_back)
        except BaseException:
            wire.cut()
            raise

    async def close(self) -> None:
        """Cut every connection."""
        for wire in tuple(self._open):
            wire.cut()
        self._free.clear()
        await asyncio.sleep(0)  # the loop closes what was cut in its next turn

    def _kept(self, tls: ssl.SSLContext | None) -> _Wire | None:
        """A connection that was used before, the last first, made with the credentials of today."""
        now = asyncio.get_running_loop().time()
        while self._free:
            wire = self._free.pop()
            if wire.is_usable and wire.tls is tls and now - wire.free_since < _IDLE:
                return wire
            wire.cut()
        return None

    def _give_back(self, wire: _Wire) -> None:
        now = asyncio.get_running_loop().time()
        while self._free and now - self._free[0].free_since >= _IDLE:
            self._free.pop(0).cut()
        if wire.is_usable:
            wire.free_since = now
            self._free.append(wire)
        else:
            wire.cut()

    async def _connected(self, tls: ssl.SSLContext | None) -> _Wire:
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await self._opened(tls)
        except TimeoutError as error:
            raise Unspoken(SILENT) from error
        except (OSError, ValueError) as error:
            raise Unspoken(_why_not(error)) from error

    async def _opened(self, tls: ssl.SSLContext | None) -> _Wire:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        opened = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=_NEXT_ADDRESS, interleave=1, loop=loop, socket_factory=watched_socket
        )
        try:
            _, wire = await loop.create_connection(
                lambda: _Wire(tls, self._open),
                sock=opened,
                ssl=tls if self._is_tls else None,
                server_hostname=self._tls_name if self._is_tls else None,
            )
        except BaseException:
            opened.close()
            raise
        return wire


class _Wire(asyncio.Protocol):
    """One connection: what came and was not read yet."""

    def __init__(self, tls: ssl.SSLContext | None, among: set[_Wire]) -> None:
        self.tls = tls
        self.free_since = 0.0
        self._among = among
        self._transport: asyncio.Transport | None = None
        self._came: list[bytes] = []
        self._size = 0
        self._is_paused = self._is_over = False
        self._arrived: asyncio.Event = asyncio.Event()
        self._drained: asyncio.Event = asyncio.Event()
        self._drained.set()

    # -- what the loop tells -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not derived from it
        self._among.add(self)

    def data_received(self, data: bytes) -> None:
        """Keep what came until somebody reads it."""
        self._came.append(data)
        self._size += len(data)
        if self._size > _AHEAD and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._arrived.set()

    def eof_received(self) -> bool:
        """Nothing more will come."""
        self._is_over = True
        self._arrived.set()
        return False

    def connection_lost(self, _error: Exception | None) -> None:
        """The connection is gone."""
        self._is_over = True
        self._transport = None
        self._among.discard(self)
        self._arrived.set()
        self._drained.set()

    def pause_writing(self) -> None:
        """The other side does not keep up."""
        self._drained.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._drained.set()

    # -- what others ask ---------------------------------------------------------------------------------

    @property
    def is_usable(self) -> bool:
        """Whether the other side is there, and has said nothing that nobody asked for."""
        return self._transport is not None and not (
            self._is_over or self._came or self._transport.is_closing()
        )

    async def send(self, head: bytes, body: bytes | None) -> None:
        """Write a request; what is large in pieces, as the other side takes them."""
        if not body or len(body) <= _PIECE:
            self._write(head + body if body else head)
            return
        self._write(head)
        for at in range(0, len(body), _PIECE):
            await self._drained.wait()
            if self._is_over:
                return  # it may have answered before it went
            self._write(body[at : at + _PIECE])

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def more(self, silence: float | None) -> bytes:
        """What came since; nothing once the other side is gone."""
        if not self._came and not self._is_over:
            try:
                async with asyncio.timeout(silence):
                    await self._arrived.wait()
            except TimeoutError as error:
                raise Unspoken(SILENT) from error
        self._arrived.clear()
        came, self._came, self._size = self._came, [], 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return came[0] if len(came) == 1 else b"".join(came)

    def cut(self) -> None:
        """End it at once: there is nothing to say goodbye to."""
        if self._transport is not None:
            self._transport.abort()
        self._is_over = True


class _Answer:
    """An answer that has begun; its wire goes back once all of it was read."""

    def __init__(
        self, wire: _Wire, head: Head, rest: bytes, silence: float | None, give_back: Callable[[_Wire], None]
    ) -> None:
        self.status, self.headers = head.status, head.headers
        self._wire, self._rest, self._silence = wire, rest, silence
        self._stays, self._give_back = head.stays, give_back
        self._body, self._unpacking = messages.body_of(head), messages.unpacking_of(head)
        self._is_ended = False

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        try:
            came = self._body.feed(self._rest) if self._rest else b""
            while True:
                for piece in self._unpacked(came):
                    yield piece
                if self._body.is_whole:
                    break
                if not (received := await self._wire.more(self._silence)):
                    self._check_cut()
                    break
                came = self._body.feed(received)
            self._check_whole()
        except NotHttp as error:
            raise Unspoken(f"cannot be spoken to: {error}") from error

    def _unpacked(self, came: bytes) -> Iterable[bytes]:
        if self._unpacking is not None:
            return self._unpacking.feed(came)
        return (came,) if came else ()

    def _check_cut(self) -> None:
        if not self._body.is_open:
            raise Unspoken(CUT)

    def _check_whole(self) -> None:
        if self._unpacking is not None and not self._unpacking.is_whole:
            raise Unspoken(CUT)

    def end(self) -> None:
        """Give the wire back if all was read and it stays, else cut it."""
        if self._is_ended:
            return
        self._is_ended = True
        if self._stays and self._body.is_whole and not self._body.rest:
            self._give_back(self._wire)
        else:
            self._wire.cut()


async def _answered(wire: _Wire, silence: float | None, give_back: Callable[[_Wire], None]) -> _Answer:
    """The answer to what was sent, once it has begun."""
    received = b""
    try:
        while (found := messages.head_in(received)) is None or found[0].is_preliminary:
            received = found[1] if found is not None else received
            if found is not None:
                continue
            if not (came := await wire.more(silence)):
                raise Unspoken(CUT)
            received += came
        return _Answer(wire, *found, silence, give_back)
    except NotHttp as error:
        raise Unspoken(f"cannot be spoken to: {error}") from error


def _why_not(error: Exception) -> str:
    """Why there is no connection."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"shows a certificate that is not trusted: {error.verify_message or error}"
        case ssl.SSLError():
            return f"does not agree on TLS: {error.reason or error}"
        case OSError():
            return f"cannot be reached: {error.strerror or error}"
        case _:
            return f"cannot be reached: {error}"


def watched_socket(address: AddressInfo) -> socket.socket:
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

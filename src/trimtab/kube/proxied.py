"""An API server behind an HTTP proxy, reached with aiohttp, which knows how to ask one to open the way."""

from __future__ import annotations

import io
import ssl
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from trimtab.kube.wires import CUT, SILENT, Unspoken, watched_socket

if TYPE_CHECKING:
    from trimtab.kube.wires import Reply

_LARGEST_PIECE = 1 << 20


class ProxiedWires:
    """The connections to one server, each opened by a proxy."""

    def __init__(self, server: str, *, proxy: str, connect_timeout: float, tls_name: str | None) -> None:
        self._server, self._proxy, self._tls_name = server, proxy, tls_name
        self._connect_timeout = connect_timeout
        # How many connections there are follows from the turns of whoever asks.
        connector = aiohttp.TCPConnector(limit=0, socket_factory=watched_socket)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
            middlewares=(_sent_once,),
        )

    async def close(self) -> None:
        """Cut every connection."""
        await self._session.close()

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
        """Send a request, once; the answer is there when it has begun."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout, sock_read=silence)
        try:
            response = await self._session.request(
                method,
                URL(self._server + target, encoded=True),
                data=_payload(body),
                headers=CIMultiDict(headers),
                ssl=tls or True,
                server_hostname=self._tls_name,
                proxy=self._proxy,
                timeout=timeout,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as error:
            words = _what_happened(_without_request(error))
        else:
            return _Answer(response)
        # Raised outside the except block: the context would hold the request with its credentials.
        raise Unspoken(words)


class _Answer:
    """An answer that has begun."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status, self.headers = response.status, CIMultiDict(response.headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise Unspoken(_what_happened(error)) from error

    def end(self) -> None:
        """Give the connection back if all was read, else cut it."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


async def _sent_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Tell a cut in a word that aiohttp takes as final.

    By itself it sends a PUT or DELETE again after a cut, though the first may have been done; the second then
    hits whatever came after. Only `transport` repeats, and only what may be.
    """
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        raise aiohttp.ClientPayloadError(str(error)) from error


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """The body as aiohttp likes it: what is large as a file, so that it is written in pieces."""
    return io.BytesIO(body) if body and len(body) > _LARGEST_PIECE else body


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
            return SILENT
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | ConnectionError():
            return CUT
        case _:
            return f"cannot be spoken to: {str(error) or type(error).__name__}"

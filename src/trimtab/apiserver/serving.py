"""The API in memory over HTTPS on loopback, for clients of every kind.

    async with serve(api) as server:
        print(server.url, server.token)

Whoever holds the token may do everything. The certificate is signed by an authority that is made with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.http_exceptions import LineTooLong
from msgspec import Struct

from trimtab.apiserver.api import Api
from trimtab.apiserver.credentials import HOST, Credentials
from trimtab.apiserver.handling import Handler, hung_up
from trimtab.errors import Unavailable

LONGEST_LINE = 1 << 20  # of the address and of each header, as Go allows


class Served(Struct, frozen=True, kw_only=True):
    """Where a server listens, and what a client needs to be let in."""

    url: str
    token: str
    authority: str  # its certificate, as PEM


@asynccontextmanager
async def serve(
    api: Api, *, port: int = 0, token: str = "", credentials: Credentials | None = None
) -> AsyncIterator[Served]:
    """Serve an API for the length of the block; port 0 takes a free one."""
    token = token or secrets.token_urlsafe(24)
    credentials = credentials or _issued(api)
    server = _Server(Handler(api, token), request_factory=_Request.begun)
    runner = web.ServerRunner(server, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port, ssl_context=_context(credentials))
        await _listen(site, port)
        number = runner.addresses[0][1]
        yield Served(url=f"https://{HOST}:{number}", token=token, authority=credentials.authority)
    finally:
        await runner.cleanup()


async def _listen(site: web.TCPSite, port: int) -> None:
    try:
        await site.start()
    except OSError as exc:
        reason = f"nobody can listen there: {os.strerror(exc.errno or 0).lower()}"
        raise Unavailable(
            f"port {port} of {HOST}", reason, "Name another, or 0 for one that is free"
        ) from exc


def _issued(api: Api) -> Credentials:
    from trimtab.apiserver.certificates import issue  # whoever was handed credentials needs none of it

    return issue(HOST, now=api.clock.now())


class _Server(web.Server):
    """Answers every connection with a `_Connection`."""

    def __call__(self) -> web.RequestHandler:
        """Begin to speak with a client."""
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
            auto_decompress=False,  # Kubernetes reads bodies as they come
            logger=_deaf(),
        )


class _Request(web.BaseRequest):
    """One request, whose answer does not tell which program gives it."""

    @classmethod
    def begun(
        cls,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> _Request:
        """The request of a message that has come in."""
        return cls(message, payload, protocol, writer, task, asyncio.get_running_loop())

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        """Called with the headers of an answer before they are sent."""
        response.headers.popall("Server", None)


class _Connection(web.RequestHandler):
    """One client's connection, which ends in Go's words where what comes is no HTTP."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it quotes what was sent
    ) -> web.StreamResponse:
        """Say that this cannot be read, and nothing of what was sent: that may hold the token."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer is under way already") from exc
        return hung_up(431 if isinstance(exc, LineTooLong) else status)


def _deaf() -> logging.Logger:
    """A log that takes nothing: the handler tells its own defects, the rest is clients' bad HTTP."""
    return logging.Logger("trimtab.apiserver.http", logging.CRITICAL + 1)  # noqa: LOG001 - nobody else's


def _context(credentials: Credentials) -> ssl.SSLContext:
    """TLS with this certificate; Python reads keys from files only, so one exists for a moment."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "serving.pem"
        path.touch(mode=0o600)
        path.write_text(credentials.key + credentials.certificate)
        context.load_cert_chain(path)
    return context


def kubeconfig(served: Served, name: str = "trimtab") -> dict[str, object]:
    """A kubeconfig for this server."""
    import base64

    authority = base64.b64encode(served.authority.encode()).decode()
    cluster = {"server": served.url, "certificate-authority-data": authority}
    context = {"cluster": name, "user": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": served.token}}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }

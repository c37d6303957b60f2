"""A small TLS server on loopback that says which client it sees."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from testbed.pki import Authority, Issued


def server_context(folder: Path, server: Issued, clients: Authority | None) -> ssl.SSLContext:
    """What a server needs to show this certificate, and to ask for one of the clients' authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (folder / "server.pem").write_bytes(server.certificate + server.key)
    context.load_cert_chain(folder / "server.pem")
    if clients:
        context.load_verify_locations(cadata=clients.pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def _name_of_client(request: web.Request) -> web.Response:
    shown = request.get_extra_info("peercert") or {}
    names = dict(part[0] for part in shown.get("subject", ()))
    return web.Response(text=names.get("commonName", "nobody"))


@asynccontextmanager
async def serving(context: ssl.SSLContext) -> AsyncIterator[str]:
    """The URL of a server on loopback that answers with the name in the client's certificate."""
    app = web.Application()
    app.router.add_get("/", _name_of_client)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def seen_by(url: str, context: ssl.SSLContext, name: str | None = None) -> str:
    """The client's name as the server saw it, over a connection of its own."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, ssl=context, server_hostname=name) as response,
    ):
        return await response.text()

"""HTTP requests that go through the gate: to the addresses that were judged, and nowhere else.

For what is fetched beside Git itself. Redirects are not followed here, nothing of the environment is
looked at, and no cookies are kept.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.auth import tls_context
from trimtab.kube.auth.certificates import client_pair
from trimtab.settings import RepositoriesSettings
from trimtab.sources.repositories.addresses import Address, Scheme
from trimtab.sources.repositories.credentials import Basic, Bearer, Credential, uses_proxy
from trimtab.sources.repositories.gitsetup import Reach
from trimtab.sources.repositories.reaching import Gate


class Line(Struct, frozen=True, kw_only=True):
    """An open way to one server."""

    session: aiohttp.ClientSession
    #: what proves who we are; empty if nothing does
    authorization: str


@asynccontextmanager
async def line_to(
    address: Address, credential: Credential, gate: Gate, settings: RepositoriesSettings
) -> AsyncIterator[Line]:
    """Open a way to a server, after it was judged; nothing is sent yet."""
    reach = await gate.reach(address, credential)
    context = await asyncio.to_thread(_context, reach)
    stall = settings.stall_timeout.total_seconds()
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=_Pinned(reach.pins), ssl=context),
        timeout=aiohttp.ClientTimeout(
            total=settings.fetch_timeout.total_seconds(), sock_connect=stall, sock_read=stall
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=_proxy(reach),
    )
    async with session:
        yield Line(session=session, authorization=authorization_of(credential))


class _Pinned(AbstractResolver):
    """Knows one host: the one that was judged, or the proxy to it."""

    def __init__(self, pins: tuple[str, ...]) -> None:
        self._pins = pins

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses that were judged."""
        return [_result(host, port, pin) for pin in self._pins if family in {socket.AF_UNSPEC, _family(pin)}]

    async def close(self) -> None:
        """Nothing is open."""


def _result(host: str, port: int, pin: str) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=pin,
        port=port,
        family=_family(pin),
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def _family(pin: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in pin else socket.AF_INET


def _context(reach: Reach) -> ssl.SSLContext | bool:
    """What the server has to prove, and what we show it; reading the machine's authorities takes a while."""
    if reach.address.scheme is not Scheme.HTTPS:
        return True
    trust, shown = reach.credential.trust, reach.credential.certificate
    subject = f"the credential for {reach.address}"
    names = ("client certificate", "key of the client certificate")
    pair = (
        client_pair(shown.certificate.encode(), shown.key.reveal().encode(), subject=subject, names=names)
        if shown
        else None
    )
    return tls_context(
        authorities=trust.ca or reach.ca or None, pair=pair, insecure=trust.insecure, subject=subject
    )


def _proxy(reach: Reach) -> str | None:
    """The proxy that leads there, if one does."""
    if not uses_proxy(reach.address, reach.credential.trust):
        return None
    proxy = reach.credential.trust.proxy.reveal()
    scheme = proxy.partition("://")[0]
    if scheme not in {"http", "https"}:
        reason = f"files are not fetched through {scheme}"
        raise InvalidSpec("the proxy", reason, "Use an HTTP proxy")
    return proxy


def authorization_of(credential: Credential) -> str:
    """What an HTTP server is told about who asks; empty if nothing is."""
    match credential.login:
        case Basic(username=username, password=password):
            pair = f"{username}:{password.reveal()}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        case Bearer(token=token):
            return f"Bearer {token.reveal()}"
        case _:
            return ""

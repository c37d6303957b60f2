"""HTTP through the gate."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from testbed.pki import Authority
from testbed.tlsserver import server_context, serving
from tests.sources.githost import basic_header, git_host
from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import RepositoriesSettings
from trimtab.sources import Gate
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.credentials import Basic, Bearer, ClientCertificate, Credential, Trust
from trimtab.sources.repositories.webreach import line_to

SETTINGS = RepositoriesSettings(allow_schemes=("https", "http"), allow_hosts=("127.0.0.1", "*.example"))


async def at_home(host: str, port: int) -> tuple[str, ...]:
    """Every name is this machine."""
    return ("127.0.0.1",)


GATE = Gate(SETTINGS, resolve=at_home)


async def test_both_sides_prove_who_they_are(tmp_path: Path) -> None:
    authority = Authority("theirs")
    server, client = authority.issue("git", "git.example"), authority.issue("somebody")
    shown = ClientCertificate(certificate=client.certificate.decode(), key=Secret(client.key.decode()))
    ours = Credential(certificate=shown, trust=Trust(ca=authority.pem.decode()))
    stranger = Credential(certificate=shown, trust=Trust(ca=Authority("another").pem.decode()))
    async with serving(server_context(tmp_path, server, authority)) as url:
        # The name is pinned to what the gate found: no other resolver knows it.
        there = address_of(f"{url.replace('127.0.0.1', 'git.example')}files")
        async with (
            line_to(there, ours, GATE, SETTINGS) as line,
            line.session.get(there.url.removesuffix("files")) as response,
        ):
            assert await response.text() == "somebody"
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            async with line_to(there, stranger, GATE, SETTINGS) as line, line.session.get(there.url):
                pytest.fail("an unknown server was trusted")


async def test_a_proxy_is_told_its_password_and_resolves_the_name_itself(tmp_path: Path) -> None:
    seen = []

    async def proxied(request: web.Request) -> web.Response:
        seen.append((request.headers["Host"], request.headers.get("Proxy-Authorization", "")))
        return web.Response(text="through the proxy")

    async with git_host(tmp_path) as proxy:
        proxy.lie = proxied
        where = proxy.url.replace("://127.0.0.1", "://me:p%40ss@proxy.example")
        trust = Trust(proxy=Secret(where), no_proxy="near.example")
        there = address_of("http://git.example/files")
        async with (
            line_to(there, Credential(trust=trust), GATE, SETTINGS) as line,
            line.session.get(there.url) as response,
        ):
            assert await response.text() == "through the proxy"
    assert seen == [("git.example", basic_header("me", "p@ss"))]
    with pytest.raises(InvalidSpec, match="socks5"):
        async with line_to(
            there, Credential(trust=Trust(proxy=Secret("socks5://proxy.example:1"))), GATE, SETTINGS
        ):
            pytest.fail("a proxy of another kind was used")


@pytest.mark.parametrize(
    ("login", "authorization"),
    [
        (Basic(username="me", password=Secret("pass")), basic_header("me", "pass")),
        (Bearer(token=Secret("abc")), "Bearer abc"),
        (None, ""),
    ],
)
async def test_what_is_shown_is_the_login(login: Basic | Bearer | None, authorization: str) -> None:
    there = address_of("http://git.example/files")
    async with line_to(there, Credential(login=login), GATE, SETTINGS) as line:
        assert line.authorization == authorization

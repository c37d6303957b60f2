"""The way to a server: names, proxies, authorities and client certificates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from testbed.pki import EARLY, Authority, Issued
from testbed.tlsserver import server_context
from tests.sources.conftest import Opening, wanted
from tests.sources.githost import GitHost, git_host
from tests.sources.upstream import Upstream
from trimtab.errors import GitUnreachable, InvalidSpec, Missing, SourceRefused
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import RepositoriesSettings
from trimtab.sources import Gate
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.complaints import CredentialRefused
from trimtab.sources.repositories.credentials import ANONYMOUS, ClientCertificate, Credential, Trust


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    found = Upstream(tmp_path / "upstream" / "app.git")
    found.commit({"a": "0"})
    return found


@asynccontextmanager
async def tls_host(
    upstream: Upstream, server: Issued, clients: Authority | None = None
) -> AsyncIterator[GitHost]:
    context = server_context(upstream.path.parent, server, clients)
    async with git_host(upstream.path.parent, tls=context) as host:
        yield host


async def test_a_client_certificate_is_shown_to_a_server_that_asks_for_one(
    opened: Opening, upstream: Upstream
) -> None:
    authority, clients = Authority(), Authority("clients")
    trust = Trust(ca=authority.pem.decode())
    server = authority.issue("server", "127.0.0.1")
    async with tls_host(upstream, server, clients) as host, opened() as repositories:
        url = f"{host.url}/app.git"
        mine = clients.issue("me")
        certificate = ClientCertificate(certificate=mine.certificate.decode(), key=Secret(mine.key.decode()))
        revision = await repositories.fetch(wanted(url, Credential(certificate=certificate, trust=trust)))
        assert revision.commit == upstream.tip("main")
        with pytest.raises((GitUnreachable, SourceRefused, CredentialRefused)):
            await repositories.fetch(wanted(url, Credential(trust=trust)))


WRONG_SERVERS: dict[str, Callable[[Authority], Issued]] = {
    "expired": lambda authority: authority.issue("s", "127.0.0.1", not_after=EARLY + timedelta(days=1)),
    "another host": lambda authority: authority.issue("s", "other.example"),
    "another authority": lambda _: Authority("evil").issue("s", "127.0.0.1"),
}


@pytest.mark.parametrize("case", WRONG_SERVERS)
async def test_a_server_that_is_not_vouched_for_is_refused_and_told_nothing(
    opened: Opening, upstream: Upstream, case: str
) -> None:
    authority = Authority()
    credential = Credential(trust=Trust(ca=authority.pem.decode()))
    async with tls_host(upstream, WRONG_SERVERS[case](authority)) as host, opened() as repositories:
        with pytest.raises(SourceRefused, match="TLS certificate is not trusted"):
            await repositories.fetch(wanted(f"{host.url}/app.git", credential))
        assert host.log == []


async def test_whoever_brings_his_own_authority_gets_a_mirror_of_his_own(
    opened: Opening, upstream: Upstream, tmp_path: Path
) -> None:
    """Else a tenant could answer in a server's name, and read or change what others see of it."""
    honest, evil = Authority(), Authority("evil")
    forged = Upstream(tmp_path / "forged" / "app.git")
    forged.commit({"a": "forged"})
    settings = {"ca_file": str(tmp_path / "ca.pem")}
    (tmp_path / "ca.pem").write_bytes(honest.pem)
    async with (
        tls_host(upstream, honest.issue("s", "127.0.0.1")) as host,
        opened(settings=settings) as repositories,
    ):
        victims = await repositories.fetch(wanted(f"{host.url}/app.git"))
        async with tls_host(forged, evil.issue("s", "127.0.0.1")) as liar, connect_proxy(liar) as proxy:
            trust = Trust(ca=evil.pem.decode(), proxy=Secret(proxy.url))
            theirs = await repositories.fetch(wanted(f"{host.url}/app.git", Credential(trust=trust)))
        again = await repositories.fetch(wanted(f"{host.url}/app.git"))
    assert theirs.commit == forged.tip("main")
    assert theirs.mirror != victims.mirror
    assert again == victims


class ConnectProxy:
    """An HTTP proxy that opens tunnels, wherever it likes."""

    def __init__(self, host: GitHost | None) -> None:
        self.host = host
        self.asked: list[str] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://me:c4n4ry-proxy@127.0.0.1:{self.port}"

    async def _admitted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """The first request that has logged in."""
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head)
            if "Proxy-Authorization: Basic bWU6YzRuNHJ5LXByb3h5" in head:
                return head
            refusal = "HTTP/1.1 407 No", 'Proxy-Authenticate: Basic realm="x"', "Content-Length: 0", "", ""
            writer.write("\r\n".join(refusal).encode())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await self._admitted(reader, writer)
            method, target, _ = head.split(" ", 2)
            asked_for = f"http://{target}" if method == "CONNECT" else target
            parts = urlsplit(self.host.url if self.host else asked_for)
            away_reader, away_writer = await asyncio.open_connection("127.0.0.1", parts.port)
            try:
                if method == "CONNECT":
                    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    away_writer.write(head.encode())
                async with asyncio.TaskGroup() as both:
                    asking = both.create_task(_carry(reader, away_writer))
                    await _carry(away_reader, writer)
                    asking.cancel()
            finally:
                away_writer.transport.abort()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def connect_proxy(host: GitHost | None = None) -> AsyncIterator[ConnectProxy]:
    """A proxy; with a host, it leads there whatever it is asked."""
    proxy = ConnectProxy(host)
    serving: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = group.create_task(proxy.serve(reader, writer))
            serving.add(task)
            task.add_done_callback(lambda _: writer.transport.abort())

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        try:
            yield proxy
        finally:
            server.close()
            for task in serving:
                task.cancel()


async def test_a_proxy_is_used_with_its_own_password_and_learns_no_other(
    opened: Opening, upstream: Upstream
) -> None:
    authority = Authority()
    async with tls_host(upstream, authority.issue("s", "127.0.0.1")) as host, connect_proxy() as proxy:
        trust = Trust(ca=authority.pem.decode(), proxy=Secret(proxy.url))
        async with opened() as repositories:
            revision = await repositories.fetch(wanted(f"{host.url}/app.git", Credential(trust=trust)))
        assert revision.commit == upstream.tip("main")
        assert all(head.startswith("CONNECT 127.0.0.1:") for head in proxy.asked)
        assert all("\r\nAuthorization" not in head for head in proxy.asked)


async def test_the_operators_proxy_serves_those_who_bring_none_except_where_it_is_not_wanted(
    opened: Opening, upstream: Upstream
) -> None:
    async with git_host(upstream.path.parent) as host, connect_proxy() as proxy:
        for exempt, used in (("", True), ("127.0.0.1", False)):
            proxy.asked.clear()
            settings = {"proxy": proxy.url, "no_proxy": exempt}
            async with opened(f"mirrors-{used}", settings=settings) as repositories:
                await repositories.fetch(wanted(f"{host.url}/app.git"))
            assert bool(proxy.asked) == used


async def test_a_proxy_of_a_tenants_is_judged_like_any_other_address() -> None:
    gate = Gate(RepositoriesSettings())
    https = address_of("https://git.example/app")
    for proxy in ("http://127.0.0.1:3128", "http://169.254.169.254:80", "socks5://[::1]:1080"):
        with pytest.raises(SourceRefused, match="not allowed"):
            await gate.reach(https, Credential(trust=Trust(proxy=Secret(proxy))))
    literal = address_of("https://169.254.169.254/app")
    with pytest.raises(SourceRefused, match="link-local"):
        await gate.reach(literal, Credential(trust=Trust(proxy=Secret("http://192.0.2.1:3128"))))


async def test_a_name_with_a_bad_address_among_good_ones_is_refused() -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("192.0.2.1", "127.0.0.1")

    gate = Gate(RepositoriesSettings(), resolve=resolve)
    with pytest.raises(SourceRefused, match="this machine itself"):
        await gate.reach(address_of("https://git.example/app"), ANONYMOUS)


async def test_a_resolver_that_hangs_is_given_up() -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        await asyncio.Event().wait()
        return ()

    gate = Gate(RepositoriesSettings(list_timeout=timedelta(milliseconds=50)), resolve=resolve)
    with pytest.raises(GitUnreachable, match="cannot be resolved"):
        await gate.reach(address_of("https://git.example/app"), ANONYMOUS)


def test_a_file_of_the_operators_that_cannot_be_read_is_told_by_the_setting(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"repositories\.ca_file: .*/nothing does not exist"):
        Gate(RepositoriesSettings(ca_file=str(tmp_path / "nothing")))
    with pytest.raises(InvalidSpec, match=r"repositories\.known_hosts_file: /dev/zero is not a regular file"):
        Gate(RepositoriesSettings(known_hosts_file="/dev/zero"))

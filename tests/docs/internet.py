"""The hosts that pages speak of, on loopback: git.example, charts.example and registry.example.

A proxy leads to them by their names, and an authority of their own vouches for them, so that a page's
commands run as they are written: a setting names the proxy, as in many a company.
"""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from aiohttp import web

from testbed.gitserve import Config, serve_http
from testbed.gitserver import program
from testbed.oci import Registry
from testbed.pki import Authority
from testbed.tlsserver import server_context
from tests.docs.blocks import ROOT
from tests.sources.upstream import Upstream

GIT, CHARTS, REGISTRY = "git.example", "charts.example", "registry.example"
_UNIT = """source: {repoURL: https://git.example/team/shop.git, spec: {path: live}}
destination: {namespace: blog}
policy: {automated: {}, options: [CreateNamespace=true]}
"""
_EXTRA = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extras}\ndata: {closed: Sundays}\n"
#: the chart `web`, at the only version there is
_CHART: Final = MappingProxyType(
    {
        "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\n",
        "values.yaml": "size: small\n",
        "templates/size.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-size}\n"
        'data: {size: "{{ .Values.size }}"}\n',
    }
)


class Internet:
    """Where the proxy is, and who vouches for what is behind it."""

    def __init__(self, folder: Path) -> None:
        self._shelf = folder / "charts"
        self._authority = Authority()
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(self._authority.pem)
        issued = self._authority.issue("hosts", GIT, CHARTS, REGISTRY)
        self._tls = server_context(folder, issued, None)
        self._registry = Registry()
        self._git = _git_config(folder / "git")
        self._proxied = 0
        self.port = 0

    @property
    def environment(self) -> dict[str, str]:
        """What a command has to be told to get there."""
        return {
            "TRIMTAB_REPOSITORIES__PROXY": f"http://127.0.0.1:{self.port}",
            "TRIMTAB_REPOSITORIES__CA_FILE": str(self.ca_file),
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, as the host that it is for."""
        match request.host.partition(":")[0]:
            case "git.example":
                return await serve_http(self._git, request)
            case "registry.example":
                return await self._registry.answer(request)
            case _:
                asked = self._shelf / request.path.lstrip("/")
                return web.FileResponse(asked) if asked.is_file() else web.Response(status=404)

    async def lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Open a tunnel to one of the hosts, and to nobody else."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split(" ", 2)
            if method != "CONNECT" or target.partition(":")[0] not in {GIT, CHARTS, REGISTRY}:
                writer.write(b"HTTP/1.1 502 Nobody\r\nContent-Length: 0\r\n\r\n")
                return
            away_reader, away_writer = await asyncio.open_connection("127.0.0.1", self._proxied)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            async with asyncio.TaskGroup() as both:
                both.create_task(_carry(reader, away_writer))
                both.create_task(_carry(away_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def run(self, ready: threading.Event, done: asyncio.Event) -> None:
        """Serve until it is enough."""
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self.answer)
        hosts = web.AppRunner(app, shutdown_timeout=0.1)
        await hosts.setup()
        await web.TCPSite(hosts, "127.0.0.1", 0, ssl_context=self._tls).start()
        self._proxied = hosts.addresses[0][1]
        proxy = await asyncio.start_server(self.lead, "127.0.0.1", 0)
        self.port = proxy.sockets[0].getsockname()[1]
        ready.set()
        await done.wait()
        proxy.close()
        await hosts.cleanup()

    def publish(self, helm: Path, folder: Path) -> None:
        """Put the chart on the shelf and into the registry, as its authors do."""
        _write(folder / "web", _CHART)
        surroundings = {
            "HOME": str(folder),
            "PATH": f"{helm.parent}:/usr/bin:/bin",
            "HTTPS_PROXY": f"http://127.0.0.1:{self.port}",
        }
        script = f"""
        helm package web -d '{self._shelf}' && helm repo index '{self._shelf}'
        helm push '{self._shelf}/web-1.2.3.tgz' oci://{REGISTRY}/team --ca-file '{self.ca_file}'
        """
        subprocess.run(["sh", "-ec", script], cwd=folder, env=surroundings, check=True, capture_output=True)


@contextmanager
def internet(folder: Path, helm: Path) -> Iterator[Internet]:
    """The hosts, for the length of the block."""
    _fill(folder / "git" / "team")
    hosts, ready = Internet(folder), threading.Event()
    with asyncio.Runner() as loop:
        done = asyncio.Event()
        serving = threading.Thread(target=loop.run, args=(hosts.run(ready, done),))
        serving.start()
        try:
            ready.wait()
            hosts.publish(helm, folder)
            yield hosts
        finally:
            loop.get_loop().call_soon_threadsafe(done.set)
            serving.join()


def _fill(team: Path) -> None:
    """The repositories of the team."""
    team.mkdir(parents=True)
    live = {f"live/{each.name}": each.read_text() for each in (ROOT / "examples" / "shop").iterdir()}
    shop = Upstream(team / "shop.git")
    base = shop.commit({**live, "extras/extras.yaml": _EXTRA})
    dollars = {path: text.replace("EUR", "USD") for path, text in live.items()}
    shop.commit({**dollars, "extras/extras.yaml": _EXTRA}, branch="fix-1", after=base)
    Upstream(team / "settings.git").commit({"web/live.yaml": "size: large\n"})
    Upstream(team / "fleet.git").commit({"units/blog.yaml": _UNIT})


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def _git_config(root: Path) -> Config:
    """Everybody may fetch; nobody knows the password."""
    return Config(
        root=str(root),
        git=program("git"),
        http_port=0,
        https_port=0,
        ssh_port=0,
        user="",
        password="-",
        anonymous_read=True,
        certificate="",
        certificate_key="",
        host_key="",
        authorized_keys="",
    )


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bring over what comes, to its end, which is then the other's, too."""
    with suppress(OSError):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
    writer.close()

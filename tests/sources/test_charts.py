"""Charts that depend on others in repositories and registries, fetched by the real helm."""

from __future__ import annotations

import asyncio
import contextlib
import io
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from testbed.oci import Registry, registry
from testbed.pki import Authority
from testbed.tlsserver import server_context
from tests.sources.conftest import settings_in
from tests.sources.corpora import shell
from tests.sources.githost import GitHost, basic_header, git_host
from trimtab.errors import NotAllowed, RenderFailed, SourceRefused, Unavailable
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import ProgramsSettings
from trimtab.sources import FolderOrigin, Renderer, Request
from trimtab.sources.rendering.specs import Helm, SourceSpec
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential, Trust

PASSWORD = "opensesame-of-the-charts"
WELCOME = basic_header("me", PASSWORD)
CHART = "apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
PROGRAMS = ProgramsSettings(fetch=False)
AUTHORITY = Authority("charts")


def belonging(url: str, *, password: str = PASSWORD, ca: str = "") -> Belonging:
    login = Basic(username="me", password=Secret(password))
    credential = Credential(login=login, trust=Trust(ca=ca))
    return Belonging(url=url, credential=credential, below=True, name="entry 1 of the file")


class Desk:
    """A chart `app` that depends on `sub`, which lies elsewhere."""

    def __init__(self, folder: Path, tools: str) -> None:
        self.folder = folder
        self.tools = tools
        for name in ("app", "sub"):
            (folder / name / "templates").mkdir(parents=True)
            (folder / name / "Chart.yaml").write_text(CHART.format(name=name))
            (folder / name / "templates" / "a.yaml").write_text(CONFIG_MAP.format(name=name))

    async def sh(self, script: str) -> None:
        """Run the real helm; servers of this loop answer it meanwhile."""
        await asyncio.to_thread(shell, script, self.folder, self.tools)

    def depend_on(self, repository: str) -> None:
        dependency = f"dependencies: [{{name: sub, version: 1.0.0, repository: '{repository}'}}]\n"
        (self.folder / "app" / "Chart.yaml").write_text(CHART.format(name="app") + dependency)

    def request(self, *credentials: Belonging, pass_credentials: bool = False) -> Request:
        spec = SourceSpec(path="app", helm=Helm(pass_credentials=pass_credentials))
        tree = FolderOrigin(path=str(self.folder))
        return Request(name="web", namespace="shop", spec=spec, tree=tree, credentials=credentials)

    @asynccontextmanager
    async def renderer(self, *remotes: str, programs: ProgramsSettings = PROGRAMS) -> AsyncIterator[Renderer]:
        settings = msgspec.structs.replace(settings_in(self.folder / "own"), remotes=remotes)
        async with Renderer(settings, programs, path=self.tools) as renderer:
            yield renderer


@pytest.fixture
def desk(tmp_path: Path, tools: str) -> Desk:
    return Desk(tmp_path, tools)


async def names(renderer: Renderer, request: Request) -> list[str]:
    return [made.key.name for made in (await renderer.render(request)).manifests]


@pytest.fixture
async def charts(desk: Desk) -> AsyncIterator[Registry]:
    """A registry that holds `sub`, as helm itself pushed it."""
    context = server_context(desk.folder, AUTHORITY.issue("registry", "127.0.0.1"), None)
    async with registry(context) as serving:
        (desk.folder / "ca.pem").write_bytes(AUTHORITY.pem)
        await desk.sh(
            f"helm package sub && helm push sub-1.0.0.tgz oci://{serving.host}/team --ca-file ca.pem"
        )
        serving.welcome = {WELCOME}
        serving.asked.clear()
        yield serving


async def test_a_dependency_comes_from_a_registry_with_the_credential_for_it(
    desk: Desk, charts: Registry
) -> None:
    desk.depend_on(f"oci://{charts.host}/team")
    ca = AUTHORITY.pem.decode()
    ours = desk.request(belonging(f"https://{charts.host}/team", ca=ca))
    async with desk.renderer() as strict:
        with pytest.raises(SourceRefused, match="may not be fetched"):
            await strict.render(ours)
    async with desk.renderer(f"oci://{charts.host}") as renderer:
        assert await names(renderer, ours) == ["sub", "app"]
        asked = len(charts.asked)
        assert await names(renderer, ours) == ["sub", "app"]
        assert len(charts.asked) == asked > 0  # an exact version is fetched once

        # What one has fetched is not for others: their own credential has to open the registry.
        for stranger in (
            belonging(f"https://{charts.host}/team", ca=ca, password="opensesame-wrong"),
            belonging(f"https://{charts.host}/other", ca=ca),
        ):
            with pytest.raises((NotAllowed, Unavailable)) as raised:
                await renderer.render(desk.request(stranger))
            assert "opensesame" not in str(raised.value)


async def test_a_refusal_names_the_credential_and_is_not_remembered(desk: Desk, charts: Registry) -> None:
    desk.depend_on(f"oci://{charts.host}/team")
    request = desk.request(belonging(f"https://{charts.host}", ca=AUTHORITY.pem.decode()))
    charts.welcome = set()
    async with desk.renderer(f"oci://{charts.host}/team") as renderer:
        with pytest.raises(NotAllowed) as raised:
            await renderer.render(request)
        assert "Shown was entry 1 of the file" in raised.value.reason
        assert PASSWORD not in str(raised.value)
        charts.welcome = {WELCOME}
        assert await names(renderer, request) == ["sub", "app"]


@asynccontextmanager
async def chart_repository(desk: Desk, elsewhere: GitHost | None = None) -> AsyncIterator[GitHost]:
    """A chart repository behind a password; its charts may lie on another host."""
    async with git_host(desk.folder) as host:
        place = f"{(elsewhere or host).url}/charts"
        await desk.sh(f"mkdir shelf && helm package sub -d shelf && helm repo index shelf --url {place}")
        shelf = {each.name: each.read_bytes() for each in (desk.folder / "shelf").iterdir()}

        async def serve(request: web.Request) -> web.Response:
            if request.headers.get("Authorization") != WELCOME:
                return web.Response(status=401)
            content = shelf.get(request.path.rpartition("/")[2])
            return web.Response(status=404) if content is None else web.Response(body=content)

        host.lie = serve
        if elsewhere is not None:
            elsewhere.lie = serve
        yield host


async def test_a_dependency_comes_from_a_chart_repository_with_the_password_for_it(desk: Desk) -> None:
    async with chart_repository(desk) as host:
        address = f"{host.url}/charts"
        desk.depend_on(address)
        async with desk.renderer(address) as renderer:
            with pytest.raises(NotAllowed, match="No credential was found"):
                await renderer.render(desk.request())
            assert await names(renderer, desk.request(belonging(address))) == ["sub", "app"]


async def test_another_host_is_told_the_password_only_where_the_spec_passes_it_on(
    desk: Desk, tmp_path: Path
) -> None:
    async with git_host(tmp_path) as elsewhere, chart_repository(desk, elsewhere) as host:
        address = f"{host.url}/charts"
        desk.depend_on(address)
        async with desk.renderer(address) as renderer:
            with pytest.raises(NotAllowed):
                await renderer.render(desk.request(belonging(address)))
            assert {asked.authorization for asked in elsewhere.log} == {""}
            assert await names(renderer, desk.request(belonging(address), pass_credentials=True)) == [
                "sub",
                "app",
            ]


async def test_a_repository_that_fails_is_asked_again(desk: Desk) -> None:
    async with chart_repository(desk) as host:
        address = f"{host.url}/charts"
        desk.depend_on(address)
        honest = host.lie

        async def broken(_: web.Request) -> web.Response:
            return web.Response(status=503)

        host.lie = broken
        async with desk.renderer(address) as renderer:
            with pytest.raises(Unavailable, match="could not be fetched"):
                await renderer.render(desk.request(belonging(address)))
            host.lie = honest
            assert await names(renderer, desk.request(belonging(address))) == ["sub", "app"]


async def test_a_fetched_archive_has_to_be_as_honest_as_a_vendored_one(desk: Desk) -> None:
    hostile = io.BytesIO()
    with tarfile.open(fileobj=hostile, mode="w:gz") as archive:
        archive.add(desk.folder / "sub", arcname="sub")
        link = tarfile.TarInfo("sub/templates/passwd")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    async with chart_repository(desk) as host:
        address = f"{host.url}/charts"
        desk.depend_on(address)
        honest = host.lie
        assert honest is not None

        async def swapped(request: web.Request) -> web.StreamResponse | None:
            if request.path.endswith(".tgz"):
                return web.Response(body=hostile.getvalue())
            return await honest(request)

        host.lie = swapped
        async with desk.renderer(address) as renderer:
            with pytest.raises(SourceRefused, match="'sub/templates/passwd' is neither file nor folder"):
                await renderer.render(desk.request(belonging(address)))


async def test_a_repository_that_never_stops_sending_is_stopped(desk: Desk) -> None:
    async with chart_repository(desk) as host:
        address = f"{host.url}/charts"
        desk.depend_on(address)

        async def endless(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                while True:
                    await response.write(b"x" * (1 << 20))
            return response

        host.lie = endless
        small = msgspec.structs.replace(PROGRAMS, memory=160 << 20)
        async with desk.renderer(address, programs=small) as renderer:
            with pytest.raises(RenderFailed, match="memory"):
                await renderer.render(desk.request(belonging(address)))

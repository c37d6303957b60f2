"""Charts that depend on others in repositories and registries, which we fetch; the real helm is the judge."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from testbed.oci import Registry, registry
from testbed.pki import Authority
from testbed.tlsserver import server_context
from tests.sources.conftest import OPEN, settings_in
from tests.sources.corpora import shell
from tests.sources.githost import GitHost, basic_header, git_host
from trimtab.errors import NotAllowed, RenderFailed, SourceRefused, TrimtabError, Unavailable
from trimtab.kube.auth.redaction import Secret
from trimtab.resources.yaml import documents
from trimtab.settings import ProgramsSettings, RepositoriesSettings
from trimtab.sources import Charts, FolderOrigin, Renderer, Request
from trimtab.sources.charts.wishes import Brought, ChartRevision, WantedChart
from trimtab.sources.rendering.render import BringChart
from trimtab.sources.rendering.specs import Helm, SourceSpec
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential, Trust

PASSWORD = "opensesame-of-the-charts"
WELCOME = basic_header("me", PASSWORD)
CHART = "apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
SUB = """apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Chart.Name }}}
data: {version: {{ .Chart.Version }}, color: {{ .Values.color | default "none" }}}
"""
PROGRAMS = ProgramsSettings(fetch=False)
AUTHORITY = Authority("charts")
KEY = b"k" * 32
ELSEWHERE = "https://charts.example"


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
        (folder / "app" / "templates" / "a.yaml").write_text(CONFIG_MAP.format(name="app"))
        (folder / "sub" / "templates" / "a.yaml").write_text(SUB)

    async def sh(self, script: str) -> bytes:
        """Run the real helm; servers of this loop answer it meanwhile."""
        return await asyncio.to_thread(shell, script, self.folder, self.tools)

    def depend_on(self, repository: str, *, version: str = "1.0.0", more: str = "") -> None:
        first = f"{{name: sub, version: '{version}', repository: '{repository}'}}"
        content = f"{CHART.format(name='app')}dependencies: [{first}{more}]\n"
        (self.folder / "app" / "Chart.yaml").write_text(content)

    def request(self, *credentials: Belonging, pass_credentials: bool = False) -> Request:
        spec = SourceSpec(path="app", helm=Helm(pass_credentials=pass_credentials))
        tree = FolderOrigin(path=str(self.folder))
        return Request(name="web", namespace="shop", spec=spec, tree=tree, credentials=credentials)

    @asynccontextmanager
    async def renderer(self, *remotes: str, **repositories: object) -> AsyncIterator[Renderer]:
        """A process of its own, as far as what it remembers goes."""
        settings = msgspec.structs.replace(settings_in(self.folder / "own"), remotes=remotes)
        folder = str(self.folder / "repositories")
        chosen = msgspec.convert({**OPEN, "folder": folder, **repositories}, RepositoriesSettings)
        async with (
            Charts(chosen, key=KEY) as charts,
            Renderer(settings, PROGRAMS, path=self.tools, charts=charts.bring) as renderer,
        ):
            yield renderer

    def left(self) -> list[str]:
        """What lies about where archives are kept and where programs work."""
        places = (self.folder / "repositories", self.folder / "own" / "private")
        return [each.name for place in places for each in place.rglob("*") if each.is_file()]


@pytest.fixture
def desk(tmp_path: Path, tools: str) -> Desk:
    return Desk(tmp_path, tools)


async def names(renderer: Renderer, request: Request) -> list[str]:
    return [made.key.name for made in (await renderer.render(request)).manifests]


def packed_chart(name: str) -> bytes:
    """A chart with one ConfigMap of its own name."""
    out = io.BytesIO()
    files = {"Chart.yaml": CHART.format(name=name), "templates/a.yaml": CONFIG_MAP.format(name=name)}
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


class Shop:
    """Hands out charts that were packed beforehand, and remembers how many were wanted at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.given: list[str] = []
        self.now = self.most = 0
        self.crowded, self.is_last = asyncio.Event(), asyncio.Event()

    async def bring(self, wanted: WantedChart) -> Brought:
        self.now += 1
        self.most = max(self.now, self.most)
        try:
            await self._give(wanted.name)
        finally:
            self.now -= 1
        self.given.append(wanted.name)
        packed = packed_chart(wanted.name)
        place = self._folder / f"{wanted.name}.tgz"
        place.write_bytes(packed)
        revision = ChartRevision(
            url=wanted.url,
            name=wanted.name,
            version="1.0.0",
            digest=hashlib.sha256(packed).hexdigest(),
            archive=str(place),
            largest=1 << 20,
        )
        return Brought(revision=revision, warning=f"of {wanted.name}")

    async def _give(self, name: str) -> None:
        """The first is ready when the last is, and nobody before four have come."""
        if self.now == 4:
            self.crowded.set()
        await self.crowded.wait()
        if name == "sub":
            await self.is_last.wait()
        elif name == "sub6":
            self.is_last.set()


def fetching_by(desk: Desk, bring: BringChart) -> Renderer:
    """A renderer that has charts brought in this way."""
    settings = msgspec.structs.replace(settings_in(desk.folder / "own"), remotes=(ELSEWHERE,))
    return Renderer(settings, PROGRAMS, path=desk.tools, charts=bring)


def needing(desk: Desk, count: int) -> Request:
    """A chart that needs so many others."""
    address = ELSEWHERE
    others = (f"name: sub{number}, version: 1.0.0" for number in range(2, count + 1))
    desk.depend_on(address, more="".join(f", {{{each}, repository: '{address}'}}" for each in others))
    return desk.request()


async def test_what_a_chart_needs_is_fetched_together_and_told_in_its_order(desk: Desk) -> None:
    shop, request = Shop(desk.folder), needing(desk, 6)
    async with asyncio.timeout(60), fetching_by(desk, shop.bring) as renderer:
        made = await renderer.render(request)
    subs = ["sub", *(f"sub{number}" for number in range(2, 7))]
    assert sorted(each.key.name for each in made.manifests) == ["app", *subs]
    assert [each for each in made.warnings if each.startswith("of ")] == [f"of {name}" for name in subs]
    assert (shop.most, sorted(shop.given)) == (4, subs)
    assert shop.given.index("sub6") < shop.given.index("sub")


async def test_a_chart_that_cannot_be_had_is_named_and_the_others_are_waited_for_no_more(desk: Desk) -> None:
    ended: list[str] = []

    async def bring(wanted: WantedChart) -> Brought:
        if wanted.name == "sub3":
            raise SourceRefused(wanted.subject, "it is not for you")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(wanted.name)
        raise AssertionError("nobody waits for it")

    request = needing(desk, 4)
    async with asyncio.timeout(60), fetching_by(desk, bring) as renderer:
        with pytest.raises(SourceRefused, match=r"sub3.*it is not for you"):
            await renderer.render(request)
    assert sorted(ended) == ["sub", "sub2", "sub4"]


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
    desk.depend_on(f"oci://{charts.host}/team", version="^1")
    ca = AUTHORITY.pem.decode()
    ours = desk.request(belonging(f"https://{charts.host}/team", ca=ca))
    async with desk.renderer() as strict:
        with pytest.raises(SourceRefused, match="may not be fetched"):
            await strict.render(ours)
        assert charts.asked == []
    async with desk.renderer(f"oci://{charts.host}") as renderer:
        charts.welcome = set()
        with pytest.raises(NotAllowed, match="shown was entry 1 of the file"):
            await renderer.render(ours)
        charts.welcome = {WELCOME}  # and a refusal is not remembered
        charts.elsewhere = "https://169.254.169.254/latest"
        with pytest.raises(SourceRefused, match="link-local"):
            await renderer.render(ours)
        charts.elsewhere, honest = "", dict(charts.blobs)
        charts.blobs = dict.fromkeys(honest, b"another")
        with pytest.raises(SourceRefused, match="not the one that the repository names"):
            await renderer.render(ours)
        charts.blobs = honest
        assert await names(renderer, ours) == ["sub", "app"]
        asked, spent = len(charts.asked), renderer.spent
        assert await names(renderer, ours) == ["sub", "app"]
        assert (len(charts.asked), renderer.spent) == (asked, spent)  # nobody was asked, nothing was run

        # What one has fetched is not for others: their own credential has to open the registry.
        for stranger in (
            belonging(f"https://{charts.host}/team", ca=ca, password="opensesame-wrong"),
            belonging(f"https://{charts.host}/other", ca=ca),
        ):
            with pytest.raises((NotAllowed, SourceRefused)) as raised:
                await renderer.render(desk.request(stranger))
            assert "opensesame" not in str(raised.value)
    assert {each.name for each in (desk.folder / "app").iterdir()} == {"templates", "Chart.yaml"}


class Shelf:
    """A chart repository behind a password, which lies on request."""

    def __init__(self, desk: Desk, host: GitHost, place: str) -> None:
        self._desk, self._place = desk, place
        self.host = host
        self.address = f"{host.url}/charts"
        self.request = desk.request(belonging(self.address))
        #: answers instead of the files, by the ending of the path
        self.lies: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {}

    async def publish(self, version: str) -> None:
        await self._desk.sh(
            f"helm package sub -d shelf --version {version} && helm repo index shelf --url {self._place}"
        )

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != WELCOME:
            return web.Response(status=401)
        name = request.path.rpartition("/")[2]
        if name in self.lies:
            return await self.lies[name](request)
        file = self._desk.folder / "shelf" / name
        return web.Response(body=file.read_bytes()) if file.is_file() else web.Response(status=404)


@asynccontextmanager
async def chart_repository(desk: Desk, elsewhere: GitHost | None = None) -> AsyncIterator[Shelf]:
    """A chart repository behind a password; its charts may lie on another host."""
    async with git_host(desk.folder) as host:
        shelf = Shelf(desk, host, f"{(elsewhere or host).url}/charts")
        await shelf.publish("1.0.0")
        host.lie = shelf.serve
        if elsewhere is not None:
            elsewhere.lie = shelf.serve
        yield shelf


async def test_dependencies_are_resolved_and_rendered_as_helm_does_it_by_hand(desk: Desk) -> None:
    async with chart_repository(desk) as shelf, desk.renderer(shelf.address) as renderer:
        again = f", {{name: sub, version: '>1.0.0', repository: '{shelf.address}', "
        more = f"{again}alias: unused, condition: use.it}}{again}alias: other, tags: [x]}}"
        # What is vendored beside them, in a version that nobody asked for, gives way.
        more += ", {name: near, version: 1.0.0, repository: 'file://../near'}"
        await desk.sh("cp -r sub near; sed -i 's/sub/near/' near/Chart.yaml")
        await desk.sh("helm package sub -d app/charts --version 0.9.0")
        desk.depend_on(shelf.address, version="~1.0.0", more=more)
        (desk.folder / "app" / "values.yaml").write_text("other: {color: red}\nuse: {it: false}\n")
        await shelf.publish("1.1.0")
        ours = await renderer.render(shelf.request)
        judge = await desk.sh(
            f"cp -r app hand && helm repo add r {shelf.address} --username me --password {PASSWORD} >&2"
            " && helm dependency build hand >/dev/null && helm template web hand -n shop"
        )
        assert [made.manifest() for made in ours.manifests] == [
            each.value for each in documents(judge, "helm")
        ]
        found = {made.key.name: made.manifest().get("data") for made in ours.manifests}
        newest, pinned = {"version": "1.1.0", "color": "red"}, {"version": "1.0.0", "color": "none"}
        assert found == {"other": newest, "sub": pinned, "near": pinned, "app": None}
        read = {look.answer for look in ours.read if look.source.startswith("chart.")}
        packed = [desk.folder / "shelf" / f"sub-{version}.tgz" for version in ("1.0.0", "1.1.0")]
        assert {f"file {hashlib.sha256(each.read_bytes()).hexdigest()}" for each in packed} <= read

        # The lock that helm made counts, until something else is declared.
        (desk.folder / "hand" / "Chart.lock").rename(desk.folder / "app" / "Chart.lock")
        await shelf.publish("1.2.0")
        async with desk.renderer(shelf.address) as later:
            assert (await later.render(shelf.request)).manifests == ours.manifests
        desk.depend_on(shelf.address, version="~1.1.0", more=more)
        with pytest.raises(RenderFailed, match=r"lock file \(Chart.lock\) is out of sync"):
            await renderer.render(shelf.request)
        (desk.folder / "app" / "Chart.lock").unlink()
        assert (await renderer.render(shelf.request)).key != ours.key


async def test_another_host_is_told_the_password_only_where_the_spec_passes_it_on(
    desk: Desk, tmp_path: Path
) -> None:
    async with git_host(tmp_path) as elsewhere, chart_repository(desk, elsewhere) as shelf:
        desk.depend_on(shelf.address)
        async with desk.renderer(shelf.address) as renderer:
            with pytest.raises(NotAllowed):
                await renderer.render(shelf.request)
            assert {asked.authorization for asked in elsewhere.log} == {""}
            passing = desk.request(belonging(shelf.address), pass_credentials=True)
            assert await names(renderer, passing) == ["sub", "app"]


async def test_what_was_given_last_stays_in_force_while_its_server_is_away(desk: Desk) -> None:
    async with chart_repository(desk) as shelf:
        desk.depend_on(shelf.address, version="^1")

        async def broken(_: web.Request) -> web.Response:
            return web.Response(status=503)

        shelf.lies["index.yaml"] = broken
        async with desk.renderer(shelf.address) as renderer:
            with pytest.raises(Unavailable, match="the server fails"):
                await renderer.render(shelf.request)
            shelf.lies.clear()  # a server that fails is asked again
            first = await renderer.render(shelf.request)
    # The server is gone, and this is another process; its own cache of renders is gone, too.
    for renders in (desk.folder / "own" / "cache" / "results").rglob("*"):
        if renders.is_file():
            renders.unlink()
    async with desk.renderer(shelf.address) as renderer:
        kept = await renderer.render(shelf.request)
        assert (kept.manifests, kept.key) == (first.manifests, first.key)
        assert renderer.spent > 0  # it was rendered anew, from what was kept
        assert [warning.endswith("Version 1.0.0 stays in force.") for warning in kept.warnings] == [True]
        stranger = desk.request(belonging(shelf.address, password="opensesame-wrong"))
        for other in (stranger, desk.request()):
            with pytest.raises(Unavailable, match="cannot be reached"):
                await renderer.render(other)


# --- servers that lie ------------------------------------------------------------------------------------


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while True:
            await response.write(b"x" * (1 << 20))
    return response


async def half(request: web.Request) -> web.StreamResponse:
    """The beginning of an answer, and then nothing more."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"x" * 500)
    if request.transport is not None:
        request.transport.close()
    return response


def told(body: bytes) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    return answer


def moved(to: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": to})

    return answer


def index(*, version: str = "1.0.0", url: str = "sub-1.0.0.tgz") -> bytes:
    return f"entries: {{sub: [{{version: '{version}', urls: ['{url}']}}]}}".encode()


def with_a_link() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        packed.addfile(tarfile.TarInfo("sub/Chart.yaml"), io.BytesIO())
        link = tarfile.TarInfo("sub/templates/passwd")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    return out.getvalue()


ARCHIVE = "sub-1.0.0.tgz"
LIES: tuple[tuple[dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]], str], ...] = (
    ({"index.yaml": moved("http://127.0.0.2/index.yaml")}, "this machine itself"),
    ({ARCHIVE: moved("http://127.0.0.2/sub.tgz")}, "this machine itself"),
    ({ARCHIVE: moved("http://169.254.169.254/latest")}, "link-local"),
    ({"index.yaml": told(index(url="http://10.0.0.1/sub.tgz"))}, "the operator has refused"),
    ({"index.yaml": endless}, "sends more than 2 MiB"),
    ({ARCHIVE: endless}, "sends more than 2 MiB"),
    ({ARCHIVE: told(b"another")}, "not the one that the repository names"),
    ({ARCHIVE: half}, "cannot be reached"),
    ({"index.yaml": told(index()), ARCHIVE: told(with_a_link())}, "is neither file nor folder"),
    ({"index.yaml": told(index(version="1.0.0/../../../x"))}, "none of its 1 versions"),
    ({"index.yaml": told(b"entries: {'../sub': [{version: 1.0.0, urls: [a]}]}")}, "no chart of this name"),
)


async def test_a_server_that_lies_is_refused_and_leaves_nothing(desk: Desk) -> None:
    async with chart_repository(desk) as shelf:
        desk.depend_on(shelf.address)
        rules = {"allow_hosts": ("127.0.0.1",), "refuse_networks": ("10.0.0.0/8",)}
        bounds = {"largest_chart": 2 << 20, "poll_every": "PT0S"}
        async with desk.renderer(shelf.address, **rules, **bounds) as renderer:
            for lies, reason in LIES:
                shelf.lies = lies
                with pytest.raises(TrimtabError) as raised:
                    await renderer.render(shelf.request)
                assert reason in raised.value.reason
                assert PASSWORD not in str(raised.value)
                assert desk.left() == []
            shelf.lies = {}
            assert await names(renderer, shelf.request) == ["sub", "app"]

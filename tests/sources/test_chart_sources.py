"""Charts as sources of their own, from a registry and from a chart repository; the real helm is the judge."""

from __future__ import annotations

import asyncio
import io
import shutil
import sys
import tarfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from testbed.oci import Registry, registry
from testbed.pki import Authority
from testbed.tlsserver import server_context
from tests.sources.conftest import OPEN
from tests.sources.corpora import shell
from tests.sources.githost import GitHost, basic_header, git_host
from trimtab.errors import SourceRefused, Unavailable
from trimtab.kube.auth.redaction import Secret
from trimtab.resources.yaml import documents
from trimtab.settings import RepositoriesSettings
from trimtab.sources import ChartOrigin, Charts, FolderOrigin, Renderer, Request
from trimtab.sources.charts.wishes import ChartRevision, WantedChart
from trimtab.sources.rendering.specs import Helm, SourceSpec
from trimtab.sources.repositories.complaints import CredentialRefused, RepositoryMissing, RevisionMissing
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential, Trust

PASSWORD = "opensesame-of-the-charts"
WELCOME = basic_header("me", PASSWORD)
AUTHORITY = Authority("charts")
TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data: {greeting: {{ .Values.greeting }}, version: {{ .Chart.Version }}}
"""
VERSIONS = ("1.0.0", "1.1.0", "1.2.0-rc.1", "2.0.0+b1")


class Desk:
    """A folder in which charts are packed, and what is wanted of them."""

    def __init__(self, folder: Path, tools: str) -> None:
        self.folder, self.tools = folder, tools
        (folder / "ca.pem").write_bytes(AUTHORITY.pem)
        (folder / "shelf").mkdir(exist_ok=True)

    async def sh(self, script: str) -> bytes:
        """Run the real helm; servers of this loop answer it meanwhile."""
        return await asyncio.to_thread(shell, script, self.folder, self.tools)

    @asynccontextmanager
    async def charts(self, *, key: bytes | None = None, **settings: object) -> AsyncIterator[Charts]:
        folder = str(self.folder / "repositories")
        chosen = msgspec.convert({**OPEN, "folder": folder, **settings}, RepositoriesSettings)
        async with Charts(chosen, key=key) as charts:
            yield charts


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory, tools: str) -> Path:
    """All versions of the chart `web`, packed by helm."""
    folder = tmp_path_factory.mktemp("packed")
    (folder / "web" / "templates").mkdir(parents=True)
    (folder / "web" / "templates" / "a.yaml").write_text(TEMPLATE)
    (folder / "web" / "values.yaml").write_text("greeting: hello\n")
    (folder / "web" / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 0.0.0\n")
    shell("".join(f"helm package web -d shelf --version {each}\n" for each in VERSIONS), folder, tools)
    return folder / "shelf"


@pytest.fixture
def desk(tmp_path: Path, tools: str, packed: Path) -> Desk:
    shutil.copytree(packed, tmp_path / "shelf")
    return Desk(tmp_path, tools)


@pytest.fixture
async def shop(desk: Desk) -> AsyncIterator[Registry]:
    """A registry that holds all versions, as helm itself pushed them."""
    context = server_context(desk.folder, AUTHORITY.issue("registry", "127.0.0.1"), None)
    async with registry(context) as serving:
        push = f"for chart in shelf/*; do helm push $chart oci://{serving.host}/team --ca-file ca.pem; done"
        await desk.sh(push)
        serving.welcome = {WELCOME}
        serving.asked.clear()
        yield serving


def belonging(url: str, *, password: str = PASSWORD) -> Belonging:
    login = Basic(username="me", password=Secret(password))
    credential = Credential(login=login, trust=Trust(ca=AUTHORITY.pem.decode()))
    return Belonging(url=url, credential=credential, below=True, name="entry 1 of the file")


def from_registry(shop: Registry, target: str, *, password: str = PASSWORD) -> WantedChart:
    known = (belonging(f"https://{shop.host}/team", password=password),)
    return WantedChart(url=f"oci://{shop.host}/team", name="web", target=target, credentials=known)


def request_for(chart: ChartRevision, **more: object) -> Request:
    spec = SourceSpec(chart=chart.name, helm=Helm(value_files=("$values/live.yaml",)) if more else None)
    tree = ChartOrigin(revision=chart)
    return msgspec.structs.replace(Request(name="shop", namespace="live", spec=spec, tree=tree), **more)


@pytest.mark.parametrize("realm", ["", "/token"], ids=["with a password", "with a token"])
async def test_a_chart_of_a_registry_renders_as_helm_renders_it(
    desk: Desk, shop: Registry, renderer: Renderer, realm: str
) -> None:
    shop.realm = f"https://{shop.host}{realm}" if realm else ""
    (desk.folder / "values").mkdir()
    (desk.folder / "values" / "live.yaml").write_text("greeting: live\n")
    async with desk.charts() as charts:
        found = await charts.fetch(from_registry(shop, "^1"))
        values = FolderOrigin(path=str(desk.folder / "values"))
        rendered = await renderer.render(request_for(found, refs={"values": values}))
        asked = len(shop.asked)
        assert await charts.fetch(from_registry(shop, "^1")) == found
        assert len(shop.asked) == asked > 0  # nothing is asked twice within the interval
        assert (await charts.fetch(from_registry(shop, "~1.2-0"))).version == "1.2.0-rc.1"
        assert (await charts.fetch(from_registry(shop, ""))).version == "2.0.0+b1"
    assert found.version == "1.1.0"
    judge = await desk.sh("helm template shop shelf/web-1.1.0.tgz -n live -f values/live.yaml")
    assert [made.manifest() for made in rendered.manifests] == [
        each.value for each in documents(judge, "helm")
    ]
    assert rendered.manifests[0].manifest()["data"] == {"greeting": "live", "version": "1.1.0"}


async def test_the_command_renders_a_chart_as_helm_does(desk: Desk, shop: Registry) -> None:
    (desk.folder / "credentials.toml").touch(0o600)
    (desk.folder / "credentials.toml").write_text(
        f"""[[credential]]
url = "https://{shop.host}"
username = "me"
password = "{PASSWORD}"
ca_file = "{desk.folder}/ca.pem"
"""
    )
    said = await desk.sh(
        f"TRIMTAB_REPOSITORIES__ALLOW_HOSTS=127.0.0.1"
        f" TRIMTAB_REPOSITORIES__CREDENTIALS_FILE={desk.folder}/credentials.toml"
        f" {sys.executable} -m trimtab render oci://{shop.host}/team/web --revision 1.x -n live"
    )
    judge = await desk.sh("helm template web shelf/web-1.1.0.tgz -n live")
    assert [each.value for each in documents(said, "trimtab")] == [
        each.value for each in documents(judge, "helm")
    ]


async def test_an_archive_is_fetched_once_and_the_key_names_what_it_holds(
    desk: Desk, shop: Registry, renderer: Renderer
) -> None:
    async with desk.charts() as charts:
        first = await charts.fetch(from_registry(shop, "1.0.0"))
        assert not any("tags" in asked for asked in shop.asked)  # an exact version needs no list
    shop.asked.clear()
    async with desk.charts() as charts:  # another process
        again = await charts.fetch(from_registry(shop, "1.0.0"))
        assert not any("blobs" in asked for asked in shop.asked)
        other = await charts.fetch(from_registry(shop, "1.1.0"))
    assert first == again
    one, two = request_for(first), request_for(other)
    # A damaged archive is not read, and is fetched anew.
    await asyncio.to_thread(Path(other.archive).write_bytes, b"something else")
    with pytest.raises(Unavailable, match="damaged"):
        await renderer.render(two)
    async with desk.charts() as charts:
        mended = await charts.fetch(from_registry(shop, "1.1.0"))
    rendered = await renderer.render(one)
    assert await renderer.keys([one, request_for(mended)]) == (rendered.key, "")


async def test_nobody_is_given_what_his_own_credential_does_not_open(desk: Desk, shop: Registry) -> None:
    async with desk.charts() as charts:
        await charts.fetch(from_registry(shop, "1.0.0"))
        with pytest.raises(CredentialRefused) as refused:
            await charts.fetch(from_registry(shop, "1.0.0", password="opensesame-wrong"))
        assert "shown was entry 1 of the file" in refused.value.reason
        assert "opensesame" not in str(refused.value)
        with pytest.raises(RevisionMissing):
            await charts.fetch(from_registry(shop, "3.0.0"))
        with pytest.raises(RevisionMissing, match="none of its 4 versions is \\^3"):
            await charts.fetch(from_registry(shop, "^3"))
        with pytest.raises(RepositoryMissing):
            await charts.fetch(msgspec.structs.replace(from_registry(shop, "^1"), name="other"))
    async with desk.charts(allow_hosts=[]) as charts:
        shop.asked.clear()
        with pytest.raises(SourceRefused, match="this machine itself"):
            await charts.fetch(from_registry(shop, "1.0.0"))
        assert shop.asked == []


class Shelf:
    """A chart repository behind a password, which counts, and lies on request."""

    def __init__(self, host: GitHost, folder: Path) -> None:
        self.host, self._folder = host, folder
        #: answers instead of the files, by the ending of the path
        self.lies: dict[str, Callable[[], web.Response]] = {}
        self.wanted = WantedChart(
            url=f"{host.url}/charts", name="web", target="^1", credentials=(belonging(f"{host.url}/charts"),)
        )
        host.lie = self.serve

    async def serve(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != WELCOME:
            return web.Response(status=401)
        name = request.path.rpartition("/")[2]
        if name in self.lies:
            return self.lies[name]()
        if not (self._folder / name).exists():
            return web.Response(status=404)
        if request.headers.get("If-None-Match") == '"first"':
            return web.Response(status=304)
        return web.Response(body=(self._folder / name).read_bytes(), headers={"ETag": '"first"'})

    def asked(self, ending: str) -> int:
        """How often files with this ending were asked for."""
        return sum(each.path.endswith(ending) for each in self.host.log)


@asynccontextmanager
async def shelf(desk: Desk, *, place: str = "") -> AsyncIterator[Shelf]:
    async with git_host(desk.folder) as host:
        await desk.sh(f"helm repo index shelf {f'--url {place}' if place else ''}")
        yield Shelf(host, desk.folder / "shelf")


async def test_a_chart_of_a_repository_renders_as_helm_renders_it(desk: Desk, renderer: Renderer) -> None:
    async with shelf(desk) as served, desk.charts() as charts:
        found = await charts.fetch(served.wanted)
        assert await charts.fetch(served.wanted) == found
        assert (served.asked("index.yaml"), served.asked(".tgz")) == (1, 1)
        # The server is asked anew, says that nothing changed, and that is all.
        assert await charts.fetch(served.wanted, fresh=True) == found
        assert (served.asked("index.yaml"), served.asked(".tgz")) == (2, 1)
        judge = await desk.sh(
            f"helm template shop web --repo {served.wanted.url} --version '^1' -n live"
            f" --username me --password {PASSWORD}"
        )
        with pytest.raises(CredentialRefused, match="none was found for this address"):
            await charts.fetch(msgspec.structs.replace(served.wanted, credentials=()))
        with pytest.raises(RepositoryMissing, match="no chart of this name"):
            await charts.fetch(msgspec.structs.replace(served.wanted, name="other"))
    rendered = await renderer.render(request_for(found))
    assert [made.manifest() for made in rendered.manifests] == [
        each.value for each in documents(judge, "helm")
    ]


async def test_a_repository_may_send_to_a_registry_which_has_a_credential_of_its_own(
    desk: Desk, shop: Registry
) -> None:
    index = f"entries: {{web: [{{version: 1.1.0, urls: ['oci://{shop.host}/team/web:1.1.0']}}]}}"
    async with shelf(desk) as served, desk.charts() as charts:
        served.lies["index.yaml"] = lambda: web.Response(text=index)
        known = (*served.wanted.credentials, *from_registry(shop, "").credentials)
        found = await charts.fetch(msgspec.structs.replace(served.wanted, credentials=known))
    assert (found.version, found.url) == ("1.1.0", f"oci://{shop.host}/team")


async def test_another_host_is_told_the_password_only_where_the_spec_passes_it_on(
    desk: Desk, tmp_path: Path
) -> None:
    async with git_host(tmp_path) as elsewhere, shelf(desk, place=f"{elsewhere.url}/x") as served:
        elsewhere.lie = served.serve
        async with desk.charts() as charts:
            with pytest.raises(CredentialRefused):
                await charts.fetch(served.wanted)
            assert {asked.authorization for asked in elsewhere.log} == {""}
            passing = msgspec.structs.replace(served.wanted, pass_credentials=True)
            assert (await charts.fetch(passing)).version == "1.1.0"
            with pytest.raises(CredentialRefused):  # what was passed on opens nothing for others
                await charts.fetch(served.wanted)

        # Whoever is redirected to is told nothing, passed on or not.
        elsewhere.log.clear()
        served.lies["index.yaml"] = index("moved.tgz")
        served.lies["moved.tgz"] = moved(f"{elsewhere.url}/x/web-1.1.0.tgz")
        async with desk.charts() as charts:
            with pytest.raises(CredentialRefused):
                await charts.fetch(passing)
        assert {asked.authorization for asked in elsewhere.log} == {""}


async def test_an_archive_without_a_digest_is_fetched_once_in_an_interval(desk: Desk) -> None:
    async with shelf(desk) as served, desk.charts() as charts:
        served.lies["index.yaml"] = index("web-1.1.0.tgz")
        found = await charts.fetch(served.wanted)
        assert await charts.fetch(served.wanted) == found
        assert served.asked(".tgz") == 1


def archive(*links: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        packed.addfile(tarfile.TarInfo("web/Chart.yaml"), io.BytesIO())
        for name in links:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            packed.addfile(link)
    return out.getvalue()


def index(url: str) -> Callable[[], web.Response]:
    return lambda: web.Response(text=f"entries: {{web: [{{version: 1.1.0, urls: ['{url}']}}]}}")


def moved(to: str) -> Callable[[], web.Response]:
    return lambda: web.Response(status=302, headers={"Location": to})


async def test_who_is_redirected_to_cannot_have_the_password_shown_anywhere(
    desk: Desk, shop: Registry, tmp_path: Path
) -> None:
    async def ask_for_it(_: web.Request) -> web.Response:
        wanted = f'Bearer realm="https://{shop.host}/stolen"'
        return web.Response(status=401, headers={"WWW-Authenticate": wanted})

    async with git_host(tmp_path) as elsewhere, desk.charts() as charts:
        elsewhere.lie = ask_for_it
        shop.elsewhere = f"{elsewhere.url}/blob"
        with pytest.raises(CredentialRefused):
            await charts.fetch(from_registry(shop, "1.0.0"))
    assert [asked.path for asked in elsewhere.log] == ["/blob"]
    assert not [asked for asked in shop.asked if "stolen" in asked]


async def test_who_could_only_read_an_index_is_given_nothing_of_the_registry_behind_it(
    desk: Desk, shop: Registry, tmp_path: Path
) -> None:
    text = f"entries: {{web: [{{version: 1.1.0, urls: ['oci://{shop.host}/team/web:1.1.0']}}]}}"

    async def public(_: web.Request) -> web.Response:
        return web.Response(text=text) if is_up else web.Response(status=503)

    is_up = True
    async with git_host(tmp_path) as host:
        host.lie = public
        mine = WantedChart(
            url=f"{host.url}/charts", name="web", credentials=from_registry(shop, "").credentials
        )
        strangers = msgspec.structs.replace(mine, credentials=())
        async with desk.charts(key=b"k" * 32) as charts:
            found = await charts.fetch(mine)
        is_up = False
        async with desk.charts(key=b"k" * 32) as charts:  # another process
            kept = await charts.bring(mine)
            assert (kept.revision, bool(kept.warning)) == (found, True)
            with pytest.raises(Unavailable):
                await charts.bring(strangers)


async def test_an_archive_is_taken_as_it_is_sent_whatever_its_server_calls_it(desk: Desk) -> None:
    async with shelf(desk) as served, desk.charts() as charts:
        body = (desk.folder / "shelf" / "web-1.1.0.tgz").read_bytes()
        served.lies["web-1.1.0.tgz"] = lambda: web.Response(body=body, headers={"Content-Encoding": "gzip"})
        assert (await charts.fetch(served.wanted)).version == "1.1.0"


async def test_a_registry_with_tags_without_end_is_refused(desk: Desk, shop: Registry) -> None:
    shop.manifests["team/web"] = {f"0.0.{number}": ("", b"") for number in range(100_001)}
    async with desk.charts() as charts:
        with pytest.raises(SourceRefused, match="never stops telling tags"):
            await charts.fetch(from_registry(shop, "^1"))


LIES: tuple[tuple[dict[str, Callable[[], web.Response]], str], ...] = (
    ({"index.yaml": moved("http://169.254.169.254/latest")}, "link-local"),
    ({"index.yaml": moved("file:///etc/passwd")}, "may not be followed"),
    ({"index.yaml": moved("/charts/index.yaml")}, "round in circles"),
    ({"index.yaml": moved("http://[")}, "may not be followed"),
    ({"index.yaml": index("http://[")}, "may not be followed"),
    ({"index.yaml": lambda: web.Response(text="<html>")}, "not that of a chart repository"),
    ({"index.yaml": lambda: web.Response(body=bytes(3 << 20))}, "sends more than 2 MiB"),
    ({"index.yaml": index("http://169.254.169.254/x.tgz")}, "link-local"),
    ({"index.yaml": index("http://[fe80::1]/x.tgz")}, "link-local"),
    ({"index.yaml": index("file:///etc/passwd")}, "may not be followed"),
    ({"index.yaml": index("oci://169.254.169.254/x:1.1.0")}, "link-local"),
    ({"index.yaml": index("oci://169.254.169.254/team/x:1.1.0")}, "link-local"),
    ({"web-1.1.0.tgz": moved("http://169.254.169.254/latest")}, "link-local"),
    ({"web-1.1.0.tgz": lambda: web.Response(body=b"another")}, "not the one that the repository names"),
    ({"web-1.1.0.tgz": lambda: web.Response(body=bytes(3 << 20))}, "sends more than 2 MiB"),
    (
        {"index.yaml": index("evil.tgz"), "evil.tgz": lambda: web.Response(body=archive("web/etc"))},
        "neither file nor folder",
    ),
    (
        {"index.yaml": index("evil.tgz"), "evil.tgz": lambda: web.Response(body=archive("../../etc"))},
        "leads out of it",
    ),
    (
        {"index.yaml": index("evil.tgz"), "evil.tgz": lambda: web.Response(body=b"no archive")},
        "is broken",
    ),
)


async def test_a_repository_that_lies_is_refused(tmp_path: Path, tools: str) -> None:
    desk = Desk(tmp_path, tools)
    digest = "ab" * 32
    honest = f"entries: {{web: [{{version: 1.1.0, urls: [web-1.1.0.tgz], digest: {digest}}}]}}"
    (desk.folder / "shelf" / "index.yaml").write_text(honest)
    async with desk.charts(largest_chart=2 << 20) as charts:
        for lies, reason in LIES:
            async with git_host(desk.folder) as host:
                served = Shelf(host, desk.folder / "shelf")
                served.lies = lies
                with pytest.raises(SourceRefused) as raised:
                    await charts.fetch(served.wanted)
            assert reason in raised.value.reason
            assert PASSWORD not in str(raised.value)


async def test_a_server_that_fails_is_asked_again(desk: Desk) -> None:
    async with shelf(desk) as served, desk.charts() as charts:
        served.lies["index.yaml"] = lambda: web.Response(status=503)
        with pytest.raises(Unavailable):
            await charts.fetch(served.wanted)
        served.lies.clear()
        assert (await charts.fetch(served.wanted)).version == "1.1.0"

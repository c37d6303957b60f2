"""Manifests of folders, and of private repositories by the credentials file of whoever runs the command."""

from __future__ import annotations

import asyncio
import io
import os
import re
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from msgspec.structs import replace

from testbed.gitserver import HttpRepository, SshRepository
from tests.sources.githost import basic_header, git_host
from tests.sources.upstream import Upstream
from trimtab.app import open_manifests
from trimtab.app.appsources import AppSource, AppSources, recorded
from trimtab.app.sources import SourceManifests, Wishes
from trimtab.engine.units import Destination, SyncUnit
from trimtab.errors import Conflict, GitUnreachable, InvalidSpec, Unavailable
from trimtab.programs import Progress
from trimtab.programs.pins import KNOWN
from trimtab.settings import ProgramsSettings, RenderingSettings, RepositoriesSettings, Settings
from trimtab.sources import Renderer, Request
from trimtab.sources.rendering.rendered import Rendered
from trimtab.sources.rendering.specs import Capabilities, Helm, SourceSpec
from trimtab.sources.repositories.complaints import CredentialRefused

CHART = "apiVersion: v2\nname: %s\nversion: 1.0.0\n"
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: private}\n"


@asynccontextmanager
async def manifests_with(
    folder: Path, *entries: str, tools: str = "", remotes: tuple[str, ...] = ()
) -> AsyncIterator[SourceManifests]:
    """Manifests for somebody whose credentials file has these entries."""
    file = folder / "credentials.toml"
    file.touch(0o600)
    file.write_text("".join(f"[[credential]]\n{entry}\n" for entry in entries))
    settings = Settings(
        programs=ProgramsSettings(fetch=False),
        repositories=RepositoriesSettings(
            folder=str(folder / "mirrors"),
            credentials_file=str(file),
            allow_schemes=("https", "ssh", "http"),
            allow_hosts=("127.0.0.1",),
        ),
        rendering=RenderingSettings(
            cache=str(folder / "renders"), key=str(folder / "apart" / "key"), remotes=remotes
        ),
    )
    path = os.environ["PATH"]  # noqa: TID251 - tests are an edge: git and ssh are where the machine has them
    async with open_manifests(settings, path=f"{tools}:{path}" if tools else path) as manifests:
        yield manifests


def unit_of(url: str) -> SyncUnit:
    source = AppSource(repo_url=url, target_revision="main")
    return SyncUnit(
        id="app", source=recorded(source), destination=Destination(cluster="none", namespace="shop")
    )


def password_entry(repository: HttpRepository, url: str, password: str) -> str:
    return f'url = "{url}"\nusername = "{repository.user}"\npassword = "{password}"'


async def test_private_repositories_are_opened_with_the_entries_for_them(
    tmp_path: Path, git_http: HttpRepository, git_ssh: SshRepository
) -> None:
    commits = [Upstream(each.path).commit({"a.yaml": MANIFEST}) for each in (git_http, git_ssh)]
    host = git_http.https_url.rpartition("/")[0]
    (tmp_path / "key").touch(0o600)
    (tmp_path / "key").write_text(git_ssh.key.read_text())
    entries = (
        f'{password_entry(git_http, host, git_http.password)}\nca_file = "{git_http.ca_file}"',
        f'url = "{git_ssh.url}"\nssh_key_file = "key"\nknown_hosts_file = "{git_ssh.known_hosts}"',
    )
    async with manifests_with(tmp_path, *entries) as manifests:
        made = [await manifests.generate(unit_of(url), "") for url in (git_http.https_url, git_ssh.url)]
    assert [each.revision for each in made] == commits
    assert [len(each.manifests) for each in made] == [1, 1]


def _as_shown(url: str, entry: str, file: Path) -> re.Pattern[str]:
    """What the page repositories.md says that such a refusal is."""
    page = (Path(__file__).parents[2] / "docs" / "repositories.md").read_text()
    (words,) = re.findall(r"```text\n(repository .*?)```", page, re.DOTALL)
    words = words.replace("https://git.example/team/web.git", url).replace("entry 1", entry)
    words = words.replace("/home/ann/.config/trimtab/credentials.toml", str(file))
    return re.compile(r"\s+".join(map(re.escape, words.split())).replace("…", ".*"))


async def test_a_refusal_says_which_entry_was_shown_and_what_to_do(
    tmp_path: Path, git_http: HttpRepository
) -> None:
    Upstream(git_http.path).commit({"a.yaml": MANIFEST})
    entries = (
        password_entry(git_http, "https://elsewhere.example", "other"),
        password_entry(git_http, git_http.url, "opensesame-wrong"),
    )
    async with manifests_with(tmp_path, *entries) as manifests:
        with pytest.raises(CredentialRefused) as refused:
            await manifests.generate(unit_of(git_http.url), "")
        file = tmp_path / "credentials.toml"
        assert f"shown was entry 2 of credentials file {file}" in refused.value.reason
        assert refused.value.remedy == "Give a credential that may read it"
        assert "opensesame" not in str(refused.value)
        assert _as_shown(git_http.url, "entry 2", file).fullmatch(str(refused.value))

        file.write_text("")
        with pytest.raises(CredentialRefused) as refused:
            await manifests.generate(unit_of(git_http.url), "")
        assert "none was found for this address" in refused.value.reason
        assert "repositories.credentials_file" in refused.value.remedy
        # The right one is taken up without a new start.
        file.write_text(f"[[credential]]\n{password_entry(git_http, git_http.url, git_http.password)}\n")
        assert (await manifests.generate(unit_of(git_http.url), "")).manifests


async def test_a_folder_that_says_the_same_is_not_rendered_again_and_one_that_changed_is(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.yaml").write_text(MANIFEST)
    unit = replace(unit_of(""), source=recorded(AppSource(folder=str(folder))))
    async with manifests_with(tmp_path) as manifests:
        first = await manifests.generate(unit, "")
        assert await manifests.generate(unit, first.revision) is first
        (folder / "a.yaml").write_text(MANIFEST.replace("private", "other"))
        with pytest.raises(Conflict, match="no longer holds what was agreed to"):
            await manifests.generate(unit, first.revision)
        second = await manifests.generate(unit, "")
        assert [each.manifest["metadata"]["name"] for each in second.manifests] == ["other"]
        manifests.learn(Capabilities(kube_version="1.99.0"))
        assert await manifests.generate(unit, "") == second


TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: made}
data: {size: "{{ .Values.size }}"}
"""


def written(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


async def test_several_sources_make_one_app_and_each_has_a_revision_of_its_own(
    tmp_path: Path, git_http: HttpRepository, helm: Path
) -> None:
    upstream = Upstream(git_http.path)
    first = upstream.commit({"live.yaml": "size: large\n"})
    chart = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": TEMPLATE}
    several = AppSources(
        (
            AppSource(repo_url=git_http.url, target_revision="main", ref="values"),
            AppSource(
                folder=written(tmp_path / "chart", chart),
                spec=SourceSpec(helm=Helm(value_files=("$values/live.yaml", "$more/more.yaml"))),
            ),
            AppSource(folder=written(tmp_path / "more", {"more.yaml": "other: 1\n"}), ref="more"),
            AppSource(folder=written(tmp_path / "plain", {"a.yaml": MANIFEST}), spec=SourceSpec(path=".")),
        )
    )
    unit = replace(unit_of(""), source=recorded(several))
    entry = password_entry(git_http, git_http.url, git_http.password)
    async with manifests_with(tmp_path, entry, tools=str(helm.parent)) as manifests:
        made = await manifests.generate(unit, "")
        assert [each.manifest["metadata"]["name"] for each in made.manifests] == ["made", "private"]
        assert made.manifests[0].manifest["data"] == {"size": "large"}
        assert made.manifests[1].where == "a.yaml, document 1, line 1 of source 4"
        values, chart_files, more, plain = made.revision.split(",")
        assert values == first
        assert len({chart_files, more, plain}) == 3
        assert await manifests.generate(unit, made.revision) == made

        # What is agreed to stays what it is: the commit of one source, and the files of another.
        second = upstream.commit({"live.yaml": "size: huge\n"})
        again = await manifests.generate(unit, made.revision)
        assert (again.revision, again.digest) == (made.revision, made.digest)
        moved = await manifests.generate(unit, f"{second},,,")
        assert moved.manifests[0].manifest["data"] == {"size": "huge"}
        assert moved.revision.split(",")[0::3] == [second, plain]
        written(tmp_path / "more", {"more.yaml": "size: own\n"})
        with pytest.raises(Conflict, match="no longer holds what was agreed to"):
            await manifests.generate(unit, made.revision)

        # A commit that changes nothing for whoever borrows is another revision of the same manifests.
        before = await manifests.generate(unit, f"{second},,,")
        third = upstream.commit({"live.yaml": "size: huge\n", "notes": "nobody reads them"})
        after = await manifests.generate(unit, f"{third},,,")
        assert (after.digest, after.revision) == (before.digest, before.revision.replace(second, third))


def packed_chart(name: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for path, text in (("Chart.yaml", CHART % name), ("templates/a.yaml", MANIFEST)):
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


async def test_what_the_chart_of_a_folder_needs_is_fetched_with_the_entry_for_it(
    tmp_path: Path, helm: Path
) -> None:
    shelf = {
        "index.yaml": b"entries: {sub: [{version: 1.0.0, urls: [sub.tgz]}]}",
        "sub.tgz": packed_chart("sub"),
    }

    async def serve(request: web.Request) -> web.Response:
        is_welcome = request.headers.get("Authorization") == basic_header("me", "opensesame")
        return web.Response(body=shelf[request.path[1:]]) if is_welcome else web.Response(status=401)

    async with git_host(tmp_path) as host:
        host.lie = serve
        needs = f"dependencies: [{{name: sub, version: ^1, repository: '{host.url}'}}]\n"
        file = Path(written(tmp_path / "app", {"Chart.yaml": CHART % "app" + needs})) / "Chart.yaml"
        entry = f'url = "{host.url}"\nusername = "me"\npassword = "opensesame"'
        unit = replace(unit_of(""), source=recorded(AppSource(folder=str(tmp_path / "app"))))
        tools, remotes = str(helm.parent), (host.url,)
        async with manifests_with(tmp_path, entry, tools=tools, remotes=remotes) as manifests:
            made = await manifests.generate(unit, "")
    assert [each.manifest["metadata"]["name"] for each in made.manifests] == ["private"]

    # Its server is gone: one exact version is what it was, and what a range means by now nobody knows.
    async with manifests_with(tmp_path, entry, tools=tools, remotes=remotes) as manifests:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await manifests.generate(unit, "")
        file.write_text(file.read_text().replace("^1", "1.0.0"))
        kept = await manifests.generate(unit, "")
    assert kept.manifests == made.manifests
    assert [each.endswith("Version 1.0.0 stays in force.") for each in kept.warnings] == [True]


async def test_a_commit_that_was_fetched_before_needs_no_server_and_a_branch_does(tmp_path: Path) -> None:
    commit = Upstream(tmp_path / "app.git").commit({"a.yaml": MANIFEST})
    async with git_host(tmp_path) as host, manifests_with(tmp_path) as manifests:
        unit = unit_of(f"{host.url}/app.git")
        made = await manifests.generate(unit, "")
    async with manifests_with(tmp_path) as manifests:
        with pytest.raises(GitUnreachable):
            await manifests.generate(unit, "")
        with pytest.raises(GitUnreachable):
            await manifests.generate(unit, "ab" * 20)
        kept = await manifests.generate(unit, commit)
    assert (kept.manifests, kept.revision) == (made.manifests, commit)
    assert [each.endswith("The commit is taken as it was fetched before.") for each in kept.warnings] == [
        True
    ]


class Meeting(Renderer):
    """Begins to render only when two are to be rendered."""

    def meet(self) -> None:
        self.barrier = asyncio.Barrier(2)

    async def render(self, request: Request) -> Rendered:
        await self.barrier.wait()
        return await super().render(request)


async def test_the_sources_of_an_app_are_rendered_together_and_trouble_is_told_in_their_order(
    tmp_path: Path,
) -> None:
    folders = [written(tmp_path / name, {"a.yaml": MANIFEST}) for name in "ab"]
    unit = replace(unit_of(""), source=recorded(AppSources(tuple(AppSource(folder=it) for it in folders))))
    rendering = RenderingSettings(
        cache=str(tmp_path / "cache"), key=str(tmp_path / "key"), folders=str(tmp_path / "private")
    )

    async def never() -> NoReturn:
        raise AssertionError

    async with Meeting(rendering, ProgramsSettings(fetch=False), path="") as renderer:
        renderer.meet()
        (tmp_path / "none.toml").touch(0o600)
        wishes = Wishes(RepositoriesSettings(credentials_file=str(tmp_path / "none.toml")))
        manifests = SourceManifests(renderer, never, never, wishes, Capabilities())
        async with asyncio.timeout(60):
            assert len((await manifests.generate(unit, "")).manifests) == 2
            for name, file in (("b", "second.yaml"), ("a", "first.yaml")):
                written(tmp_path / name, {file: "kind: ["})
            with pytest.raises(InvalidSpec, match=r"first\.yaml"):
                await manifests.generate(unit, "")


async def test_whoever_waits_for_a_program_to_be_fetched_is_told(tmp_path: Path) -> None:
    pin = KNOWN["helm"].pins[os.uname().machine]

    async def page(request: web.Request) -> web.Response:
        file = {"filename": pin.filename, "url": "/package", "hashes": {"sha256": pin.sha256}}
        return web.json_response({"files": [file]}, content_type="application/vnd.pypi.simple.v1+json")

    async def package(request: web.Request) -> web.Response:
        return web.Response(body=b"no such package")

    index = web.Application()
    index.add_routes([web.get("/package", package), web.get("/{project}/", page)])
    told: list[Progress] = []
    (tmp_path / "Chart.yaml").write_text(CHART % "shop")
    unit = replace(unit_of(str(tmp_path)), source=recorded(AppSource(folder=str(tmp_path))))
    async with TestServer(index) as server:
        settings = Settings(
            programs=ProgramsSettings(index=str(server.make_url("/")), cache=str(tmp_path / "programs")),
            rendering=RenderingSettings(cache=str(tmp_path / "renders"), key=str(tmp_path / "apart" / "key")),
        )
        async with open_manifests(settings, path="/nowhere", tell=told.append) as manifests:
            with pytest.raises(Unavailable, match="helm"):
                await manifests.generate(unit, "")
    assert told == [Progress(name="helm", done=15, total=pin.size)]

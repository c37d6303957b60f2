"""Manifests of folders, and of private repositories by the credentials file of whoever runs the command."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from msgspec.structs import replace

from testbed.gitserver import HttpRepository, SshRepository
from tests.sources.githost import basic_header, git_host
from tests.sources.upstream import Upstream
from trimtab.app import open_manifests
from trimtab.app.sources import AppSource, SourceManifests, recorded
from trimtab.engine.units import Destination, SyncUnit
from trimtab.errors import Conflict
from trimtab.settings import ProgramsSettings, RenderingSettings, RepositoriesSettings, Settings
from trimtab.sources.rendering.specs import Capabilities
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
        await manifests.get_ready()
        first = await manifests.generate(unit, "")
        assert await manifests.generate(unit, first.revision) is first
        (folder / "a.yaml").write_text(MANIFEST.replace("private", "other"))
        with pytest.raises(Conflict, match="no longer holds what was agreed to"):
            await manifests.generate(unit, first.revision)
        second = await manifests.generate(unit, "")
        assert [each.manifest["metadata"]["name"] for each in second.manifests] == ["other"]
        manifests.learn(Capabilities(kube_version="1.99.0"))
        assert await manifests.generate(unit, "") == second


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
        (tmp_path / "app").mkdir()
        (tmp_path / "app" / "Chart.yaml").write_text(CHART % "app" + needs)
        entry = f'url = "{host.url}"\nusername = "me"\npassword = "opensesame"'
        unit = replace(unit_of(""), source=recorded(AppSource(folder=str(tmp_path / "app"))))
        tools, remotes = str(helm.parent), (host.url,)
        async with manifests_with(tmp_path, entry, tools=tools, remotes=remotes) as manifests:
            made = await manifests.generate(unit, "")
    assert [each.manifest["metadata"]["name"] for each in made.manifests] == ["private"]

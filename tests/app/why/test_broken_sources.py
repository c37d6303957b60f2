"""Causes on the way from a commit: real Git servers and real folders, broken."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.app.why.stage import Stage, causes, stage_in
from tests.committing import git
from tests.engine.stage import config_map
from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.app import Apps, open_manifests
from trimtab.app.appsources import AppSource, recorded
from trimtab.app.why import explain
from trimtab.app.why.chain import Answer
from trimtab.errors import Missing
from trimtab.kube import connect, from_kubeconfig
from trimtab.settings import ProgramsSettings, RenderingSettings, RepositoriesSettings, Settings
from trimtab.tasks import SystemClock

if TYPE_CHECKING:
    from testbed.gitserver import HttpRepository

PATH = "/usr/local/bin:/usr/bin:/bin"


@asynccontextmanager
async def from_git(folder: Path, source: AppSource) -> AsyncIterator[Stage]:
    """An app that was synced once, and whose source is this one now."""
    settings = Settings(
        programs=ProgramsSettings(cache=str(folder / "programs")),
        rendering=RenderingSettings(cache=str(folder / "renders"), key=str(folder / "key")),
        repositories=RepositoriesSettings(
            folder=str(folder / "mirrors"),
            allow_schemes=("https", "http", "file"),
            allow_hosts=("127.0.0.1", "localhost"),
        ),
    )
    cluster = MemoryCluster()
    before = await stage_in(cluster, "default")
    await before.sync(config_map("settings"))
    async with asyncio.timeout(60), open_manifests(settings, path=PATH) as manifests:
        stage = await stage_in(cluster, "default", manifests)
        await stage.apps.records().update(replace(await stage.unit(), source=recorded(source)))
        yield stage


async def asked(folder: Path, source: AppSource) -> Answer:
    async with from_git(folder, source) as stage:
        return await stage.why()


def closed_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on main."""
    folder = tmp_path / "origin"
    folder.mkdir()
    (folder / "settings.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
    for words in (("init", "--initial-branch=main"), ("add", "."), ("commit", "-m", "A shop")):
        git(folder, *words)
    return folder


async def test_a_git_server_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/shop.git"
    answer = await asked(tmp_path, AppSource(repo_url=url, target_revision="main"))
    assert causes(answer) == ["fetch-failed"]
    assert answer.sentence == f"The source {url} at main cannot be fetched."
    assert "cannot be reached" in answer.chains[0].links[-1].evidence


async def test_a_source_that_wants_a_credential_is_named(tmp_path: Path, git_http: HttpRepository) -> None:
    answer = await asked(tmp_path, AppSource(repo_url=git_http.url, target_revision="main"))
    assert causes(answer) == ["credentials-refused"]
    assert answer.chains[0].remedy.startswith("Put one into ~/.config/trimtab/credentials.toml")


async def test_a_branch_that_is_not_there_is_named(tmp_path: Path, repository: Path) -> None:
    answer = await asked(tmp_path, AppSource(repo_url=f"file://{repository}", target_revision="gone"))
    assert causes(answer) == ["unknown-revision"]
    assert "gone" in answer.chains[0].links[-1].evidence


async def test_a_repository_that_is_not_there_is_named(tmp_path: Path) -> None:
    answer = await asked(tmp_path, AppSource(repo_url=f"file://{tmp_path}/nowhere.git"))
    assert causes(answer) == ["repository-missing"]


async def test_a_source_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    answer = await asked(tmp_path, AppSource(repo_url="https://169.254.1.1/shop.git"))
    assert causes(answer) == ["source-refused"]


async def test_a_render_that_fails_is_named_with_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "web.yaml").write_text("kind: [")
    answer = await asked(tmp_path, AppSource(folder=str(folder)))
    assert causes(answer) == ["render-failed"]
    assert "web.yaml" in answer.chains[0].links[-1].evidence
    assert answer.chains[0].links[0].what.startswith("cannot be looked at now; it was Synced and Healthy")


async def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    answer = await asked(tmp_path, AppSource(folder=str(tmp_path / "gone")))
    assert causes(answer) == ["render-failed"]
    assert str(tmp_path / "gone") in answer.sentence


async def test_a_cluster_that_does_not_answer_is_an_answer(tmp_path: Path) -> None:
    server = f"https://127.0.0.1:{closed_port()}"
    config = tmp_path / "config"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: here, users: [{name: me, user: {token: x}}],"
        f" clusters: [{{name: here, cluster: {{server: '{server}', insecure-skip-tls-verify: true}}}}],"
        " contexts: [{name: here, context: {cluster: here, user: me}}]}"
    )
    answer = await asked_of(config)
    assert causes(answer) == ["cluster-unreachable"]
    assert answer.sentence == "The cluster does not answer."
    assert server in answer.chains[0].links[-1].evidence


async def test_a_token_that_the_cluster_does_not_know_is_an_answer(tmp_path: Path) -> None:
    async with serve(MemoryCluster().api) as served:
        config = tmp_path / "config"
        config.write_text(json.dumps(kubeconfig(served)).replace(served.token, "somebody-elses"))
        answer = await asked_of(config)
    assert causes(answer) == ["unauthenticated"]
    assert answer.sentence == "The cluster does not know who is asking."


async def asked_of(config: Path) -> Answer:
    """The answer about an app in the cluster that a kubeconfig leads to."""
    settings = replace(Settings().cluster, attempts=1)
    access = from_kubeconfig([config], context=None, settings=settings, clock=SystemClock(), environment={})

    @asynccontextmanager
    async def opening() -> AsyncIterator[Apps]:
        async with connect(access, settings) as cluster:
            yield (await stage_in(cluster, "default")).apps

    return await explain(opening(), "shop", namespace="default", clock=SystemClock())


async def test_an_app_that_nobody_knows_is_an_error_and_no_answer() -> None:
    stage = await stage_in(MemoryCluster(), "default")
    with pytest.raises(Missing, match="there is no such app"):
        await stage.why("nobody")
    with pytest.raises(Missing, match="serves no such kind"):
        await stage.why("thing/nobody")
    with pytest.raises(Missing, match="there is none in namespace default, nor in any other"):
        await stage.why("pod/nobody")

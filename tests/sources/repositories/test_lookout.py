"""Repositories over real transports."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from testbed.gitserver import HttpRepository, SshRepository
from tests.sources.conftest import Opening, basic, key, wanted
from tests.sources.githost import git_host
from tests.sources.upstream import Upstream
from trimtab.errors import SourceRefused
from trimtab.sources import GitTree
from trimtab.tasks import ManualClock


async def test_a_revision_comes_over_https_with_a_password(
    opened: Opening, git_http: HttpRepository, http_upstream: Upstream
) -> None:
    commit = http_upstream.commit({"a.yaml": "a: 1\n"})
    async with opened() as repositories:
        revision = await repositories.fetch(wanted(git_http.https_url, basic(git_http, ca=True), "main"))
    assert (revision.commit, revision.ref) == (commit, "refs/heads/main")
    assert GitTree(revision.mirror, revision.commit).read("a.yaml") == b"a: 1\n"


async def test_a_revision_comes_over_ssh_with_a_key(
    opened: Opening, git_ssh: SshRepository, ssh_upstream: Upstream
) -> None:
    commit = ssh_upstream.commit({"a.yaml": "a: 1\n"})
    async with opened() as repositories:
        revision = await repositories.fetch(wanted(git_ssh.url, key(git_ssh), "main"))
    assert GitTree(revision.mirror, commit).read("a.yaml") == b"a: 1\n"


@pytest.mark.parametrize("target", ["HEAD", "main", "refs/heads/main", "v1.2.0", "^1.0", "refs/tags/v1.2.0"])
async def test_a_target_means_the_commit_that_git_would_say(
    opened: Opening, git_http: HttpRepository, http_upstream: Upstream, target: str
) -> None:
    commit = http_upstream.commit({"a.yaml": "a: 1\n"})
    http_upstream.tag("v1.2.0", commit, annotated=True)
    async with opened() as repositories:
        revision = await repositories.fetch(wanted(git_http.url, basic(git_http), target))
    assert revision.commit == commit


@pytest.mark.parametrize("namespaces", ["auto", "never"])
async def test_both_transports_work_with_and_without_namespaces(
    opened: Opening,
    git_http: HttpRepository,
    git_ssh: SshRepository,
    http_upstream: Upstream,
    ssh_upstream: Upstream,
    namespaces: str,
) -> None:
    commits = (http_upstream.commit({"a": "1"}), ssh_upstream.commit({"a": "2"}))
    async with opened(namespaces=namespaces) as repositories:
        by_https = await repositories.fetch(wanted(git_http.https_url, basic(git_http, ca=True)))
        by_ssh = await repositories.fetch(wanted(git_ssh.url, key(git_ssh)))
    assert (by_https.commit, by_ssh.commit) == commits


async def test_a_folder_of_this_machine_is_a_repository_where_the_operator_allows_it(
    opened: Opening, tmp_path: Path
) -> None:
    upstream = Upstream(tmp_path / "app.git")
    commit = upstream.commit({"a": "1"})
    async with opened() as repositories:
        assert (await repositories.fetch(wanted(f"file://{upstream.path}"))).commit == commit
    async with opened(settings={"allow_schemes": ("https", "ssh")}) as repositories:
        with pytest.raises(SourceRefused, match="not an allowed way"):
            await repositories.fetch(wanted(f"file://{upstream.path}"))


async def test_a_server_that_only_hands_out_files_is_understood(opened: Opening, tmp_path: Path) -> None:
    upstream = Upstream(tmp_path / "app.git")
    commit = upstream.commit({"a": "1"})
    upstream.git("update-server-info")
    app = web.Application()
    app.router.add_static("/", tmp_path)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/app.git"
        async with opened() as repositories:
            revision = await repositories.fetch(wanted(url, target="main"))
            assert GitTree(revision.mirror, commit).read("a") == b"1"
    finally:
        await runner.cleanup()


async def test_what_a_remote_offers_is_remembered_for_an_interval_unless_it_is_asked_afresh(
    opened: Opening, tmp_path: Path
) -> None:
    upstream = Upstream(tmp_path / "upstream" / "app.git")
    first = upstream.commit({"a": "1"})
    clock = ManualClock()
    async with git_host(upstream.path.parent) as host, opened(clock=clock) as repositories:
        wish = wanted(f"{host.url}/app.git")
        assert (await repositories.fetch(wish)).commit == first
        second = upstream.commit({"a": "2"})
        assert (await repositories.fetch(wish)).commit == first
        assert (await repositories.fetch(wish, fresh=True)).commit == second
        third = upstream.commit({"a": "3"})
        await clock.advance(181)
        assert (await repositories.fetch(wish)).commit == third


async def test_many_who_want_the_same_at_once_cause_one_listing_and_one_fetch(
    opened: Opening, tmp_path: Path
) -> None:
    upstream = Upstream(tmp_path / "upstream" / "app.git")
    commit = upstream.commit({"a": "1"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        async with asyncio.TaskGroup() as group:
            wish = wanted(f"{host.url}/app.git")
            fetching = [group.create_task(repositories.fetch(wish)) for _ in range(50)]
        assert {each.result().commit for each in fetching} == {commit}
        assert (host.count("ls-refs"), host.fetches()) == (1, 1)

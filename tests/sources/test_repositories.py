"""Repositories over real transports."""

from __future__ import annotations

import pytest

from testbed.gitserver import HttpRepository, SshRepository
from tests.sources.conftest import Opening, basic, key, wanted
from tests.sources.upstream import Upstream
from trimtab.sources import GitTree


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

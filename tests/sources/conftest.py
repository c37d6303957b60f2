"""What tests of sources share: real Git servers, repositories opened against them, and a renderer."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from testbed.gitserver import HttpRepository, SshRepository
from tests.sources.upstream import Upstream
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import ProgramsSettings, RenderingSettings, RepositoriesSettings
from trimtab.sources import Renderer, Repositories
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential, SshKey, Trust
from trimtab.sources.repositories.revisions import Wanted

PATH = os.environ["PATH"]  # noqa: TID251 - tests are an edge: git and ssh are where the machine has them
OPEN = {"allow_schemes": ("https", "ssh", "http", "file"), "allow_hosts": ("127.0.0.0/8", "::1")}

Opening: TypeAlias = Callable[..., AbstractAsyncContextManager[Repositories]]


@pytest.fixture
def opened(tmp_path: Path) -> Opening:
    """Opens repositories on a folder of this test's own, allowed to reach loopback."""

    @asynccontextmanager
    async def opening(
        folder: str = "mirrors", settings: dict[str, Any] | None = None, **options: Any
    ) -> AsyncIterator[Repositories]:
        chosen = RepositoriesSettings(folder=str(tmp_path / folder), **{**OPEN, **(settings or {})})
        async with Repositories(chosen, path=PATH, **options) as repositories:
            yield repositories

    return opening


def basic(repository: HttpRepository, *, password: str | None = None, ca: bool = False) -> Credential:
    """A user's password for a repository of the testbed."""
    login = Basic(username=repository.user, password=Secret(password or repository.password))
    return Credential(login=login, trust=Trust(ca=repository.ca_file.read_text() if ca else ""))


def key(repository: SshRepository, *, known_hosts: str | None = None) -> Credential:
    """The SSH key for a repository of the testbed."""
    hosts = repository.known_hosts.read_text() if known_hosts is None else known_hosts
    return Credential(login=SshKey(key=Secret(repository.key.read_text())), trust=Trust(known_hosts=hosts))


def wanted(url: str, credential: Credential | None = None, target: str = "HEAD", **more: Any) -> Wanted:
    """A wish for one repository with at most one credential, which is for exactly its address."""
    belongings = (Belonging(url=url, credential=credential),) if credential else ()
    return Wanted(url=url, target=target, credentials=belongings, **more)


@pytest.fixture
def http_upstream(git_http: HttpRepository) -> Upstream:
    """The other side of `git_http`."""
    return Upstream(git_http.path)


@pytest.fixture
def ssh_upstream(git_ssh: SshRepository) -> Upstream:
    """The other side of `git_ssh`."""
    return Upstream(git_ssh.path)


@pytest.fixture(scope="session")
def tools(helm: Path, kustomize: Path) -> str:
    """Where the real helm and kustomize are."""
    return f"{helm.parent}:{kustomize.parent}"


@pytest.fixture
def rendering(tmp_path: Path) -> RenderingSettings:
    return settings_in(tmp_path)


def settings_in(tmp_path: Path) -> RenderingSettings:
    """Everything below one folder."""
    return RenderingSettings(
        cache=str(tmp_path / "cache"),
        key=str(tmp_path / "apart" / "key"),
        folders=str(tmp_path / "private"),
        concurrency=2,
    )


@pytest.fixture
async def renderer(rendering: RenderingSettings, tools: str) -> AsyncIterator[Renderer]:
    async with Renderer(rendering, ProgramsSettings(fetch=False), path=tools) as renderer:
        yield renderer

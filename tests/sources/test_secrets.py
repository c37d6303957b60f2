"""Secrets of credentials: canaries, looked for wherever anybody could see them."""

from __future__ import annotations

import asyncio
import os
import stat
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from testbed.gitserver import SshRepository
from testbed.proxy import Fate, unruly_proxy
from tests.sources.conftest import Opening, key, wanted
from tests.sources.following import Audience
from tests.sources.githost import basic_header, git_host
from tests.sources.upstream import Upstream
from trimtab.errors import TrimtabError
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.repositories.credentials import Basic, Bearer, Credential
from trimtab.sources.repositories.revisions import Wanted

CANARY = "c4n4ry0"
PASSWORD = f"{CANARY}-pässword"
HIDDEN = basic_header("me", PASSWORD).removeprefix("Basic ")
IN_MEMORY = Path("/dev/shm")


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    found = Upstream(tmp_path / "upstream" / "app.git")
    found.commit({"a": "0"})
    return found


def processes() -> Iterator[tuple[str, bytes]]:
    """Every process that we may look into: its command line, and that with its environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            seen = command + (folder / "environ").read_bytes()
        except OSError:
            continue
        yield command.replace(b"\0", b" ").decode("utf-8", "replace"), seen


def private_folders() -> list[Path]:
    return [folder for folder in IN_MEMORY.glob("trimtab-private-*") if os.access(folder, os.R_OK)]


def holding(folders: list[Path], *secrets: str) -> list[Path]:
    """The files that hold one of the secrets."""
    found = []
    for folder in folders:
        for path in folder.rglob("*"):
            try:
                text = path.read_bytes() if path.is_file() else b""
            except OSError:
                continue
            found += [path for secret in secrets if secret.encode() in text]
    return found


@contextmanager
def searched(*places: Path) -> Iterator[None]:
    """Nothing of the canary may be in these folders, or left in private ones, when the block is over."""
    yield
    assert holding([*places, *private_folders()], CANARY, HIDDEN) == []


@asynccontextmanager
async def stalled(opened: Opening, wish: Wanted, asked: asyncio.Event) -> AsyncIterator[None]:
    """A fetch that waits for its server for the length of the block."""
    async with opened() as repositories, asyncio.TaskGroup() as group:
        fetching = group.create_task(repositories.fetch(wish))
        async with asyncio.timeout(60):
            await asked.wait()
        yield
        fetching.cancel()


@pytest.mark.parametrize(
    "login",
    [Basic(username="me", password=Secret(PASSWORD)), Bearer(token=Secret(f"{CANARY}-token"))],
    ids=["password", "token"],
)
async def test_no_command_line_and_no_environment_shows_a_password_or_token(
    opened: Opening, upstream: Upstream, tmp_path: Path, login: Basic | Bearer
) -> None:
    asked = asyncio.Event()

    async def stall(request: web.Request) -> web.StreamResponse:
        asked.set()
        await asyncio.Event().wait()
        return web.Response()

    with searched(tmp_path):
        async with git_host(upstream.path.parent) as host:
            host.lie = stall
            async with stalled(opened, wanted(f"{host.url}/app.git", Credential(login=login)), asked):
                seen = list(processes())
                assert any(host.url in command and "remote-http" in command for command, _ in seen)
                assert not [
                    command for command, all_ in seen if CANARY.encode() in all_ or HIDDEN.encode() in all_
                ]
                assert CANARY in host.log[0].authorization or HIDDEN in host.log[0].authorization
                _assert_private(holding(private_folders(), CANARY, HIDDEN))


def _assert_private(files: list[Path]) -> None:
    """Whoever is not the owner can neither open the files nor the folder they lie in."""
    assert files
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_no_command_line_and_no_environment_shows_a_key(
    opened: Opening, git_ssh: SshRepository, ssh_upstream: Upstream, tmp_path: Path
) -> None:
    ssh_upstream.commit({"a": "0"})
    line = git_ssh.key.read_text().splitlines()[2]
    parts = urlsplit(git_ssh.url)
    assert parts.port
    asked = asyncio.Event()

    def fate() -> Fate:
        asked.set()
        return Fate(after=0, stalls=True)

    async with unruly_proxy("127.0.0.1", parts.port, fates=fate) as proxy:
        url = f"ssh://git@127.0.0.1:{proxy.port}{parts.path}"
        async with stalled(opened, wanted(url, key(git_ssh)), asked):
            seen = list(processes())
            assert any("ssh -F" in command and str(proxy.port) in command for command, _ in seen)
            assert not [command for command, all_ in seen if line.encode() in all_]
            assert not [command for command, all_ in seen if b"SSH_AUTH_SOCK" in all_ and "ssh -F" in command]
            _assert_private(holding(private_folders(), line))
    assert holding([tmp_path, *private_folders()], line) == []


async def echoing(request: web.Request) -> web.StreamResponse:
    """A server that says everything it heard, in all the ways it can."""
    heard = request.headers.get("Authorization", "")
    text = f"ERR you said {heard} {PASSWORD}"
    body = f"{len(text.encode()) + 4:04x}{text}".encode()
    status = {"1": 200, "2": 403, "3": 500, "4": 302}[request.path[1]]
    headers = {"Location": f"https://{CANARY}@elsewhere.invalid/{PASSWORD}", "X-Said": heard}
    return web.Response(status=status, body=body, content_type="text/plain", headers=headers, charset="utf-8")


@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_no_error_repeats_a_secret_even_if_the_server_does(
    opened: Opening, upstream: Upstream, tmp_path: Path, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    credential = Credential(login=Basic(username="me", password=Secret(PASSWORD)))
    audience = Audience()
    with searched(tmp_path):
        async with git_host(upstream.path.parent) as host, opened() as repositories:
            host.lie = echoing
            wish = wanted(f"{host.url}/{number}.git", credential)
            with pytest.raises(TrimtabError) as caught:
                await repositories.fetch(wish)
            repositories.follow("web", wish, tell=audience.tell)
            standing = await audience.until_wrong()
            shown = [
                "".join(traceback.format_exception(caught.value)),
                repr(caught.value),
                standing.message,
                repr(standing),
                repr(repositories.snapshot()),
                repr(wish),
            ]
    captured = capfd.readouterr()
    for text in (*shown, captured.out, captured.err):
        assert PASSWORD not in text
        assert HIDDEN not in text


async def test_the_mirrors_own_configuration_holds_nothing_of_the_credential(
    opened: Opening, upstream: Upstream, tmp_path: Path
) -> None:
    credential = Credential(login=Basic(username=f"{CANARY}-me", password=Secret(PASSWORD)))
    with searched(tmp_path):
        async with git_host(upstream.path.parent) as host, opened() as repositories:
            revision = await repositories.fetch(wanted(f"{host.url}/app.git", credential))
            config = (Path(revision.mirror) / "config").read_text()
            assert "http" not in config
            assert "remote" not in config

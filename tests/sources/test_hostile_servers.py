"""Servers that lie, stall, redirect and never end; and strings that would be options."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from testbed.gitserver import HttpRepository, SshRepository, write_ssh_key
from testbed.proxy import Fate, unruly_proxy
from tests.sources.conftest import Opening, basic, key, wanted
from tests.sources.githost import PACK, REFS, GitHost, basic_header, git_host
from tests.sources.upstream import Submodule, Upstream
from trimtab.errors import GitUnreachable, InvalidSpec, Missing, SourceRefused, TrimtabError
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import RepositoriesSettings
from trimtab.sources import Gate, GitTree
from trimtab.sources.repositories.complaints import CredentialRefused, RepositoryMissing
from trimtab.sources.repositories.credentials import Basic, Bearer, Belonging, Credential, SshKey, Trust
from trimtab.sources.repositories.revisions import Wanted

CANARY = Credential(login=Basic(username="me", password=Secret("c4n4ry-password")))


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path / "upstream" / "app.git")


def redirecting(to: str, status: int = 302) -> Callable[[web.Request], Awaitable[web.StreamResponse | None]]:
    """Sends whoever asks for /app.git elsewhere, with the rest of what was asked."""

    async def lie(request: web.Request) -> web.StreamResponse | None:
        if not request.path.startswith("/app.git"):
            return None
        rest = request.path_qs.removeprefix("/app.git")
        return web.Response(status=status, headers={"Location": f"{to}{rest}"})

    return lie


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_to_another_server_is_refused_and_takes_no_credential_along(
    opened: Opening, upstream: Upstream, status: int
) -> None:
    upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as honest, git_host(upstream.path.parent) as host:
        host.lie = redirecting(f"{honest.url}/app.git", status)
        async with opened() as repositories:
            with pytest.raises(SourceRefused, match="redirects to") as caught:
                await repositories.fetch(wanted(f"{host.url}/app.git", CANARY))
        assert honest.url in str(caught.value)
        assert honest.log == []


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/latest/meta-data", "http://[::1]:1/x", "file:///etc/passwd", "ext::id", "//x/y"],
)
async def test_a_redirect_to_a_place_that_is_not_for_tenants_is_not_followed(
    opened: Opening, upstream: Upstream, target: str
) -> None:
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.lie = redirecting(target)
        with pytest.raises(SourceRefused, match="redirect"):
            await repositories.fetch(wanted(f"{host.url}/app.git"))


async def test_a_repository_that_moved_on_its_server_is_followed_there_and_that_is_remembered(
    opened: Opening, upstream: Upstream
) -> None:
    commit = upstream.commit({"a": "0"})
    upstream.path.rename(upstream.path.with_name("renamed.git"))
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.welcome = {basic_header("me", "c4n4ry-password")}
        host.lie = redirecting(f"{host.url}/renamed.git")
        whole_host = (Belonging(url=host.url, credential=CANARY, below=True),)
        revision = await repositories.fetch(Wanted(url=f"{host.url}/app.git", credentials=whole_host))
        assert revision.commit == commit
        assert GitTree(revision.mirror, commit).read("a") == b"0"
        asked = [each.path for each in host.log if each.path.startswith("/app.git")]
        assert len(asked) == 2  # once to fail, once to learn where to


async def test_a_credential_for_one_repository_does_not_follow_it_to_another(
    opened: Opening, upstream: Upstream
) -> None:
    upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.lie = redirecting(f"{host.url}/other.git")
        with pytest.raises(SourceRefused, match="no credential is sent"):
            await repositories.fetch(wanted(f"{host.url}/app.git", CANARY))
        assert {each.path for each in host.log} == {"/app.git/info/refs"}


async def test_a_server_that_wants_an_ending_is_followed_with_the_credential_for_the_repository(
    opened: Opening, upstream: Upstream
) -> None:
    commit = upstream.commit({"a": "0"})

    async def lie(request: web.Request) -> web.StreamResponse | None:
        if request.path.startswith("/app.git"):
            return None
        there = f"{host.url}/app.git{request.path_qs.removeprefix('/app')}"
        return web.Response(status=301, headers={"Location": there})

    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.lie = lie
        host.welcome = {basic_header("me", "c4n4ry-password")}
        assert (await repositories.fetch(wanted(f"{host.url}/app", CANARY))).commit == commit


async def test_redirects_in_a_circle_come_to_an_end(opened: Opening, upstream: Upstream) -> None:
    async def lie(request: web.Request) -> web.StreamResponse | None:
        rest = request.path_qs.partition(".git")[2]
        other = f"/{len(host.log)}.git"
        return web.Response(status=302, headers={"Location": f"{host.url}{other}{rest}"})

    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.lie = lie
        with pytest.raises(SourceRefused, match="redirect"):
            await repositories.fetch(wanted(f"{host.url}/app.git"))
        assert len(host.log) < 10


def saying(body: bytes, content_type: str = REFS) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def lie(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type=content_type)

    return lie


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>login here</html>",
        b"001e# service=git-upload-pack\n0000",
        b"001e# service=git-upload-pack\n0000ffff",
        b"001e# service=git-upload-pack\n0000zzzz",
        b"001e# service=git-upload-pack\n0000000eversion 2\n",
        b"\0" * 1000,
    ],
)
async def test_an_answer_that_is_not_gits_is_told_as_such(
    opened: Opening, upstream: Upstream, body: bytes
) -> None:
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.lie = saying(body)
        with pytest.raises(GitUnreachable):
            await repositories.fetch(wanted(f"{host.url}/app.git", CANARY))


async def test_a_server_that_never_stops_listing_is_stopped(opened: Opening, upstream: Upstream) -> None:
    async def endless(request: web.Request) -> web.StreamResponse | None:
        if request.method == "GET":
            return None
        response = web.StreamResponse(headers={"Content-Type": PACK})
        await response.prepare(request)
        number = 0
        try:
            while True:
                lines = b"".join(_line(number + more) for more in range(2000))
                number += 2000
                await response.write(lines)
        except ConnectionError:
            return response

    async with (
        git_host(upstream.path.parent) as host,
        opened(settings={"memory": 512 << 20}) as repositories,
    ):
        host.lie = endless
        with pytest.raises(SourceRefused, match=r"repositories\.memory"):
            await repositories.fetch(wanted(f"{host.url}/app.git", target="^1"))


def _line(number: int) -> bytes:
    text = f"{'a' * 40} refs/tags/{number}{'x' * 900}\n".encode()
    return f"{len(text) + 4:04x}".encode() + text


async def test_a_pack_that_never_ends_is_stopped_by_its_size(opened: Opening, upstream: Upstream) -> None:
    upstream.commit({"a": "0"})

    async def endless(request: web.Request) -> web.StreamResponse | None:
        if b"command=fetch" not in await request.read():
            return None
        response = web.StreamResponse(headers={"Content-Type": PACK})
        await response.prepare(request)
        await response.write(b"000dpackfile\n")
        await response.write(_band(b"PACK\0\0\0\x02\0\0\x10\0"))
        # One blob that claims to be large, of bytes that do not compress: stored blocks of deflate.
        await response.write(_band(b"\xbf\xff\xff\xff\x7f\x78\x01"))
        block = b"\x00\xff\x7f\x00\x80" + b"x" * 0x7FFF
        try:
            while True:
                await response.write(_band(block))
        except ConnectionError:
            return response

    async with (
        git_host(upstream.path.parent) as host,
        opened(settings={"largest_fetch": 4 << 20}) as repositories,
    ):
        host.lie = endless
        with pytest.raises(SourceRefused, match="more than 4 MiB"):
            await repositories.fetch(wanted(f"{host.url}/app.git"))


def _band(data: bytes) -> bytes:
    return f"{len(data) + 5:04x}".encode() + b"\x01" + data


async def test_another_pack_than_the_one_that_was_asked_for_is_not_taken(
    opened: Opening, upstream: Upstream, tmp_path: Path
) -> None:
    other = Upstream(tmp_path / "other" / "app.git")
    other.commit({"evil": "1"})
    commit = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, git_host(other.path.parent) as liar:
        host.lie = _fetching_from(liar, other.tip("main"), commit)
        async with opened() as repositories:
            with pytest.raises(TrimtabError):
                await repositories.fetch(wanted(f"{host.url}/app.git"))
            host.lie = None
            revision = await repositories.fetch(wanted(f"{host.url}/app.git"))
            assert GitTree(revision.mirror, revision.commit).read("a") == b"0"


def _fetching_from(
    liar: GitHost, theirs: str, ours: str
) -> Callable[[web.Request], Awaitable[web.StreamResponse | None]]:
    async def lie(request: web.Request) -> web.StreamResponse | None:
        body = await request.read()
        if b"command=fetch" not in body:
            return None
        return await liar._honest(request, body.replace(ours.encode(), theirs.encode()))  # noqa: SLF001 - its other face

    return lie


async def test_a_server_that_stalls_is_given_up(opened: Opening, upstream: Upstream) -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": REFS})
        await response.prepare(request)
        await response.write(b"001e# service=git-upload-pack\n0000")
        await asyncio.Event().wait()
        return response

    settings = {"stall_timeout": timedelta(seconds=1)}
    async with git_host(upstream.path.parent) as host, opened(settings=settings) as repositories:
        host.lie = stall
        with pytest.raises(GitUnreachable):
            await repositories.fetch(wanted(f"{host.url}/app.git"))


async def test_a_server_that_drips_is_given_up_when_the_time_is_over(
    opened: Opening, upstream: Upstream
) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": REFS})
        await response.prepare(request)
        try:
            while True:
                await response.write(b"0" * 500)
                await asyncio.sleep(0.05)  # the drip itself
        except ConnectionError:
            return response

    settings = {"list_timeout": timedelta(seconds=2)}
    async with git_host(upstream.path.parent) as host, opened(settings=settings) as repositories:
        host.lie = drip
        with pytest.raises(GitUnreachable, match="within 2 seconds"):
            await repositories.fetch(wanted(f"{host.url}/app.git"))


@pytest.mark.parametrize("after", [0, 200, 2000])
async def test_a_connection_that_is_cut_is_told_and_the_next_try_succeeds(
    opened: Opening, git_http: HttpRepository, http_upstream: Upstream, after: int
) -> None:
    commit = http_upstream.commit({f"file-{number}": str(number) * 500 for number in range(50)})
    fates = iter([Fate(after=after)] * 2)
    parts = urlsplit(git_http.url)
    assert parts.port
    async with unruly_proxy("127.0.0.1", parts.port, fates=lambda: next(fates, Fate())) as proxy:
        wish = wanted(f"http://127.0.0.1:{proxy.port}{parts.path}", basic(git_http), target="main")
        async with opened() as repositories:
            with pytest.raises(GitUnreachable):
                await repositories.fetch(wish)
            list(fates)
            assert (await repositories.fetch(wish)).commit == commit
            assert proxy.cut == 1


async def test_objects_that_no_honest_git_wrote_are_not_taken(opened: Opening, upstream: Upstream) -> None:
    blob = upstream.git("hash-object", "-w", "--stdin", stdin=b"x").strip()
    raw = b"100644 ../evil\0" + bytes.fromhex(blob)
    tree = upstream.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw).strip()
    text = f"tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nevil\n".encode()
    commit = upstream.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text).strip()
    upstream.git("update-ref", "refs/heads/main", commit)
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        with pytest.raises(SourceRefused, match="not sound"):
            await repositories.fetch(wanted(f"{host.url}/app.git"))


# --- where we may connect to -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/app.git",
        "http://127.1:1/app.git",
        "http://2130706433:1/app.git",
        "http://0x7f000001:1/app.git",
        "http://0:1/app.git",
        "http://localhost:1/app.git",
        "http://[::1]:1/app.git",
        "http://[::ffff:127.0.0.1]:1/app.git",
        "http://169.254.169.254/app.git",
        "ssh://git@127.0.0.1:1/app.git",
        "git@localhost:app.git",
    ],
)
async def test_loopback_and_link_local_addresses_are_refused_unless_allowed(
    opened: Opening, url: str
) -> None:
    credential = Credential(trust=Trust(known_hosts="x")) if "git@" in url else None
    async with opened(settings={"allow_hosts": ()}) as repositories:
        with pytest.raises((SourceRefused, GitUnreachable)) as caught:
            await repositories.fetch(wanted(url, credential))
        assert "not allowed" in str(caught.value) or "cannot be resolved" in str(caught.value)


async def test_a_name_that_changes_its_meaning_between_judge_and_connection_gains_nothing(
    opened: Opening, upstream: Upstream
) -> None:
    commit = upstream.commit({"a": "0"})
    settings = RepositoriesSettings(allow_schemes=("http",), allow_hosts=("127.0.0.1",))
    answers = [("127.0.0.1",), ("127.0.0.1",), ("127.0.0.2",)]

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return answers.pop(0)

    async with git_host(upstream.path.parent) as host:
        url = f"http://rebinding.invalid:{urlsplit(host.url).port}/app.git"
        async with opened(gate=Gate(settings, resolve=resolve)) as repositories:
            revision = await repositories.fetch(wanted(url))
            # The name has no meaning at all outside: git went where it was told.
            assert revision.commit == commit
            with pytest.raises(SourceRefused, match="this machine itself"):
                await repositories.fetch(wanted(url, CANARY))


async def test_an_unknown_host_is_told(opened: Opening) -> None:
    async with opened() as repositories:
        with pytest.raises(GitUnreachable, match="its name cannot be resolved"):
            await repositories.fetch(wanted("https://nobody.invalid/app.git"))


async def test_a_host_where_nobody_listens_is_told(opened: Opening) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        async with opened() as repositories:
            with pytest.raises(GitUnreachable, match="cannot be reached"):
                await repositories.fetch(wanted(f"http://127.0.0.1:{port}/app.git"))


async def test_a_repository_that_is_not_there_is_missing(opened: Opening, upstream: Upstream) -> None:
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        with pytest.raises(RepositoryMissing):
            await repositories.fetch(wanted(f"{host.url}/nothing.git"))


# --- strings that would be options -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "scheme", ["ext::sh -c 'touch {}'", "fd::7", "--upload-pack=touch {}", "-oProxyCommand={}"]
)
async def test_an_address_runs_no_program(opened: Opening, tmp_path: Path, scheme: str) -> None:
    async with opened() as repositories:
        with pytest.raises(InvalidSpec):
            await repositories.fetch(wanted(scheme.format(tmp_path / "run")))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "name", ["+x", "a'b", 'a"b', "$(id)", "`id`", "a;id", "a|b", "refs/heads/a;b", "%s", "é", "HEAD2"]
)
async def test_a_strange_name_is_a_name_and_nothing_else(
    opened: Opening, upstream: Upstream, name: str
) -> None:
    upstream.commit({"a": "0"})
    commit = upstream.commit({"a": "1"}, branch="main2")
    upstream.git("update-ref", f"refs/heads/{name.removeprefix('refs/heads/')}", commit)
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        revision = await repositories.fetch(wanted(f"{host.url}/app.git", target=name))
        assert revision.commit == commit


async def test_nothing_that_a_repository_holds_is_run(
    opened: Opening, upstream: Upstream, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    files = {
        ".gitattributes": "* filter=evil diff=evil merge=evil text eol=crlf ident\n",
        ".gitconfig": f'[filter "evil"]\n\tsmudge = touch {ran}\n',
        "hooks/post-checkout": f"#!/bin/sh\ntouch {ran}\n",
        "config": f"[core]\n\tfsmonitor = touch {ran}\n\tsshCommand = touch {ran}\n",
        ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ../x\n\tupdate = checkout\n',
        "a": "$Id$\n",
    }
    upstream.commit(files)
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        revision = await repositories.fetch(wanted(f"{host.url}/app.git"))
    tree = GitTree(revision.mirror, revision.commit)
    assert {name: tree.read(name).decode() for name in files} == files
    assert not ran.exists()
    config = (Path(revision.mirror) / "config").read_text()
    assert "evil" not in config


@pytest.mark.parametrize(
    "line",
    [
        "update = !touch /tmp/x",
        "url = --upload-pack=id",
        "path = -x",
        "url = ext::id",
        "url = https://h/\\nx",
    ],
)
async def test_a_gitmodules_file_that_would_run_something_is_not_taken(
    opened: Opening, upstream: Upstream, line: str
) -> None:
    text = f'[submodule "x"]\n\tpath = x\n\turl = ../x\n\t{line}\n'
    upstream.commit({".gitmodules": text, "x": Submodule("1" * 40)})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        with pytest.raises(SourceRefused):
            await repositories.fetch(wanted(f"{host.url}/app.git", submodules=True))


# --- who answers -----------------------------------------------------------------------------------------


async def test_a_server_with_a_certificate_of_its_own_making_is_refused(
    opened: Opening, git_http: HttpRepository, http_upstream: Upstream
) -> None:
    http_upstream.commit({"a": "0"})
    async with opened() as repositories:
        with pytest.raises(SourceRefused, match="TLS certificate is not trusted"):
            await repositories.fetch(wanted(git_http.https_url, basic(git_http)))


async def test_trusting_anybody_works_only_where_the_operator_allows_it(
    opened: Opening, git_http: HttpRepository, http_upstream: Upstream
) -> None:
    commit = http_upstream.commit({"a": "0"})
    login = basic(git_http).login
    careless = Credential(login=login, trust=Trust(insecure=True))
    async with opened() as repositories:
        with pytest.raises(InvalidSpec):
            await repositories.fetch(wanted(git_http.https_url, careless))
    async with opened(settings={"allow_insecure": True}) as repositories:
        assert (await repositories.fetch(wanted(git_http.https_url, careless))).commit == commit


async def test_the_operators_authority_and_host_keys_serve_those_who_bring_none(
    opened: Opening,
    git_http: HttpRepository,
    git_ssh: SshRepository,
    http_upstream: Upstream,
    ssh_upstream: Upstream,
) -> None:
    commits = (http_upstream.commit({"a": "0"}), ssh_upstream.commit({"a": "1"}))
    settings = {"ca_file": str(git_http.ca_file), "known_hosts_file": str(git_ssh.known_hosts)}
    async with opened(settings=settings) as repositories:
        web_one = await repositories.fetch(wanted(git_http.https_url, basic(git_http)))
        ssh_one = await repositories.fetch(wanted(git_ssh.url, key(git_ssh, known_hosts="")))
    assert (web_one.commit, ssh_one.commit) == commits


async def test_an_unknown_host_key_is_refused(
    opened: Opening, git_ssh: SshRepository, ssh_upstream: Upstream, tmp_path: Path
) -> None:
    ssh_upstream.commit({"a": "0"})
    other = write_ssh_key(tmp_path / "other").with_suffix(".pub").read_text()
    port = urlsplit(git_ssh.url).port
    for known in (f"[127.0.0.1]:{port} {other}", f"[127.0.0.2]:{port} {other}", "# nothing"):
        async with opened() as repositories:
            with pytest.raises(SourceRefused, match="host key") as caught:
                await repositories.fetch(wanted(git_ssh.url, key(git_ssh, known_hosts=known)))
            assert "ssh-keyscan" in caught.value.remedy
    async with opened() as repositories:
        with pytest.raises(SourceRefused, match="no SSH host key of it is known"):
            await repositories.fetch(wanted(git_ssh.url, key(git_ssh, known_hosts="")))


async def test_another_key_than_the_right_one_is_refused_and_no_agent_is_asked(
    opened: Opening, git_ssh: SshRepository, ssh_upstream: Upstream, tmp_path: Path
) -> None:
    ssh_upstream.commit({"a": "0"})
    wrong = Secret(write_ssh_key(tmp_path / "wrong").read_text())
    trust = Trust(known_hosts=git_ssh.known_hosts.read_text())
    async with opened() as repositories:
        for login in (SshKey(key=wrong), None):
            with pytest.raises(CredentialRefused):
                await repositories.fetch(wanted(git_ssh.url, Credential(login=login, trust=trust)))


async def test_a_token_is_sent_as_a_bearer(opened: Opening, upstream: Upstream) -> None:
    commit = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.welcome = {"Bearer t0ken"}
        bearer = Credential(login=Bearer(token=Secret("t0ken")))
        assert (await repositories.fetch(wanted(f"{host.url}/app.git", bearer))).commit == commit


async def test_a_wish_that_cannot_be_meant_asks_nobody(opened: Opening, upstream: Upstream) -> None:
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        for wrong in (wanted(f"{host.url}/app.git", target="a..b"), wanted("nowhere")):
            with pytest.raises(InvalidSpec):
                await repositories.fetch(wrong)
        with pytest.raises(Missing):
            await repositories.fetch(wanted(f"{host.url}/app.git"))
        assert host.count("fetch") == 0

"""Mirrors on disk: damage, locks, several processes, and what is let go."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from msgspec import structs

from tests.sources.conftest import Opening, wanted
from tests.sources.githost import GitHost, basic_header, git_host
from tests.sources.upstream import File, Link, Submodule, Upstream
from trimtab.errors import GitUnreachable, SourceRefused, Unavailable
from trimtab.kube.auth.redaction import Secret
from trimtab.sources import GitTree, tree_of
from trimtab.sources.repositories.complaints import CredentialRefused, RevisionMissing
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential
from trimtab.sources.repositories.gittree import ObjectMissing
from trimtab.sources.repositories.revisions import Wanted
from trimtab.tasks import ManualClock

ROOT = Path(__file__).parents[3]


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path / "upstream" / "app.git")


def packs(mirror: str) -> list[Path]:
    return sorted(Path(mirror).glob("objects/pack/*.pack"))


def kept(mirror: str, commit: str) -> list[Path]:
    """The refs by which a mirror keeps a commit."""
    return list(Path(mirror).glob(f"refs/trimtab/keep/*/{commit}"))


def damage(path: Path) -> None:
    """Turn the middle of a file into something else."""
    path.chmod(0o600)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 - 8 : len(raw) // 2 + 8] = b"\xff" * 16
    path.write_bytes(raw)


async def test_a_mirror_holds_single_revisions_and_no_history(opened: Opening, upstream: Upstream) -> None:
    old = upstream.commit({"a": "old"})
    new = upstream.commit({"a": "new"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        revision = await repositories.fetch(wanted(f"{host.url}/app.git"))
    assert revision.commit == new
    with pytest.raises(ObjectMissing):
        GitTree(revision.mirror, old)


@pytest.mark.parametrize("way", ["commit", "short", "tag", "branch"])
async def test_an_older_commit_is_brought_by_its_id_or_the_beginning_of_it(
    opened: Opening, upstream: Upstream, way: str
) -> None:
    old = upstream.commit({"a": "old"})
    upstream.commit({"a": "new"})
    if way == "tag":
        upstream.tag("v1", old, annotated=True)
    upstream.git("update-ref", "refs/heads/old", old)
    if way in {"commit", "short"}:
        upstream.git("update-ref", "-d", "refs/heads/old")
    target = {"commit": old, "short": old[:8], "tag": "v1", "branch": "old"}[way]
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        revision = await repositories.fetch(wanted(f"{host.url}/app.git", target=target))
        assert GitTree(revision.mirror, old).read("a") == b"old"
        assert list(Path(revision.mirror).parent.glob("*.history")) == []


@pytest.mark.parametrize("target", ["0" * 39 + "1", "0" * 40, "deadbeef"])
async def test_a_commit_that_nobody_has_is_missing(opened: Opening, upstream: Upstream, target: str) -> None:
    upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        with pytest.raises(RevisionMissing):
            await repositories.fetch(wanted(f"{host.url}/app.git", target=target))


async def test_a_server_that_gives_no_commit_by_its_id_is_asked_by_name(
    opened: Opening, upstream: Upstream
) -> None:
    commit = upstream.commit({"a": "0"})

    async def old_fashioned(request: web.Request) -> web.StreamResponse | None:
        body = await request.read()
        named = b"want-ref" in body or b"ofs-delta" not in body
        if b"command=fetch" in body and not named and host.count("fetch") == 1:
            text = f"ERR upload-pack: not our ref {commit}".encode()
            return web.Response(body=f"{len(text) + 4:04x}".encode() + text)
        return None

    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.lie = old_fashioned
        revision = await repositories.fetch(wanted(f"{host.url}/app.git", target="main"))
        assert GitTree(revision.mirror, revision.commit).read("a") == b"0"


@pytest.mark.parametrize("what", ["pack", "index", "head", "everything"])
async def test_a_damaged_mirror_heals_itself(opened: Opening, upstream: Upstream, what: str) -> None:
    files = {f"file-{number}": f"{number}" * 300 for number in range(30)}
    upstream.commit(files)
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        wish = wanted(f"{host.url}/app.git")
        before = await repositories.fetch(wish)
        _ruin(Path(before.mirror), what)
        assert await repositories.mend(wish, before)
        after = await repositories.fetch(wish)
        tree = GitTree(after.mirror, after.commit)
        assert {name: tree.read(name).decode() for name in files} == files
        assert not await repositories.mend(wish, after)
        assert [path.suffix for path in Path(after.mirror).parent.iterdir() if path.suffix != ".lock"] == [
            ".git"
        ]


def _ruin(mirror: Path, what: str) -> None:
    [pack] = packs(str(mirror))
    match what:
        case "pack":
            damage(pack)
        case "index":
            damage(pack.with_suffix(".idx"))
        case "head":
            (mirror / "HEAD").unlink()
        case _:
            for path in mirror.rglob("*"):
                if path.is_file():
                    path.chmod(0o600)
                    path.write_bytes(b"")


async def test_a_damaged_mirror_heals_while_news_are_fetched(opened: Opening, upstream: Upstream) -> None:
    upstream.commit({f"file-{number}": f"{number}" * 300 for number in range(30)})
    async with git_host(upstream.path.parent) as host, opened(clock=(clock := ManualClock())) as repositories:
        wish = wanted(f"{host.url}/app.git")
        before = await repositories.fetch(wish)
        [pack] = packs(before.mirror)
        damage(pack)
        upstream.commit({f"file-{number}": f"{number}" * 301 for number in range(30)})
        await clock.advance(200)
        after = await repositories.fetch(wish)
        assert GitTree(after.mirror, after.commit).read("file-7") == b"7" * 301


async def test_a_server_that_sends_rubbish_costs_nobody_the_mirror(
    opened: Opening, upstream: Upstream
) -> None:
    upstream.commit({"a": "0"})

    async def rubbish(request: web.Request) -> web.StreamResponse | None:
        if b"command=fetch" in await request.read():
            return web.Response(body=b"000dpackfile\n0010\x01PACKrubbish0000")
        return None

    async with git_host(upstream.path.parent) as host, opened(clock=(clock := ManualClock())) as repositories:
        wish = wanted(f"{host.url}/app.git")
        first = await repositories.fetch(wish)
        upstream.commit({"a": "1"})
        await clock.advance(200)
        host.lie = rubbish
        with pytest.raises(GitUnreachable):
            await repositories.fetch(wish)
        assert GitTree(first.mirror, first.commit).read("a") == b"0"


async def test_what_a_killed_git_left_stands_in_nobodys_way(opened: Opening, upstream: Upstream) -> None:
    upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=(clock := ManualClock())) as repositories:
        wish = wanted(f"{host.url}/app.git")
        mirror = Path((await repositories.fetch(wish)).mirror)
        new = upstream.commit({"a": "1"})
        day = clock.now().date().isoformat()
        left = [mirror / name for name in ("shallow.lock", "packed-refs.lock", "config.lock", "HEAD.lock")]
        left += [mirror / f"refs/trimtab/keep/{day}/{new}.lock", mirror / "objects/pack/tmp_pack_x"]
        for path in left:
            path.write_bytes(b"left")
        await clock.advance(200)
        revision = await repositories.fetch(wish)
        assert GitTree(revision.mirror, new).read("a") == b"1"
        assert [path for path in left if path.exists()] == []


HOLDER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


async def test_a_lock_goes_with_the_process_that_held_it_even_by_kill(
    opened: Opening, upstream: Upstream
) -> None:
    upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=(clock := ManualClock())) as repositories:
        wish = wanted(f"{host.url}/app.git")
        first = await repositories.fetch(wish)
        new = upstream.commit({"a": "1"})
        await clock.advance(200)
        holder = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", HOLDER, str(Path(first.mirror).with_suffix(".lock"))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout
        assert await holder.stdout.readline() == b"held\n"
        async with asyncio.TaskGroup() as group:
            fetching = group.create_task(repositories.fetch(wish))
            await host.until("ls-refs", 2)
            assert host.fetches() == 1
            os.kill(holder.pid, signal.SIGKILL)
        await holder.wait()
        assert fetching.result().commit == new


WORKER = """
import asyncio, os, sys
from trimtab.settings import RepositoriesSettings
from trimtab.sources import GitTree, Repositories
from trimtab.sources.repositories.revisions import Wanted

async def main():
    folder, url, *targets = sys.argv[1:]
    settings = RepositoriesSettings(folder=folder, allow_schemes=("http",), allow_hosts=("127.0.0.0/8",))
    async with Repositories(settings, path=os.environ["PATH"]) as repositories:
        for target in targets:
            revision = await repositories.fetch(Wanted(url=url, target=target))
            GitTree(revision.mirror, revision.commit).read("a")

asyncio.run(main())
"""


async def test_several_processes_share_one_mirror(upstream: Upstream, tmp_path: Path) -> None:
    for number in range(6):
        upstream.commit({"a": str(number)}, branch=f"branch-{number}")
    branches = [f"branch-{number}" for number in range(6)]
    async with git_host(upstream.path.parent) as host:
        running = [
            await _started(tmp_path / "mirrors", host, order)
            for order in (branches, branches[::-1], branches)
        ]
        ended = [await process.communicate() for process in running]
        assert [(process.returncode, said) for process, said in zip(running, ended, strict=True)] == [
            (0, (b"", b""))
        ] * 3
        assert host.fetches() == 6
    assert len(list((tmp_path / "mirrors").glob("*.git"))) == 1


async def _started(folder: Path, host: GitHost, targets: list[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, str(folder), f"{host.url}/app.git", *targets),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )


async def test_revisions_that_nobody_wants_any_more_are_let_go_in_time(
    opened: Opening, upstream: Upstream
) -> None:
    clock = ManualClock()
    settings = {"keep_revisions": timedelta(days=2)}
    async with git_host(upstream.path.parent) as host, opened(clock=clock, settings=settings) as repositories:
        wish, kept = wanted(f"{host.url}/app.git"), wanted(f"{host.url}/app.git", target="kept")
        first = upstream.commit({"a": "0"})
        upstream.git("update-ref", "refs/heads/kept", upstream.commit({"a": "kept"}, branch="other"))
        mirror = (await repositories.fetch(wish)).mirror
        commits = []
        for day in range(1, 5):
            commits.append(upstream.commit({"a": str(day)}))
            await clock.advance(timedelta(days=1).total_seconds())
            await repositories.fetch(kept)
            await repositories.fetch(wish)
        assert GitTree(mirror, commits[-1]).read("a") == b"4"
        assert GitTree(mirror, upstream.tip("kept")).read("a") == b"kept"
        with pytest.raises(ObjectMissing):
            GitTree(mirror, first)


async def test_a_mirror_that_would_grow_too_large_is_refused_and_what_it_held_stays(
    opened: Opening, upstream: Upstream
) -> None:
    clock = ManualClock()
    upstream.commit({"a": "0"})
    async with (
        git_host(upstream.path.parent) as host,
        opened(clock=clock, settings={"largest_mirror": 200_000}) as repositories,
    ):
        wish = wanted(f"{host.url}/app.git")
        first = await repositories.fetch(wish)
        upstream.commit({"a": os.urandom(300_000)})
        await clock.advance(200)
        with pytest.raises(SourceRefused, match=r"repositories\.largest_mirror"):
            await repositories.fetch(wish)
        assert GitTree(first.mirror, first.commit).read("a") == b"0"
        assert sum(path.stat().st_size for path in packs(first.mirror)) < 200_000


async def test_the_paths_that_changed_between_two_revisions_are_known(
    opened: Opening, upstream: Upstream
) -> None:
    clock = ManualClock()
    upstream.commit({"a/x": "0", "b/y": "0", "c": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock) as repositories:
        wish = wanted(f"{host.url}/app.git")
        before = await repositories.fetch(wish)
        upstream.commit({"a/x": "1", "c": "0", "d": "0"})
        await clock.advance(200)
        after = await repositories.fetch(wish)
        assert await repositories.changed_paths(before, after) == ("a/x", "b/y", "d")


async def test_a_folder_that_cannot_be_written_is_told_and_no_server_is_blamed(
    opened: Opening, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        (tmp_path / "mirrors").rmdir()
        (tmp_path / "mirrors").write_text("in the way")
        with pytest.raises(Unavailable, match="folder of mirrors"):
            await repositories.fetch(wanted(f"{host.url}/app.git"))


# --- partial mirrors -------------------------------------------------------------------------------------


async def test_a_partial_mirror_holds_the_files_that_are_looked_at_and_no_others(
    opened: Opening, upstream: Upstream
) -> None:
    upstream.git("config", "uploadpack.allowFilter", "true")
    clock = ManualClock()
    upstream.commit({"web/a": "0", "web/b/c": "1", "api/d": "2", "large": "x" * 100_000})
    async with git_host(upstream.path.parent) as host, opened(clock=clock) as repositories:
        url = f"{host.url}/app.git"
        web_alone = await repositories.fetch(wanted(url, paths=("web",), partial=True))
        tree = GitTree(web_alone.mirror, web_alone.commit)
        assert (tree.read("web/a"), tree.read("web/b/c")) == (b"0", b"1")
        for path in ("api/d", "large"):
            with pytest.raises(ObjectMissing):
                tree.read(path)
        asked = len(host.log)
        await repositories.fetch(wanted(url, paths=("web",), partial=True))
        assert len(host.log) == asked
        both = await repositories.fetch(wanted(url, paths=("web", "/api/"), partial=True))
        assert GitTree(both.mirror, both.commit).read("api/d") == b"2"
        whole = await repositories.fetch(wanted(url))
        assert whole.mirror != both.mirror
        upstream.commit({"web/a": "new", "web/b/c": "1", "api/d": "2"})
        await clock.advance(200)
        later = await repositories.fetch(wanted(url, paths=("web",), partial=True))
        assert GitTree(later.mirror, later.commit).read("web/a") == b"new"
        assert not await repositories.mend(wanted(url, paths=("web",), partial=True), later)


async def test_a_partial_mirror_is_tidied_and_heals_like_any_other(
    opened: Opening, upstream: Upstream
) -> None:
    upstream.git("config", "uploadpack.allowFilter", "true")
    clock = ManualClock()
    settings = {"keep_revisions": timedelta(days=1)}
    async with git_host(upstream.path.parent) as host, opened(clock=clock, settings=settings) as repositories:
        wish = wanted(f"{host.url}/app.git", paths=("web",), partial=True)
        first = upstream.commit({"web/a": "0", "api/d": "2"})
        await repositories.fetch(wish)
        for day in range(3):
            upstream.commit({"web/a": str(day), "api/d": "2"})
            await clock.advance(timedelta(days=1).total_seconds())
            await repositories.fetch(wish)
        revision = await repositories.fetch(wish)
        assert GitTree(revision.mirror, revision.commit).read("web/a") == b"2"
        assert kept(revision.mirror, first) == []
        for pack in packs(revision.mirror):
            damage(pack)
        assert await repositories.mend(wish, revision)
        healed = await repositories.fetch(wish)
        assert GitTree(healed.mirror, healed.commit).read("web/a") == b"2"


async def test_a_server_that_leaves_nothing_out_fills_a_partial_mirror_at_once(
    opened: Opening, upstream: Upstream
) -> None:
    upstream.git("config", "uploadpack.allowFilter", "false")
    upstream.commit({"web/a": "0", "api/d": "2"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        revision = await repositories.fetch(wanted(f"{host.url}/app.git", paths=("web",), partial=True))
    tree = GitTree(revision.mirror, revision.commit)
    assert (tree.read("web/a"), tree.read("api/d")) == (b"0", b"2")


# --- submodules ------------------------------------------------------------------------------------------


def modules(**urls: str) -> str:
    return "".join(f'[submodule "{name}"]\n\tpath = {name}\n\turl = {url}\n' for name, url in urls.items())


def nested(upstream: Upstream, url: str = "../lib.git") -> None:
    """Give the repository a submodule that has one itself."""
    deep = Upstream(upstream.path.with_name("deep.git"))
    library = Upstream(upstream.path.with_name("lib.git"))
    inner: dict[str, File] = {"base/x": "1", ".gitmodules": modules(deep="../deep.git")}
    commit = library.commit({**inner, "deep": Submodule(deep.commit({"z": "deep"}))})
    library.commit({"base/x": "later"})
    upstream.commit({".gitmodules": modules(lib=url), "lib": Submodule(commit), "link": Link("lib")})


async def test_submodules_of_the_same_server_are_fetched_at_the_commit_that_is_named(
    opened: Opening, upstream: Upstream
) -> None:
    nested(upstream)
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        wish = wanted(f"{host.url}/app.git", submodules=True)
        revision = await repositories.fetch(wish)
    tree = tree_of(revision)
    assert tree.read("lib/base/x") == b"1"
    assert tree.read("lib/deep/z") == b"deep"

    # Another process recalls them all, though nobody serves them any more; or none, if one is missing.
    async with opened() as repositories:
        assert repositories.recall(wish, revision.commit) == structs.replace(revision, ref="")
        (library,) = revision.submodules
        shutil.rmtree(library.revision.submodules[0].revision.mirror)
        assert repositories.recall(wish, revision.commit) is None


async def test_submodules_are_left_alone_unless_they_are_wanted(opened: Opening, upstream: Upstream) -> None:
    nested(upstream)
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        revision = await repositories.fetch(wanted(f"{host.url}/app.git"))
        assert {asked.path.partition(".git")[0] for asked in host.log} == {"/app"}
    assert revision.submodules == ()


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/lib.git", "http://localhost/lib.git", "git@127.0.0.1:lib.git", "file:///lib.git"],
)
async def test_a_submodule_on_another_server_is_refused(
    opened: Opening, upstream: Upstream, url: str
) -> None:
    nested(upstream, url)
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        with pytest.raises(SourceRefused, match="another server"):
            await repositories.fetch(wanted(f"{host.url}/app.git", submodules=True))


async def test_a_submodule_is_opened_with_the_credential_for_its_own_address(
    opened: Opening, upstream: Upstream
) -> None:
    nested(upstream)
    credential = Credential(login=Basic(username="me", password=Secret("right")))
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.welcome = {basic_header("me", "right")}
        with pytest.raises(CredentialRefused, match="lib"):
            await repositories.fetch(wanted(f"{host.url}/app.git", credential, submodules=True))
        assert all(not each.authorization for each in host.log if not each.path.startswith("/app.git"))
        for_all = (Belonging(url=host.url, credential=credential, below=True),)
        wish = Wanted(url=f"{host.url}/app.git", credentials=for_all, submodules=True)
        assert tree_of(await repositories.fetch(wish)).read("lib/deep/z") == b"deep"


async def test_processes_that_are_killed_at_any_moment_leave_a_mirror_that_works(
    upstream: Upstream, tmp_path: Path, opened: Opening
) -> None:
    chance = random.Random(6)
    branches = [f"branch-{number}" for number in range(8)]
    for branch in branches:
        upstream.commit({"a": branch, "b": os.urandom(20_000)}, branch=branch)
    async with git_host(upstream.path.parent) as host:
        for turn in range(4):
            process = await _started(tmp_path / "mirrors", host, branches)
            await host.until("info", host.count("info") + chance.randint(1, 4))
            process.kill()
            await process.wait()
            assert process.returncode == -signal.SIGKILL, f"turn {turn} came to its end"
        async with opened() as repositories:
            for branch in branches:
                revision = await repositories.fetch(wanted(f"{host.url}/app.git", target=branch))
                assert GitTree(revision.mirror, revision.commit).read("a") == branch.encode()
            last = wanted(f"{host.url}/app.git", target=branches[-1])
            assert not await repositories.mend(last, await repositories.fetch(last))

"""Files that are kept in Git LFS, from a server that speaks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from testbed.gitserve import LFS_GRANT
from testbed.gitserver import SshRepository
from testbed.lfs import LfsServer, Seen
from tests.sources.conftest import Opening, key, wanted
from tests.sources.githost import GitHost, basic_header, git_host
from tests.sources.upstream import File, Submodule, Upstream
from trimtab.errors import SourceRefused
from trimtab.kube.auth.redaction import Secret
from trimtab.sources import FolderOrigin, Renderer, Request, RevisionOrigin, tree_of
from trimtab.sources.rendering.specs import SourceSpec
from trimtab.sources.repositories.credentials import Basic, Belonging, Credential
from trimtab.sources.repositories.gittree import LargeFileMissing
from trimtab.sources.repositories.revisions import Revision, Wanted
from trimtab.tasks import ManualClock

PASSWORD = "opensesame-of-the-repository"
WELCOME = basic_header("me", PASSWORD)
MARKED: dict[str, File] = {".gitattributes": "*.big filter=lfs diff=lfs merge=lfs -text\n"}
CONTENT = b"large: " + b"x" * 5000 + b"\n"


class Place:
    """A Git host with LFS in front of it."""

    def __init__(self, host: GitHost, lfs: LfsServer, upstream: Upstream) -> None:
        self.host = host
        self.lfs = lfs
        self.upstream = upstream

    def wanted(self, *, lfs: bool = True, submodules: bool = False, paths: tuple[str, ...] = ()) -> Wanted:
        login = Basic(username="me", password=Secret(PASSWORD))
        belonging = Belonging(url=self.host.url, credential=Credential(login=login), below=True)
        return Wanted(
            url=f"{self.host.url}/{self.upstream.path.name}",
            target="main",
            credentials=(belonging,),
            lfs=lfs,
            submodules=submodules,
            paths=paths,
        )


@asynccontextmanager
async def placed(folder: Path) -> AsyncIterator[Place]:
    upstream = Upstream(folder / "served" / "app.git")
    async with git_host(folder / "served") as host:
        lfs = LfsServer()
        lfs.welcome = host.welcome = {WELCOME}
        host.lie = lfs.answer
        yield Place(host, lfs, upstream)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    (tmp_path / "served").mkdir()
    async with placed(tmp_path) as place:
        yield place


def pointer_to(oid_digit: str, size: int = 10) -> str:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid_digit * 64}\nsize {size}\n"


async def test_files_come_with_the_repositorys_credential_and_are_asked_for_once(
    opened: Opening, place: Place
) -> None:
    pointer = place.lfs.keep(CONTENT)
    place.upstream.commit({**MARKED, "a.yaml": pointer, "deep/b.big": pointer, "c": "plain"})
    async with opened() as repositories:
        revision = await repositories.fetch(place.wanted())
        again = await repositories.fetch(place.wanted(), fresh=True)
    tree = tree_of(revision)
    assert [tree.read(path) for path in ("a.yaml", "deep/b.big", "c")] == [CONTENT, CONTENT, b"plain"]
    assert again == revision
    assert place.lfs.seen == [Seen("batch", WELCOME), Seen("file", WELCOME)]
    async with opened() as repositories:  # another process, the same mirror
        assert await repositories.fetch(place.wanted()) == revision
    assert len(place.lfs.seen) == 2


async def test_a_repository_that_marks_no_file_asks_no_server(opened: Opening, place: Place) -> None:
    place.upstream.commit({"a.big": place.lfs.keep(CONTENT), ".gitattributes": "*.sh text\n"})
    async with opened() as repositories:
        await repositories.fetch(place.wanted())
    assert place.lfs.seen == []


async def test_only_what_lies_at_the_wanted_paths_is_fetched(opened: Opening, place: Place) -> None:
    here, there = place.lfs.keep(b"here"), place.lfs.keep(b"there")
    place.upstream.commit({**MARKED, "app/x.big": here, "other/y.big": there})
    async with opened() as repositories:
        tree = tree_of(await repositories.fetch(place.wanted(paths=("app",))))
    assert tree.read("app/x.big") == b"here"
    with pytest.raises(LargeFileMissing):
        tree.read("other/y.big")


async def test_another_server_gets_what_the_first_gave_us_to_say_and_no_credential(
    opened: Opening, place: Place, tmp_path: Path
) -> None:
    place.upstream.commit({**MARKED, "a.big": place.lfs.keep(CONTENT)})
    other = LfsServer()
    other.files = place.lfs.files
    async with git_host(tmp_path) as elsewhere:
        elsewhere.lie = other.answer
        place.lfs.elsewhere, place.lfs.headers = elsewhere.url, {"X-Ticket": "t-1", "Host": "evil.example"}
        async with opened() as repositories:
            revision = await repositories.fetch(place.wanted())
        assert elsewhere.log[0].host == elsewhere.url.removeprefix("http://")
    assert tree_of(revision).read("a.big") == CONTENT
    assert other.seen == [Seen("file", "", "t-1")]


async def test_a_redirect_takes_nothing_along(opened: Opening, place: Place, tmp_path: Path) -> None:
    place.upstream.commit({**MARKED, "a.big": place.lfs.keep(CONTENT)})
    other = LfsServer()
    other.files = place.lfs.files
    place.lfs.headers = {"X-Ticket": "t-1"}
    async with git_host(tmp_path) as elsewhere:
        elsewhere.lie = other.answer

        async def moved(request: web.Request) -> web.Response | None:
            if request.method == "POST":
                return None
            return web.Response(status=302, headers={"Location": f"{elsewhere.url}{request.path}"})

        place.lfs.lie = moved
        async with opened() as repositories:
            revision = await repositories.fetch(place.wanted())
    assert tree_of(revision).read("a.big") == CONTENT
    assert other.seen == [Seen("file", "", "")]


SENT_TO = {
    "http://169.254.169.254/latest": "is a link-local address",
    "http://[::1]:1/": "is this machine itself",
    "file:///etc/passwd": "a link that may not be followed",
    "http://me:secret@127.0.0.1/": "a link that may not be followed",
}


async def test_a_server_cannot_send_us_where_nobody_may_go(opened: Opening, place: Place) -> None:
    place.upstream.commit({**MARKED, "a.big": place.lfs.keep(CONTENT)})
    problems = {}
    async with opened(settings={"allow_hosts": ("127.0.0.0/8",)}) as repositories:
        for place.lfs.elsewhere in SENT_TO:
            problems[place.lfs.elsewhere] = (await repositories.fetch(place.wanted())).lfs_problem
    assert [where for where, words in SENT_TO.items() if words not in problems[where]] == []
    assert {each.what for each in place.lfs.seen} == {"batch"}


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("{host}/moved.git/info/lfs", ""),
        ("https://elsewhere.example/lfs", ".lfsconfig names another server"),
        ("ssh://git@127.0.0.1/lfs", ".lfsconfig names another server"),
        ("ext::sh -c id", ".lfsconfig names a server that cannot be one"),
    ],
)
async def test_the_repository_may_name_a_server_on_its_own_host_alone(
    opened: Opening, place: Place, url: str, problem: str
) -> None:
    config = f"[lfs]\n\turl = {url.format(host=place.host.url)}\n"
    place.upstream.commit({**MARKED, "a.big": place.lfs.keep(CONTENT), ".lfsconfig": config})
    async with opened() as repositories:
        revision = await repositories.fetch(place.wanted())
    assert bool(place.lfs.seen) == (not problem)
    assert problem in revision.lfs_problem
    assert bool(revision.lfs_problem) == bool(problem)


async def test_a_file_that_is_not_the_one_that_was_asked_for_is_not_taken(
    opened: Opening, place: Place
) -> None:
    place.upstream.commit({**MARKED, "a.big": place.lfs.keep(CONTENT)})
    async with opened() as repositories:
        for sent in (b"another file of any size", CONTENT[:-1], CONTENT + b"!" * 100_000):
            place.lfs.files = dict.fromkeys(place.lfs.files, sent)
            revision = await repositories.fetch(place.wanted())
            with pytest.raises(LargeFileMissing, match="sent another file"):
                tree_of(revision).read("a.big")
        place.lfs.files = dict.fromkeys(place.lfs.files, CONTENT)  # mended; the next look brings it
        mended = await repositories.fetch(place.wanted())
    assert (mended.lfs_problem, tree_of(mended).read("a.big")) == ("", CONTENT)


async def test_what_cannot_be_had_concerns_only_those_who_read_it(opened: Opening, place: Place) -> None:
    files = {"gone.big": pointer_to("0"), "here.big": place.lfs.keep(CONTENT), "a.yaml": "a: 1\n"}
    place.upstream.commit({**MARKED, **files})
    async with opened() as repositories:
        revision = await repositories.fetch(place.wanted())
        tree = tree_of(revision)
        assert (tree.read("a.yaml"), tree.read("here.big"), revision.lfs_problem) == (b"a: 1\n", CONTENT, "")
        with pytest.raises(LargeFileMissing, match="its server does not have it"):
            tree.read("gone.big")


async def test_a_server_that_does_not_let_us_in_is_told_with_the_credential_that_was_shown(
    opened: Opening, place: Place
) -> None:
    place.upstream.commit({**MARKED, "a.yaml": "a: 1\n", "b.big": place.lfs.keep(CONTENT)})
    place.lfs.welcome = set()
    async with opened() as repositories:
        tree = tree_of(await repositories.fetch(place.wanted()))
    assert tree.read("a.yaml") == b"a: 1\n"
    with pytest.raises(LargeFileMissing) as raised:
        tree.read("b.big")
    assert f"shown was the credential for {place.host.url}" in raised.value.reason
    assert PASSWORD not in str(raised.value)


async def test_limits_hold(opened: Opening, place: Place) -> None:
    place.upstream.commit(
        {**MARKED, "small.big": place.lfs.keep(CONTENT), "huge.big": pointer_to("1", 33 << 20)}
    )
    async with opened(settings={"largest_fetch": 1 << 20}) as repositories:
        revision = await repositories.fetch(place.wanted())
    tree = tree_of(revision)
    assert (tree.read("small.big"), revision.lfs_problem) == (CONTENT, "")
    with pytest.raises(SourceRefused, match="at most"):  # never fetched, for nobody would read it
        tree.read("huge.big")

    place.upstream.commit({**MARKED, **{f"{n}.big": pointer_to(f"{n:x}", 30 << 20) for n in range(3)}})
    async with opened(settings={"largest_fetch": 80 << 20}) as repositories:
        assert "more than 80 MiB" in (await repositories.fetch(place.wanted(), fresh=True)).lfs_problem
    async with opened(settings={"largest_mirror": 80 << 20}) as repositories:
        assert "more than 80 MiB" in (await repositories.fetch(place.wanted(), fresh=True)).lfs_problem


async def test_a_server_that_does_not_speak_lfs_is_told_as_such(opened: Opening, place: Place) -> None:
    place.upstream.commit({**MARKED, "a.big": place.lfs.keep(CONTENT)})
    elsewhere = {"Location": "http://127.0.0.1/"}
    lies: dict[str, Callable[[], web.Response]] = {
        "not that of Git LFS": lambda: web.Response(text="<html>"),
        "more than anybody can mean": lambda: web.Response(body=b"x" * (5 << 20)),
        "redirects elsewhere": lambda: web.Response(status=302, headers=elsewhere),
        "cannot be reached": lambda: web.Response(status=503),
        "no such repository": lambda: web.Response(status=404),
        "insists on 'tus' transfers": lambda: web.json_response({"objects": [], "transfer": "tus"}),
    }
    problems = {}
    async with opened() as repositories:
        for words, lie in lies.items():
            place.lfs.lie = told(lie)
            problems[words] = (await repositories.fetch(place.wanted())).lfs_problem
    assert [words for words, problem in problems.items() if words not in problem] == []


def told(lie: Callable[[], web.Response]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        return lie()

    return answer


async def test_a_file_that_was_damaged_is_brought_anew(opened: Opening, place: Place) -> None:
    place.upstream.commit({**MARKED, "a.big": place.lfs.keep(CONTENT)})
    async with opened() as repositories:
        revision = await repositories.fetch(place.wanted())
        (kept,) = (Path(revision.mirror) / "lfs" / "objects").glob("*/*/*")
        kept.write_bytes(CONTENT[::-1])
        with pytest.raises(LargeFileMissing):
            tree_of(revision).read("a.big")
        await repositories.fetch(place.wanted())
    assert tree_of(revision).read("a.big") == CONTENT


async def test_files_go_with_the_last_revision_that_needs_them(opened: Opening, place: Place) -> None:
    clock = ManualClock()
    shared, old = place.lfs.keep(b"shared"), place.lfs.keep(b"old")
    place.upstream.commit({**MARKED, "a.big": shared, "b.big": old})
    async with opened(clock=clock, settings={"keep_revisions": timedelta(days=2)}) as repositories:
        await repositories.fetch(place.wanted())
        await clock.advance(timedelta(days=5).total_seconds())
        place.upstream.commit({**MARKED, "a.big": shared})
        revision = await repositories.fetch(place.wanted())
    kept = (Path(revision.mirror) / "lfs" / "objects").glob("*/*/*")
    assert [each.read_bytes() for each in kept] == [b"shared"]
    assert tree_of(revision).read("a.big") == b"shared"


async def test_a_key_for_ssh_opens_the_files_too(
    opened: Opening, place: Place, git_ssh: SshRepository
) -> None:
    pointer = place.lfs.keep(CONTENT)
    Upstream(git_ssh.path).commit({**MARKED, "a.big": pointer})
    place.lfs.welcome = {"RemoteAuth granted-by-ssh"}
    grant = {
        "href": f"{place.host.url}/app.git/info/lfs",
        "header": {"Authorization": "RemoteAuth granted-by-ssh"},
    }
    (git_ssh.path / LFS_GRANT).write_bytes(msgspec.json.encode(grant))
    async with opened() as repositories:
        revision = await repositories.fetch(wanted(git_ssh.url, key(git_ssh), "main", lfs=True))
    assert (revision.lfs_problem, tree_of(revision).read("a.big")) == ("", CONTENT)
    assert {seen.authorization for seen in place.lfs.seen} == place.lfs.welcome


async def test_submodules_have_their_files_too(opened: Opening, place: Place) -> None:
    inner = Upstream(place.host.root / "inner.git")
    commit = inner.commit({**MARKED, "x.big": place.lfs.keep(CONTENT)})
    modules = '[submodule "lib"]\n\tpath = lib\n\turl = ../inner.git\n'
    place.upstream.commit({".gitmodules": modules, "lib": Submodule(commit)})
    async with opened() as repositories:
        revision = await repositories.fetch(place.wanted(submodules=True))
    assert tree_of(revision).read("lib/x.big") == CONTENT


async def test_a_render_reads_the_file_and_its_key_tells_it_from_the_pointer(
    opened: Opening, place: Place, renderer: Renderer, tmp_path: Path
) -> None:
    manifest = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\n"
    place.upstream.commit({**MARKED, "app/a.yaml": place.lfs.keep(manifest)})

    def request(revision: Revision) -> Request:
        spec = SourceSpec(path="app")
        return Request(name="web", namespace="shop", spec=spec, tree=RevisionOrigin(revision=revision))

    async with opened() as repositories:
        without = await repositories.fetch(place.wanted(lfs=False))
        with pytest.raises(SourceRefused, match="kept in Git LFS"):
            await renderer.render(request(without))
        revision = await repositories.fetch(place.wanted())
    rendered = await renderer.render(request(revision))
    assert [str(made.key) for made in rendered.manifests] == ["ConfigMap large"]
    (tmp_path / "folder" / "app").mkdir(parents=True)
    (tmp_path / "folder" / "app" / "a.yaml").write_bytes(manifest)
    folder = FolderOrigin(path=str(tmp_path / "folder"))
    checked_out = await renderer.render(
        Request(name="web", namespace="shop", spec=SourceSpec(path="app"), tree=folder)
    )
    assert checked_out.digest == rendered.digest

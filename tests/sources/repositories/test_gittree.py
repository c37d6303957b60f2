"""Reading a commit from the object store."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.upstream import File, Link, Program, Submodule, Upstream
from trimtab.errors import InvalidSpec, Missing, SourceRefused, TrimtabError
from trimtab.sources.repositories.gittree import GitTree, MountedTree, ObjectMissing, entries_in
from trimtab.sources.trees import Entry, EntryKind, Tree

ELSEWHERE = "1" * 40
ID = b"\x11" * 20


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path / "upstream.git")


def store_object(repository: Path, kind: str, content: bytes) -> str:
    """Write a loose object as it is, past all of git's own checks."""
    raw = f"{kind} {len(content)}\0".encode() + content
    id_ = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    path = repository / "objects" / id_[:2] / id_[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(raw))
    return id_


def test_files_folders_links_and_submodules_are_told_apart(upstream: Upstream) -> None:
    files: dict[str, File] = {"a.yaml": "a: 1\n", "bin/run": Program(b"#!"), "link": Link("../out")}
    files["lib"] = Submodule(ELSEWHERE)
    tree: Tree = GitTree(upstream.path, upstream.commit(files))
    shown = [(entry.name, entry.kind, entry.executable) for entry in tree.entries("")]
    assert shown == [
        ("a.yaml", EntryKind.FILE, False),
        ("bin", EntryKind.FOLDER, False),
        ("lib", EntryKind.SUBMODULE, False),
        ("link", EntryKind.LINK, False),
    ]
    assert tree.entries("bin")[0].executable
    assert (tree.read("a.yaml"), tree.read("link")) == (b"a: 1\n", b"../out")
    assert tree.entry("lib") == Entry(name="lib", kind=EntryKind.SUBMODULE, id=ELSEWHERE)


def test_an_id_changes_exactly_where_something_below_changes(upstream: Upstream) -> None:
    before = GitTree(upstream.path, upstream.commit({"a/b/c": "1", "d/e": "2"}))
    after = GitTree(upstream.path, upstream.commit({"a/b/c": "changed", "d/e": "2"}))
    changed = [
        path for path in ("", "a", "a/b", "a/b/c", "d", "d/e") if before.entry(path) != after.entry(path)
    ]
    assert changed == ["", "a", "a/b", "a/b/c"]


@pytest.mark.parametrize("path", ["b", "a/b", "/a", "./a", "../a", "d/../a", "d//e", "d/", "d/e/f"])
def test_what_is_not_there_is_missing_however_it_is_spelled(upstream: Upstream, path: str) -> None:
    tree = GitTree(upstream.path, upstream.commit({"a": "1", "d/e": "2"}))
    assert tree.entry(path) is None
    with pytest.raises(Missing):
        tree.read(path)
    with pytest.raises(Missing):
        tree.entries(path)


def test_a_folder_is_no_file_and_a_file_no_folder(upstream: Upstream) -> None:
    tree = GitTree(upstream.path, upstream.commit({"d/e": "2"}))
    with pytest.raises(Missing):
        tree.read("d")
    with pytest.raises(Missing):
        tree.entries("d/e")


def test_links_are_not_followed(upstream: Upstream) -> None:
    tree = GitTree(upstream.path, upstream.commit({"d/e": "2", "to": Link("d")}))
    assert tree.entry("to/e") is None


def test_a_file_that_is_too_large_is_refused_before_it_is_read(upstream: Upstream) -> None:
    tree = GitTree(upstream.path, upstream.commit({"big": b"0" * 1001, "small": b"0" * 1000}), largest=1000)
    assert len(tree.read("small")) == 1000
    with pytest.raises(SourceRefused, match="1001 bytes"):
        tree.read("big")


def test_a_mirror_that_lost_an_object_says_so_and_does_not_pretend_to_be_empty(
    upstream: Upstream,
) -> None:
    commit = upstream.commit({"d/e": "2"})
    upstream.git("repack", "-adq")
    pack = next(upstream.path.glob("objects/pack/*.pack"))
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:40])
    with pytest.raises(ObjectMissing):
        GitTree(upstream.path, commit)


def test_a_commit_is_named_by_all_its_digits(upstream: Upstream) -> None:
    commit = upstream.commit({"a": "1"})
    for name in ("main", commit[:39], "--upload-pack=x", commit.upper(), f"{commit}\n"):
        with pytest.raises(InvalidSpec):
            GitTree(upstream.path, name)


def test_a_tree_is_no_commit(upstream: Upstream) -> None:
    tree = GitTree(upstream.path, upstream.commit({"a": "1"}))
    with pytest.raises(SourceRefused):
        GitTree(upstream.path, tree.id)


def test_a_folder_that_is_not_there_is_no_empty_mirror(tmp_path: Path) -> None:
    with pytest.raises(ObjectMissing):
        GitTree(tmp_path / "nowhere", ELSEWHERE)


HOSTILE = {
    "parent": b"100644 ..\0" + ID,
    "self": b"100644 .\0" + ID,
    "absolute": b"100644 /etc\0" + ID,
    "nested": b"100644 a/../../b\0" + ID,
    "git folder": b"40000 .git\0" + ID,
    "git folder in capitals": b"40000 .GIT\0" + ID,
    "no name": b"100644 \0" + ID,
    "twice": (b"100644 a\0" + ID) * 2,
    "cut off": b"100644 a\0" + ID[:-1],
    "a device": b"60000 a\0" + ID,
    "no mode": b" a\0" + ID,
    "a mode that is no number": b"10064x a\0" + ID,
    "rubbish": b"rubbish",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_folder_that_no_honest_git_wrote_is_refused(upstream: Upstream, case: str) -> None:
    tree = store_object(upstream.path, "tree", HOSTILE[case])
    commit = store_object(upstream.path, "commit", f"tree {tree}\n\nhostile\n".encode())
    with pytest.raises(SourceRefused):
        GitTree(upstream.path, commit).entries("")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_folder_or_are_refused(raw: bytes) -> None:
    try:
        found = entries_in(raw, subject="a folder")
    except TrimtabError:
        return
    assert all(
        name == entry.name and "/" not in name and name not in {"", ".", ".."}
        for name, entry in found.items()
    )


def test_a_name_that_is_no_text_can_still_be_read(upstream: Upstream) -> None:
    blob = store_object(upstream.path, "blob", b"content")
    tree = store_object(upstream.path, "tree", b"100644 \xff.yaml\0" + bytes.fromhex(blob))
    commit = store_object(upstream.path, "commit", f"tree {tree}\n\n".encode())
    opened = GitTree(upstream.path, commit)
    assert [entry.name for entry in opened.entries("")] == ["\\xff.yaml"]
    assert opened.read("\\xff.yaml") == b"content"


def test_what_a_partial_mirror_lacks_is_known(upstream: Upstream) -> None:
    tree = GitTree(
        upstream.path, upstream.commit({"d/e": "2", "d/g/h": "4", "i": "5", "j": Submodule(ELSEWHERE)})
    )
    ids = {path: entry.id for path in ("d/e", "d/g/h", "i") if (entry := tree.entry(path))}
    for id_ in ids.values():
        (upstream.path / "objects" / id_[:2] / id_[2:]).unlink()
    assert tree.missing(("",)) == tuple(sorted(ids.values()))
    assert tree.missing(("d", "nothing", "j")) == tuple(sorted((ids["d/e"], ids["d/g/h"])))
    assert tree.missing(("i",)) == (ids["i"],)


def test_a_manifest_kept_in_lfs_is_told_and_other_files_are_left_as_they_are(upstream: Upstream) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    tree = GitTree(upstream.path, upstream.commit({"web.yaml": pointer, "logo.png": pointer}))
    assert tree.read("logo.png") == pointer.encode()
    with pytest.raises(SourceRefused, match="Git LFS"):
        tree.read("web.yaml")


def test_submodules_hang_where_the_outer_tree_has_them(tmp_path: Path, upstream: Upstream) -> None:
    library = Upstream(tmp_path / "library.git")
    inner = GitTree(library.path, library.commit({"base/x": "1"}))
    files: dict[str, File] = {"lib/inner": Submodule(ELSEWHERE), "lib/y": "2", "z": "3"}
    outer = GitTree(upstream.path, upstream.commit(files))
    tree: Tree = MountedTree(outer, {"lib/inner": inner, "z": inner})
    assert tree.entry("lib/inner") == Entry(name="inner", kind=EntryKind.FOLDER, id=inner.id)
    assert [entry.kind for entry in tree.entries("lib")] == [EntryKind.FOLDER, EntryKind.FILE]
    assert tree.read("lib/inner/base/x") == b"1"
    assert [entry.name for entry in tree.entries("lib/inner")] == ["base"]
    assert (tree.read("z"), tree.read("lib/y")) == (b"3", b"2")
    assert tree.entry("lib/inner/nothing") is None

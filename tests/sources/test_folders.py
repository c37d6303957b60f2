"""A folder is a tree with the ids that Git would give it."""

from __future__ import annotations

import os
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import Missing, NotAllowed, TrimtabError, Unavailable
from trimtab.sources import FolderTree, GitTree
from trimtab.sources.trees import Entry, EntryKind, Tree

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nowhere",
    **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout.strip()


def committed(folder: Path) -> GitTree:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x", "--allow-empty")
    return GitTree(folder / ".git", git(folder, "rev-parse", "HEAD"))


def everything(tree: Tree, folder: str = "") -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for entry in tree.entries(folder):
        path = f"{folder}/{entry.name}" if folder else entry.name
        found[path] = entry
        if entry.kind is EntryKind.FOLDER:
            found |= everything(tree, path)
    return found


def test_a_folder_and_its_commit_are_the_same_tree(tmp_path: Path) -> None:
    (tmp_path / "a.b").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    for name in ("a.b/one", "a/two", "a0", "run.sh", "ü"):
        (tmp_path / name).write_text(name)
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("a/two")
    (tmp_path / "outside").symlink_to("/etc")
    ours = FolderTree(tmp_path)
    theirs = committed(tmp_path)
    assert everything(ours) == everything(theirs)
    assert ours.entry("") == theirs.entry("")
    assert ours.read("link") == theirs.read("link") == b"a/two"


NAMES = st.text(alphabet="ab.-0", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
FILES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.binary(max_size=9), max_size=6
)


@settings(max_examples=12, deadline=None)
@given(FILES)
def test_any_folder_has_the_ids_of_git(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    for path, content in files.items():
        if not any(other.startswith(f"{path}/") for other in files):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    assert FolderTree(folder).entry("") == committed(folder).entry("")


def test_pipes_and_sockets_are_not_there(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    assert [entry.name for entry in FolderTree(tmp_path).entries("")] == ["file"]
    assert FolderTree(tmp_path).entry("pipe") is None


@pytest.mark.parametrize(
    "path", ["../outside", "link/file", "folder/../file", ".git/config", "/etc/passwd", "no"]
)
def test_nothing_but_its_own_files_is_read(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    (inside / "folder").mkdir(parents=True)
    (inside / ".git").mkdir()
    (inside / ".git" / "config").write_text("secret")
    (inside / "file").write_text("x")
    (tmp_path / "outside").write_text("secret")
    (inside / "link").symlink_to(tmp_path)
    tree = FolderTree(inside)
    with pytest.raises(TrimtabError):
        tree.read(path)
    assert tree.entry(path) is None


def huge(place: Path, size: int = 1 << 40) -> None:
    """A file that nobody could read to its end."""
    place.touch()
    os.truncate(place, size)


def test_a_file_that_nobody_could_render_is_named_with_what_to_do_once_it_is_read(tmp_path: Path) -> None:
    huge(tmp_path / "disk.img")
    tree = FolderTree(tmp_path)
    assert [(each.name, each.kind) for each in tree.entries("")] == [("disk.img", EntryKind.FILE)]
    with pytest.raises(NotAllowed) as refused:
        tree.read("disk.img")
    assert str(refused.value) == ("file 'disk.img': it is larger than 512 MiB. Move it out of the folder.")


def test_a_huge_file_that_nobody_reads_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("kind: Pod")
    (tmp_path / "images").mkdir()
    huge(tmp_path / "images" / "disk.img")
    tree = FolderTree(tmp_path)
    assert tree.read("web.yaml") == b"kind: Pod"
    assert tree.entry("") == FolderTree(tmp_path).entry(""), "it is the same until somebody writes to it"


def test_a_folder_is_another_one_when_a_huge_file_in_it_was_written(tmp_path: Path) -> None:
    huge(tmp_path / "disk.img")
    before = FolderTree(tmp_path).entry("")
    huge(tmp_path / "disk.img", 1 << 41)
    larger = FolderTree(tmp_path).entry("")
    os.utime(tmp_path / "disk.img", ns=(1, 1))
    assert len({entry.id for entry in (before, larger, FolderTree(tmp_path).entry("")) if entry}) == 3


def test_memory_is_not_taken_twice_for_the_id_of_a_file(tmp_path: Path) -> None:
    size = 64 << 20
    huge(tmp_path / "data", size)
    tracemalloc.start()
    try:
        FolderTree(tmp_path).entry("")
        assert tracemalloc.get_traced_memory()[1] < size // 8
    finally:
        tracemalloc.stop()


def test_a_file_that_changes_meanwhile_is_not_mixed_in(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    tree = FolderTree(tmp_path)
    before = tree.entry("file")
    (tmp_path / "file").write_text("new")
    assert tree.entry("file") == before
    with pytest.raises(Unavailable):
        tree.read("file")
    assert FolderTree(tmp_path).read("file") == b"new"


def test_what_becomes_a_link_meanwhile_is_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside / "folder"):
        folder.mkdir(parents=True)
        (folder / "file").write_text(f"of {folder.name}")
    tree = FolderTree(inside)
    assert tree.entry("folder/file")
    (inside / "folder" / "file").unlink()
    (inside / "folder" / "file").symlink_to(outside / "file")
    with pytest.raises(TrimtabError):
        tree.read("folder/file")
    (inside / "folder" / "file").unlink()
    (inside / "folder").rmdir()
    (inside / "folder").symlink_to(outside)
    with pytest.raises(TrimtabError):
        tree.read("folder/file")
    assert FolderTree(inside).entry("folder/file") is None


def test_a_folder_that_is_none_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=f"^folder {tmp_path}/nowhere: it is not there. Put it back"):
        FolderTree(tmp_path / "nowhere").entries("")
    with pytest.raises(Missing):
        FolderTree(tmp_path).entries("nowhere")

"""Whatever a path leads to is read within a bound, or refused in one sentence; nobody waits for it."""

from __future__ import annotations

import os
import stat
import threading
import tracemalloc
from pathlib import Path

import pytest

from trimtab.errors import InvalidSpec, Missing, TrimtabError
from trimtab.files import content_of, read_file


def test_a_file_may_be_as_large_as_the_limit_and_no_larger(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1024)
    assert read_file(path, subject="alice", limit=1024) == b"x" * 1024
    path.write_bytes(b"x" * 1025)
    with pytest.raises(InvalidSpec, match="it is larger than 1 KiB"):
        read_file(path, subject="alice", limit=1024)


def test_memory_is_taken_for_what_a_file_holds_and_not_for_what_it_may(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 200_000)
    tracemalloc.start()
    try:
        assert len(content_of(tmp_path / "file", 1 << 40)) == 200_000
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1 << 20


def test_a_link_is_followed_only_where_that_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert content_of(tmp_path / "link", 1) == b"x"
    assert content_of(tmp_path / "file", 1, links=False) == b"x"
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        content_of(tmp_path / "link", 1, links=False)


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("nowhere", Missing, "its key does not exist. Make one."),
        ("file/below", Missing, "its key does not exist. Make one."),
        ("folder", InvalidSpec, "its key is not a regular file. Name a file."),
        ("pipe", InvalidSpec, "its key is not a regular file. Name a file."),
        ("socket", InvalidSpec, "its key is not a regular file. Name a file."),
        ("/dev/zero", InvalidSpec, "its key is not a regular file. Name a file."),
        ("to zero", InvalidSpec, "its key is not a regular file. Name a file."),
        ("a\0b", InvalidSpec, "its key is not a path. Correct the path."),
        ("x" * 300, InvalidSpec, "its key cannot be read: File name too long. Name another file."),
    ],
)
def test_what_is_no_file_is_told_at_once(
    tmp_path: Path, name: str, error: type[TrimtabError], says: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "to zero").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    with pytest.raises(error) as told:
        read_file(tmp_path / name, subject="alice", which="its key", absent="Make one", limit=1024)
    assert str(told.value) == f"alice: {says}"


def test_where_pipes_are_allowed_they_are_read_to_their_end_but_not_without_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"written",))
    writer.start()
    assert read_file(tmp_path / "pipe", subject="alice", limit=1024, pipes=True) == b"written"
    writer.join()
    with pytest.raises(InvalidSpec, match="it is larger than 2 MiB"):
        read_file(Path("/dev/zero"), subject="alice", limit=2 << 20, pipes=True)
    with pytest.raises(InvalidSpec, match="it cannot be read: Is a directory"):
        read_file(tmp_path, subject="alice", limit=1024, pipes=True)

"""Credential files are read again when they may have been rotated."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.kube.auth.files import FixedContent, WatchedFile
from trimtab.tasks.clock import ManualClock


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_bytes(b"first")
    return path


def rotate(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


def watched(path: Path, clock: ManualClock) -> WatchedFile:
    return WatchedFile(path, subject="alice", field="tokenFile", clock=clock)


async def test_a_file_is_read_again_after_ten_seconds(token: Path) -> None:
    clock = ManualClock()
    file = watched(token, clock)
    rotate(token, b"second")
    await clock.advance(9)
    assert file.current() == b"first"
    await clock.advance(1)
    assert file.current() == b"second"


def test_a_file_is_read_again_at_once_when_asked(token: Path) -> None:
    file = watched(token, ManualClock())
    assert not file.reread()
    token.write_bytes(b"second")
    assert file.reread()
    assert file.current() == b"second"


async def test_what_a_file_last_held_stands_while_it_is_gone(token: Path) -> None:
    clock = ManualClock()
    file = watched(token, clock)
    rotate(token, None)
    await clock.advance(60)
    assert file.current() == b"first"
    assert not file.reread()


async def test_a_link_that_is_moved_to_another_folder_is_followed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
    link = tmp_path / "data"
    link.symlink_to("one")
    clock = ManualClock()
    file = watched(link / "token", clock)
    replacement = tmp_path / "new"
    replacement.symlink_to("two")
    replacement.rename(link)
    await clock.advance(10)
    assert file.current() == b"two"


def test_what_was_given_never_changes() -> None:
    content = FixedContent(b"given")
    assert (content.current(), content.reread()) == (b"given", False)

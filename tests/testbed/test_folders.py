"""Run folders: private, removed when done, swept when their owner died long ago."""

from __future__ import annotations

import os
from pathlib import Path

from testbed.folders import KEEP_LEFTOVERS_SECONDS, RunFolder


def age(folder: Path) -> None:
    """Make a folder look as if its run had started long ago."""
    marker = folder / ".owner"
    then = marker.stat().st_mtime - KEEP_LEFTOVERS_SECONDS - 1
    os.utime(marker, (then, then))


def left_behind(parent: Path, name: str) -> Path:
    folder = parent / f"trimtab-{os.getuid()}-{name}"
    folder.mkdir()
    (folder / ".owner").touch()
    return folder


def test_a_removed_run_leaves_nothing(tmp_path: Path) -> None:
    run = RunFolder("x", tmp_path)
    (run.path / "log").write_text("said")
    run.remove()
    assert list(tmp_path.iterdir()) == []


def test_only_old_leftovers_of_dead_owners_are_swept(tmp_path: Path) -> None:
    old, young = left_behind(tmp_path, "old"), left_behind(tmp_path, "young")
    live = RunFolder("live", tmp_path)
    age(old)
    age(live.path)
    new = RunFolder("new", tmp_path)
    assert set(tmp_path.iterdir()) == {young, live.path, new.path}
    live.leave()
    new.leave()


def test_only_the_owner_may_look_inside(tmp_path: Path) -> None:
    run = RunFolder("x", tmp_path)
    assert run.path.stat().st_mode & 0o777 == 0o700
    run.leave()

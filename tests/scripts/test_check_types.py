"""What mypy learned in one checkout serves the next, and never decides anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts.check_types import LEARNED, main

CONFIG = '[tool.mypy]\nfiles = ["app.py"]\nstrict = true\n'
GOOD = "def twice(number: int) -> int:\n    return 2 * number\n"
BAD = "def twice(number: int) -> str:\n    return 2 * number\n"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "mypy"


def checkout(folder: Path, source: str, *, later: int = 0) -> Path:
    """A folder as it was checked out, so many seconds after others: of one second and size, mypy takes files
    for the same.
    """
    folder.mkdir()
    (folder / "pyproject.toml").write_text(CONFIG)
    file = folder / "app.py"
    file.write_text(source)
    seconds = file.stat().st_mtime + later
    os.utime(file, (seconds, seconds))
    return folder


def files(folder: Path) -> set[Path]:
    return {file.relative_to(folder) for file in folder.rglob("*")}


def test_a_fresh_checkout_begins_with_what_was_learned_and_is_judged_by_its_own_content(
    tmp_path: Path, kept: Path
) -> None:
    assert main(kept, checkout(tmp_path / "one", GOOD)) == 0
    assert files(kept) == files(tmp_path / "one" / LEARNED) != set()
    mark = kept / "mark"
    mark.touch()
    assert main(kept, checkout(tmp_path / "two", BAD, later=60)) == 1
    assert (tmp_path / "two" / LEARNED / "mark").exists(), "it began with a copy"
    assert mark.exists(), "what failed is not kept"
    assert [file.name for file in kept.parent.iterdir()] == [kept.name], "nothing half is left"


def test_a_checkout_that_has_learned_keeps_to_itself(tmp_path: Path, kept: Path) -> None:
    root = checkout(tmp_path / "one", GOOD)
    (root / LEARNED).mkdir()
    assert main(kept, root) == 0
    assert not kept.exists()


def test_a_folder_that_cannot_be_written_to_only_takes_the_gain_away(tmp_path: Path, kept: Path) -> None:
    kept.parent.write_text("a file in the place of the folder")
    assert main(kept, checkout(tmp_path / "one", GOOD)) == 0

"""An image holds the pinned programs, for everybody to read, and nothing besides."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from scripts.fetch_programs import NAMES, fill, main, tidy
from trimtab.programs.pins import KNOWN, Known, Pin

CONTENT = b"#!/bin/sh\n"


def pin() -> Pin:
    return Pin(
        project="tools",
        filename="tools.whl",
        size=1,
        sha256="0" * 64,
        members=("bin/tool",),
        program_size=len(CONTENT),
        program_sha256=hashlib.sha256(CONTENT).hexdigest(),
        version=(1, 0, 0),
    )


async def test_what_fetching_leaves_goes_and_the_programs_can_be_read_by_all(tmp_path: Path) -> None:
    folder = tmp_path / "programs" / pin().sha256
    folder.mkdir(mode=0o700, parents=True)
    for name in ("tool", "package", "lock"):
        (folder / name).write_bytes(CONTENT)
    known = {"tool": Known(ask=("version",), minimum=(1, 0, 0), pins={os.uname().machine: pin()})}
    assert await fill(tmp_path / "programs", known) == [f"tool: {folder / 'tool'}"]
    tidy(tmp_path / "programs")
    assert [(each.name, oct(each.stat().st_mode & 0o777)) for each in folder.iterdir()] == [("tool", "0o755")]
    assert oct(folder.stat().st_mode & 0o777) == "0o755"


def test_a_folder_that_cannot_be_filled_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("programs were not fetched: ")


def test_the_programs_are_those_that_render() -> None:
    assert set(NAMES) == set(KNOWN) - {"kubectl"}

"""Promises of later work are found in whatever Git tracks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.find_markers import main

MARKER = "TO" + "DO"


@pytest.mark.parametrize("path", ["app.py", "Makefile", "run.sh"])
def test_a_marker_comment_fails_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / path).write_text(f"fine\n# {MARKER}: later\n")
    assert main(tmp_path) == 1
    assert capsys.readouterr().out.splitlines()[0] == f"{path}:2: # {MARKER}: later"


def test_words_that_only_contain_a_marker_are_fine(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "run.sh").write_text(f"mktemp {'X' * 6}; ls mas{MARKER}n; echo todo list\n")
    (tmp_path / "binary").write_bytes(b"\0 " + MARKER.encode())
    assert main(tmp_path) == 0

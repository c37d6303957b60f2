"""Which Pythons are claimed, and how they are found."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from scripts.try_pythons import ROOT, claimed, interpreter


def test_the_claims_are_the_classifiers_and_begin_at_the_oldest_allowed() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    versions = claimed(pyproject)
    assert versions == ["3.11", "3.12", "3.13"]
    assert pyproject["project"]["requires-python"] == f">={versions[0]}"


def test_a_python_that_is_nowhere_is_not_found(tmp_path: Path) -> None:
    assert interpreter("3.999", {"PYENV_ROOT": str(tmp_path)}) is None


def test_a_python_of_pyenv_is_found_and_one_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    for name, works in (("3.998.1", False), ("3.998.2", True)):
        python = tmp_path / "versions" / name / "bin" / "python3.998"
        python.parent.mkdir(parents=True)
        if works:
            python.symlink_to(sys.executable)
        else:
            python.write_text("#!/bin/false\n")
            python.chmod(0o755)
    found = interpreter("3.998", {"PYENV_ROOT": str(tmp_path)})
    assert found == str(tmp_path / "versions" / "3.998.2" / "bin" / "python3.998")

"""The rule for machines without the parts: skipped and counted in one line, or failed where required."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.fixtures import closing_line
from testbed.gitserver import program

ROOT = Path(__file__).parents[2]
TESTS = """
def test_needs_nothing():
    pass

def test_needs_the_shared_one(control_plane):
    raise AssertionError("never reached")

def test_needs_its_own(control_planes):
    control_planes.start()

def test_needs_helm(helm):
    raise AssertionError("never reached")

def test_needs_ssh(git_ssh):
    raise AssertionError("never reached")
"""


@pytest.fixture
def bare_run(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A folder with tests, and an environment with no program but git, and an empty cache."""
    (tmp_path / "test_them.py").write_text(TESTS)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(program("git"))
    environment = {
        "PATH": str(tmp_path / "bin"),
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    return tmp_path, environment


def run_pytest(folder: Path, environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    config = ("-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *config, *options, str(folder / "test_them.py")]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_without_go_tests_are_skipped_and_one_line_says_how_many_and_why(
    bare_run: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = bare_run
    done = run_pytest(folder, environment)
    assert (done.returncode, "1 passed, 4 skipped" in done.stdout) == (0, True), done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("testbed: ")]
    assert len(lines) == 1
    assert lines[0].startswith("testbed: 4 tests skipped for want of real parts: 2 because etcd ")
    assert "there is no `go` on PATH. Install Go" in lines[0]
    assert "1 because ssh: there is none on PATH. Install your system's package `openssh-client`." in lines[0]


def test_where_real_parts_are_required_their_absence_is_a_failure(
    bare_run: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = bare_run
    done = run_pytest(folder, {**environment, "TRIMTAB_REQUIRE_REAL": "1"})
    assert (done.returncode, "1 passed, 4 errors" in done.stdout) == (1, True), done.stdout
    assert "Install Go" in done.stdout


def test_tests_with_a_control_plane_are_marked_real_and_only_those(
    bare_run: tuple[Path, dict[str, str]],
) -> None:
    folder, environment = bare_run
    done = run_pytest(folder, environment, "--collect-only", "-q", "-m", "real")
    names = re.findall(r"::(\w+)", done.stdout)
    assert names == ["test_needs_the_shared_one", "test_needs_its_own"], done.stdout


def test_the_closing_line_counts_per_reason_and_says_nothing_without_one() -> None:
    assert closing_line([]) == ""
    assert closing_line(["a: b. Do c."]) == (
        "testbed: 1 test skipped for want of real parts: 1 because a: b. Do c."
        " (TRIMTAB_REQUIRE_REAL=1 makes this a failure)"
    )
    assert "3 tests skipped for want of real parts: 2 because x; 1 because y" in closing_line(["x", "y", "x"])

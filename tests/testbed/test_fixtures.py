"""The rule for machines without the parts: skipped and counted in one line, or failed where required."""

from __future__ import annotations

import os
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

def test_needs_a_shell(shells):
    shells("fish")
    raise AssertionError("never reached")
"""
#: a run takes seconds, so one shows everything
SHOWING = """
def pytest_collection_finish(session):
    print("real:", *(each.name for each in session.items if each.get_closest_marker("real")))
"""

Done = subprocess.CompletedProcess[str]


def run_pytest(folder: Path, **variables: str) -> Done:
    """Run the tests in a folder, in an environment with no program but git, and an empty cache."""
    (folder / "test_them.py").write_text(TESTS)
    (folder / "conftest.py").write_text(SHOWING)
    (folder / "bin").mkdir()
    (folder / "bin" / "git").symlink_to(program("git"))
    environment = {
        "PATH": str(folder / "bin"),
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    config = ("-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *config, str(folder / "test_them.py")]
    variables = {**environment, **variables}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def without_go(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """A run where there is nothing."""
    return run_pytest(tmp_path_factory.mktemp("bare"))


def test_without_go_tests_are_skipped_and_one_line_says_how_many_and_why(without_go: Done) -> None:
    done = without_go
    assert (done.returncode, "1 passed, 5 skipped" in done.stdout) == (0, True), done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("testbed: ")]
    assert len(lines) == 1
    assert lines[0].startswith("testbed: 5 tests skipped for want of real parts: 2 because etcd ")
    assert "there is no `go` on PATH. Install Go" in lines[0]
    assert "1 because ssh: there is none on PATH. Install your system's package `openssh-client`." in lines[0]
    assert "1 because fish: there is none on PATH, and no apt-get and dpkg to fetch it with. " in lines[0]
    assert "Install your system's package `fish`." in lines[0]


def test_where_real_parts_are_required_their_absence_is_a_failure(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, TRIMTAB_REQUIRE_REAL="1")
    assert (done.returncode, "1 failed, 1 passed, 4 errors" in done.stdout) == (1, True), done.stdout
    assert "Install Go" in done.stdout
    assert "Install your system's package `fish`." in done.stdout


def test_tests_with_a_control_plane_are_marked_real_and_only_those(without_go: Done) -> None:
    marked = re.findall(r"^real: (.*)$", without_go.stdout, re.MULTILINE)
    assert marked == ["test_needs_the_shared_one test_needs_its_own"], without_go.stdout


def test_the_closing_line_counts_per_reason_and_says_nothing_without_one() -> None:
    assert closing_line([]) == ""
    assert closing_line(["a: b. Do c."]) == (
        "testbed: 1 test skipped for want of real parts: 1 because a: b. Do c."
        " (TRIMTAB_REQUIRE_REAL=1 makes this a failure)"
    )
    assert "3 tests skipped for want of real parts: 2 because x; 1 because y" in closing_line(["x", "y", "x"])


def test_there_are_two_workers_more_than_cores(pytestconfig: pytest.Config) -> None:
    number = pytestconfig.hook.pytest_xdist_auto_num_workers(config=pytestconfig)
    assert number == len(os.sched_getaffinity(0)) + 2, "and not what pytest-xdist itself would choose"

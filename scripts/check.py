"""Everything that judges the sources without running them: one line per check, side by side, all of them.

A check is a program that prints what it found and exits with 0 when all is well, 77 when it could not look.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent
#: the exit code of a check that could not be made here and says why; the customary one for skipped tests
NOT_DONE = 77


class Check(NamedTuple):
    """A name for people, and what to run."""

    name: str
    command: Sequence[str]


class Result(NamedTuple):
    """How a check ended."""

    name: str
    exit_code: int
    said: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether somebody has to do something."""
        return self.exit_code not in {0, NOT_DONE}

    @property
    def line(self) -> str:
        """The result in one line; a success quotes the last words of the tool."""
        words = self.said.strip().splitlines() or [""]
        detail = "see below" if self.failed else words[-1].strip()
        status = {0: "ok", NOT_DONE: "skip"}.get(self.exit_code, "FAIL")
        return f"{status:<4}  {self.name:<8} {self.seconds:5.1f} s  {detail}"


def _tool(name: str, *arguments: str) -> Sequence[str]:
    return [str(TOOLS / name), *arguments]


def _script(name: str) -> Sequence[str]:
    return [sys.executable, "-m", f"scripts.{name}"]


# The slowest first, so that the short ones run beside it. The security lint is ruff's S rules.
CHECKS = (
    Check("types", _script("check_types")),
    Check("audit", _script("audit")),
    Check("imports", _tool("lint-imports")),
    Check("secrets", _script("find_secrets")),
    Check("lint", _tool("ruff", "check", ".")),
    Check("format", _tool("ruff", "format", "--check", ".")),
    Check("markers", _script("find_markers")),
)


def run(check: Check) -> Result:
    """Run one check to its end."""
    start = time.monotonic()
    done = subprocess.run(
        check.command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    return Result(check.name, done.returncode, said, time.monotonic() - start)


def run_all(checks: Sequence[Check]) -> list[Result]:
    """Run every check, telling each result when it is there."""
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        results = []
        for future in as_completed([pool.submit(run, check) for check in checks]):
            results.append(future.result())
            print(results[-1].line, flush=True)
    return results


def main(checks: Sequence[Check] = CHECKS) -> int:
    """Run them and show the whole output of those that failed."""
    failed = [result for result in run_all(checks) if result.failed]
    for result in failed:
        print(f"\n--- {result.name}\n{result.said.rstrip()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

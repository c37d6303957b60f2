"""`make` alone tells what there is; what has no verb is told on a page."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: where somebody learns that a script is there, or whatever runs it stands
TOLD_IN = ("Makefile", "scripts/check.py", "deploy/Containerfile", "docs/contributing.md")


def test_make_alone_lists_every_verb_with_its_meaning() -> None:
    said = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = re.findall(r"^  make (\S+) +\S.*$", said.stdout, re.MULTILINE)
    declared = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert declared
    assert sorted(listed) == sorted(declared[1].split())
    assert len(listed) == len(said.stdout.splitlines()), "nothing but verbs"


def test_what_continuous_integration_runs_demands_the_real_parts() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "TRIMTAB_REQUIRE_REAL=1" in script
    assert "make test" in script
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_every_script_that_can_be_run_is_run_by_something_or_told_of() -> None:
    told = "\n".join((ROOT / name).read_text() for name in TOLD_IN)
    runnable = [path.stem for path in (ROOT / "scripts").glob("*.py") if "__main__" in path.read_text()]
    assert len(runnable) > 10
    assert [name for name in sorted(runnable) if not re.search(rf"\b{name}\b", told)] == []


def test_every_benchmark_is_in_the_table_of_its_page() -> None:
    verbs = re.findall(r"^(bench[a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    page = (ROOT / "docs" / "bench.md").read_text()
    assert [verb for verb in verbs if f"| `make {verb}` |" not in page] == []

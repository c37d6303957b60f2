"""`make` alone tells what there is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


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

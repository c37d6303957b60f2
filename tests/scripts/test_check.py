"""`make check` says one line per check, and fails when one of them does."""

from __future__ import annotations

import sys

import pytest

from scripts.check import NOT_DONE, Check, Result, main


def program(name: str, code: str) -> Check:
    return Check(name, [sys.executable, "-c", code])


PASSES = program("passes", "print('first'); print('all well')")
FAILS = program("fails", "print('line 3 is wrong'); raise SystemExit(1)")
CANNOT = program("cannot", f"print('no network'); raise SystemExit({NOT_DONE})")


def test_a_result_is_one_line_with_the_last_words_of_the_tool() -> None:
    assert Result("lint", 0, "a\nb is fine\n\n", 0.25).line == "ok    lint       0.2 s  b is fine"
    assert Result("lint", 1, "a\nb", 12.0).line == "FAIL  lint      12.0 s  see below"
    assert Result("audit", NOT_DONE, "no network", 1.0).line == "skip  audit      1.0 s  no network"


def test_all_well_is_success_even_when_one_could_not_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([PASSES, CANNOT]) == 0
    lines = sorted(capsys.readouterr().out.splitlines())
    assert [line.split()[0] for line in lines] == ["ok", "skip"]


def test_one_failure_fails_the_whole_and_shows_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FAILS, PASSES]) == 1
    said = capsys.readouterr().out
    assert said.endswith("\n--- fails\nline 3 is wrong\n")
    assert "first" not in said

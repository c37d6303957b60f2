"""Recordings keep what was said, and only of cases that exist."""

from __future__ import annotations

from pathlib import Path

from tests.contract.cluster.recordings import read, record, written


def test_what_was_recorded_is_read_again(tmp_path: Path) -> None:
    record("creating", {"a case": [{"call": "x", "object": {"é": 1}}]}, ["a case"], tmp_path)
    assert read("creating", tmp_path) == {"a case": [{"call": "x", "object": {"é": 1}}]}


def test_answers_of_cases_that_are_no_more_are_dropped(tmp_path: Path) -> None:
    record("creating", {"old": [], "kept": []}, ["old", "kept"], tmp_path)
    record("creating", {"new": []}, ["kept", "new"], tmp_path)
    assert sorted(read("creating", tmp_path)) == ["kept", "new"]


def test_a_table_without_answers_has_no_file(tmp_path: Path) -> None:
    record("creating", {"old": []}, ["old"], tmp_path)
    record("creating", {}, [], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_observation_is_one_line() -> None:
    text = written({"b": [{"y": 1, "x": 2}], "a": [{}, {}]})
    assert text == '{\n"a": [\n{},\n{}\n],\n"b": [\n{"x": 2, "y": 1}\n]\n}\n'

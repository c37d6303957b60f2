"""Globs match as those of Argo CD do, and no glob takes long."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.globs import matches


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.yaml", "a.yaml", True),
        ("*.yaml", "below/a.yaml", True),
        ("**/a.yaml", "x/y/a.yaml", True),
        ("**/a.yaml", "a.yaml", False),
        ("a.yaml", "aXyaml", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[!a-c]x", "dx", True),
        ("{a,b}*", "b.yaml", True),
        ("{a,{b,c}}.yaml", "c.yaml", True),
        ("{a,b}", "c", False),
        ("a,b", "a,b", True),
        ("\\*", "*", True),
        ("\\*", "x", False),
        ("a}b", "a}b", True),
        ("(a|b)", "a", False),
        ("(a|b)", "(a|b)", True),
        ("*", "line\nbreak", True),
    ],
)
def test_a_glob_matches_the_whole_path(pattern: str, path: str, expected: bool) -> None:  # noqa: FBT001 - a table
    assert matches(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["[a", "{a,b", "[z-a]", "x" * 5000])
def test_what_is_no_glob_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidSpec):
        matches(pattern, "a")


@given(st.text(alphabet="ab*?[]{},\\!-^(|)+.$", max_size=30), st.text(alphabet="ab/.", max_size=30))
def test_any_glob_matches_or_is_refused(pattern: str, path: str) -> None:
    with suppress(InvalidSpec):
        assert matches(pattern, path) in {True, False}


def test_a_hostile_glob_takes_no_time() -> None:
    assert not matches("*a" * 500 + "b", "a" * 5000)

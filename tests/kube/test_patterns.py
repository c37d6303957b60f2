"""Regular expressions that users write."""

from __future__ import annotations

import pytest

from trimtab.kube.patterns import BadPattern, is_found, pattern_problem


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "abc\n", False),
        ("b", "abc", True),
        (r"^\d$", "٣", False),
        ("", "", True),
    ],
)
def test_a_pattern_is_read_as_the_server_reads_it(pattern: str, text: str, *, found: bool) -> None:
    assert is_found(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a(b|c)*", ""),
        ("(", "error parsing regexp: missing closing ): `(`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
        ("*", "error parsing regexp: missing argument to repetition operator: `*`"),
        (r"(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_what_is_no_pattern_is_named(pattern: str, problem: str) -> None:
    assert pattern_problem(pattern) == problem


def test_a_hostile_pattern_costs_no_more_than_a_kind_one() -> None:
    assert not is_found("^(a+)+$", "a" * 100_000 + "b")


def test_searching_with_what_is_no_pattern_is_an_error() -> None:
    with pytest.raises(BadPattern):
        is_found("(", "")

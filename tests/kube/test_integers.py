"""Whole numbers in text are read as Go reads them, however long they are, and in whichever script."""

from __future__ import annotations

import pytest

from trimtab.kube.integers import UINT64, is_spelled, nearest, whole

MANY = "9" * 4301  # one digit more than Python reads


@pytest.mark.parametrize(
    ("text", "number", "next_to_it"),
    [
        ("0", 0, 0),
        ("+7", 7, 7),
        ("-7", -7, -7),
        ("-0", 0, 0),
        ("0" * 5000 + "12", 12, 12),
        ("9223372036854775807", (1 << 63) - 1, (1 << 63) - 1),
        ("9223372036854775808", None, (1 << 63) - 1),
        ("-9223372036854775808", -(1 << 63), -(1 << 63)),
        (MANY, None, (1 << 63) - 1),
        (f"-{MANY}", None, -(1 << 63)),
        ("", None, 0),
        ("-", None, 0),
        ("+-1", None, 0),
        (" 1", None, 0),
        ("1\n", None, 0),
        ("1_0", None, 0),
        ("\u00b2", None, 0),
        ("\u0661", None, 0),
    ],
)
def test_what_a_text_spells(text: str, number: int | None, next_to_it: int) -> None:
    assert (whole(text), nearest(text)) == (number, next_to_it)


@pytest.mark.parametrize(
    ("text", "spelled", "number"),
    [
        ("18446744073709551615", True, (1 << 64) - 1),
        ("18446744073709551616", True, None),
        ("+1", False, None),
        ("-1", False, None),
        (MANY, True, None),
    ],
)
def test_what_cannot_be_negative_has_no_sign(text: str, *, spelled: bool, number: int | None) -> None:
    assert (is_spelled(text, UINT64), whole(text, UINT64)) == (spelled, number)

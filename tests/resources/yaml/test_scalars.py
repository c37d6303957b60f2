"""Words and numbers; the Go oracle covers the bulk, here stand the rules."""

from __future__ import annotations

import math

import pytest

from trimtab.resources.yaml.scalars import (
    Scalar,
    as_json,
    float_text,
    is_only_text,
    is_timestamp,
    key_text,
    meaning,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", True),
        ("n", False),
        ("~", None),
        ("", None),
        ("014", 12),
        ("0o14", 12),
        ("08", 8),
        ("1_000", 1000),
        ("1e5", 100000),
        ("12e34567", "12e34567"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("0x1F", 31),
        ("0b101", 5),
        ("9" * 5000, "9" * 5000),
        ("0" * 5000, 0),
    ],
)
def test_a_word_means_one_thing(text: str, value: object) -> None:
    assert meaning(text) == value
    assert type(meaning(text)) in (type(value), float)


def test_infinity_and_nan_are_numbers_until_json_refuses_them() -> None:
    assert meaning(".inf") == math.inf
    assert meaning("-.INF") == -math.inf
    assert isinstance(nan := meaning(".nan"), float)
    assert math.isnan(nan)


@pytest.mark.parametrize("text", ["a", "web", "yess", "1a", "10.0.0.1", "1:75", "2001-13-01", "2001-02-29"])
def test_text_that_nobody_mistakes_needs_no_quotes(text: str) -> None:
    assert is_only_text(text)


@pytest.mark.parametrize("text", ["", "y", "1", "0e3360282", "1:30", "2001-01-01", "2004-02-29", ".5", "~"])
def test_text_that_could_be_mistaken_needs_quotes(text: str) -> None:
    assert not is_only_text(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("2001-1-1", True),
        ("2000-02-29", True),
        ("1900-02-29", False),
        ("2001-00-01", False),
        ("2001-12-14t21:59:43.10-05:00", True),
        ("2001-12-14T21:59:43,10Z", True),
        ("2001-12-14T24:00:00Z", False),
        ("2001-12-14T21:59:60Z", False),
        ("2001-12-14   21:59:43", True),
        ("2001-12-14 21:59:43 -5", False),
        ("2001-12-14T21:59:43", False),
    ],
)
def test_a_point_in_time_is_what_go_parses(text: str, is_one: bool) -> None:  # noqa: FBT001  a table's column
    assert is_timestamp(text) is is_one


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a", "a"),
        (True, "true"),
        (1, "1"),
        (1.5, "1.5"),
        (1e6, "1e+06"),
        (0.123456789, "0.12345679"),
        (1e300, ".inf"),
        (-1e300, "-.inf"),
        (math.nan, ".nan"),
        (2**64 - 1, None),
        (None, None),
    ],
)
def test_a_key_becomes_text_as_in_kubernetes(key: Scalar, text: str | None) -> None:
    assert key_text(key) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (100000.5, "100000.5"),
        (1e6, "1e+06"),
        (-1.5e-7, "-1.5e-07"),
        (1e-4, "0.0001"),
        (120.0, "120"),
    ],
)
def test_floats_are_spelled_as_go_spells_them(number: float, text: str) -> None:
    assert float_text(number) == text


@pytest.mark.parametrize(
    ("number", "in_json"),
    [
        (1.0, 1),
        (1.5, 1.5),
        (-0.0, 0),
        (2**63, 2.0**63),
        (1e21, 1e21),
        (19953170386932128.0, 19953170386932130),
    ],
)
def test_numbers_arrive_as_json_carries_them(number: float, in_json: float) -> None:
    assert as_json(number) == in_json
    assert type(as_json(number)) is type(in_json)

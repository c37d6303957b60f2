"""Quantities against what a real server was seen to write."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.learning import WITHOUT_ADMISSION
from scripts.record_answers import quantities
from testbed.fixtures import ControlPlanes
from trimtab.kube.quantity import BadQuantity, Quantity, canonical, parse_quantity, percent_of

RECORDED: dict[str, str] = json.loads((Path(__file__).parent / "recorded" / "quantities.json").read_text())


def written(text: str) -> str:
    try:
        return canonical(text)
    except BadQuantity as exc:
        return f"refused: {exc}"


@pytest.mark.parametrize("text", RECORDED)
def test_a_quantity_is_written_as_the_server_writes_it(text: str) -> None:
    assert written(text) == RECORDED[text]


def test_the_recording_is_what_the_server_says_today(control_planes: ControlPlanes) -> None:
    plane = control_planes.start(apiserver_flags=WITHOUT_ADMISSION)
    assert quantities(plane, list(RECORDED)) == RECORDED


@given(
    st.from_regex(
        r"[+-]?[0-9]{1,12}(\.[0-9]{0,11})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|[eE][+-]?[0-9]{1,2})?",
        fullmatch=True,
    )
)
def test_writing_keeps_the_amount(text: str) -> None:
    once = parse_quantity(text)
    if abs(once.nanos) < 10**27 * 1000:  # beyond, the server's own writing loses the suffix
        assert parse_quantity(canonical(text)) == once
        assert canonical(str(once)) == str(once)


@given(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15))
def test_amounts_add_subtract_and_compare_like_numbers(one: int, other: int) -> None:
    left, right = Quantity(one), Quantity(other)
    assert (left + right).nanos == one + other
    assert (left - right).nanos == one - other
    assert (left < right, left == right, left >= right) == (one < other, one == other, one >= other)


@given(st.decimals(min_value=-(10**6), max_value=10**6, places=9))
def test_a_decimal_fraction_is_exact(number: Decimal) -> None:
    assert parse_quantity(f"{number:f}").nanos == int(number * 10**9)


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1n", 1, 1), ("2", 2, 2000), ("0", 0, 0)],
)
def test_rounding_goes_away_from_zero(text: str, whole: int, milli: int) -> None:
    assert (parse_quantity(text).whole, parse_quantity(text).milli) == (whole, milli)


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1"), (0.5, "500m"), (1000, "1k"), (1e3, "1k"), (1.5, "1500m")]
)
def test_json_numbers_are_quantities_too(number: float, text: str) -> None:
    assert canonical(number) == text


def test_a_sum_is_written_in_the_way_of_its_first_part() -> None:
    assert str(parse_quantity("512Mi") + parse_quantity("512Mi")) == "1Gi"
    assert str(parse_quantity("0") + parse_quantity("1Gi")) == "1Gi"
    assert str(parse_quantity("1G") + parse_quantity("1Gi")) == "2073741824"


def test_an_exponent_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(BadQuantity):
        parse_quantity("1e999999999")
    assert canonical("1e-999999999") == "1e-9"


@pytest.mark.parametrize("text", ["9" * 5000, "0." + "9" * 5000, "1e" + "9" * 5000, "1e-" + "9" * 5000])
def test_more_digits_than_anybody_means_are_no_quantity(text: str) -> None:
    with pytest.raises(BadQuantity):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("9" * 4000, "9" * 4000),
        ("9" * 4000 + "e1000", "9" * 4000 + "0e999"),
        ("0." + "9" * 3999, "1"),
        ("9" * 4000 + "Ei", "9223372036854775807"),
    ],
)
def test_as_many_digits_as_are_read_can_be_written(text: str, shown: str) -> None:
    assert canonical(text) == shown


@pytest.mark.parametrize(
    ("value", "up", "down"), [(3, 3, 3), ("25%", 1, 0), ("50%", 2, 1), ("100%", 3, 3), ("0%", 0, 0)]
)
def test_a_percentage_is_rounded_as_asked(value: int | str, up: int, down: int) -> None:
    assert (percent_of(value, 3, round_up=True), percent_of(value, 3, round_up=False)) == (up, down)


def test_a_string_that_is_no_percentage_has_no_value() -> None:
    with pytest.raises(ValueError, match="not a percentage"):
        percent_of("web", 3, round_up=True)
    with pytest.raises(ValueError, match="value out of range"):
        percent_of("9" * 5000 + "%", 3, round_up=True)

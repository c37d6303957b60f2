"""Durations and sizes as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.settings.quantities import duration, duration_text, size, size_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("1d", 86_400),
        ("250ms", 0.25),
        ("1.5s", 1.5),
        ("1d2h3m4s5ms", 93_784.005),
        ("90", 90),
        ("0.5", 0.5),
        ("0s", 0),
        ("-5", -5),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "soon",
        "5 m",
        "30m1h",
        "1h1h",
        "5M",
        "1w",
        "1e5",
        "nan",
        "inf",
        "-5s",
        "--5",
        "9" * 20,
        "9" * 20 + "d",
    ],
)
def test_what_is_no_duration_is_not_guessed(text: str) -> None:
    assert duration(text) is None


@given(st.integers(min_value=0, max_value=10**11).map(lambda n: timedelta(milliseconds=n)))
def test_a_written_duration_reads_back(value: timedelta) -> None:
    assert duration(duration_text(value)) == value


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("4096", 4096),
        ("4096B", 4096),
        ("64MiB", 64 * 2**20),
        ("64 MiB", 64 * 2**20),
        ("1.5KiB", 1536),
        ("2GB", 2 * 10**9),
        ("10kB", 10_000),
    ],
)
def test_a_size_is_read(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "MiB", "-1", "64mib", "64M", "1.5", "0.3B", "lots", "1e3", "1 000"])
def test_what_is_no_size_is_not_guessed(text: str) -> None:
    assert size(text) is None


@given(st.integers(min_value=0, max_value=2**70))
def test_a_written_size_reads_back(value: int) -> None:
    assert size(size_text(value)) == value


def test_a_size_is_written_in_the_largest_unit_that_divides_it() -> None:
    assert [size_text(n) for n in (0, 1000, 1024, 3 * 2**20, 2**31)] == ["0", "1000", "1KiB", "3MiB", "2GiB"]

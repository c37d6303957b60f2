"""Times as Kubernetes reads and writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.times import BadTime, micro_text, parse_time, seconds_text

MOMENTS = st.datetimes(timezones=st.just(UTC))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.5Z", datetime(2026, 1, 2, 3, 4, 5, 500_000, tzinfo=UTC)),
        ("2026-01-02T03:04:05.123456789Z", datetime(2026, 1, 2, 3, 4, 5, 123_456, tzinfo=UTC)),
        ("2026-01-02T03:04:05+02:00", datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("2026-01-01T23:30:00-01:30", datetime(2026, 1, 2, 1, tzinfo=UTC)),
    ],
)
def test_an_rfc3339_time_is_a_moment(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-13-02T03:04:05Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05+02:60",
        "2026-02-30T03:04:05Z",
        "2026-01-02T03:04:05z",
        "0000-01-01T00:00:00Z",
    ],
)
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(BadTime):
        parse_time(text)


@given(MOMENTS)
def test_microseconds_survive_and_seconds_are_cut(moment: datetime) -> None:
    assert parse_time(micro_text(moment)) == moment
    assert parse_time(seconds_text(moment)) == moment.replace(microsecond=0)


def test_times_are_written_in_utc() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=2)))
    assert seconds_text(moment) == "2026-01-02T01:04:05Z"
    assert micro_text(moment) == "2026-01-02T01:04:05.000006Z"

"""Schedules of CronJobs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.schemas.schedules import BadSchedule, parse_schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "now", "due"),
    [
        ("* * * * *", "2026-01-01T00:00:00", "2026-01-01T00:01:00"),
        ("*/15 * * * *", "2026-01-01T00:14:59", "2026-01-01T00:15:00"),
        ("0 0 1 1 *", "2026-01-01T00:00:00", "2027-01-01T00:00:00"),
        ("@monthly", "2026-01-15T10:00:00", "2026-02-01T00:00:00"),
        ("30 8 * * mon-fri", "2026-01-02T09:00:00", "2026-01-05T08:30:00"),
        ("0 0 13 * fri", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("5/20 * * * *", "2026-01-01T00:06:00", "2026-01-01T00:25:00"),
        ("0 22 * * SUN", "2026-01-01T00:00:00", "2026-01-04T22:00:00"),
        ("@every 90s", "2026-01-01T00:00:00", "2026-01-01T00:01:30"),
        ("5,35 9-17 * * mon-fri", "2026-01-02T17:35:00", "2026-01-05T09:05:00"),
        ("0 0 */2 * mon", "2026-01-01T00:00:00", "2026-01-05T00:00:00"),  # an open field asks for both
        ("10/20 3 * JAN,mar *", "2026-02-01T00:00:00", "2026-03-01T03:10:00"),
        ("@daily", "2026-01-01T12:00:00", "2026-01-02T00:00:00"),
        ("@hourly", "2026-01-01T12:00:00", "2026-01-01T13:00:00"),
        ("30 2 1 * ?", "2026-01-01T02:30:00", "2026-02-01T02:30:00"),
        ("0 0 * * 0,3", "2026-01-01T00:00:00", "2026-01-04T00:00:00"),
    ],
)
def test_the_next_moment_is_found(schedule: str, now: str, due: str) -> None:
    assert parse_schedule(schedule).after(at(now)) == at(due)


def test_a_date_that_never_comes_is_never_due() -> None:
    assert parse_schedule("0 0 30 2 *").after(at("2026-01-01T00:00:00")) is None


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("-1 * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
    ],
)
def test_nonsense_is_named(schedule: str, told: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        parse_schedule(schedule)
    assert str(refused.value) == told


@pytest.mark.parametrize(
    "text",
    [
        *("", "* * * *", "60 * * * *", "*/0 * * * *", "5-1 * * * *", "*/x * * * *", " @daily"),
        *(f"{number} * * * *" for number in ("\u00b2", "*/\u00b2", "9" * 4301, f"*/{'9' * 4301}")),
    ],
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(BadSchedule):
        parse_schedule(text)


@given(
    st.tuples(st.integers(0, 59), st.integers(0, 23), st.integers(1, 28), st.integers(1, 12)),
    st.datetimes(timezones=st.just(UTC)).map(
        lambda moment: moment.replace(year=2000 + moment.year % 100, day=1)
    ),
)
def test_what_is_due_is_later_and_fits(fields: tuple[int, int, int, int], now: datetime) -> None:
    minute, hour, day, month = fields
    due = parse_schedule(f"{minute} {hour} {day} {month} *").after(now)
    assert due is not None
    assert due > now
    assert (due.minute, due.hour, due.day, due.month) == fields

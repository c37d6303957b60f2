"""When is it next?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.apiserver.behaviours.cron import BadSchedule, schedule_from


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "now", "next_time"),
    [
        ("* * * * *", "2026-01-01 00:00:30", "2026-01-01 00:01"),
        ("*/15 * * * *", "2026-01-01 00:15", "2026-01-01 00:30"),
        ("5,35 9-17 * * mon-fri", "2026-01-02 17:35", "2026-01-05 09:05"),
        ("0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00"),
        ("0 0 13 * fri", "2026-01-01 00:00", "2026-01-02 00:00"),  # either day will do
        ("0 0 */2 * mon", "2026-01-01 00:00", "2026-01-05 00:00"),  # an open field asks for both
        ("10/20 3 * JAN,mar *", "2026-02-01 00:00", "2026-03-01 03:10"),
        ("@daily", "2026-01-01 12:00", "2026-01-02 00:00"),
        ("@hourly", "2026-01-01 12:00", "2026-01-01 13:00"),
        ("30 2 1 * ?", "2026-01-01 02:30", "2026-02-01 02:30"),
    ],
)
def test_the_next_moment(text: str, now: str, next_time: str) -> None:
    assert schedule_from(text).after(at(now)) == at(next_time)


def test_a_schedule_in_another_time_zone() -> None:
    assert schedule_from("0 9 * * *", "Europe/Berlin").after(at("2026-07-01 08:00")) == at("2026-07-02 07:00")


def test_a_day_that_never_comes_has_no_moment() -> None:
    assert schedule_from("0 0 31 2 *").after(at("2026-01-01 00:00")) is None


def test_of_several_missed_moments_the_latest_counts() -> None:
    schedule = schedule_from("*/10 * * * *")
    assert schedule.last(at("2026-01-01 00:00"), at("2026-01-01 00:35")) == at("2026-01-01 00:30")
    assert schedule.last(at("2026-01-01 00:00"), at("2026-01-01 00:09")) is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "* * * *", "60 * * * *", "* * 0 * *", "*/0 * * * *", "a * * * *", "5-1 * * * *", "*/x * * * *"),
        *(f"{number} * * * *" for number in ("\u00b2", "*/\u00b2", "9" * 4301, f"*/{'9' * 4301}")),
    ],
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(BadSchedule):
        schedule_from(text)


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(BadSchedule, match="Atlantis"):
        schedule_from("* * * * *", "Atlantis/Harbour")


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    now=st.integers(0, 20 * 365 * 86400).map(lambda seconds: at("2020-01-01") + timedelta(seconds=seconds)),
)
def test_a_daily_moment_is_at_most_a_day_away_and_at_its_minute(
    minute: int, hour: int, now: datetime
) -> None:
    found = schedule_from(f"{minute} {hour} * * *").after(now)
    assert found is not None
    assert now < found <= now + timedelta(days=1)
    assert (found.hour, found.minute, found.second) == (hour, minute, 0)

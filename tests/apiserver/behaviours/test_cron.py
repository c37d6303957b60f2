"""When is it next?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.apiserver.behaviours.cron import moments_of
from trimtab.kube.schemas.schedules import BadSchedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_schedule_in_another_time_zone() -> None:
    assert moments_of("0 9 * * *", "Europe/Berlin").after(at("2026-07-01 08:00")) == at("2026-07-02 07:00")


def test_a_day_that_never_comes_has_no_moment() -> None:
    assert moments_of("0 0 31 2 *").after(at("2026-01-01 00:00")) is None


def test_of_several_missed_moments_the_latest_counts() -> None:
    schedule = moments_of("*/10 * * * *")
    assert schedule.last(at("2026-01-01 00:00"), at("2026-01-01 00:35")) == at("2026-01-01 00:30")
    assert schedule.last(at("2026-01-01 00:00"), at("2026-01-01 00:09")) is None


def test_thousands_of_moments_at_a_fixed_distance_are_not_counted_one_by_one() -> None:
    moments = moments_of("@every 90s", "Europe/Berlin")
    assert moments.last(at("2000-01-01 00:00"), at("2026-01-01 00:01")) == at("2026-01-01 00:00")
    assert moments.last(at("2026-01-01 00:00"), at("2026-01-01 00:01:30")) == at("2026-01-01 00:01:30")
    assert moments.last(at("2026-01-01 00:00"), at("2026-01-01 00:01:29")) is None


@pytest.mark.parametrize("text", ["* * * * *", "* * * 1 *", "0 0 29 2 *", "@hourly", "@yearly"])
def test_millions_of_missed_moments_are_not_counted_one_by_one(text: str) -> None:
    moments, until = moments_of(text, "Europe/Berlin"), at("2026-01-31 12:00:30")
    found = moments.last(at("0001-02-01 00:00"), until)
    assert found is not None
    assert (moments.after(found) or until) > until


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
@given(start=st.integers(0, 3 * 365 * 1440), minutes=st.integers(0, 3000))
def test_the_latest_moment_is_the_one_that_counting_finds(zone: str, start: int, minutes: int) -> None:
    moments, since = moments_of("*/7 1-3 * * *", zone), at("2020-01-01") + timedelta(minutes=start)
    until, found, step = since + timedelta(minutes=minutes), None, moments.after(since)
    while step is not None and step <= until:
        found, step = step, moments.after(step)
    assert moments.last(since, until) == found


def test_while_clocks_are_put_back_every_moment_is_still_to_come() -> None:
    moments = moments_of("30 2 * * *", "Europe/Berlin")
    assert moments.after(at("2026-10-25 00:00")) == at("2026-10-25 00:30")  # 2:30, for the first time
    assert moments.after(at("2026-10-25 00:30")) == at("2026-10-25 01:30")  # and once more
    assert moments.after(at("2026-10-25 01:30")) == at("2026-10-26 01:30")


def test_an_unknown_time_zone_is_refused() -> None:
    for zone in ("Atlantis/Harbour", "Europe", "../etc/passwd", "/etc/passwd", "a\0b"):
        with pytest.raises(BadSchedule, match="nobody knows"):
            moments_of("* * * * *", zone)


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    now=st.integers(0, 20 * 365 * 86400).map(lambda seconds: at("2020-01-01") + timedelta(seconds=seconds)),
)
def test_a_daily_moment_is_at_most_a_day_away_and_at_its_minute(
    minute: int, hour: int, now: datetime
) -> None:
    found = moments_of(f"{minute} {hour} * * *").after(now)
    assert found is not None
    assert now < found <= now + timedelta(days=1)
    assert (found.hour, found.minute, found.second) == (hour, minute, 0)

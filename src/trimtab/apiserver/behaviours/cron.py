"""Cron schedules: when is it next, when was it last? Five fields, names, steps, and the @ words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from trimtab.kube.integers import whole

_WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_HORIZON = timedelta(days=5 * 366)  # a schedule without a moment in five years has none


class BadSchedule(ValueError):
    """A text that is no cron schedule, or a time zone that nobody knows."""


class Schedule(Struct, frozen=True, kw_only=True):
    """The minutes at which something is to happen."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool  # the day of the month was left open
    any_weekday: bool
    zone: str = "UTC"

    def after(self, moment: datetime) -> datetime | None:
        """The first moment after this one, in UTC."""
        zone = ZoneInfo(self.zone)
        local = moment.astimezone(zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        end = local + _HORIZON
        while local < end:
            if local.month not in self.months or not self._is_on(local):
                local = local.replace(hour=0, minute=0) + timedelta(days=1)
            elif local.hour not in self.hours:
                local = local.replace(minute=0) + timedelta(hours=1)
            elif local.minute not in self.minutes:
                local += timedelta(minutes=1)
            else:
                return local.astimezone(UTC)
        return None

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """The latest moment after `since` and not after `until`."""
        found, step = None, self.after(since)
        while step is not None and step <= until:
            found, step = step, self.after(step)
        return found

    def _is_on(self, day: datetime) -> bool:
        by_month, by_week = day.day in self.days, (day.weekday() + 1) % 7 in self.weekdays
        return by_month and by_week if self.any_day or self.any_weekday else by_month or by_week


def schedule_from(text: str, zone: str = "") -> Schedule:
    """Read a schedule."""
    fields = _WORDS.get(text.strip(), text).split()
    if len(fields) != 5:
        raise BadSchedule(f'"{text}" has {len(fields)} fields instead of 5')
    try:
        ZoneInfo(zone or "UTC")
    except (ZoneInfoNotFoundError, ValueError) as exc:
        raise BadSchedule(f'nobody knows the time zone "{zone}"') from exc
    minutes, hours, days, months, weekdays = fields
    return Schedule(
        minutes=_values(minutes, 0, 59),
        hours=_values(hours, 0, 23),
        days=_values(days, 1, 31),
        months=_values(months, 1, 12, _MONTHS),
        weekdays=_values(weekdays, 0, 6, _DAYS),
        any_day=_is_open(days),
        any_weekday=_is_open(weekdays),
        zone=zone or "UTC",
    )


def _is_open(field: str) -> bool:
    return field.startswith(("*", "?"))


def _values(field: str, least: int, most: int, names: Mapping[str, int] | None = None) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span in ("*", "?"):
            low, high = least, most
        else:
            low = _number(first, names or {})
            high = _number(last, names or {}) if dash else (most if step else low)
        distance = whole(step or "1")
        if distance is None or distance < 1:
            raise BadSchedule(f'"{part}" has a step that is no positive number')
        if not least <= low <= high <= most:
            raise BadSchedule(f'"{part}" is not within {least} and {most}')
        found.update(range(low, high + 1, distance))
    return frozenset(found)


def _number(text: str, names: Mapping[str, int]) -> int:
    value = names.get(text.lower(), whole(text))
    if value is None:
        raise BadSchedule(f'"{text}" is not a number')
    return value

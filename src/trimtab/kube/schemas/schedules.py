"""Schedules of CronJobs: the five fields, their names and shortcuts; and when one is next due.

Read as Kubernetes reads them, with the same complaints. Time and time zone are arguments.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from trimtab.kube.gotext import quoted_bytes
from trimtab.kube.integers import is_spelled, whole

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
SHORTCUTS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FURTHEST = timedelta(days=5 * 366)  # a date that does not come within five years never comes
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)
_PIECES = re.compile(r"(?=.)([0-9]*(?:\.[0-9]*)?)([^0-9.]*)", re.DOTALL)
_EVERY, _LONGEST = "failed to parse duration @every", ((1 << 63) - 1) / 1e9
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class BadSchedule(ValueError):
    """A text that is no schedule; the words are the server's."""


class Field(Struct, frozen=True):
    """One of the five places: its limits, and names that stand for numbers."""

    low: int
    high: int
    names: tuple[str, ...] = ()


MINUTE, HOUR, DAY = Field(0, 59), Field(0, 23), Field(1, 31)
MONTH, WEEKDAY = Field(1, 12, tuple(MONTHS)), Field(0, 6, tuple(DAYS))


class Schedule(Struct, frozen=True, kw_only=True):
    """The minutes, hours and days that are due, or a fixed distance instead."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = True  # the day of the month was a star
    any_weekday: bool = True
    every: timedelta | None = None

    def after(self, moment: datetime) -> datetime | None:
        """The first moment that is due after this one, in the same time zone; None if none ever is."""
        if self.every is not None:
            return moment.replace(microsecond=0) + self.every
        limit = moment + FURTHEST
        due = _passed(moment.replace(second=0, microsecond=0), _MINUTE)
        while due <= limit:
            if not self._is_due_on(due):
                due = due.replace(hour=0, minute=0) + timedelta(days=1)
            elif due.hour not in self.hours:
                due = _passed(due.replace(minute=0), _HOUR)
            elif due.minute not in self.minutes:
                due = _passed(due, _MINUTE)
            else:
                return due
        return None

    def _is_due_on(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        # Where both are said, either will do; where one is a star, the other decides.
        return (by_date and by_weekday) if self.any_day or self.any_weekday else (by_date or by_weekday)


def _passed(moment: datetime, time: timedelta) -> datetime:
    """When this much time has passed: clocks may have been put forward or back meanwhile."""
    if moment.tzinfo is None or moment.tzinfo is UTC:
        return moment + time
    return (moment.astimezone(UTC) + time).astimezone(moment.tzinfo)


def parse_schedule(text: str) -> Schedule:
    """The schedule that a text means; anything else is a `BadSchedule`."""
    if text.startswith("@"):
        return _shortcut(text)
    fields = text.split()
    if len(fields) != 5:
        raise BadSchedule(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = (
        _numbers(each, field) for each, field in zip(fields, (MINUTE, HOUR, DAY, MONTH, WEEKDAY), strict=True)
    )
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        any_day=_has_star(fields[2]),
        any_weekday=_has_star(fields[4]),
    )


def _has_star(text: str) -> bool:
    return any(part.split("/")[0] in ("*", "?") for part in text.split(","))


def _shortcut(text: str) -> Schedule:
    if text in SHORTCUTS:
        return parse_schedule(SHORTCUTS[text])
    if text.startswith("@every "):
        return Schedule(every=_duration(text.removeprefix("@every ")))
    raise BadSchedule(f"unrecognized descriptor: {text}")


def _duration(text: str) -> timedelta:
    unsigned, seconds = re.sub(r"\A[+-]", "", text), 0.0
    for number, unit in _PIECES.findall(unsigned) if unsigned != "0" else ():
        if not number.strip("."):
            break
        if unit not in _UNITS:
            why = f"unknown unit {quoted_bytes(unit)}" if unit else "missing unit"
            raise BadSchedule(f"{_EVERY} {text}: time: {why} in duration {quoted_bytes(text)}")
        seconds += float(number) * _UNITS[unit]
    else:
        if unsigned and seconds <= _LONGEST:
            return timedelta(seconds=1 if text[0] == "-" else max(1, int(seconds)))
    raise BadSchedule(f"{_EVERY} {text}: time: invalid duration {quoted_bytes(text)}")


def _numbers(text: str, field: Field) -> frozenset[int]:
    """All numbers of one field: a list of ranges."""
    return frozenset(number for part in text.split(",") if part for number in _range(part, field))


def _range(text: str, field: Field) -> range:
    place, _, step_text = text.partition("/")
    if text.count("/") > 1:
        raise BadSchedule(f"too many slashes: {text}")
    low_text, dash, high_text = place.partition("-")
    if place.count("-") > 1:
        raise BadSchedule(f"too many hyphens: {text}")
    if low_text in ("*", "?"):
        low, high = field.low, field.high
    else:
        low = _number(low_text, field)
        high = _number(high_text, field) if dash else low
    step = 1
    if "/" in text:
        step = _integer(step_text)
        high = field.high if not dash and low_text not in ("*", "?") else high
    return _checked(low, high, step, field, text)


def _checked(low: int, high: int, step: int, field: Field, text: str) -> range:
    if low < field.low:
        raise BadSchedule(f"beginning of range ({low}) below minimum ({field.low}): {text}")
    if high > field.high:
        raise BadSchedule(f"end of range ({high}) above maximum ({field.high}): {text}")
    if low > high:
        raise BadSchedule(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if step == 0:
        raise BadSchedule(f"step of range should be a positive number: {text}")
    return range(low, high + 1, step)


def _number(text: str, field: Field) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.low
    return _integer(text)


def _integer(text: str) -> int:
    number = whole(text)
    if number is None:
        why = "value out of range" if is_spelled(text) else "invalid syntax"
        raise BadSchedule(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {why}')
    if number < 0:
        raise BadSchedule(f"negative number ({number}) not allowed: {text}")
    return number

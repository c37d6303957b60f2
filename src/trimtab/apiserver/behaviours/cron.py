"""The moments of a CronJob's schedule in its time zone: when is it next, when was it last? Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from trimtab.kube.schemas.schedules import BadSchedule, Schedule, parse_schedule

_MINUTE = timedelta(minutes=1)


class Moments(Struct, frozen=True):
    """When something is to happen, by the clocks of one place."""

    schedule: Schedule
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime | None:
        """The first moment after this one, in UTC."""
        due = self.schedule.after(moment.astimezone(self.zone))
        return None if due is None else due.astimezone(UTC)

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """The latest moment after `since` and not after `until`."""
        if self.schedule.every is None:
            return self._narrowed(since, until)
        found, step = None, self.after(self._shortly_before(since, until))
        while step is not None and step <= until:
            found, step = step, self.after(step)
        return found

    def _narrowed(self, since: datetime, until: datetime) -> datetime | None:
        """The latest moment, by halves: there may be millions of them in between, and none for years."""
        found = self._by(since, until)
        while found is not None and until - since > _MINUTE:
            middle = since + (until - since) / 2
            if (later := self._by(middle, until)) is not None:
                since, found = middle, later
            else:
                until = middle
        return found

    def _by(self, since: datetime, until: datetime) -> datetime | None:
        """The first moment after `since`, if it comes by `until`."""
        due = self.after(since)
        return due if due is not None and due <= until else None

    def upcoming(self, since: datetime, now: datetime) -> datetime | None:
        """The first moment after `now`; moments at a fixed distance are counted from `since`."""
        if self.schedule.every is None:
            return self.after(now)
        return self.after(self.last(since, now) or since)

    def _shortly_before(self, since: datetime, until: datetime) -> datetime:
        """Where to begin looking: of moments at a fixed distance there may be thousands in between."""
        every = self.schedule.every
        if every is None or until - since <= every:
            return since
        return since + ((until - since) // every - 1) * every


def moments_of(text: str, zone: str = "") -> Moments:
    """Read a schedule; one that is none, or a zone that nobody knows, is a `BadSchedule`."""
    return Moments(parse_schedule(text), _zone(zone or "UTC"))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise BadSchedule(f'nobody knows the time zone "{name}"') from exc

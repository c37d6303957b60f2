"""Times as Kubernetes writes them: RFC 3339 in UTC, in whole seconds (`Time`) or microseconds (`MicroTime`).

Reading accepts what Go's RFC 3339 layout accepts; writing gives what the server gives back. No clock here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


class BadTime(ValueError):
    """A text that is no RFC 3339 time."""


def parse_time(text: str) -> datetime:
    """The moment an RFC 3339 text means, in UTC; fractions finer than a microsecond are cut off."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise BadTime(f'"{text}" is not an RFC 3339 time')
    *parts, fraction, sign, hours, minutes = found.groups()
    try:
        zone = _zone(sign, hours, minutes)
        year, month, day, hour, minute, second = (int(part) for part in parts)
        micro = int((fraction or "0")[:6].ljust(6, "0"))
        return datetime(year, month, day, hour, minute, second, micro, zone).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise BadTime(f'"{text}" is not an RFC 3339 time: {exc}') from exc


def _zone(sign: str | None, hours: str, minutes: str) -> timezone:
    if sign is None:
        return UTC
    if int(minutes) > 59:
        raise ValueError("minutes of an offset are below 60")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)


def seconds_text(moment: datetime) -> str:
    """A `Time` as the server writes it: `2026-01-02T03:04:05Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def micro_text(moment: datetime) -> str:
    """A `MicroTime` as the server writes it: `2026-01-02T03:04:05.000006Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")

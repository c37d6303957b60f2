"""Times as Kubernetes writes them: RFC 3339 in UTC, in whole seconds (`Time`) or microseconds (`MicroTime`).

Reading accepts what Go's RFC 3339 layout accepts; writing gives what the server gives back. No clock here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from trimtab.kube.gotext import quoted_bytes

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


# -- what is wrong with a time ---------------------------------------------------------------------------

SECONDS_LAYOUT = "2006-01-02T15:04:05Z07:00"
MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_PIECES = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00|[-T:]")
_SHAPES = {"2006": r"\d{4}", ".000000": r"\.\d{6}", "Z07:00": r"Z|[+-]\d\d:\d\d", "15": r"\d\d?"}
_LIMITS = {"01": (1, 12, "month"), "15": (0, 23, "hour"), "04": (0, 59, "minute"), "05": (0, 59, "second")}


def time_problem(text: str, layout: str = SECONDS_LAYOUT) -> str:
    """Why a text is no time of the layout, in the server's words; empty if it is one."""
    shown = quoted_bytes(text)
    rest, told = text, f'parsing time {shown} as "{layout}": cannot parse'
    for piece in _PIECES.findall(layout):
        shape = _SHAPES.get(piece, r"\d\d" if piece.isdigit() else re.escape(piece))
        if piece == "Z07:00" and layout is SECONDS_LAYOUT:
            shape = rf"(?:[.,]\d+)?(?:{shape})"  # a fraction is read though the layout has none
        found = re.match(shape, rest, re.ASCII)
        if found is None:
            return f'{told} {quoted_bytes(rest)} as "{piece}"'
        if piece in _LIMITS and not _LIMITS[piece][0] <= int(found[0]) <= _LIMITS[piece][1]:
            return f"parsing time {shown}: {_LIMITS[piece][2]} out of range"
        rest = rest[found.end() :]
    if rest:
        return f"parsing time {shown}: extra text: {quoted_bytes(rest)}"
    try:
        parse_time(text)
    except BadTime:
        return f"parsing time {shown}: day out of range"
    return ""

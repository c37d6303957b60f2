"""Durations and sizes as people write them: `1h30m`, `64MiB`; and back again. Pure.

Not Kubernetes quantities: those belong to objects, these to our own settings.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

_DURATION_UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_SIZE_UNITS = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def duration(text: str) -> timedelta | None:
    """The duration that `text` says: `30s`, `1h30m`, a plain number of seconds; None if it says none."""
    try:
        if _NUMBER.fullmatch(text):
            return timedelta(seconds=float(text))
        return _duration_in_units(text)
    except OverflowError:
        return None


def _duration_in_units(text: str) -> timedelta | None:
    """The duration in parts with a unit, each unit at most once and the larger ones first."""
    parts = _PART.findall(text) if _DURATION.fullmatch(text) else []
    units = [unit for _, unit in parts]
    if not parts or units != [unit for unit in _DURATION_UNITS if unit in units]:
        return None
    return sum((float(number) * _DURATION_UNITS[unit] for number, unit in parts), timedelta())


def size(text: str) -> int | None:
    """The number of bytes that `text` says, such as `64MiB` or `4096`; None if it says none."""
    found = _SIZE.fullmatch(text)
    if found is None or found[2] not in _SIZE_UNITS:
        return None
    count = Decimal(found[1]) * _SIZE_UNITS[found[2]]
    return int(count) if count == int(count) else None


def duration_text(value: timedelta) -> str:
    """The duration in units, largest first, to the millisecond."""
    rest, parts = value, []
    for unit, length in _DURATION_UNITS.items():
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def size_text(value: int) -> str:
    """The size in the largest binary unit that divides it."""
    for unit in ("GiB", "MiB", "KiB"):
        if value and value % _SIZE_UNITS[unit] == 0:
            return f"{value // _SIZE_UNITS[unit]}{unit}"
    return str(value)

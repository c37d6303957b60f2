"""What a word of YAML means to Kubernetes: null, boolean, number or text.

Kubernetes reads with a YAML 1.1 library of its own taste: `on` and `y` are booleans, `014` and `0o14` are
twelve, `08` is eight, `1e5` is a number but `12e34567` and `1:30` are text. This module is that taste, for
the reader and the writer alike; structure, quotes and tags are their business.
"""

from __future__ import annotations

import re
import struct
from decimal import Decimal
from typing import Final

Scalar = str | int | float | bool | None

MAX_INT: Final = 2**63 - 1
MIN_INT: Final = -(2**63)
MAX_UINT: Final = 2**64 - 1

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], float("nan")),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], float("inf")),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], float("-inf")),
}
_WORD_STARTS: Final = frozenset("yYnNtTfFoO~.+-")
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
NOT_ONLY_TEXT: Final = _WORD_STARTS | _NUMBER_STARTS

_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO](?P<octal>[0-7]+)|0[bB](?P<binary>[01]+)"
    r"|0(?P<old_octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]{0,19}))"
)
_BASES: Final = {"hex": 16, "octal": 8, "binary": 2, "old_octal": 8, "decimal": 10}
# The library strips `0b` and parses the rest again, sign included.
_SIGN_AFTER_PREFIX: Final = re.compile(r"0b(?P<digits>[-+][01]{1,64})")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOT_FLOAT: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE: Final = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_TIME: Final = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2}):(?P<second>[0-9]{1,2})(?:[.,][0-9]+)?"
_ZONE: Final = r"(?:Z|[-+](?P<zone_hour>[0-9]{2}):(?P<zone_minute>[0-9]{2}))"
_TIMESTAMPS: Final = (
    re.compile(rf"{_DATE}[Tt]{_TIME}{_ZONE}"),
    re.compile(rf"{_DATE} +{_TIME}"),
    re.compile(_DATE),
)
_LAST_OF_RANGE: Final = {
    "month": 12,
    "hour": 23,
    "minute": 59,
    "second": 59,
    "zone_hour": 24,
    "zone_minute": 60,
}


def meaning(text: str) -> Scalar:
    """The value of an unquoted, untagged word, before JSON narrows its numbers."""
    if not text:
        return None
    first = text[0]
    if first not in NOT_ONLY_TEXT:
        return text
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if first in _NUMBER_STARTS else text


def is_only_text(text: str) -> bool:
    """Is this word text for every reader, so that it needs no quotes for its meaning?"""
    if not text:
        return False
    if text[0] not in NOT_ONLY_TEXT:
        return True
    return isinstance(meaning(text), str) and not is_timestamp(text) and not _BASE_60.fullmatch(text)


def _number(text: str) -> Scalar:
    if _DECIMAL.fullmatch(text):
        return int(text)
    if text[0] == ".":
        return _float(text, text) if _DOT_FLOAT.fullmatch(text) else text
    bare = text.replace("_", "")
    integer = _integer(bare)
    if integer is not None:
        return integer
    return _float(bare, text) if _FLOAT.fullmatch(bare) else text


def _integer(bare: str) -> int | None:
    """A 64-bit integer in any of Go's spellings; None when it is too large or none."""
    if match := _INTEGER.fullmatch(bare):
        # Exactly one of the named alternatives took part, and it is the last group that matched.
        base = match.lastgroup or "decimal"
        value = int(match["sign"] + match[base], _BASES[base])
        largest = MAX_INT if match["sign"] else MAX_UINT
        return value if MIN_INT <= value <= largest else None
    if match := _SIGN_AFTER_PREFIX.fullmatch(bare):
        value = int(match["digits"], 2)
        return value if MIN_INT <= value <= MAX_INT else None
    return None


def _float(digits: str, text: str) -> float | str:
    """The number, or the text itself when a 64-bit float cannot hold it."""
    value = float(digits)
    return text if value in (float("inf"), float("-inf")) else value


def is_timestamp(text: str) -> bool:
    """Would the Kubernetes library take this word for a point in time (and still hand out text)?"""
    if text[4:5] != "-":
        return False
    match = next((found for form in _TIMESTAMPS if (found := form.fullmatch(text))), None)
    if match is None:
        return False
    parts = {name: int(part) for name, part in match.groupdict().items() if part is not None}
    in_range = all(parts[name] <= last for name, last in _LAST_OF_RANGE.items() if name in parts)
    return in_range and parts["month"] >= 1 and 1 <= parts["day"] <= _days(parts["year"], parts["month"])


def _days(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def as_json(number: float) -> int | float:
    """The number as it arrives after a journey through JSON: int64 where it is whole and fits."""
    if isinstance(number, int):
        return number if MIN_INT <= number <= MAX_INT else float(number)
    whole = whole_number(number)
    return number if whole is None or not MIN_INT <= whole <= MAX_INT else whole


def whole_number(number: float) -> int | None:
    """The digits Go's JSON writes for a whole float (shortest, then zeros); None for all other floats."""
    if not number.is_integer() or abs(number) >= 1e21:
        return None
    return int(number) if abs(number) < 2**53 else int(Decimal(repr(number)))


def key_text(key: Scalar) -> str | None:
    """The JSON object key that Kubernetes makes of a YAML key; None when it refuses the key."""
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int():
            return str(key) if key <= MAX_INT else None
        case float():
            return float_text(key, single=True)
        case None:
            return None


def float_text(number: float, *, single: bool = False) -> str:
    """The number in Go's shortest `%g` form, optionally in single precision."""
    digits = _single_precision(number) if single else repr(number)
    if digits in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[digits]
    decimal = Decimal(digits).normalize()
    figures, exponent = "".join(map(str, decimal.as_tuple().digits)), decimal.adjusted()
    text = _fixed(figures, exponent + 1) if -4 <= exponent < 6 else _scientific(figures, exponent)
    return f"-{text}" if decimal.is_signed() else text


_SPECIAL_FLOATS: Final = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}


def _single_precision(number: float) -> str:
    """The fewest digits that still name this number among single-precision floats."""
    rounded = _single(number)
    candidates = (f"{rounded:.{places}e}" for places in range(9))
    return next((text for text in candidates if _single(float(text)) == rounded), repr(rounded))


def _single(number: float) -> float:
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return float(rounded)


def _scientific(figures: str, exponent: int) -> str:
    mantissa = figures if len(figures) == 1 else f"{figures[0]}.{figures[1:]}"
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _fixed(figures: str, point: int) -> str:
    if point <= 0:
        return f"0.{'0' * -point}{figures}"
    whole = figures[:point].ljust(point, "0")
    return f"{whole}.{figures[point:]}" if len(figures) > point else whole

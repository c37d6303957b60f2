"""Whole numbers that are spelled in text, read as the server reads them. Pure.

Python's `int` refuses some thousand digits and reads those of every script; Go does neither.
"""

from __future__ import annotations

import re

INT64 = (-(1 << 63), (1 << 63) - 1)
UINT64 = (0, (1 << 64) - 1)
_MOST_DIGITS = 20  # of any number of 64 bits
_SIGNED, _UNSIGNED = re.compile(r"[+-]?[0-9]+"), re.compile(r"[0-9]+")


def is_spelled(text: str, bounds: tuple[int, int] = INT64) -> bool:
    """Whether a text spells a whole number, however large; one that cannot be negative has no sign."""
    return (_SIGNED if bounds[0] else _UNSIGNED).fullmatch(text) is not None


def whole(text: str, bounds: tuple[int, int] = INT64) -> int | None:
    """The number that a text spells; None if it spells none, or one beyond the bounds."""
    if not is_spelled(text, bounds):
        return None
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _MOST_DIGITS:
        return None
    number = int(digits or "0") * (-1 if text[0] == "-" else 1)
    return number if bounds[0] <= number <= bounds[1] else None


def nearest(text: str) -> int:
    """The number of 64 bits next to the one that a text spells; 0 if it spells none."""
    number = whole(text)
    if number is not None or not is_spelled(text):
        return number or 0
    return INT64[0] if text[0] == "-" else INT64[1]

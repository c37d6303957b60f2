"""Quantities (`500m`, `1Gi`, `12e6`) and int-or-strings, read and written exactly as Kubernetes does.

A quantity is a whole number of billionths, so that nothing is ever rounded by a float; what is finer is
rounded up, away from zero. The server writes some texts back as they came (`1.500`, `+5`) and turns others
into their canonical form (`0.5` → `500m`); both habits are kept, since objects are compared by text.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Format: TypeAlias = Literal["decimal", "binary", "exponent"]

NANO = -9
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in DECIMAL.items()}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
BINARY_SUFFIXES = {exponent: suffix for suffix, exponent in BINARY.items()}
LARGEST_BINARY = (1 << 63) - 1
LARGEST_EXPONENT = 1000  # the server has no limit here; without one a short text would fill the memory
MOST_DIGITS = 4000  # nor here; Python reads and writes no more than 4300 of them

_PARTS = re.compile(r"([+-]?)0*([0-9]*)(?:(\.)([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"


class BadQuantity(ValueError):
    """A text that is no quantity; the words are the server's."""


class Quantity(Struct, frozen=True, eq=False):
    """An exact amount, and the way it likes to be written. Equal amounts are equal, however written."""

    nanos: int
    format: Format = "decimal"
    text: str = ""  # set where the server writes back what it read

    def __str__(self) -> str:
        return self.text or _canonical(self.nanos, self.format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Quantity) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Quantity) -> bool:
        return self.nanos >= other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, self.format if self.nanos else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.format)

    def __mul__(self, times: int) -> Quantity:
        return Quantity(self.nanos * times, self.format)

    @property
    def whole(self) -> int:
        """The amount as an integer, fractions rounded away from zero."""
        return _rounded_up(self.nanos, 10**9)

    @property
    def milli(self) -> int:
        """The amount in thousandths, finer fractions rounded away from zero."""
        return _rounded_up(self.nanos, 10**6)

    def to_milli(self) -> Quantity:
        """The amount kept to thousandths, rounded away from zero; as written where that is no change."""
        return self if self.nanos % 10**6 == 0 else Quantity(self.milli * 10**6, self.format)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left of the decimal point's right."""
        return self.nanos % 10**9 == 0


def parse_quantity(text: str | float) -> Quantity:
    """The quantity that a string or JSON number means; anything else is a `BadQuantity`."""
    if isinstance(text, int | float):
        text = repr(text)
    text = text.strip()
    found = _PARTS.fullmatch(text)
    if not text or found is None:
        raise BadQuantity(WRONG_FORMAT)
    sign, number, _, fraction, suffix = found.groups(default="")
    if len(number) + len(fraction) > MOST_DIGITS:
        raise BadQuantity(WRONG_FORMAT)
    if not suffix and not fraction and not number:
        return Quantity(0)
    form, exponent = _suffix(suffix)
    scaled = _scaled(int(f"0{number}{fraction}"), len(fraction), form, exponent)
    nanos = -scaled if sign == "-" else scaled
    if form == "binary" and 0 < abs(nanos) < 10**9:
        form = "decimal"
    kept = _kept_as_written(number or "0", fraction, form, exponent)
    return Quantity(nanos, form, text if kept and nanos else "")


def canonical(text: str | float) -> str:
    """How the server writes a quantity that it was given so."""
    return str(parse_quantity(text))


def _suffix(suffix: str) -> tuple[Format, int]:
    if suffix in DECIMAL:
        return "decimal", DECIMAL[suffix]
    if suffix in BINARY:
        return "binary", BINARY[suffix]
    if re.fullmatch(r"[eE][+-]?[0-9]{1,20}", suffix) and int(suffix[1:]) <= LARGEST_EXPONENT:
        return "exponent", max(int(suffix[1:]), -LARGEST_EXPONENT)
    raise BadQuantity(WRONG_SUFFIX)


def _scaled(digits: int, places: int, form: Format, exponent: int) -> int:
    """Billionths of `digits` with this many decimal places and this suffix, rounded up."""
    if form == "binary":
        nanos = _rounded_up(digits * (1 << exponent) * 10**9, 10**places)
        return min(nanos, LARGEST_BINARY * 10**9)
    shift = exponent - places - NANO
    return digits * 10**shift if shift >= 0 else _rounded_up(digits, 10**-shift)


def _rounded_up(amount: int, unit: int) -> int:
    """Divided, and rounded away from zero."""
    return -(-amount // unit) if amount >= 0 else amount // unit


def _kept_as_written(number: str, fraction: str, form: Format, exponent: int) -> bool:
    """Whether the server takes a text for canonical already (it looks only roughly) and keeps it."""
    digits = number + fraction
    if form == "binary":
        room = 15 - len(number) - exponent * 3 // 10 - 1
        return not fraction and room >= 0 and int(number) & 7 != 0
    scale = exponent - len(fraction)
    if scale < NANO or 18 - len(digits) < 0:
        return False
    return scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")


def _canonical(nanos: int, form: Format) -> str:
    """The number without fraction, the suffix as large as it can be."""
    if not nanos:
        return "0"
    if form == "binary" and abs(nanos) >= 1024 * 10**9 and nanos % 10**9 == 0:
        mantissa, power = _without_factors(nanos // 10**9, 1024)
        return f"{mantissa}{BINARY_SUFFIXES.get(power * 10, '')}"
    mantissa, power = _without_factors(nanos, 1000)
    exponent = NANO + 3 * power
    if form == "exponent":
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{DECIMAL_SUFFIXES.get(exponent, '')}"  # beyond E the server loses the suffix, too


def _without_factors(amount: int, factor: int) -> tuple[int, int]:
    """The amount divided by the factor as often as that leaves no rest, and how often that was."""
    times = 0
    while amount % factor == 0:
        amount //= factor
        times += 1
    return amount, times


# -- int-or-string ---------------------------------------------------------------------------------------


def percent_of(value: Any, total: int, *, round_up: bool) -> int:
    """What an int-or-string such as `25%` or 3 comes to of a total; a string that is no percentage raises."""
    if isinstance(value, int):
        return value
    found = re.fullmatch(r"([+-]?[0-9]+)%", str(value), re.ASCII)
    if not found:
        raise ValueError(
            f'invalid value for IntOrString: invalid type: string is not a percentage: "{value}"'
        )
    if len(found.group(1)) > 18:
        told = f'invalid value "{value}": strconv.Atoi: parsing "{found.group(1)}": value out of range'
        raise ValueError(f"invalid value for IntOrString: {told}")
    share = int(found.group(1)) * total
    return -(-share // 100) if round_up else share // 100

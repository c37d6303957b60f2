"""How one value of a setting is read, described and written: a shape for each type a setting may have. Pure.

Files give numbers, truths and lists of their own; variables and flags give text. Both end here. Reading
answers None for what cannot be meant; the complaint, which knows the origin, is made by `merge`.
"""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Protocol, TypeGuard

from msgspec import Struct, inspect
from msgspec.inspect import FloatType, IntType, StrType, Type

from trimtab.settings.quantities import duration, duration_text, size, size_text

_TRUTHS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class Shape(Protocol):
    """What a type of setting looks like from outside."""

    @property
    def expected(self) -> str:
        """What may be given, in words that complete the sentence "it is not …"."""

    def read(self, raw: object) -> object | None:
        """The value that an entry of a file says; None if it says none."""

    def read_text(self, text: str) -> object | None:
        """The value that a variable or flag says; None if it says none."""

    def written(self, value: Any) -> str:
        """The value as one would write it into a variable."""


def shape_of(kind: Type) -> Shape:
    """The shape of a setting's type; a `TypeError` for a type that settings cannot have."""
    match kind:
        case inspect.Metadata(type=IntType() as limits, extra={"unit": "bytes"}):
            return Bytes(limits)
        case inspect.Metadata():
            return shape_of(kind.type)
        case inspect.UnionType(types=(inspect.NoneType(), present) | (present, inspect.NoneType())):
            return Unless(shape_of(present))
        case _ if type(kind) in _SHAPES:
            return _SHAPES[type(kind)](kind)
    raise TypeError(f"settings cannot hold {kind!r}")


class Nothing(enum.Enum):
    """What `none` reads as, where a setting may be none; None itself says that nothing could be read."""

    NOTHING = "none"


class Unless(Struct, frozen=True):
    """A value of another shape, or none."""

    item: Shape

    @property
    def expected(self) -> str:
        """With the other possibility."""
        return f"{self.item.expected}, or none"

    def read(self, raw: object) -> object | None:
        """The word, or whatever the shape reads; TOML has no null."""
        return Nothing.NOTHING if raw == Nothing.NOTHING.value else self.item.read(raw)

    def read_text(self, text: str) -> object | None:
        """The word, or whatever the shape reads."""
        return Nothing.NOTHING if text == Nothing.NOTHING.value else self.item.read_text(text)

    def written(self, value: object) -> str:
        """The word, or as the shape writes it."""
        return Nothing.NOTHING.value if value is None else self.item.written(value)


class Truth(Struct, frozen=True):
    """True or false."""

    expected: str = "true or false"

    def read(self, raw: object) -> bool | None:
        """A truth of the file itself."""
        return raw if isinstance(raw, bool) else None

    def read_text(self, text: str) -> bool | None:
        """The customary words."""
        return _TRUTHS.get(text.lower())

    def written(self, value: bool) -> str:  # noqa: FBT001 - it is the value itself
        """In the file's own spelling."""
        return "true" if value else "false"


class Whole(Struct, frozen=True):
    """A whole number within its range."""

    limits: IntType

    @property
    def expected(self) -> str:
        """With the range."""
        return f"a whole number{_range_text(self.limits)}"

    def read(self, raw: object) -> int | None:
        """A whole number of the file."""
        return raw if _is_whole(raw) and _in_range(self.limits, raw) else None

    def read_text(self, text: str) -> int | None:
        """Decimal digits."""
        # Python refuses to read thousands of digits, and nobody means more than twenty.
        return self.read(int(text)) if len(text) <= 20 and text.removeprefix("-").isdecimal() else None

    def written(self, value: int) -> str:
        """In decimal digits."""
        return str(value)


class Number(Struct, frozen=True):
    """A number within its range."""

    limits: FloatType

    @property
    def expected(self) -> str:
        """With the range."""
        return f"a number{_range_text(self.limits)}"

    def read(self, raw: object) -> float | None:
        """A number of the file."""
        return float(raw) if _is_number(raw) and math.isfinite(raw) and _in_range(self.limits, raw) else None

    def read_text(self, text: str) -> float | None:
        """What Python reads as a number."""
        try:
            return self.read(float(text))
        except ValueError:
            return None

    def written(self, value: float) -> str:
        """In the shortest exact way."""
        return repr(value)


class Bytes(Struct, frozen=True):
    """A size in bytes within its range."""

    limits: IntType

    @property
    def expected(self) -> str:
        """With the range."""
        return f"a size{_range_text(self.limits, size_text)}, such as 64MiB"

    def read(self, raw: object) -> int | None:
        """A whole number of bytes, or text with a unit."""
        count = size(raw) if isinstance(raw, str) else raw
        return count if _is_whole(count) and _in_range(self.limits, count) else None

    def read_text(self, text: str) -> int | None:
        """Digits, with or without a unit."""
        return self.read(text)

    def written(self, value: int) -> str:
        """With a unit."""
        return size_text(value)


class Span(Struct, frozen=True):
    """A duration; none is not one."""

    expected: str = "a duration longer than zero, such as 30s, 5m or 1h30m"

    def read(self, raw: object) -> timedelta | None:
        """A number of seconds, or text with units."""
        return self.read_text(str(raw)) if _is_number(raw) or isinstance(raw, str) else None

    def read_text(self, text: str) -> timedelta | None:
        """Digits, with or without units."""
        found = duration(text)
        return found if found is not None and found > timedelta() else None

    def written(self, value: timedelta) -> str:
        """With units."""
        return duration_text(value)


class Text(Struct, frozen=True):
    """Any text; of some settings it has to say something."""

    limits: StrType

    @property
    def expected(self) -> str:
        """With whether it may be empty."""
        return "text with at least one character" if self.limits.min_length else "text"

    def read(self, raw: object) -> str | None:
        """Text of the file."""
        return raw if isinstance(raw, str) and len(raw) >= (self.limits.min_length or 0) else None

    def read_text(self, text: str) -> str | None:
        """The text itself."""
        return self.read(text)

    def written(self, value: str) -> str:
        """The text itself."""
        return value


class Choice(Struct, frozen=True):
    """One of a few values."""

    values: tuple[object, ...]

    @property
    def expected(self) -> str:
        """All of them."""
        return f"one of {', '.join(map(self.written, self.values))}"

    def read(self, raw: object) -> object | None:
        """The value that is written like this."""
        return next((value for value in self.values if _plain(value) == raw), None)

    def read_text(self, text: str) -> object | None:
        """The value that is written like this."""
        return next((value for value in self.values if self.written(value) == text), None)

    def written(self, value: object) -> str:
        """As the value spells itself."""
        return str(_plain(value))


class Several(Struct, frozen=True):
    """A list of values of one shape."""

    item: Shape

    @property
    def expected(self) -> str:
        """With what each may be."""
        return f"a list, each item {self.item.expected}"

    def read(self, raw: object) -> tuple[object, ...] | None:
        """A list of the file."""
        return _all(map(self.item.read, raw)) if isinstance(raw, list) else None

    def read_text(self, text: str) -> tuple[object, ...] | None:
        """Items with commas between them; nothing is a list without any."""
        items = text.split(",") if text.strip() else ()
        return _all(self.item.read_text(item.strip()) for item in items)

    def written(self, value: Iterable[object]) -> str:
        """With commas between the items."""
        return ",".join(map(self.item.written, value))


_SHAPES: Mapping[type[Type], Callable[[Any], Shape]] = {
    inspect.BoolType: lambda _: Truth(),
    inspect.IntType: Whole,
    inspect.FloatType: Number,
    inspect.TimeDeltaType: lambda _: Span(),
    inspect.StrType: Text,
    inspect.EnumType: lambda kind: Choice(tuple(kind.cls)),
    inspect.LiteralType: lambda kind: Choice(tuple(kind.values)),
    inspect.VarTupleType: lambda kind: Several(shape_of(kind.item_type)),
}


def _is_whole(raw: object) -> TypeGuard[int]:
    """Whether it is a whole number of at most 64 bits; Python counts the truths among them, people do not."""
    return isinstance(raw, int) and not isinstance(raw, bool) and abs(raw) < 2**63


def _is_number(raw: object) -> TypeGuard[float]:
    return _is_whole(raw) or isinstance(raw, float)


def _plain(value: object) -> object:
    return value.value if isinstance(value, enum.Enum) else value


def _all(items: Iterable[object | None]) -> tuple[object, ...] | None:
    values = tuple(items)
    return None if None in values else values


def _limits(kind: IntType | FloatType) -> list[tuple[str, float, Callable[[float, float], bool]]]:
    known = (
        ("of at least", kind.ge, operator.ge),
        ("above", kind.gt, operator.gt),
        ("of at most", kind.le, operator.le),
        ("below", kind.lt, operator.lt),
    )
    return [(words, limit, holds) for words, limit, holds in known if limit is not None]


def _in_range(kind: IntType | FloatType, value: float) -> bool:
    return all(holds(value, limit) for _, limit, holds in _limits(kind))


def _range_text(kind: IntType | FloatType, written: Callable[[Any], str] = str) -> str:
    limits = " and ".join(f"{words} {written(limit)}" for words, limit, _ in _limits(kind))
    return f" {limits}" if limits else ""

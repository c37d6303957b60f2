"""Writing YAML as kubectl and helm print it, to the byte.

Block style, keys in natural order, lists not indented under their key, texts over several lines as literal
blocks, long lines broken after column 80, quotes where another reader could mistake a text. How one text
is spelled is the business of `texts`. Where Go's own writer fails or loses characters, this one escapes
them, so that Go reads back what was meant (docs/resources.md lists these places).
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from trimtab.errors import InvalidSpec
from trimtab.resources.yaml.scalars import MAX_UINT, MIN_INT, as_json, float_text, whole_number
from trimtab.resources.yaml.texts import Spelling, fits_one_line, spelled
from trimtab.resources.yaml.words import MAX_DEPTH

_STEP: Final = 2


def dump(value: Any, *, depth: int = MAX_DEPTH) -> str:
    """One JSON value as a YAML document; its maps and lists may stand so deep in each other."""
    writer = _Writer(depth)
    writer.node(value, indent=-_STEP, in_map=False)
    return writer.text()


def dump_all(values: Iterable[Any]) -> str:
    """Several JSON values as documents, with `---` between them."""
    return "---\n".join(map(dump, values))


class _Writer:
    """Collects the pieces of one document.

    `indent` is always that of the map or list a node stands in; the root stands in an imagined one.
    """

    def __init__(self, deepest: int) -> None:
        self._deepest = deepest
        self._pieces: list[str] = []
        # Columns used on the last line; only exact where a text begins.
        self._column = 0
        self._line_is_new = True
        self._depth = 0

    def text(self) -> str:
        if not self._line_is_new:
            self._pieces.append("\n")
        return "".join(self._pieces)

    def node(self, value: Any, *, indent: int, in_map: bool) -> None:
        """Whatever follows `- `, a key's `: ` or nothing at all; `in_map` only after a simple key."""
        if not isinstance(value, Mapping | list | tuple):
            self._scalar(value, indent + _STEP)
            return
        if self._depth >= self._deepest:
            reason = f"maps and lists are nested deeper than {self._deepest}"
            raise InvalidSpec("the value to write as YAML", reason, "Flatten it")
        self._depth += 1
        if not value:
            self._scalar(value, indent + _STEP)
        elif isinstance(value, Mapping):
            self._map(value, indent + _STEP, inline=not in_map)
        else:
            self._list(value, indent if in_map else indent + _STEP, inline=not in_map)
        self._depth -= 1

    def _map(self, value: Mapping[str, Any], indent: int, *, inline: bool) -> None:
        for key in sorted_keys(value):
            self._begin_line(indent, inline=inline)
            inline = False
            if fits_one_line(key):
                text = spelled(key, column=indent, indent=indent, is_key=True).text
                self._put(f"{text}:", indent + len(text) + 1)
                self.node(value[key], indent=indent, in_map=True)
            else:
                self._put("?", indent + 1)
                self._scalar(key, indent + _STEP)
                self._begin_line(indent, inline=False)
                self._put(":", indent + 1)
                self.node(value[key], indent=indent, in_map=False)

    def _list(self, value: list[Any] | tuple[Any, ...], indent: int, *, inline: bool) -> None:
        for item in value:
            self._begin_line(indent, inline=inline)
            inline = False
            self._put("-", indent + 1)
            self.node(item, indent=indent, in_map=False)

    def _scalar(self, value: Any, indent: int) -> None:
        gap = "" if self._line_is_new else " "
        if isinstance(value, str):
            spelling = spelled(value, column=self._column + len(gap), indent=max(indent, _STEP))
        else:
            spelling = Spelling(_word(value))
        self._pieces.append(gap + spelling.text)
        self._line_is_new = spelling.ends_its_line

    def _put(self, text: str, column: int) -> None:
        self._pieces.append(text)
        self._column = column
        self._line_is_new = False

    def _begin_line(self, indent: int, *, inline: bool) -> None:
        """Go to `indent`: on this line where an indicator just before leaves room, else on a new one."""
        if self._line_is_new:
            self._pieces.append(" " * indent)
        elif inline:
            self._pieces.append(" ")
        else:
            self._pieces.append("\n" + " " * indent)
        self._line_is_new = False


def _word(value: Any) -> str:
    """Everything but texts and filled collections."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON value")


def _number(value: float) -> str:
    number = as_json(value)
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        raise ValueError("JSON has no infinity and no NaN")
    whole = whole_number(number)
    return float_text(number) if whole is None or not MIN_INT <= whole <= MAX_UINT else str(whole)


def sorted_keys(value: Mapping[str, Any]) -> list[str]:
    """The keys in the natural order of Go's YAML library: letters last, numbers by their value."""
    together = "".join(value)
    if together.isascii() and _DIGITS.isdisjoint(together):
        return sorted(value, key=_letters_last)
    # Some keys have no order in Go (v10 < v1b < v2 < v10); sorting twice gives them one here.
    return sorted(sorted(value), key=functools.cmp_to_key(_compared))


_DIGITS: Final = frozenset("0123456789")
_LETTERS_LAST: Final = {code: code + 0x100 for code in range(0x80) if chr(code).isalpha()}


def _letters_last(key: str) -> str:
    return key.translate(_LETTERS_LAST)


def _compared(one: str, other: str) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return -1 if _less_at(one, other, place) else 1
    return len(one) - len(other)


def _less_at(one: str, other: str, place: int) -> bool:
    """The order of two keys that first differ at `place`."""
    a, b = one[place], other[place]
    a_letter, b_letter = _is_letter(a), _is_letter(b)
    if a_letter or b_letter:
        return a < b if a_letter and b_letter else b_letter
    lead = 1 if "0" in (a, b) and _continues_number(one[:place]) else 0
    a_value, a_end = _number_at(one, place, lead)
    b_value, b_end = _number_at(other, place, lead)
    return (a_value, a_end, a) < (b_value, b_end, b)


def _is_letter(char: str) -> bool:
    return unicodedata.category(char).startswith("L")


def _is_digit(char: str) -> bool:
    return unicodedata.category(char) == "Nd"


def _continues_number(before: str) -> bool:
    """Do the digits just before hold anything but zeros, so that a zero here counts?"""
    for char in reversed(before):
        if not _is_digit(char):
            return False
        if char != "0":
            return True
    return False


def _number_at(text: str, place: int, lead: int) -> tuple[int, int]:
    value, end = lead, place
    while end < len(text) and _is_digit(text[end]):
        # Go counts in 64 bits and wraps around.
        value = (value * 10 + ord(text[end]) - ord("0")) % 2**64
        end += 1
    return (value + 2**63) % 2**64 - 2**63, end

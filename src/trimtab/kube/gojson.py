"""JSON bodies, read as the server reads them: what is wrong with one is said in Go's words. Pure.

Good bodies are read by msgspec; only those it refuses are walked again, slowly, to find the words.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from trimtab.kube.gotext import quoted
from trimtab.kube.trees import DEEPEST, depth_of, has_room, is_beyond
from trimtab.kube.trees import decoded as decoded_tree

_SPACE = " \t\r\n"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class BadJson(ValueError):
    """A body that is no JSON; the words are Go's."""


class BadNumber(BadJson):
    """JSON with a number that nothing can hold."""


def decoded(body: bytes) -> Any:
    """The value in a body; a `RecursionError` if it is nested deeper than can be read."""
    try:
        value = msgspec.json.decode(body)
        if not is_beyond(body):
            return value
    except RecursionError:
        if not has_room() and depth_of(body) <= DEEPEST:
            raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    _Scanner(body.decode("latin-1")).check()  # Go walks bytes, not letters
    return _lenient(body.decode(errors="replace"))


def _lenient(text: str) -> Any:
    """What Go accepts and msgspec does not: bytes that are no UTF-8, and halves of letters."""
    try:
        return decoded_tree(text.encode(errors="replace"))
    except msgspec.DecodeError as exc:
        if number := _beyond(text):
            raise BadNumber(f"json: cannot unmarshal number {number} into Go value of type float64") from exc
        spelled = json.dumps(json.loads(text), ensure_ascii=False)
        return msgspec.json.decode(spelled.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _beyond(text: str) -> str:
    """The first number in JSON that is larger than any fraction, if there is one."""
    numbers = _NUMBER.finditer(_STRING.sub('""', text))
    return next((each[0] for each in numbers if math.isinf(float(each[0]))), "")


Step: TypeAlias = Callable[[], Any]  # does one thing and says what comes next


class _Scanner:
    """Walks JSON until something is wrong; without recursion, since depth is one of the things."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[str] = []

    def check(self) -> None:
        """Raise for the first thing that is wrong."""
        step = self._value
        while step != self._end:
            step = step()
        self._skip()
        if self._at < len(self._text):
            raise self._unexpected("after top-level value")

    def _end(self) -> Step:
        return self._end

    def _value(self) -> Step:
        char = self._next()
        if char == "{":
            return self._begun("}", self._first_key)
        if char == "[":
            return self._begun("]", self._first_item)
        if char == '"':
            self._string()
        elif char in "-0123456789":
            self._number()
        elif char in "tfn":
            self._word({"t": "true", "f": "false", "n": "null"}[char])
        else:
            raise self._unexpected("looking for beginning of value")
        return self._after

    def _begun(self, closing: str, following: Step) -> Step:
        self._open.append(closing)
        if len(self._open) > DEEPEST:
            raise self._unexpected("exceeded max depth")
        self._at += 1
        return following

    def _first_key(self) -> Step:
        return self._after if self._next() == "}" else self._key

    def _first_item(self) -> Step:
        return self._after if self._next() == "]" else self._value

    def _key(self) -> Step:
        if self._next() != '"':
            raise self._unexpected("looking for beginning of object key string")
        self._string()
        if self._next() != ":":
            raise self._unexpected("after object key")
        self._at += 1
        return self._value

    def _after(self) -> Step:
        """Go on after a value, inside an object or a list or at the end."""
        if not self._open:
            return self._end
        closing, char = self._open[-1], self._next()
        if char not in (closing, ","):
            raise self._unexpected("after object key:value pair" if closing == "}" else "after array element")
        self._at += 1
        if char == ",":
            return self._key if closing == "}" else self._value
        self._open.pop()
        return self._after

    def _string(self) -> None:
        self._at += 1
        while (char := self._char()) != '"':
            if char < " ":
                raise self._unexpected("in string literal")
            self._at += 1
            if char == "\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        if self._char() == "u":
            for _ in range(4):
                self._at += 1
                if self._char() not in "0123456789abcdefABCDEF":
                    raise self._unexpected("in \\u hexadecimal character escape")
        elif self._char() not in 'bfnrt\\/"':
            raise self._unexpected("in string escape code")
        self._at += 1

    def _number(self) -> None:
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            self._at += 1
            raise self._unexpected("in numeric literal")
        self._at = found.end()
        rest = self._text[self._at : self._at + 1]
        if rest == ".":
            self._at += 1
            raise self._unexpected("after decimal point in numeric literal")
        if rest in ("e", "E"):
            self._at += 1
            raise self._unexpected("in exponent of numeric literal")

    def _word(self, word: str) -> None:
        for char in word:
            if self._char() != char:
                raise self._unexpected(f"in literal {word} (expecting {_spoken(char)})")
            self._at += 1

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _next(self) -> str:
        self._skip()
        return self._char()

    def _char(self) -> str:
        if self._at >= len(self._text):
            raise BadJson("unexpected end of JSON input")
        return self._text[self._at]

    def _unexpected(self, where: str) -> BadJson:
        return BadJson(f"invalid character {_spoken(self._char())} {where}")


def _spoken(char: str) -> str:
    """A character in quotes, as Go writes it."""
    special = {"'": "'\\''", '"': "'\"'"}
    return special.get(char) or f"'{quoted(char)[1:-1]}'"


def json_word(value: Any) -> str:
    """What Go calls a value of JSON when it is not what was wanted."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"

"""JSON of any depth: read, written and compared as C does it, or else step by step. Pure.

Some versions of Python let C code go down no deeper than some thousand levels, however much room there is on
the stack. What is written in Python knows no such bound; it is asked only where there is room, since nobody
else could follow elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

Made: TypeAlias = Callable[[list[tuple[str, Any]]], Any]
DEEPEST: Final = 10_000  # levels that a real server reads
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]:,"]+', re.DOTALL)
_SIGNS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)
_NO_KEY: Final = object()


def has_room() -> bool:
    """Whether Python goes down as deep as a real server reads."""
    return sys.getrecursionlimit() > DEEPEST


def depth_of(content: bytes) -> int:
    """How many maps and lists stand in each other in JSON."""
    depth = deepest = 0
    for token in _TOKENS.finditer(content):
        if token[0] in (b"{", b"["):
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in (b"}", b"]"):
            depth -= 1
    return deepest


def indentation(content: bytes) -> int:
    """How many blanks JSON would hold if each of its values stood on a line of its own, two for a level."""
    depth = blanks = 0
    for sign in _SIGNS.finditer(content):
        if sign[0] in (b"{", b"["):
            depth += 1
        elif sign[0] in (b"}", b"]"):
            depth -= 1
        elif sign[0] != b",":
            continue
        blanks += 2 * depth
    return blanks


def is_beyond(content: bytes) -> bool:
    """Whether JSON is deeper than a real server reads; only where there is room anybody comes that far."""
    return has_room() and depth_of(content) > DEEPEST


def encoded(value: Any) -> bytes:
    """A value as JSON."""
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        if not has_room():
            raise
        parts: list[bytes] = []
        _write(value, parts)
        return b"".join(parts)


def _write(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, dict) and value:
        sign = b"{"
        for name, each in value.items():
            parts += (sign, msgspec.json.encode(name), b":")
            _write(each, parts)
            sign = b","
        parts.append(b"}")
    elif isinstance(value, list | tuple) and value:
        sign = b"["
        for each in value:
            parts.append(sign)
            _write(each, parts)
            sign = b","
        parts.append(b"]")
    else:
        parts.append(msgspec.json.encode(value))


def decoded(raw: bytes) -> Any:
    """The value in JSON that is known to be such."""
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        if not has_room():
            raise
        return read(raw, dict)


def read(raw: bytes, made: Made) -> Any:
    """The value in JSON that is known to be such; what its maps become is `made` of their fields."""
    held: list[tuple[Any, list[Any]]] = []  # of each map and list that is open: its own key, what it holds
    holder: list[Any] = []
    key: Any = _NO_KEY
    for token in _TOKENS.finditer(raw):
        text = token[0]
        if text in (b"{", b"["):
            held.append((key, holder))
            holder, key = [], None if text == b"{" else _NO_KEY
            continue
        if text in (b"}", b"]"):
            value: Any = made(holder) if text == b"}" else holder
            key, holder = held.pop()
        else:
            value = msgspec.json.decode(text)
            if key is None:  # it is a key itself
                key = value
                continue
        holder.append(value if key is _NO_KEY else (key, value))
        key = key if key is _NO_KEY else None
    return holder[0]


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same, as `==` says it."""
    try:
        return bool(left == right)
    except RecursionError:
        if not has_room():
            raise
        return _equal(left, right)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return False
        for name, each in left.items():  # noqa: SIM110 - `all` would go through C, once for each level
            if not _equal(each, right[name]):
                return False
        return True
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        for each, other in zip(left, right, strict=True):  # noqa: SIM110
            if not _equal(each, other):
                return False
        return True
    return bool(left == right)

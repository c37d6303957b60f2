"""How Go prints values: the API server's messages and annotations carry this spelling.

Only JSON values occur (null, booleans, numbers, strings, lists, maps). Pure; not a general formatter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple

_SHORT_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}
_HTML_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


class Shown(dict[str, Any]):
    """A value of one of the server's own types, shown in the order it was written in."""


def html_safe(text: str) -> str:
    """JSON as Go writes it, fit to stand inside HTML."""
    return text.translate(_HTML_ESCAPES)


def quoted(text: str) -> str:
    """A string as `%q` prints it."""
    return '"' + "".join(map(_escaped, text)) + '"'


def quoted_bytes(text: str) -> str:
    """A string as Go's package of times quotes it: what is no ASCII byte by byte."""
    return '"' + "".join(map(_escaped_bytes, text)) + '"'


def _escaped_bytes(char: str) -> str:
    if " " <= char < "\x80":
        return f"\\{char}" if char in '"\\' else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="replace"))


def _escaped(char: str) -> str:
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    if char.isprintable():
        return char
    point = ord(char)
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


class _Style(NamedTuple):
    """How maps and lists are spelled, and what is in them."""

    maps: tuple[str, str]
    lists: tuple[str, str]
    between: str
    key: Callable[[str], str]
    plain: Callable[[Any], str]
    as_is: bool = False  # keys stand as they are, else sorted


def _out(value: Any, style: _Style) -> str:
    """A map or a list as a style spells it, in one go: of a text within texts each would be copied again."""
    parts: list[str] = []
    _write(value, style, parts)
    return "".join(parts)


def _write(value: Any, style: _Style, parts: list[str]) -> None:
    gap = ""
    if isinstance(value, dict):
        parts.append(style.maps[0])
        for name in value if style.as_is else sorted(value):
            parts.append(f"{gap}{style.key(name)}:")
            _write(value[name], style, parts)
            gap = style.between
        parts.append(style.maps[1])
    elif isinstance(value, list):
        parts.append(style.lists[0])
        for each in value:
            parts.append(gap)
            _write(each, style, parts)
            gap = style.between
        parts.append(style.lists[1])
    else:
        parts.append(style.plain(value))


def plain(value: Any) -> str:
    """A value as `%v` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return _number(value)
        case dict() | list():
            return _out(value, _PLAIN)
        case _:
            return str(value)


def as_text(value: Any) -> str:
    """A value as `%s` prints it, which is meant for text and says so of anything else."""
    match value:
        case str():
            return value
        case None:
            return "%!s(<nil>)"
        case dict() | list():
            return _out(value, _TEXT)
        case _:
            return f"%!s({type_name(value)}={plain(value)})"


def syntax(value: Any) -> str:
    """A value as `%#v` prints it."""
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return quoted(value)
        case dict() | list():
            return _out(value, _SYNTAX)
        case _:
            return plain(value)


def type_name(value: Any) -> str:
    """The Go type that a decoded JSON value has, as `%T` prints it."""
    names = {
        type(None): "<nil>",
        bool: "bool",
        int: "int64",
        float: "float64",
        str: "string",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
    return names[type(value)]


def to_json(value: Any, *, as_is: bool = False) -> str:
    """Compact JSON as Go's encoder writes it: `<`, `>`, `&` escaped, keys sorted or else as they are."""
    match value:
        case dict() | list():
            return _out(value, _AS_IS if as_is else _JSON)
        case str():
            return _json_string(value)
        case float():
            return _json_number(value)
        case _:
            return json.dumps(value)


def _json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_HTML_ESCAPES)


def _number(value: float) -> str:
    """The shortest spelling that reads back as the same number (`%v`)."""
    return _spelled(value, smallest=1e-4)


def _json_number(value: float) -> str:
    """The same, as JSON has it: more small numbers in full, exponents without a zero in front."""
    return _spelled(value, smallest=1e-6).replace("e-0", "e-")


def _spelled(value: float, *, smallest: float) -> str:
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    if value == 0 or smallest <= abs(value) < 1e21:
        return f"{Decimal(repr(value)).normalize():f}"
    return repr(value)


_PLAIN: Final = _Style(("map[", "]"), ("[", "]"), " ", str, plain)
_TEXT: Final = _PLAIN._replace(plain=as_text)
_SYNTAX: Final = _Style(("map[string]interface {}{", "}"), ("[]interface {}{", "}"), ", ", quoted, syntax)
_JSON: Final = _Style(("{", "}"), ("[", "]"), ",", _json_string, to_json)
_AS_IS: Final = _JSON._replace(as_is=True)

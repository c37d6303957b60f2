"""How Go prints values: the API server's messages and annotations carry this spelling.

Only JSON values occur (null, booleans, numbers, strings, lists, maps). Pure; not a general formatter.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

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


def plain(value: Any) -> str:
    """A value as `%v` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return _number(value)
        case dict():
            return "map[" + " ".join(f"{key}:{plain(value[key])}" for key in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(plain, value)) + "]"
        case _:
            return str(value)


def as_text(value: Any) -> str:
    """A value as `%s` prints it, which is meant for text and says so of anything else."""
    match value:
        case str():
            return value
        case None:
            return "%!s(<nil>)"
        case dict():
            return "map[" + " ".join(f"{key}:{as_text(value[key])}" for key in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(as_text, value)) + "]"
        case _:
            return f"%!s({type_name(value)}={plain(value)})"


def syntax(value: Any) -> str:
    """A value as `%#v` prints it."""
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return quoted(value)
        case dict():
            pairs = (f"{quoted(key)}:{syntax(value[key])}" for key in sorted(value))
            return "map[string]interface {}{" + ", ".join(pairs) + "}"
        case list():
            return "[]interface {}{" + ", ".join(map(syntax, value)) + "}"
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
        case dict():
            keys = value if as_is else sorted(value)
            pairs = (f"{_json_string(key)}:{to_json(value[key], as_is=as_is)}" for key in keys)
            return "{" + ",".join(pairs) + "}"
        case list():
            return "[" + ",".join(to_json(each, as_is=as_is) for each in value) + "]"
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

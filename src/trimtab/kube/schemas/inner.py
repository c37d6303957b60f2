"""What the server holds inside and shows only here and there: in messages, bookmarks and refusals. Pure.

Some kinds are printed in the form of the server's own types, with Go's names and every field: `inner` gives
that form, `difference` what changed between two. The data is made by `scripts/make_inner.py`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.kube.gotext import Shown, html_safe
from trimtab.kube.schemas.kinds import unpacked

Json = Mapping[str, Any]
ZEROS: Mapping[str, Any] = {"string": "", "number": 0, "bool": False, "quantity": "0", "self": None}


class _Field(Struct, frozen=True, array_like=True, gc=False):
    """A field inside: its name there, where users write it, its type, and what is special about it."""

    name: str
    written: str
    type: str
    special: str

    @property
    def omitted(self) -> bool:
        """Whether it is left out when empty."""
        return "o" in self.special

    @property
    def made(self) -> bool:
        """Whether it is there even if nobody wrote it."""
        return "m" in self.special


class _Inside(Struct, frozen=True):
    types: dict[str, tuple[_Field, ...]]
    unserved: dict[str, frozenset[str]]
    blanks: dict[str, dict[str, Any]]


_INSIDE: Final = msgspec.json.Decoder(_Inside)


@cache
def _inside() -> _Inside:
    return _INSIDE.decode(unpacked("inner.json.z"))


def is_readable(api_version: str, kind: str) -> bool:
    """Whether the server can read a kind in a version that it does not serve."""
    return kind in _inside().unserved.get(api_version, ())


def blank(model: str) -> Json:
    """An object of a kind with nothing set, besides its head, as bookmarks show it."""
    return _inside().blanks.get(model, {})


# -- the server's own types -------------------------------------------------------------------------------


def inner(value: Any, kind: str) -> Any:
    """A value as the server holds it, by the name of its type inside."""
    return _read(value, f"@{kind}", {})


def difference(old: Any, new: Any, kind: str) -> str:
    """The lines in which two values differ, in the form in which the server holds them."""
    before, after = (_lines(inner(value, kind)) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _lines(value: Any) -> list[str]:
    return html_safe(json.dumps(value, indent=1, ensure_ascii=False) + "\n").splitlines(keepends=True)


def _read(value: Any, kind: str, beside: Json) -> Any:
    """A value of a type inside; `beside` is the struct in which users write it."""
    sign, below = kind[0], kind[1:]
    if sign == "@":
        return _struct(value or {}, below, beside)
    if value is None:
        return ZEROS.get(kind)
    if sign == "*":
        return _read(value, below, beside)
    if sign == "[":
        return [_read(each, below, {}) for each in value]
    if sign == "{":
        return Shown({name: _read(value[name], below, {}) for name in sorted(value)})
    return value


def _struct(value: Json, name: str, beside: Json) -> Shown:
    found = Shown()
    for field in _inside().types[name]:
        given = _at(beside, field.written[1:]) if field.written[0] == "^" else _at(value, field.written)
        held = _read({} if given is None and field.made else given, field.type, value)
        if held or not field.omitted:
            found[field.name] = held
    return found


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value

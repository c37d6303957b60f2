"""Can the server read this at all? Values of the wrong type in built-in kinds, in the server's words.

A built-in kind is decoded into Go structs before anything else looks at it; a string where a number belongs
is a bad request, not an invalid object. Custom kinds are judged by their schema (`validation.custom`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trimtab.kube.gojson import json_word
from trimtab.kube.quantity import BadQuantity, parse_quantity
from trimtab.kube.schemas.schema import INT_OR_STRING, MICRO_TIME, QUANTITY, TIME, Schema
from trimtab.kube.times import MICRO_LAYOUT, SECONDS_LAYOUT, time_problem

RANGES = {"uint8": (0, 255), "int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1)}
_BASE64 = re.compile(r"[A-Za-z0-9+/\r\n]*", re.ASCII)


class Problem(Struct, frozen=True):
    """One thing that cannot be read; a final one stops the reading at once."""

    text: str
    final: bool = False


def unreadable(manifest: Mapping[str, Any], schema: Schema) -> str | None:
    """Why the server cannot read an object of a built-in kind; None if it can."""
    problems = list(_struct(manifest, schema, ""))
    if not problems:
        return None
    found = next((problem for problem in problems if problem.final), problems[0])
    kind, version = manifest.get("kind", ""), str(manifest.get("apiVersion", "")).rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}: {found.text}'


def _struct(value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[Problem]:
    owner = schema.rules.get("x-go-struct", "")
    for name, each in value.items():
        field = schema.child(name)
        if field is None or each is None or field.go is None:
            continue
        steps = ".".join(step for step in (path, field.go.inside, name) if step)
        yield from _value(each, field, f"{owner}.{steps}", steps, field.go.type)


def _value(value: Any, schema: Schema, named: str, path: str, wanted: str) -> Iterator[Problem]:
    """What cannot be read of one value; `named` is how errors name its field."""
    if schema.preserves_unknown or value is None:
        return
    if schema.model in (QUANTITY, TIME, MICRO_TIME, INT_OR_STRING):
        yield from _special(value, schema, named)
    elif schema.type == "object":
        yield from _object(value, schema, named, path, wanted)
    elif schema.type == "array":
        yield from _array(value, schema, named, path, wanted)
    elif schema.format == "byte":
        yield from _bytes(value, named, wanted)
    else:
        yield from _scalar(value, schema, named, wanted)


def _object(value: Any, schema: Schema, named: str, path: str, wanted: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield _mismatch(value, named, wanted)
    elif schema.values is None:
        yield from _struct(value, schema, path)
    else:
        below = schema.values.go.type if schema.values.go is not None else _of_map(wanted, schema.values)
        for each in value.values():
            yield from _value(each, schema.values, named, path, below)


def _array(value: Any, schema: Schema, named: str, path: str, wanted: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield _mismatch(value, named, wanted)
        return
    for each in value:
        if schema.element is not None:
            yield from _value(each, schema.element, named, path, wanted.removeprefix("[]").removeprefix("*"))


def _of_map(wanted: str, values: Schema) -> str:
    """The Go type of a map's values."""
    found = re.fullmatch(r"map\[[^]]*\]\*?(.*)", wanted)
    return found.group(1) if found else values.type


# -- after a strategic merge patch ------------------------------------------------------------------------

_KINDS = {bool: "bool", int: "int64", float: "float64", str: "string", list: "slice", dict: "map"}
_WHOLE = {"string": str, "boolean": bool, "integer": int, "number": float}


def unconvertible(value: Any, schema: Schema, wanted: str = "") -> str | None:
    """Why the server cannot turn what an apply or a strategic merge patch made into an object, if so.

    It is not decoded as text but copied field by field, in the order of the fields, so the words are others.
    """
    if value is None or schema.preserves_unknown:
        return None
    if schema.model in (QUANTITY, TIME, MICRO_TIME, INT_OR_STRING):
        return next((problem.text for problem in _special(value, schema, "")), None)
    if schema.type == "object":
        return _uncopied_map(value, schema, wanted)
    if schema.type == "array":
        return _uncopied_list(value, schema, wanted)
    if schema.format == "byte":
        return _uncopied_bytes(value)
    return _uncopied_scalar(value, schema, wanted)


def _uncopied_map(value: Any, schema: Schema, wanted: str) -> str | None:
    if not isinstance(value, dict):
        what = "map" if schema.values is not None else "struct"
        return f"cannot restore {what} from{'' if what == 'map' else ':'} {_KINDS[type(value)]}"
    if schema.values is not None:
        below = _of_map(wanted, schema.values)
        found = (unconvertible(each, schema.values, below) for each in value.values())
    else:
        found = (
            unconvertible(value[name], field, field.go.type if field.go else "")
            for name, field in schema.fields()
            if name in value
        )
    return next((problem for problem in found if problem), None)


def _uncopied_list(value: Any, schema: Schema, wanted: str) -> str | None:
    if not isinstance(value, list):
        return f"cannot restore slice from {_KINDS[type(value)]}"
    below = wanted.removeprefix("[]").removeprefix("*")
    found = (unconvertible(each, schema.element, below) for each in value if schema.element is not None)
    return next((problem for problem in found if problem), None)


def _uncopied_bytes(value: Any) -> str | None:
    if not isinstance(value, str):
        return None if isinstance(value, list) else f"cannot restore slice from {_KINDS[type(value)]}"
    at = _base64_problem(value)
    return None if at is None else f"error decoding from json: illegal base64 data at input byte {at}"


def _uncopied_scalar(value: Any, schema: Schema, wanted: str) -> str | None:
    kind = _WHOLE.get(schema.type)
    number = type(value) in (int, float)
    if kind is None or type(value) is kind or (kind is float and number):
        return None
    if kind is int and isinstance(value, float):
        return None if value.is_integer() else f"cannot convert float64 to {wanted}"
    if kind is str and type(value) is int:
        return f"cannot convert int64 to {wanted}"
    plain = {"string": "string", "boolean": "bool", "number": "float64"}.get(schema.type, schema.format)
    return f"unrecognized type: {plain}"


# -- single values ----------------------------------------------------------------------------------------


def _scalar(value: Any, schema: Schema, named: str, wanted: str) -> Iterator[Problem]:
    match schema.type:
        case "string":
            fits = isinstance(value, str)
        case "boolean":
            fits = isinstance(value, bool)
        case "number":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            yield from _integer(value, schema, named, wanted)
            return
        case _:
            fits = True
    if not fits:
        yield _mismatch(value, named, wanted)


def _integer(value: Any, schema: Schema, named: str, wanted: str) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield _mismatch(value, named, wanted)
        return
    least, most = RANGES.get(schema.format, RANGES["int64"])
    if isinstance(value, float) or not least <= value <= most:
        told = f"json: cannot unmarshal number {value} into Go {_place(named)} of type {wanted}"
        yield Problem(told)


def _special(value: Any, schema: Schema, named: str) -> Iterator[Problem]:
    """Values that read themselves: quantities, times, int-or-strings."""
    if schema.model == QUANTITY:
        yield from _quantity(value)
    elif schema.model == INT_OR_STRING:
        if not isinstance(value, str):
            yield from (
                Problem(problem.text, final=True)
                for problem in _integer(value, Schema({"type": "integer", "format": "int32"}), named, "int32")
            )
    elif not isinstance(value, str):
        yield Problem(_mismatch(value, named, "string").text, final=True)
    else:
        problem = time_problem(value, MICRO_LAYOUT if schema.model == MICRO_TIME else SECONDS_LAYOUT)
        if problem:
            yield Problem(problem, final=True)


def _quantity(value: Any) -> Iterator[Problem]:
    try:
        parse_quantity(value if isinstance(value, str | int | float) and not isinstance(value, bool) else "{")
    except BadQuantity as exc:
        yield Problem(str(exc), final=True)


def _bytes(value: Any, named: str, wanted: str) -> Iterator[Problem]:
    if isinstance(value, list):
        byte = Schema({"type": "integer", "format": "uint8"})
        for each in value:
            yield from () if each is None else _integer(each, byte, named, "uint8")
        return
    if not isinstance(value, str):
        yield _mismatch(value, named, wanted)
        return
    at = _base64_problem(value)
    if at is not None:
        yield Problem(f"illegal base64 data at input byte {at}")


def _base64_problem(text: str) -> int | None:
    """Where base64 stops being base64, counted as the server counts."""
    good = len(_BASE64.match(text)[0])  # type: ignore[index]  # the pattern matches the empty text, too
    digits = len(re.sub(r"[\r\n]", "", text[:good]))
    padding = text[good:].rstrip("\r\n")
    if padding == "=" * (-digits % 4) and digits % 4 != 1:
        return None
    if padding and padding[0] != "=":
        return good
    return good - digits % 4 if not padding else len(text)


def _mismatch(value: Any, named: str, wanted: str) -> Problem:
    return Problem(f"json: cannot unmarshal {json_word(value)} into Go {_place(named)} of type {wanted}")


def _place(named: str) -> str:
    """What was to be filled: a field, or just a value, where what is copied is no field's text."""
    return f"struct field {named}" if named else "value"

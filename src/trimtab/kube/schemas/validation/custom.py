"""What is wrong with an object of a custom kind, by the schema of its CRD.

Objects are expected to be pruned and defaulted already. CEL rules (`x-kubernetes-validations`) are another
matter and not judged here.
"""

from __future__ import annotations

import base64
import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from trimtab.kube.merging.typed import same
from trimtab.kube.patterns import is_found
from trimtab.kube.schemas.schema import Schema
from trimtab.kube.schemas.validation.causes import (
    Cause,
    Causes,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from trimtab.kube.schemas.validation.metadata import metadata
from trimtab.kube.schemas.validation.names import dns_1035_label, follows, path_segment
from trimtab.kube.times import parse_time

Json = Mapping[str, Any]
NOWHERE = "<nil>"  # where the server has no field to blame
LARGEST_WHOLE = (1 << 53) - 1  # a float above this may stand for several numbers
NEARLY = 1e-9


def custom(manifest: Json, schema: Schema) -> Causes:
    """What is wrong with everything but the metadata of a new custom resource."""
    whole = _without_metadata(manifest)
    yield from _value(whole, schema, "")
    yield from _embedded(whole, schema, "")
    yield from _lists(whole, schema, "")


def custom_value(value: Any, schema: Schema) -> Causes:
    """What is wrong with a value that may stand somewhere in a custom resource, such as a default."""
    found = [
        Cause(cause.field.removeprefix("."), cause.reason, cause.message)
        for cause in _embedded(value, schema, "")
    ]
    yield from found or _value(value, schema, "")


def custom_update(new: Json, old: Json, schema: Schema) -> Causes:
    """The same after an update: what was wrong before and is still the same may stay."""
    whole, before = _without_metadata(new), _without_metadata(old)
    yield from _value(whole, schema, "", before)
    yield from _embedded(whole, schema, "")
    if not any(_lists(before, schema, "")):
        yield from _lists(whole, schema, "")


def custom_status(new: Json, old: Json, schema: Schema) -> Causes:
    """The same after a write of the status alone; messages call its fields by their names within it."""
    declared = schema.child("status")
    if "status" in new and declared is not None:
        for cause in _value(new["status"], declared, "", old.get("status")):
            below = "" if cause.field in ("", NOWHERE) else f".{cause.field}"
            yield Cause(f"status{below}", cause.reason, cause.message)
    whole, before = _without_metadata(new), _without_metadata(old)
    if not any(_lists(before, schema, "")):
        yield from _lists(whole, schema, "")


def _without_metadata(manifest: Json) -> dict[str, Any]:
    return {name: value for name, value in manifest.items() if name != "metadata"}


# -- types -----------------------------------------------------------------------------------------------


def type_of(value: Any) -> str:
    """The JSON schema type of a value, as messages name it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return "integer"
    if isinstance(value, int | float):
        return "integer" if _is_whole(value) else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _is_whole(value: float) -> bool:
    """Whether the server takes a number with a fraction for a whole one: nearly, and not a large one."""
    if not -LARGEST_WHOLE <= value <= LARGEST_WHOLE:
        return False
    whole = math.trunc(value)
    return value == whole or abs(value - whole) < NEARLY * (abs(value) + abs(whole))


def _is_of_type(value: Any, schema: Schema) -> bool:
    if value is None and schema.nullable:
        return True
    found = type_of(value)
    if schema.int_or_string:
        return found in ("integer", "string")
    return not schema.type or found == schema.type or (schema.type == "number" and found == "integer")


def _value(value: Any, schema: Schema, path: str, old: Any = None) -> Causes:
    """What is wrong with a value; nothing, if it is what it was before."""
    if old is not None and same(value, old):
        return
    if not _is_of_type(value, schema):
        wanted = "integer,string" if schema.int_or_string else schema.type
        found = type_of(value)
        yield from _of_another_type(value, schema, wanted, found, path)
    if schema.enum and value not in schema.enum:
        yield not_supported(path, value, schema.enum)
    if value is None or not _is_of_type(value, schema):
        return
    yield from _limits(value, schema, path, old)
    yield from _junctors(value, schema, path)


def _of_another_type(value: Any, schema: Schema, wanted: str, found: str, path: str) -> Causes:
    """Fractions where whole numbers are wanted are blamed by their format, and mostly once more."""
    fraction = wanted == "integer" and found == "number"
    if fraction and schema.format:
        wanted, found = schema.format, "float64"
    yield type_invalid(path, found, f'{path} in body must be of type {wanted}: "{found}"')
    if fraction and not (float(value).is_integer() and -(1 << 63) <= value < 1 << 63):
        form = f"with format {schema.format}" if schema.format else "(default format)"
        yield invalid(NOWHERE, "", f"Checked value must be of type integer {form} in {path}")


def _limits(value: Any, schema: Schema, path: str, old: Any) -> Causes:
    if isinstance(value, str):
        yield from _text(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, path)
    elif isinstance(value, list):
        yield from _list(value, schema, path, old)
    elif isinstance(value, dict):
        yield from _object(value, schema, path, old if isinstance(old, dict) and not schema.atomic else {})


def _text(value: str, schema: Schema, path: str) -> Causes:
    rules = schema.rules
    if "maxLength" in rules and len(value) > rules["maxLength"]:
        yield too_long(path, rules["maxLength"])
    if len(value) < rules.get("minLength", 0):
        yield invalid(path, value, f"{path} in body should be at least {rules['minLength']} chars long")
    if "pattern" in rules and not is_found(rules["pattern"], value):
        yield invalid(path, value, f"{path} in body should match '{rules['pattern']}'")
    check = FORMATS.get(schema.format)
    if check is not None and not check(value):
        yield type_invalid(path, value, f'{path} in body must be of type {schema.format}: "{value}"')


def _number(value: float, schema: Schema, path: str) -> Causes:
    rules = schema.rules
    yield from _multiple(value, rules.get("multipleOf"), path)
    for name, excluded, word, beyond in (
        ("maximum", "exclusiveMaximum", "less than", _above),
        ("minimum", "exclusiveMinimum", "greater than", _below),
    ):
        limit, strict = rules.get(name), rules.get(excluded, False)
        if limit is not None and (beyond(value, limit) or (strict and value == limit)):
            told = word if strict else f"{word} or equal to"
            yield invalid(path, _told(value), f"{path} in body should be {told} {limit}")
    largest = {"int32": 31, "int64": 63}.get(schema.format)
    if largest is not None and not -(1 << largest) <= value < 1 << largest:
        told = f"Checked value must be of type integer with format {schema.format} in {path}"
        yield invalid(NOWHERE, "", told)


def _told(value: float) -> float:
    """A number as messages spell it: without a fraction that is none."""
    return int(value) if float(value).is_integer() and abs(value) < 1e21 else value


def _multiple(value: float, factor: float | None, path: str) -> Causes:
    """Whole numbers are divided by whole ones alone: what a factor has behind the point is cut off."""
    if factor is None:
        return
    whole = isinstance(value, int)
    divisor = math.trunc(factor) if whole else factor
    if divisor <= 0:
        yield invalid(path, divisor, f"factor MultipleOf declared for {path} must be positive: {divisor}")
    elif value % divisor if whole else not _is_whole(1 / factor * value if factor < 1 else value / factor):
        yield invalid(path, _told(value), f"{path} in body should be a multiple of {divisor}")


def _above(value: float, limit: float) -> bool:
    return value > limit


def _below(value: float, limit: float) -> bool:
    return value < limit


def _list(value: list[Any], schema: Schema, path: str, old: Any) -> Causes:
    rules = schema.rules
    if "maxItems" in rules and len(value) > rules["maxItems"]:
        yield too_many(path, len(value), rules["maxItems"])
    if len(value) < rules.get("minItems", 0):
        yield invalid(path, len(value), f"{path} in body should have at least {rules['minItems']} items")
    for number, each in enumerate(value):
        if schema.element is not None:
            yield from _value(each, schema.element, f"{path}[{number}]", _former(each, schema, old))


def _former(element: Any, schema: Schema, old: Any) -> Any:
    """The element of the same key in the list before; only lists that are maps tell."""
    if schema.list_type != "map" or not isinstance(old, list) or not isinstance(element, dict):
        return None
    same_key = (
        each for each in old if isinstance(each, dict) and _key(each, schema) == _key(element, schema)
    )
    return next(same_key, None)


def _object(value: dict[str, Any], schema: Schema, path: str, old: dict[str, Any]) -> Causes:
    rules = schema.rules
    if "maxProperties" in rules and len(value) > rules["maxProperties"]:
        yield too_many(path, len(value), rules["maxProperties"])
    if len(value) < rules.get("minProperties", 0):
        yield invalid(
            path, len(value), f"{path} in body should have at least {rules['minProperties']} properties"
        )
    for name in schema.required:
        if name not in value:
            yield required(_below_path(path, name))
    for name, each in value.items():
        field = schema.declared(name)
        if field is not None and not (not path and name in ("apiVersion", "kind", "metadata")):
            yield from _value(each, field, _below_path(path, name), old.get(name))


def _below_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# -- oneOf and its kin -----------------------------------------------------------------------------------


def _junctors(value: Any, schema: Schema, path: str) -> Causes:
    rules = schema.rules
    if "anyOf" in rules and not schema.int_or_string:
        yield from _any_of(_branches(value, rules["anyOf"], path), path)
    if "oneOf" in rules:
        yield from _one_of(_branches(value, rules["oneOf"], path), path)
    if "allOf" in rules and not schema.int_or_string:
        yield from _all_of(_branches(value, rules["allOf"], path), path)
    if "not" in rules and not _branches(value, [rules["not"]], path)[0]:
        yield invalid(NOWHERE, "", f'"{path}" must not validate the schema (not)')


def _branches(value: Any, branches: list[Json], path: str) -> list[list[Cause]]:
    """What is wrong by each of several schemas."""
    return [list(_value(value, Schema(branch), path)) for branch in branches]


def _any_of(wrong: list[list[Cause]], path: str) -> Causes:
    if all(wrong):
        yield invalid(NOWHERE, "", f'"{path}" must validate at least one schema (anyOf)')
        yield from min(wrong, key=len)


def _one_of(wrong: list[list[Cause]], path: str) -> Causes:
    right = sum(not each for each in wrong)
    if right != 1:
        found = f"Found {right} valid alternatives" if right else "Found none valid"
        yield invalid(NOWHERE, "", f'"{path}" must validate one and only one schema (oneOf). {found}')
    if not right:
        yield from min(wrong, key=len)


def _all_of(wrong: list[list[Cause]], path: str) -> Causes:
    for each in wrong:
        yield from each
    if any(wrong):
        none = ". None validated" if all(wrong) else ""
        yield invalid(NOWHERE, "", f'"{path}" must validate all the schemas (allOf){none}')


# -- lists that are sets or maps, embedded objects -------------------------------------------------------


def _lists(value: Any, schema: Schema | None, path: str) -> Causes:
    """Elements that stand twice in a list where each may stand once."""
    if schema is None:
        return
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _lists(each, schema.child(name), _below_path(path, name))
    elif isinstance(value, list):
        yield from _elements(value, schema, path)
        for number, each in enumerate(value):
            yield from _lists(each, schema.element, f"{path}[{number}]")


def _elements(value: list[Any], schema: Schema, path: str) -> Causes:
    if schema.list_type not in ("set", "map"):
        return
    for number, each in enumerate(value):
        if schema.list_type == "map" and not isinstance(each, dict | None):
            told = "must be an object for an array of list-type map"
            yield invalid(f"{path}[{number}]", each, told)
            return
    seen: list[Any] = []
    told_of: list[Any] = []
    for number, each in enumerate(value):
        key = _key(each, schema)
        if key in seen and key not in told_of:
            yield duplicate(f"{path}[{number}]", key)
            told_of.append(key)
        seen.append(key)


def _key(element: Any, schema: Schema) -> Any:
    if schema.list_type == "map":
        return {name: element[name] for name in schema.list_keys if name in element} if element else {}
    return element


def _embedded(value: Any, schema: Schema | None, path: str) -> Causes:
    """Objects inside the object must look like objects."""
    if schema is None:
        return
    if isinstance(value, dict):
        if schema.embedded:
            yield from _embedded_head(value, path)
        for name, each in value.items():
            yield from _embedded(each, schema.child(name), _below_path(path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _embedded(each, schema.element, f"{path}[{number}]")


def _embedded_head(value: dict[str, Any], path: str) -> Causes:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield required(f"{path}.{name}")
    for name, each in value.items():
        if name in ("apiVersion", "kind"):
            yield from _type_name(name, each, f"{path}.{name}")
        elif name == "metadata" and isinstance(each, dict):
            named = {**each, "name": each.get("name") or "fakename"}  # it may have none
            for cause in metadata(named, path_segment, namespaced=bool(each.get("namespace"))):
                yield Cause(f"{path}.{cause.field}", cause.reason, cause.message)


def _type_name(name: str, text: Any, path: str) -> Causes:
    if not isinstance(text, str):
        yield invalid(path, text, "must be a string")
    elif not text:
        yield invalid(path, text, "must not be empty")
    elif name == "apiVersion" and text.count("/") > 1:
        yield invalid(path, text, f"unexpected GroupVersion string: {text}")
    elif name == "kind" and (wrong := dns_1035_label(text.lower())):
        yield invalid(path, text, f"may have mixed case, but should otherwise match: {','.join(wrong)}")


# -- formats ---------------------------------------------------------------------------------------------


def _readable(read: Callable[[str], Any]) -> Callable[[str], bool]:
    """Whether a text can be read by a function."""

    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _uri(text: str) -> None:
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(text)


def _cidr(text: str) -> None:
    ipaddress.ip_interface(text if "/" in text else "")


def _duration(text: str) -> bool:
    """Go's durations, or anything that holds a number with a unit of time."""
    return follows(GO_DURATION, text) or any(
        _is_unit(match[1].lower()) for match in re.finditer(r"[0-9]+\s*([A-Za-zµ]+)", text)
    )


def _is_unit(word: str) -> bool:
    return word in UNITS or word.startswith(LONG_UNITS)


GO_DURATION = r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
UNITS = frozenset({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w"})
LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": _readable(lambda text: base64.b64decode(text, validate=True)),
    "cidr": _readable(_cidr),
    "date": _readable(date.fromisoformat),
    "date-time": _readable(parse_time),
    "duration": _duration,
    "email": lambda text: follows(r"[^@\s<>]+@[^@\s<>]+", text),
    "hostname": lambda text: len(text) <= 255 and follows(rf"{_HOST}(?:\.{_HOST})*\.?", text),
    "ipv4": _readable(ipaddress.IPv4Address),
    "ipv6": _readable(ipaddress.IPv6Address),
    "mac": lambda text: follows(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}", text),
    "uri": _readable(_uri),
    "uuid": _readable(UUID),
    "uuid3": _readable(UUID),
    "uuid4": _readable(UUID),
    "uuid5": _readable(UUID),
}

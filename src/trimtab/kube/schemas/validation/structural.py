"""Is the schema of a CRD structural? The rules that make pruning and defaulting possible.

Only the common violations are known, in the server's words; a schema that passes here may still be refused
by a real server (its CEL rules, its cost).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.patterns import pattern_problem
from trimtab.kube.schemas.validation.causes import (
    Causes,
    forbidden,
    invalid,
    not_supported,
    required,
    type_invalid,
)
from trimtab.kube.schemas.validation.custom import type_of

Json = Mapping[str, Any]
TYPES = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES = ("atomic", "set", "map")
JUNCTORS = ("allOf", "anyOf", "oneOf")
# What may only be said outside of allOf, anyOf, oneOf and not.
OUTSIDE = ("type", "default", "title", "description", "nullable", "additionalProperties")
PLACES = {"": "at the root", "field": "for specified object fields", "item": "for specified array items"}


def structural(schema: Json, path: str) -> Causes:
    """What keeps a schema from being structural."""
    yield from _node(schema, path, place="")
    yield from _junctors(schema, schema, path)


def _node(schema: Json, path: str, *, place: str) -> Causes:
    yield from _forbidden_words(schema, path)
    yield from _type(schema, path, place)
    yield from _list(schema, path)
    if schema.get("properties") and isinstance(schema.get("additionalProperties"), dict):
        yield forbidden(
            f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    yield from _embedded(schema, path)
    yield from _default(schema, path)
    for name, field in (schema.get("properties") or {}).items():
        if not place and name == "metadata":
            yield from _metadata(field, f"{path}.properties[{name}]")
        yield from _node(field, f"{path}.properties[{name}]", place="field")
    if isinstance(schema.get("items"), dict):
        yield from _node(schema["items"], f"{path}.items", place="item")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _node(schema["additionalProperties"], f"{path}.additionalProperties", place="field")


def _forbidden_words(schema: Json, path: str) -> Causes:
    if schema.get("$ref"):
        yield forbidden(f"{path}.$ref", "$ref is not supported")
    if schema.get("uniqueItems"):
        told = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", told)
    pattern = schema.get("pattern")
    if pattern:
        problem = pattern_problem(pattern)
        if problem:
            told = f"must be a valid regular expression, but isn't: {problem}"
            yield invalid(f"{path}.pattern", pattern, told)


def _type(schema: Json, path: str, place: str) -> Causes:
    kind = schema.get("type", "")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not (place and (free or schema.get("$ref"))):
        yield required(f"{path}.type", f"must not be empty {PLACES[place]}")
    elif not place and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    elif kind and kind not in TYPES:
        yield not_supported(f"{path}.type", kind, TYPES)


def _list(schema: Json, path: str) -> Causes:
    if schema.get("type") == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    if kind is not None and kind not in LIST_TYPES:
        yield not_supported(f"{path}.x-kubernetes-list-type", kind, LIST_TYPES)
    if kind == "map" and not keys:
        yield required(
            f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map"
        )
    items = schema.get("items") or {}
    for key in keys:
        field = (items.get("properties") or {}).get(key, {})
        if key not in (items.get("required") or ()) and "default" not in field:
            told = (
                "this property is in x-kubernetes-list-map-keys, "
                "so it must have a default or be a required property"
            )
            yield required(f"{path}.items.properties[{key}].default", told)


def _embedded(schema: Json, path: str) -> Causes:
    kept = schema.get("properties") or schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("x-kubernetes-embedded-resource") and not kept:
        told = (
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", told)


def _default(schema: Json, path: str) -> Causes:
    default, kind = schema.get("default"), schema.get("type", "")
    if default is None or not kind:
        return
    found = type_of(default)
    if found != kind and not (kind == "number" and found == "integer"):
        yield type_invalid(f"{path}.default", found, f' in body must be of type {kind}: "{found}"')


def _metadata(schema: Json, path: str) -> Causes:
    allowed = {"name", "generateName"}
    if set(schema.get("properties") or ()) - allowed:
        told = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        yield forbidden(path, told)


def _junctors(schema: Json, whole: Json, path: str) -> Causes:
    """Alternatives may only narrow what the schema itself says."""
    for junctor in JUNCTORS:
        for number, branch in enumerate(schema.get(junctor) or ()):
            yield from _branch(branch, whole, path, f"{path}.{junctor}[{number}]")
    if schema.get("not"):
        yield from _branch(schema["not"], whole, path, f"{path}.not")
    for name, field in (schema.get("properties") or {}).items():
        if isinstance(field, dict):
            yield from _junctors(field, field, f"{path}.properties[{name}]")
    if isinstance(schema.get("items"), dict):
        yield from _junctors(schema["items"], schema["items"], f"{path}.items")


def _branch(branch: Json, whole: Json, path: str, place: str) -> Causes:
    for word in OUTSIDE:
        if branch.get(word) and not whole.get("x-kubernetes-int-or-string"):
            yield forbidden(f"{place}.{word}", "must be empty to be structural")
    for name, field in (branch.get("properties") or {}).items():
        known = (whole.get("properties") or {}).get(name)
        if known is None:
            told = f"because it is defined in {place}.properties[{name}]"
            yield required(f"{path}.properties[{name}]", told)
        else:
            yield from _branch(field, known, f"{path}.properties[{name}]", f"{place}.properties[{name}]")

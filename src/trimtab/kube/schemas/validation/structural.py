"""Is the schema of a CRD structural? The rules that make pruning and defaulting possible.

What else may be wrong with a schema is the business of `openapi`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.patterns import pattern_problem
from trimtab.kube.schemas.validation.causes import Cause, Causes, forbidden, invalid, required

Json = Mapping[str, Any]
PLACES = {"root": "at the root", "field": "for specified object fields", "item": "for specified array items"}
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
# What may only be said outside of allOf, anyOf, oneOf and not, and how its absence is called.
OUTSIDE = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
# Words that a structural schema has no form for; another rule refuses them.
UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def is_representable(schema: Any) -> bool:
    """Whether a schema could be structural at all: without words that have no place in one."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        if not isinstance(each, dict):
            continue
        if any(each.get(word) for word in UNSUPPORTED) or isinstance(each.get("items"), list):
            return False
        waiting += [each.get(word) for word in ("items", "additionalProperties", "not")]
        waiting += [one for word in ("allOf", "anyOf", "oneOf") for one in each.get(word) or ()]
        waiting += (each.get("properties") or {}).values()
    return True


def structural(schema: Json, path: str) -> tuple[Cause, ...]:
    """What keeps a schema from being structural, in the order of the words."""
    found = [*_node(schema, path, "root"), *_complete(schema, schema, path, path)]
    return tuple(sorted(found, key=str))


def _fields(schema: Json) -> Mapping[str, Any]:
    return schema.get("properties") or {}


def _node(schema: Json, path: str, place: str) -> Causes:
    items, more = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _node(items, f"{path}.items", "item")
    for name, field in _fields(schema).items():
        yield from _node(field, f"{path}.properties[{name}]", "field")
    if more is not None and place == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(more, dict):
        yield from _node(more, f"{path}.additionalProperties", "field")
    yield from _exclusions(schema, path)
    yield from _alternatives(schema, path)
    yield from _type(schema, path, place)
    yield from _meta(schema, path, place)


def _exclusions(schema: Json, path: str) -> Causes:
    """What does not go with a value that may be a number or a text."""
    if schema.get("x-kubernetes-int-or-string"):
        for word in ("preserve-unknown-fields", "embedded-resource"):
            if schema.get(f"x-kubernetes-{word}"):
                told = "must be false if x-kubernetes-int-or-string is true"
                yield invalid(f"{path}.x-kubernetes-{word}", True, told)


def _alternatives(schema: Json, path: str, *, plain: bool = False) -> Causes:
    """What alternatives must not say; those that spell out int-or-string may say their types."""
    spelt = not plain and schema.get("anyOf") == INT_OR_STRING
    for number, each in enumerate(() if spelt else schema.get("anyOf") or ()):
        yield from _nested(each, f"{path}.anyOf[{number}]")
    for number, each in enumerate(schema.get("allOf") or ()):
        first = not plain and not number and each.get("anyOf") == INT_OR_STRING
        yield from _nested(each, f"{path}.allOf[{number}]", spelt=first)
    for number, each in enumerate(schema.get("oneOf") or ()):
        yield from _nested(each, f"{path}.oneOf[{number}]")
    if isinstance(schema.get("not"), dict):
        yield from _nested(schema["not"], f"{path}.not")
    if schema.get("pattern") and (problem := pattern_problem(schema["pattern"])):
        told = f"must be a valid regular expression, but isn't: {problem}"
        yield invalid(f"{path}.pattern", schema["pattern"], told)


def _nested(schema: Json, path: str, *, spelt: bool = False) -> Causes:
    without = {name: each for name, each in schema.items() if name != "anyOf"} if spelt else schema
    yield from _alternatives(without, path, plain=True)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    for name, field in _fields(schema).items():
        yield from _nested(field, f"{path}.properties[{name}]")
    for word, state in OUTSIDE.items():
        said = schema.get(word)
        if said or (said is not None and state == "undefined"):
            yield forbidden(f"{path}.{word}", f"must be {state} to be structural")
    if "metadata" in _fields(schema):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _type(schema: Json, path: str, place: str) -> Causes:
    kind = schema.get("type") or ""
    embedded = schema.get("x-kubernetes-embedded-resource")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if embedded and kind != "object":
        told = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", kind, told) if kind else required(f"{path}.type", told)
    elif not kind and not free:
        yield required(f"{path}.type", f"must not be empty {PLACES[place]}")
    if embedded and schema.get("additionalProperties") is not None:
        told = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", told)
    if place == "root" and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if embedded and not (schema.get("x-kubernetes-preserve-unknown-fields") or _fields(schema)):
        told = (
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", told)


def _meta(schema: Json, path: str, place: str) -> Causes:
    """What every object has anyway can hardly be restricted."""
    whole = place == "root" or schema.get("x-kubernetes-embedded-resource")
    fields = _fields(schema)
    for name in ("kind", "apiVersion"):
        if whole and name in fields and fields[name].get("type") != "string":
            where = f"{path}.properties[{name}].type"
            yield invalid(where, fields[name].get("type") or "", "must be string")
    if "metadata" not in fields:
        return
    own = fields["metadata"]
    if whole and own.get("type") != "object":
        yield invalid(f"{path}.properties[metadata].type", own.get("type") or "", "must be object")
    if place == "root" and not _restricts_names_alone(own):
        told = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        yield forbidden(f"{path}.properties[metadata]", told)


def _restricts_names_alone(metadata: Json) -> bool:
    fields = set(_fields(metadata))
    said = {name for name, value in metadata.items() if value} - {"type", "default", "properties"}
    return not said and fields <= {"name", "generateName"}


def _complete(schema: Json, whole: Json, path: str, place: str) -> Causes:
    """Alternatives may only narrow what the schema itself says."""
    if isinstance(schema.get("not"), dict):
        yield from _covered(schema["not"], whole, path, f"{place}.not")
    for junctor in ("allOf", "anyOf", "oneOf"):
        for number, branch in enumerate(schema.get(junctor) or ()):
            yield from _covered(branch, whole, path, f"{place}.{junctor}[{number}]")


def _covered(branch: Json, whole: Json | None, path: str, place: str) -> Causes:
    if whole is None:
        yield required(path, f"because it is defined in {place}")
        return
    yield from _complete(branch, whole, path, place)
    if isinstance(branch.get("items"), dict):
        items = whole.get("items")
        yield from _covered(branch["items"], items, f"{path}.items", f"{place}.items")
    for name, field in _fields(branch).items():
        where, there = f"{path}.properties[{name}]", f"{place}.properties[{name}]"
        yield from _covered(field, _fields(whole).get(name), where, there)

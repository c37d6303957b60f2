"""What is wrong with the OpenAPI schema of a CRD, beside its structure: words, list types, defaults.

CEL rules (`x-kubernetes-validations`) and their cost are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.pruning import pruned_value
from trimtab.kube.schemas.schema import Schema
from trimtab.kube.schemas.validation.causes import (
    Cause,
    Causes,
    forbidden,
    invalid,
    not_supported,
    required,
)
from trimtab.kube.schemas.validation.custom import NOWHERE, custom_value
from trimtab.kube.schemas.validation.structural import is_representable, structural

Json = Mapping[str, Any]
TYPES = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES = ("atomic", "set", "map")
MAP_TYPES = ("atomic", "granular")
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
META = frozenset({"metadata", "kind", "apiVersion"})
UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
#: what may stand at the root of a schema whose status is written apart
AT_THE_ROOT = (
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
)


class _Where(Struct, frozen=True, kw_only=True):
    """Where in a schema something is said, as far as that matters."""

    root: bool = False
    inside_meta: bool = False
    no_default: str = ""  # why there may be none


def schema_causes(schema: Json, path: str, *, has_status: bool) -> Causes:
    """What is wrong with the schema of one version, or of all of them."""
    if has_status:
        yield from _root_words(schema, path)
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if is_representable(schema):
        found = structural(schema, path)
        yield from found or _defaults(schema, path)
    yield from _node(schema, path, _Where(root=True))


def _root_words(schema: Json, path: str) -> Causes:
    """Where the status is judged by itself, little may be said about the whole."""
    if schema.get("type") not in ("object", None, ""):
        told = 'only "object" is allowed as the type at the root of the schema'
        where = f"{path}.type"
        yield invalid(where, schema["type"], f"{told} if the status subresource is enabled")
        return
    said = [_go_name(name) for name, value in schema.items() if value not in (None, False, "", [], {})]
    if any(name not in AT_THE_ROOT for name in said):
        told = f"only [{' '.join(AT_THE_ROOT)}] fields are allowed at the root of the schema"
        yield invalid(path, shown_schema(schema), f"{told} if the status subresource is enabled")


def _go_name(word: str) -> str:
    """The name of a word in the server's own type."""
    if word.startswith("x-kubernetes-"):
        return "X" + "".join(part.capitalize() for part in word.removeprefix("x-kubernetes-").split("-"))
    return word[:1].upper() + word[1:]


# -- a schema in the server's own type --------------------------------------------------------------------

_TEXT, _FLAG, _NONE = ("", False, None)
#: the fields of the server's type, in its order, with what stands there if nothing is said
WORDS: Mapping[str, Any] = {
    "id": _TEXT,
    "$schema": _TEXT,
    "$ref": _NONE,
    "description": _TEXT,
    "type": _TEXT,
    "nullable": _FLAG,
    "format": _TEXT,
    "title": _TEXT,
    "default": _NONE,
    "maximum": _NONE,
    "exclusiveMaximum": _FLAG,
    "minimum": _NONE,
    "exclusiveMinimum": _FLAG,
    "maxLength": _NONE,
    "minLength": _NONE,
    "pattern": _TEXT,
    "maxItems": _NONE,
    "minItems": _NONE,
    "uniqueItems": _FLAG,
    "multipleOf": _NONE,
    "enum": _NONE,
    "maxProperties": _NONE,
    "minProperties": _NONE,
    "required": _NONE,
    "items": _NONE,
    "allOf": _NONE,
    "oneOf": _NONE,
    "anyOf": _NONE,
    "not": _NONE,
    "properties": _NONE,
    "additionalProperties": _NONE,
    "patternProperties": _NONE,
    "dependencies": _NONE,
    "additionalItems": _NONE,
    "definitions": _NONE,
    "externalDocs": _NONE,
    "example": _NONE,
    "x-kubernetes-preserve-unknown-fields": _NONE,
    "x-kubernetes-embedded-resource": _FLAG,
    "x-kubernetes-int-or-string": _FLAG,
    "x-kubernetes-list-map-keys": _NONE,
    "x-kubernetes-list-type": _NONE,
    "x-kubernetes-map-type": _NONE,
    "x-kubernetes-validations": _NONE,
}
_OWN_NAMES = {"id": "ID", "$schema": "Schema", "$ref": "Ref"}


def shown_schema(schema: Json) -> Shown:
    """A schema as the server shows its own type: every word, said or not."""
    return Shown(
        {
            _OWN_NAMES.get(word) or _go_name(word): _shown_word(word, schema.get(word), empty)
            for word, empty in WORDS.items()
        }
    )


def _shown_word(word: str, said: Any, empty: Any) -> Any:
    if said is None:
        return empty
    match word:
        case "allOf" | "oneOf" | "anyOf":
            return [shown_schema(each) for each in said]
        case "not":
            return shown_schema(said)
        case "properties":
            return {name: shown_schema(each) for name, each in said.items()}
        case "items":
            return Shown({"Schema": shown_schema(said), "JSONSchemas": None})
        case "additionalProperties":
            inner = shown_schema(said) if isinstance(said, dict) else None
            return Shown({"Allows": said is not False, "Schema": inner})
        case _:
            return said


# -- words ------------------------------------------------------------------------------------------------


def _node(schema: Json, path: str, where: _Where) -> Causes:
    yield from _words(schema, path, where)
    if schema.get("uniqueItems"):
        told = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", told)
    yield from _below(schema, path, where)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        told = "must be true or undefined"
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, told)
    yield from _map_type(schema, path)
    yield from _list_type(schema, path)
    yield from _keys(schema, path)
    yield from _items_of_sets(schema, path)
    for number, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule(rule, f"{path}.x-kubernetes-validations[{number}]")


def _rule(rule: Json, path: str) -> Causes:
    """What is wrong with a rule, apart from what it says."""
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif ("\n" in text.strip() or "\r" in text.strip()) and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression, reason = rule.get("messageExpression") or "", rule.get("reason")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if reason is not None and reason not in REASONS:
        yield not_supported(f"{path}.reason", reason, REASONS)


def _words(schema: Json, path: str, where: _Where) -> Causes:
    kind = schema.get("type") or ""
    if kind and kind not in TYPES:
        yield not_supported(f"{path}.type", kind, TYPES)
    if schema.get("default") is not None and where.no_default:
        yield forbidden(f"{path}.default", f"must not be set {where.no_default}")
    for word in UNSUPPORTED:
        if schema.get(word):
            yield forbidden(f"{path}.{word}", f"{word} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if where.inside_meta and schema.get("x-kubernetes-embedded-resource"):
        told = "must not be used inside of resource meta"
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", told)


def _below(schema: Json, path: str, where: _Where) -> Causes:
    inner = msgspec.structs.replace(where, root=False)
    more = schema.get("additionalProperties")
    if more is not None and more is not True and schema.get("properties"):
        told = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", told)
    if isinstance(more, dict):
        told = "inside additionalProperties applying to object metadata"
        values = msgspec.structs.replace(inner, no_default=told) if where.inside_meta else inner
        yield from _node(more, f"{path}.additionalProperties", values)
    for name, field in (schema.get("properties") or {}).items():
        yield from _node(field, f"{path}.properties[{name}]", _within(schema, name, where))
    if isinstance(schema.get("not"), dict):
        yield from _node(schema["not"], f"{path}.not", inner)
    for junctor in ("allOf", "oneOf", "anyOf"):
        for number, each in enumerate(schema.get(junctor) or ()):
            yield from _node(each, f"{path}.{junctor}[{number}]", inner)
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _node(items, f"{path}.items", inner)


def _within(schema: Json, name: str, where: _Where) -> _Where:
    inner = msgspec.structs.replace(where, root=False)
    if name not in META or not (where.root or schema.get("x-kubernetes-embedded-resource")):
        return inner
    told = f"in top-level {name}" if where.root else inner.no_default
    return msgspec.structs.replace(inner, inside_meta=True, no_default=told)


# -- lists and maps ---------------------------------------------------------------------------------------


def _must_be(wanted: str, schema: Json, path: str, word: str) -> Causes:
    """A word that only goes with one type."""
    kind, told = schema.get("type") or "", f"must be {wanted} if {word} is specified"
    if kind != wanted:
        yield invalid(f"{path}.type", kind, told) if kind else required(f"{path}.type", told)


def _map_type(schema: Json, path: str) -> Causes:
    word = "x-kubernetes-map-type"
    said = schema.get(word)
    if said is None:
        return
    yield from _must_be("object", schema, path, word)
    if said not in MAP_TYPES:
        yield not_supported(f"{path}.{word}", said, MAP_TYPES)


def _list_type(schema: Json, path: str) -> Causes:
    word = "x-kubernetes-list-type"
    said, items = schema.get(word), schema.get("items")
    if said is None:
        return
    if schema.get("type") != "array":
        yield from _must_be("array", schema, path, word)
    elif said == "set" and isinstance(items, dict):
        told = "must be atomic as item of a list with x-kubernetes-list-type=set"
        inner = items.get(word)
        if items.get("type") == "array" and inner not in (None, "atomic"):
            yield invalid(f"{path}.items.{word}", inner, told)
        if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
            yield invalid(f"{path}.items.x-kubernetes-map-type", inner, told)
    if said not in LIST_TYPES:
        yield not_supported(f"{path}.{word}", said, LIST_TYPES)


def _keys(schema: Json, path: str) -> Causes:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    where, told = f"{path}.x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty"
    if keys and kind != "map":
        yield required(where, told) if kind is None else invalid(where, kind, told)
    if kind != "map":
        return
    items = schema.get("items")
    if not keys:
        told = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", told)
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, dict):
        return
    if items.get("type") != "object":
        told = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", told)
    else:
        yield from _each_key(keys, items, path)


def _each_key(keys: list[str], items: Json, path: str) -> Causes:
    fields, where = items.get("properties") or {}, f"{path}.x-kubernetes-list-map-keys"
    for number, key in enumerate(keys):
        if key not in fields:
            yield invalid(where, keys, "entries must all be names of item properties")
        elif fields[key].get("type") in ("array", "object"):
            told = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", items["type"], told)
        if key in keys[:number]:
            yield invalid(where, keys, "must not contain duplicate entries")


def _items_of_sets(schema: Json, path: str) -> Causes:
    kind, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if kind not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable"):
        told = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        yield forbidden(f"{path}.items.nullable", told)
    fields = items.get("properties") or {}
    for key in (schema.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ():
        if key not in fields:
            continue
        where, told = (
            f"{path}.items.properties[{key}]",
            "this property is in x-kubernetes-list-map-keys, so it",
        )
        if key not in (items.get("required") or ()) and fields[key].get("default") is None:
            yield required(f"{where}.default", f"{told} must have a default or be a required property")
        if fields[key].get("nullable"):
            yield forbidden(f"{where}.nullable", f"{told} cannot be nullable")


# -- defaults ---------------------------------------------------------------------------------------------


def _defaults(schema: Json, path: str) -> Causes:
    """Defaults must be what the schema itself would let through."""
    default = schema.get("default")
    if default is not None:
        yield from _default(default, Schema(schema), f"{path}.default")
    if isinstance(schema.get("items"), dict):
        yield from _defaults(schema["items"], f"{path}.items")
    for name, field in (schema.get("properties") or {}).items():
        yield from _defaults(field, f"{path}.properties[{name}]")


def _default(default: Any, schema: Schema, path: str) -> Causes:
    if pruned_value(default, schema) != default:
        yield invalid(path, default, "must not have unknown fields")
    for cause in custom_value(default, schema):
        below = "" if cause.field in ("", NOWHERE) else f".{cause.field}"
        yield Cause(f"{path}{below}", cause.reason, cause.message)

"""What the server fills in: an object as sent → the object as the server would keep it.

Three things happen to a built-in kind, in this order, at every level. It is read: nulls and empty values that
the server cannot tell from "not given" go away. Defaults are set: the conditional ones by the small functions
of `default_rules`, the unconditional ones from the data on the schema. It is written: quantities and times in
their canonical form, fields that are always written with their empty value. A custom resource gets the
defaults of its schema, and its nulls are treated as the server treats them.

What admission does afterwards (service accounts, tolerations, storage classes, priorities) and what a kind's
storage sets on creation (status, allocated addresses, generation) is not defaulting and not here.
"""

from __future__ import annotations

import base64
import copy
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from trimtab.kube.quantity import BadQuantity, parse_quantity
from trimtab.kube.schemas.default_rules import RULES, SWITCHED_OFF
from trimtab.kube.schemas.schema import INT_OR_STRING, MICRO_TIME, QUANTITY, TIME, UNDECLARED, Schema
from trimtab.kube.times import micro_text, parse_time, seconds_text

RESOURCE_LIST = "v1.ResourceList"  # amounts of resources, which the server keeps to thousandths
#: maps and lists that may not be empty: they are kept if they are, since the refusal tells of them
SHOWN_EMPTY: Mapping[str, tuple[str, ...]] = {
    "io.k8s.api.autoscaling.v2.HPAScalingRules": ("policies",),
    "io.k8s.api.core.v1.PersistentVolumeSpec": ("capacity",),
}
#: the maps of bytes of built-in kinds
BYTES = {
    f"io.k8s.api.core.v1.{kind}": name for kind, name in (("ConfigMap", "binaryData"), ("Secret", "data"))
}
EMPTY: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def defaulted(manifest: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The manifest as the server would keep it; the given one is left as it is."""
    return read_back(completed(manifest, schema), schema)


def completed(manifest: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The same before it is kept: until then null bytes are told from none."""
    if schema.model:
        return _struct(_without_holes(manifest, schema), schema)
    return filled(coerced(manifest, schema), schema)


def read_back(kept: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """An object as it is read once it was kept."""
    name = BYTES.get(schema.model, "")
    values = kept.get(name)
    if not values or None not in values.values():
        return kept
    return {**kept, name: {key: "" if value is None else value for key, value in values.items()}}


# -- built-in kinds --------------------------------------------------------------------------------------


def _without_holes(value: Any, schema: Schema | None) -> Any:
    """The value with empty structs for nulls in lists of structs, as it is read: rules look deep into it."""
    if schema is None or schema.preserves_unknown:
        return value
    if isinstance(value, dict):
        return {name: _without_holes(each, schema.child(name)) for name, each in value.items()}
    element = schema.element
    if not isinstance(value, list) or element is None or element.type != "object":
        return value
    whole: dict[str, Any] | None = {} if element.values is None else None
    return [_without_holes(whole if each is None else each, element) for each in value]


def _struct(given: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """One struct: read, defaulted, written."""
    off, shown = SWITCHED_OFF.get(schema.model, ()), SHOWN_EMPTY.get(schema.model, ())
    read = {
        name: value
        for name, value in given.items()
        if name not in off
        and (not means_nothing(value, schema.child(name)) or (value in ({}, []) and name in shown))
    }
    rule = RULES.get(schema.model)
    if rule is not None:
        read = rule.apply(read)
    for name, field in schema.always_present:
        if name not in read and field.has_default:
            read[name] = field.default
    written = {name: _value(value, schema.child(name)) for name, value in read.items()}
    for name, field in schema.always_present:
        if name not in written:
            written[name] = _struct({}, field) if field.is_struct else _empty(field)
    return written


def as_stated(written: Any, given: Any, schema: Schema | None, *, listed: bool = False) -> Any:
    """What is written, with what was given and is kept as nothing: whoever states it owns it.

    That are empty lists and maps where null is written for them, and anywhere in what is `listed` in a list
    that is owned as a whole; and fields of features that are off.
    """
    if schema is None or schema.preserves_unknown:
        return written
    if isinstance(written, list) and isinstance(given, list) and len(written) == len(given):
        listed = listed or schema.list_type == "atomic"
        return [as_stated(*pair, schema.element, listed=listed) for pair in zip(written, given, strict=True)]
    if not isinstance(written, dict) or not isinstance(given, dict):
        return written
    stated = {
        name: given[name]
        if value is None and given.get(name) in ([], {})
        else as_stated(value, given.get(name), schema.child(name), listed=listed)
        for name, value in written.items()
    }
    return stated | {
        name: given[name]
        for name in given.keys() - written.keys()
        if _is_dropped(given[name], name, schema, listed=listed)
    }


def _is_dropped(value: Any, name: str, schema: Schema, *, listed: bool) -> bool:
    """Whether a value that is not written has an owner all the same."""
    if name in SWITCHED_OFF.get(schema.model, ()):
        return not means_nothing(value, schema.child(name))
    return listed and value in ([], {}) and schema.child(name) is not None


def means_nothing(value: Any, field: Schema | None) -> bool:
    """Whether the server cannot tell a value from none."""
    if value is None:
        return True
    if field is None or field.go is None or field.go.pointer:
        return False
    if isinstance(value, list | dict):
        return not value and not field.is_struct and not field.preserves_unknown
    return not value and (field.go.omit_empty or field.has_default) and not field.int_or_string


def _empty(field: Schema) -> Any:
    """What is written for a field without value that is always written."""
    if field.model == QUANTITY:
        return "0"
    if field.model == INT_OR_STRING:
        return 0
    if field.go is None or field.go.pointer or field.model in (TIME, MICRO_TIME):
        return None
    return EMPTY.get(field.type)


def _value(value: Any, schema: Schema | None) -> Any:
    """A value as the server writes it back, everything below included."""
    if schema is None or schema.preserves_unknown:
        return copy.deepcopy(value)
    if isinstance(value, dict):
        return _mapping(value, schema)
    if isinstance(value, list):
        if schema.format == "byte":  # bytes may also come one by one
            return base64.b64encode(bytes(each or 0 for each in value)).decode()
        return [_element(each, schema.element) for each in value]
    return _scalar(value, schema)


def _mapping(value: dict[str, Any], schema: Schema) -> Any:
    if schema.type != "object":
        return copy.deepcopy(value)
    if schema.values is None:
        return _struct(value, schema)
    amounts = schema.go is not None and schema.go.type == RESOURCE_LIST
    return {name: _amount(each) if amounts else _element(each, schema.values) for name, each in value.items()}


def _element(value: Any, schema: Schema | None) -> Any:
    """An element of a list or map; a null there is an empty one, but for bytes, until they are kept."""
    if value is None and schema is not None and schema.format == "byte":
        return None
    if value is None and schema is not None and schema.type in EMPTY:
        return EMPTY[schema.type]
    if value is None and schema is not None and schema.type == "object" and schema.values is None:
        return _struct({}, schema)
    return _value(value, schema)


def _scalar(value: Any, schema: Schema) -> Any:
    """Quantities, times and bytes in the server's own writing; what cannot be read stays to be judged."""
    try:
        if schema.format == "byte" and isinstance(value, str):
            return _respelled(value)
        if schema.model == QUANTITY and not isinstance(value, bool):
            return str(parse_quantity(value))
        if schema.model == TIME and isinstance(value, str):
            return seconds_text(parse_time(value))
        if schema.model == MICRO_TIME and isinstance(value, str):
            return micro_text(parse_time(value))
    except ValueError:  # BadQuantity, BadTime, or no base64
        pass
    return value


def _respelled(text: str) -> str:
    """Base64 in its one spelling: without ends of lines, and without bits that stand for nothing."""
    digits = text.replace("\r", "").replace("\n", "")
    return base64.b64encode(base64.b64decode(digits, validate=True)).decode()


def _amount(value: Any) -> Any:
    """An amount of a resource, finer than thousandths rounded up."""
    try:
        return str(parse_quantity("0" if value is None else value).to_milli())
    except (BadQuantity, TypeError, AttributeError):
        return value


# -- custom resources ------------------------------------------------------------------------------------


def coerced(manifest: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """A custom resource as the server reads it: nulls that mean nothing dropped, metadata as it is kept.

    Unknown fields are expected to be gone; no default is filled in.
    """
    read: dict[str, Any] = _without_nulls(_without_metadata(manifest), schema)
    meta = schema.child("metadata")
    if "metadata" in manifest and meta is not None:
        read["metadata"] = _value(manifest["metadata"], meta)
    return {name: read[name] for name in manifest if name in read}


def filled(manifest: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """A custom resource with the defaults of its schema, and nothing else changed."""
    given: dict[str, Any] = _filled(_without_metadata(manifest), schema)
    metadata = {"metadata": manifest["metadata"]} if "metadata" in manifest else {}
    return {**given, **metadata}


def _without_metadata(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in manifest.items() if name != "metadata"}


def _declared(schema: Schema | None, name: str) -> Schema | None:
    """The node of a field that the definition itself declares."""
    if schema is None:
        return None
    found = schema.child(name) if name in schema.properties else schema.values
    return None if found is UNDECLARED else found


_LARGEST = int(sys.float_info.max)  # what is larger, no fraction is near to


def _as_held(value: Any) -> Any:
    """A whole number beyond 64 bits as the server holds it: as the nearest fraction, in Go's spelling."""
    if type(value) is not int or -(1 << 63) <= value < 1 << 63 or abs(value) > _LARGEST:
        return value
    nearest = float(value)
    return int(Decimal(repr(nearest))) if abs(nearest) < 1e21 else nearest


def _without_nulls(value: Any, schema: Schema | None) -> Any:
    """A value without nulls where none is allowed and nothing stands in for it, as if they were not given."""
    if isinstance(value, list):
        element = schema.element if schema is not None else None
        return [_without_nulls(each, element) for each in value]
    if not isinstance(value, dict):
        return _whole(value) if schema is not None and schema.type == "integer" else _as_held(value)
    left = {}
    for name, each in value.items():
        field = _declared(schema, name)
        inside = name == "metadata" and schema is not None and schema.embedded
        if each is None and field is not None and not field.nullable and field.default is None:
            continue
        if inside and schema is not None and isinstance(each, dict | None):
            left[name] = _value(each or {}, schema.child(name))
        else:
            left[name] = _without_nulls(each, field)
    return left


def _whole(value: Any) -> Any:
    """A whole number that was written with a fraction, without it: clients read no other into an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53 else value


def _filled(value: Any, schema: Schema | None) -> Any:
    """A value with the defaults of its schema, also in place of nulls that may not be."""
    if schema is None:
        return copy.deepcopy(value)
    if isinstance(value, list):
        return [_filled(_instead_of_null(each, schema.element), schema.element) for each in value]
    if not isinstance(value, dict):
        return value
    given = {name: _instead_of_null(each, _declared(schema, name)) for name, each in value.items()}
    for name, field in schema.fields():
        if name not in given and field.default is not None and field.go is None:
            given[name] = field.default
    return {name: _filled(each, _declared(schema, name)) for name, each in given.items()}


def _instead_of_null(value: Any, schema: Schema | None) -> Any:
    if value is None and schema is not None and not schema.nullable:
        return schema.default
    return value

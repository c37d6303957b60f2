"""Bodies in protobuf, which kubectl and other Go clients send for built-in kinds: read, never written. Pure.

A body is four bytes of magic, an envelope that names the kind, and the object in it. Which number is which
field is known from data (made by `scripts/make_wire.py`). What comes out is the object as JSON would have it.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.kube.kinds import built_in
from trimtab.kube.schema import INT_OR_STRING, MICRO_TIME, QUANTITY, TIME, Schema
from trimtab.kube.times import micro_text, seconds_text

MAGIC = b"k8s\0"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
DURATION = f"{_META}Duration"
#: messages that carry JSON in their first field
JSON_INSIDE = frozenset(
    {
        f"{_META}FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    }
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Json = dict[str, Any]
Value: TypeAlias = int | bytes


class BadProtobuf(ValueError):
    """A body that is no protobuf of a kind that is known."""


class Field(Struct, frozen=True, array_like=True, gc=False):
    """One field of a message."""

    name: str
    type: str
    shape: str  # optional, repeated or map


@cache
def messages() -> Mapping[str, Mapping[int, Field]]:
    """The fields of every message by their numbers."""
    path = resources.files("trimtab.apiserver") / "data" / "wire.json.z"
    return msgspec.json.decode(
        zlib.decompress(path.read_bytes()), type=dict[str, dict[int, Field]], strict=False
    )


def manifest_from(body: bytes) -> Json:
    """The object in a protobuf body, with its `apiVersion` and `kind`."""
    if not body.startswith(MAGIC):
        raise BadProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    try:
        envelope = dict(_pairs(body[len(MAGIC) :]))
        head = dict(_pairs(_bytes(envelope.get(1, b""))))
        version, kind = (_bytes(head.get(number, b"")).decode() for number in (1, 2))
        content = _bytes(envelope.get(2, b""))
        return {"apiVersion": version, "kind": kind, **_object(content, version, kind)}
    except (IndexError, UnicodeDecodeError, OverflowError, msgspec.DecodeError) as exc:
        raise BadProtobuf("the body is cut short or garbled") from exc


def _object(content: bytes, version: str, kind: str) -> Json:
    group, _, number = version.rpartition("/")
    model = built_in().models.get((group, number, kind))
    if model is None or model not in messages():
        raise BadProtobuf(f'no kind "{kind}" is registered for version "{version}"')
    return _message(content, model)


# -- messages ---------------------------------------------------------------------------------------------


def _message(content: bytes, model: str) -> Json:
    """One message as an object; what JSON writes inline is told by the schema, which has no such field."""
    fields = messages()[model]
    found: Json = {}
    schema = built_in().type(model) if model in built_in().types else None
    for number, value in _pairs(content):
        field = fields.get(number)
        if field is None:
            continue
        if schema is not None and field.name not in schema.properties and "." in field.type:
            found |= _message(_bytes(value), field.type)
        elif field.shape == "map":
            found.setdefault(field.name, {}).update(_entry(_bytes(value), field.type))
        elif field.shape == "repeated":
            found.setdefault(field.name, []).extend(_items(value, field, schema))
        else:
            found[field.name] = _value(value, field.type, _below(schema, field.name))
    return found


def _below(schema: Schema | None, name: str) -> Schema | None:
    return schema.child(name) if schema is not None else None


def _items(value: Value, field: Field, schema: Schema | None) -> Iterator[Any]:
    below = _below(schema, field.name)
    yield _value(value, field.type, below.element if below is not None else None)


def _entry(content: bytes, kind: str) -> Json:
    pair = dict(_pairs(content))
    empty: Value = b"" if "." in kind or kind in ("string", "bytes") else 0
    return {_bytes(pair.get(1, b"")).decode(): _value(pair.get(2, empty), kind, None)}


def _value(value: Value, kind: str, schema: Schema | None) -> Any:
    match kind:
        case "string":
            return _bytes(value).decode()
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case "bool":
            return bool(value)
        case "double":
            return struct.unpack("<d", _bytes(value))[0]
        case "int32" | "int64" | "uint32" | "uint64" | "sint32" | "sint64":
            return _signed(value)
        case _:
            return _special(_bytes(value), kind, schema)


def _signed(value: Value) -> int:
    number = value if isinstance(value, int) else 0
    return number - (1 << 64) if number >= 1 << 63 else number


def _special(content: bytes, kind: str, schema: Schema | None) -> Any:
    """A message that JSON writes as something plainer than an object, or an object."""
    if kind in (TIME, MICRO_TIME):
        return _time(content, micro=kind == MICRO_TIME)
    pairs = dict(_pairs(content))
    if kind == QUANTITY:
        return _bytes(pairs.get(1, b"")).decode()
    if kind == INT_OR_STRING:
        return _bytes(pairs.get(3, b"")).decode() if pairs.get(1) else _signed(pairs.get(2, 0))
    if kind == DURATION:
        return f"{_signed(pairs.get(1, 0)) / 1e9:g}s"
    if kind in JSON_INSIDE:
        inside = _bytes(pairs.get(1, b""))
        return msgspec.json.decode(inside) if inside else None
    if schema is not None and schema.type == "array":
        return _message(content, kind).get("items", [])
    return _message(content, kind)


def _time(content: bytes, *, micro: bool) -> str | None:
    pairs = dict(_pairs(content))
    if not pairs:
        return None
    nanos = _signed(pairs.get(2, 0))
    moment = EPOCH + timedelta(seconds=_signed(pairs.get(1, 0)), microseconds=nanos // 1000)
    return micro_text(moment) if micro else seconds_text(moment)


# -- bytes ------------------------------------------------------------------------------------------------


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise BadProtobuf("a number where a message was expected")
    return value


def _pairs(content: bytes) -> Iterator[tuple[int, Value]]:
    """The numbered values of a message, in order."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        value: Value
        match tag & 7:
            case 0:
                value, at = _varint(content, at)
            case 1:
                value, at = content[at : at + 8], at + 8
            case 2:
                size, at = _varint(content, at)
                value, at = content[at : at + size], at + size
            case 5:
                value, at = content[at : at + 4], at + 4
            case other:
                raise BadProtobuf(f"wire type {other} is unknown")
        if at > len(content):
            raise BadProtobuf("unexpected EOF")
        yield tag >> 3, value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = content[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7
        if shift > 63:
            raise BadProtobuf("a number is too long")

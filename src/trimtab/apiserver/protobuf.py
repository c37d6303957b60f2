"""Objects that clients send as protocol buffers, read into the JSON that they mean. Pure.

Clients made with Go's typed library write this way: kubectl where it creates something itself, helm where it
keeps its releases. They read JSON gladly, so nothing is written here. The shapes of the messages come from
the Go types (`scripts/make_wire.py`) and are loaded when first asked for.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec
from msgspec import Struct

MAGIC = b"k8s\x00"
_DEEPEST = 100  # messages within messages; the deepest kinds, schemas of CRDs, stay far below
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_VARINT = 10  # bytes
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_Wire = int | bytes


class BadProtobuf(ValueError):
    """Bytes that are no message of Kubernetes."""


class Field(Struct, frozen=True, array_like=True):
    """One field of a message: JSON name (none if its fields are the parent's), content, how often."""

    number: int
    name: str
    type: int | str  # another message, or what is no message in JSON
    many: str = ""  # "list", "map" (from strings), or once


class Shapes(Struct, frozen=True):
    """Which message each kind is, by `group/version/Kind`, and the fields of all messages."""

    kinds: dict[str, int]
    messages: tuple[tuple[Field, ...], ...]


_SHAPES: Final = msgspec.json.Decoder(Shapes)


class Envelope(Struct, frozen=True):
    """What the bytes say they are, and the message in them."""

    api_version: str
    kind: str
    raw: bytes


@cache
def shapes() -> Shapes:
    """The shapes of all built-in kinds."""
    packed = (resources.files("trimtab.apiserver") / "data" / "wire.json.z").read_bytes()
    return _SHAPES.decode(zlib.decompress(packed))


@cache
def _fields(message: int) -> dict[int, Field]:
    return {field.number: field for field in shapes().messages[message]}


def envelope(body: bytes) -> Envelope:
    """What a body holds, not yet read."""
    if not body.startswith(MAGIC):
        raise BadProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    parts = {number: value for number, value in _parts(body[len(MAGIC) :]) if isinstance(value, bytes)}
    names = {number: value for number, value in _parts(parts.get(1, b"")) if isinstance(value, bytes)}
    return Envelope(_text(names.get(1, b"")), _text(names.get(2, b"")), parts.get(2, b""))


def manifest_from(body: bytes) -> dict[str, Any]:
    """The object in a body, as JSON would have it."""
    found = envelope(body)
    message = shapes().kinds.get(f"{found.api_version}/{found.kind}")
    if message is None:
        raise BadProtobuf(f'no kind "{found.kind}" is known for version "{found.api_version}"')
    return {"apiVersion": found.api_version, "kind": found.kind, **_message(found.raw, message, 0)}


def _message(raw: bytes, message: int, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise BadProtobuf("too many messages within messages")
    known = _fields(message)
    value: dict[str, Any] = {}
    for number, wire in _parts(raw):
        field = known.get(number)
        if field is not None:
            _put(value, field, wire, depth)
    return value


def _put(value: dict[str, Any], field: Field, wire: _Wire, depth: int) -> None:
    """Add one field to the object that it belongs to."""
    if field.many == "map":
        key, content = _entry(wire)
        value.setdefault(field.name, {})[key] = _value(field.type, content, depth)
    elif field.many == "list":
        value.setdefault(field.name, []).append(_value(field.type, wire, depth))
    elif not field.name:
        value.update(_value(field.type, wire, depth))
    else:
        value[field.name] = _value(field.type, wire, depth)


def _entry(wire: _Wire) -> tuple[str, _Wire]:
    parts = dict(_parts(_bytes(wire)))
    return _text(_bytes(parts.get(1, b""))), parts.get(2, b"")


def _value(kind: int | str, wire: _Wire, depth: int) -> Any:
    if isinstance(kind, int):
        return _message(_bytes(wire), kind, depth + 1)
    if kind in _SCHEMAS:
        return _schema(_SCHEMAS[kind], _bytes(wire), depth + 1)
    return _READ[kind](wire)


# -- what is no message in JSON ---------------------------------------------------------------------------


def _bytes(wire: _Wire) -> bytes:
    if not isinstance(wire, bytes):
        raise BadProtobuf("a number where bytes belong")
    return wire


def _number(wire: _Wire) -> int:
    if not isinstance(wire, int):
        raise BadProtobuf("bytes where a number belongs")
    return wire - (1 << 64) if wire >> 63 else wire


def _text(wire: _Wire) -> str:
    return _bytes(wire).decode(errors="replace")


def _double(wire: _Wire) -> float:
    (found,) = struct.unpack("<d", struct.pack("<Q", wire if isinstance(wire, int) else 0))
    return float(found)


def _time(wire: _Wire) -> str | None:
    """A moment to the second; nothing is the zero time, which JSON calls null."""
    return _moment(wire, "seconds") if wire else None


def _micro_time(wire: _Wire) -> str | None:
    return _moment(wire, "microseconds") if wire else None


def _moment(wire: _Wire, precision: str) -> str:
    parts = dict(_parts(_bytes(wire)))
    since = timedelta(seconds=_number(parts.get(1, 0)), microseconds=_number(parts.get(2, 0)) // 1000)
    try:
        told = (_EPOCH + since).isoformat(timespec=precision)
    except OverflowError as exc:
        raise BadProtobuf("a time beyond all calendars") from exc
    return told.replace("+00:00", "Z")


def _quantity(wire: _Wire) -> str:
    return _text(dict(_parts(_bytes(wire))).get(1, b"")) or "0"


def _int_or_string(wire: _Wire) -> int | str:
    parts = dict(_parts(_bytes(wire)))
    return _text(parts.get(3, b"")) if _number(parts.get(1, 0)) else _number(parts.get(2, 0))


def _json(wire: _Wire) -> Any:
    """JSON that travels as it is."""
    raw = _bytes(dict(_parts(_bytes(wire))).get(1, b""))
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, RecursionError) as exc:
        raise BadProtobuf("JSON inside of a message that is none") from exc


def _texts(wire: _Wire) -> list[str]:
    return [_text(each) for number, each in _parts(_bytes(wire)) if number == 1]


_READ: dict[str, Callable[[_Wire], Any]] = {
    "string": _text,
    "strings": _texts,
    "bytes": lambda wire: base64.b64encode(_bytes(wire)).decode(),
    "bool": lambda wire: bool(_number(wire)),
    "int": _number,
    "double": _double,
    "time": _time,
    "microtime": _micro_time,
    "quantity": _quantity,
    "intorstring": _int_or_string,
    "json": _json,
}
#: Where JSON has one of two things, and the message both: under which numbers the schema and the other lie.
_SCHEMAS = {"schemaorbool": (2, 1), "schemaorarray": (1, 2), "schemaorstrings": (1, 2)}


def _schema(numbers: tuple[int, int], raw: bytes, depth: int) -> Any:
    """A schema, or what may stand in its place: a boolean, schemas, or names."""
    schema, other = numbers
    message = shapes().kinds["JSONSchemaProps"]
    parts = list(_parts(raw))
    for number, wire in parts:
        if number == schema:
            return _message(_bytes(wire), message, depth)
    if numbers == _SCHEMAS["schemaorbool"]:
        return any(_number(wire) for number, wire in parts if number == other)
    return [_message(_bytes(wire), message, depth) for number, wire in parts if number == other]


# -- the wire ---------------------------------------------------------------------------------------------


def _parts(raw: bytes) -> Iterator[tuple[int, _Wire]]:
    """The numbered parts of a message."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, kind = tag >> 3, tag & 7
        value: _Wire
        if kind == _VARINT:
            value, at = _varint(raw, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value, at = int.from_bytes(_slice(raw, at, size), "little"), at + size
        elif kind == _BYTES:
            size, at = _varint(raw, at)
            value, at = _slice(raw, at, size), at + size
        else:
            raise BadProtobuf(f"proto: illegal wireType {kind}")
        yield number, value


def _slice(raw: bytes, at: int, size: int) -> bytes:
    if at + size > len(raw):
        raise BadProtobuf("unexpected EOF")
    return raw[at : at + size]


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LARGEST_VARINT):
        if at >= len(raw):
            raise BadProtobuf("unexpected EOF")
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise BadProtobuf("proto: integer overflow")

"""Formats in the schemas of definitions that the server does not know, and therefore ignores. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from trimtab.kube.gotext import quoted
from trimtab.kube.schemas.validation.causes import entries, part

Json: TypeAlias = Mapping[str, Any]
TEXTS = frozenset(
    {
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
    }
)
NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def new_definition(manifest: Json) -> Iterator[str]:
    """The formats of a new definition."""
    yield from _told(_unknown(manifest))


def changed_definition(new: Json, old: Json) -> Iterator[str]:
    """The formats that came with a change."""
    known = set(_unknown(old))
    yield from _told(each for each in _unknown(new) if each not in known)


def _told(formats: Iterator[str]) -> Iterator[str]:
    yield from (f"unrecognized format {quoted(each)}" for each in formats)


def _unknown(manifest: Json) -> Iterator[str]:
    """What versions share is looked at once."""
    schemas = [
        part(version, "schema").get("openAPIV3Schema")
        for _, version in entries(part(manifest, "spec").get("versions"))
    ]
    shared = schemas and all(each == schemas[0] for each in schemas)
    for schema in schemas[:1] if shared else schemas:
        yield from _in_schema(schema)


def _in_schema(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    kind, said = schema.get("type") or "", schema.get("format") or ""
    known = said.replace("-", "") in TEXTS if kind in ("", "string") else said in NUMBERS.get(kind, ())
    if said and not known:
        yield said
    below = [schema.get("items"), schema.get("not"), schema.get("additionalProperties")]
    below += [each for word in ("allOf", "anyOf", "oneOf") for each in schema.get(word) or ()]
    for each in (*below, *(schema.get("properties") or {}).values()):
        yield from _in_schema(each)

"""Fingerprints of live objects: moved by what somebody decided, unmoved by what happens by itself. Pure.

An API server writes the same content as the same bytes, so the bytes are taken as they came and nothing is
decoded that need not be: equal fingerprints mean equal objects, while another server's spelling of the same
object may give another fingerprint. `trimtab.resources.digests` has the digests that compare values.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec
from msgspec import Raw, Struct

from trimtab.kube.objects import KubeObject
from trimtab.kube.shallow import shallow

_LENGTH = 16
_BLANK = Raw(b"")
#: the object's address, and what moves by itself
_LEFT_OUT = frozenset({"apiVersion", "kind", "metadata", "status"})
_STATUS = b'"f:status"'


class _Entry(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Who set which fields; when is left out."""

    manager: Raw = _BLANK
    operation: Raw = _BLANK
    api_version: Raw = _BLANK
    subresource: str = ""
    fields_v1: Raw = _BLANK


class _Metadata(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The part of metadata that somebody decided; names and identities are known without it."""

    labels: Raw = _BLANK
    annotations: Raw = _BLANK
    finalizers: Raw = _BLANK
    owner_references: Raw = _BLANK
    deletion_timestamp: Raw = _BLANK
    managed_fields: list[_Entry] | None = None


_fields = msgspec.json.Decoder(dict[str, Raw])
_metadata = msgspec.json.Decoder(_Metadata)
_any = msgspec.json.Decoder()
_sorted = msgspec.json.Encoder(order="deterministic")


def fingerprint(told: KubeObject, key: bytes = b"") -> bytes:
    """The fingerprint of an object; with a `key`, nobody without it can guess contents from it."""
    try:
        fields = _fields.decode(told.raw)
    except RecursionError:  # it was read from a place not quite as deep as this one
        fields = _fields.decode(shallow(told.raw))
    pieces: list[bytes | Raw] = []
    for name in sorted(fields):
        if name not in _LEFT_OUT:
            pieces += (name.encode(), fields[name])
    if (raw := fields.get("metadata")) is not None:
        metadata = _metadata.decode(raw)
        pieces += (
            metadata.labels,
            metadata.annotations,
            metadata.finalizers,
            metadata.owner_references,
            metadata.deletion_timestamp,
            *_ownership(metadata.managed_fields or []),
        )
    return blake2b(b"\0".join(pieces), digest_size=_LENGTH, key=key).digest()


def _ownership(entries: list[_Entry]) -> list[bytes]:
    """Who set what, without times; the server sorts by time, so the order says nothing."""
    return sorted([told for entry in entries if entry.subresource != "status" and (told := _told(entry))])


def _told(entry: _Entry) -> bytes:
    fields = bytes(entry.fields_v1)
    if _STATUS in fields:
        kept = {name: value for name, value in _any.decode(fields).items() if name != "f:status"}
        if not kept:
            return b""  # about status alone
        fields = _sorted.encode(kept)
    subresource = entry.subresource.encode()
    return b"\0".join((entry.manager, entry.operation, entry.api_version, subresource, fields))

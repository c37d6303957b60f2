"""Digests of manifests: equal exactly when Kubernetes could not tell two values apart.

A digest of a Secret could be guessed from likely passwords, so whoever prints or stores a digest takes it
of the masked manifest (`secrets.StandIns.masked`). Nothing here is keyed.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final

import msgspec

from trimtab.errors import InvalidSpec
from trimtab.resources.yaml.scalars import MAX_INT, MIN_INT, as_json
from trimtab.resources.yaml.words import MAX_DEPTH

# As long as a Git commit id: 160 bits of SHA-256.
DIGEST_LENGTH: Final = 40
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
# What moves by itself: every write, and every status report of a kind without a status subresource, raises
# the generation, and a spec that changed and came back is the same spec.
_RESTLESS: Final = frozenset({"resourceVersion", "generation", "managedFields"})


def canonical(value: Any) -> bytes:
    """The one JSON text of a value: keys sorted, no spaces, numbers as Kubernetes holds them."""
    return _ENCODER.encode(_settled(value, 0))


def digest(value: Any) -> str:
    """Names a JSON value by its content."""
    return hashlib.sha256(canonical(value)).hexdigest()[:DIGEST_LENGTH]


def live_digest(manifest: dict[str, Any]) -> str:
    """Names the state of a live object without what moves by itself: status, versions and write times."""
    return digest(_at_rest(manifest))


def _at_rest(manifest: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in manifest.items() if key != "status"}
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        rest["metadata"] = {key: value for key, value in metadata.items() if key not in _RESTLESS}
        entries = metadata.get("managedFields")
        if isinstance(entries, list):
            # The server sorts the entries by time, so their order says nothing.
            kept = [entry for entry in map(_entry_at_rest, entries) if entry is not None]
            rest["metadata"]["managedFields"] = sorted(kept, key=canonical)
    return rest


def _entry_at_rest(entry: Any) -> Any:
    """One record of who set which fields, without its time; None when it is about status alone."""
    if not isinstance(entry, dict):
        return entry
    if entry.get("subresource") == "status":
        return None
    fields = entry.get("fieldsV1")
    rest = {key: value for key, value in entry.items() if key != "time"}
    if isinstance(fields, dict) and "f:status" in fields:
        rest["fieldsV1"] = {key: value for key, value in fields.items() if key != "f:status"}
        if not rest["fieldsV1"]:
            return None
    return rest


def _settled(value: Any, depth: int) -> Any:
    """The value with its numbers as 64 bits hold them; parts that need no change are not copied."""
    kind = type(value)
    if kind is dict or kind is list:
        if depth >= MAX_DEPTH:
            reason = f"maps and lists are nested deeper than {MAX_DEPTH}"
            raise InvalidSpec("the manifest", reason, "Flatten it")
        return _settled_map(value, depth) if kind is dict else _settled_list(value, depth)
    if kind is float or (kind is int and not MIN_INT <= value <= MAX_INT):
        return _number(value)
    return value


def _settled_map(value: dict[str, Any], depth: int) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key, item in value.items():
        settled = _settled(item, depth + 1)
        if settled is not item:
            changed[key] = settled
    return {**value, **changed} if changed else value


def _settled_list(value: list[Any], depth: int) -> list[Any]:
    settled = value
    for place, item in enumerate(value):
        new = _settled(item, depth + 1)
        if new is not item:
            settled = list(value) if settled is value else settled
            settled[place] = new
    return settled


def _number(value: float) -> int | float:
    try:
        number = as_json(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidSpec("the manifest", "a number does not fit 64 bits", "Write it as text, in quotes")
    return number

"""Secrets without their values: a keyed hash stands in for each.

The same value under the same key gets the same stand-in, so that a change still shows in a plan or a
diff; without the key a stand-in says nothing about the value, not even its length. Finding, storing and
rotating keys is not the business of this module.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, Final

import msgspec

from trimtab.errors import InvalidSpec
from trimtab.resources.digests import canonical

SMALLEST_KEY: Final = 16
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# Annotations in which other tools keep a copy of the object they applied.
_COPIES: Final = frozenset({"kapp.k14s.io/original", "objectset.rio.cattle.io/applied"})
# All else in a Secret is hidden, so that a value under a misspelled field is hidden too.
_OPEN_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata", "type", "immutable"})
_VALUE_FIELDS: Final = frozenset({"data", "stringData"})
# A value indented one step too far lands in metadata, where only these fields belong.
_OPEN_METADATA: Final = frozenset(
    {
        *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "selfLink"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
        *("labels", "annotations", "finalizers", "ownerReferences", "managedFields"),
    }
)
# Lists in lists beyond this depth are hidden whole.
_DEEPEST_LIST: Final = 8
# Shorter values occur in annotations by accident.
_SHORTEST_REPEATED: Final = 4


class StandIns:
    """Hides secret values under one key."""

    def __init__(self, key: bytes) -> None:
        if not SMALLEST_KEY <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE:
            raise ValueError(f"the key needs {SMALLEST_KEY} to {hashlib.blake2b.MAX_KEY_SIZE} bytes")
        self._key = key

    def stand_in(self, value: bytes | str) -> str:
        """What to show instead of this value; always of one length."""
        raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return f"hidden:{hashlib.blake2b(raw, key=self._key, digest_size=16).hexdigest()}"

    def masked(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """The manifest as it may be shown: Secrets and lists of Secrets without values, all else as it is."""
        return self._masked(manifest, 0)

    def _masked(self, manifest: dict[str, Any], depth: int) -> dict[str, Any]:
        kind = _kind(manifest)
        if kind == "secret":
            return self._masked_secret(manifest)
        items = manifest.get("items")
        if not isinstance(items, list) or not kind.endswith("list"):
            return manifest
        if kind == "secretlist":
            return {**manifest, "items": [self._masked_typed_item(item) for item in items]}
        return {**manifest, "items": [self._masked_item(item, depth + 1) for item in items]}

    def _masked_item(self, item: Any, depth: int) -> Any:
        if not isinstance(item, dict):
            return item
        return self._masked(item, depth) if depth <= _DEEPEST_LIST else self._hidden(item)

    def _masked_typed_item(self, item: Any) -> Any:
        """An item of a SecretList is a Secret whether it says so or not."""
        return self._masked_secret(item) if isinstance(item, dict) else self._hidden(item)

    def _masked_secret(self, secret: dict[str, Any]) -> dict[str, Any]:
        masked = {field: self._masked_field(field, value) for field, value in secret.items()}
        if "metadata" in secret:
            masked["metadata"] = self._masked_metadata(secret["metadata"], _repeatable(secret))
        return masked

    def _masked_field(self, field: str, value: Any) -> Any:
        if field in _OPEN_FIELDS and not isinstance(value, dict | list):
            return value
        if field in _VALUE_FIELDS and isinstance(value, dict):
            encoded = field == "data"
            return {name: self._hidden(item, encoded=encoded) for name, item in value.items()}
        return self._hidden(value)

    def _masked_metadata(self, metadata: Any, values: frozenset[str]) -> Any:
        if not isinstance(metadata, dict):
            return self._hidden(metadata)
        shown = {
            field: value if field in _OPEN_METADATA else self._hidden(value)
            for field, value in metadata.items()
        }
        if "annotations" in metadata:
            shown["annotations"] = self._masked_annotations(metadata["annotations"], values)
        return shown

    def _masked_annotations(self, annotations: Any, values: frozenset[str]) -> Any:
        if not isinstance(annotations, dict):
            return self._hidden(annotations)
        return {name: self._masked_annotation(name, text, values) for name, text in annotations.items()}

    def _masked_annotation(self, name: str, text: Any, values: frozenset[str]) -> Any:
        if name == LAST_APPLIED:
            return self._masked_copy(text)
        if name in _COPIES or not isinstance(text, str) or any(value in text for value in values):
            return self._hidden(text)
        return text

    def _masked_copy(self, text: Any) -> Any:
        """The object inside an annotation, masked in turn; whatever is no object is hidden whole."""
        try:
            copy = msgspec.json.decode(text) if isinstance(text, str) else None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            copy = None
        if not isinstance(copy, dict):
            return self._hidden(text)
        try:
            return canonical(self._masked_secret(copy)).decode()
        except InvalidSpec:
            return self._hidden(text)

    def _hidden(self, value: Any, *, encoded: bool = False) -> Any:
        """A stand-in for anything; null has nothing to hide."""
        if value is None:
            return None
        if isinstance(value, str):
            return self.stand_in((_decoded(value) if encoded else None) or value)
        try:
            return self.stand_in(canonical(value))
        except InvalidSpec:
            return self.stand_in(repr(type(value)))


def is_secret(manifest: dict[str, Any]) -> bool:
    """Does this manifest mean to be a Secret, however it is spelled?"""
    return _kind(manifest) == "secret"


def _kind(manifest: dict[str, Any]) -> str:
    kind = manifest.get("kind")
    return kind.strip().casefold() if isinstance(kind, str) else ""


def _decoded(text: str) -> bytes | None:
    """The bytes behind base64, so that `data` and `stringData` of one value agree; None if it is none."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == text else None


def _repeatable(secret: dict[str, Any]) -> frozenset[str]:
    """The secret's values in every spelling that an annotation might repeat."""
    found: set[str] = set()
    for field in _VALUE_FIELDS:
        values = secret.get(field)
        for value in values.values() if isinstance(values, dict) else ():
            if isinstance(value, str):
                found |= spellings(value)
    return frozenset(text for text in found if len(text) >= _SHORTEST_REPEATED)


def spellings(value: str) -> set[str]:
    """A secret value as it is, behind base64 if it is some, and in base64."""
    plain = (_decoded(value) or b"").decode("utf-8", "replace")
    return {value, plain, base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}

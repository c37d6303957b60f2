"""Digests that tell one content from another inside this process, quickly. Pure.

They are not keyed, so those of Secrets are neither shown nor stored; for what leaves the process there is
`trimtab.resources.digests`.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


def encoded(value: Any) -> bytes:
    """The value as JSON, its keys in order."""
    return _ENCODER.encode(value)


def digest_of_bytes(raw: bytes) -> bytes:
    """Names some bytes by their content."""
    return hashlib.blake2b(raw, digest_size=20).digest()


def digest_of(value: Any) -> bytes:
    """Names a JSON value by its content."""
    return digest_of_bytes(encoded(value))

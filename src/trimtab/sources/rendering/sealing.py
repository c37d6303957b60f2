"""What is kept on disk is sealed: compressed, encrypted, authenticated, each entry under its own name. Pure.

The key lies apart from what it seals. An entry that was damaged, swapped with another, or written by somebody
without the key does not open, and then it is as if it were not there.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from trimtab.resources import sealing
from trimtab.resources.sealing import KEY_SIZE

_VERSION: Final = b"t1"
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class Seal:
    """Names, seals and opens entries under one key."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_SIZE:
            raise ValueError(f"the key needs {KEY_SIZE} bytes")
        self._key = key

    def name(self, value: Any) -> str:
        """Names a JSON value by its content; without the key nobody can tell what was named, nor guess it."""
        text = _ENCODER.encode(value)
        return hashlib.blake2b(text, key=self._key, digest_size=20, person=b"name").hexdigest()

    def name_of_bytes(self, content: bytes) -> str:
        """Names a text by its content."""
        return hashlib.blake2b(content, key=self._key, digest_size=20, person=b"content").hexdigest()

    def sealed(self, name: str, content: bytes, nonce: bytes) -> bytes:
        """The entry of that name; a nonce must never come twice."""
        return _VERSION + sealing.sealed(self._own_key(name), name, content, nonce)

    def opened(self, name: str, entry: bytes, most: int) -> bytes | None:
        """The content of an entry; None if it is not one that was sealed here under that name."""
        if not entry.startswith(_VERSION):
            return None
        try:
            return sealing.opened(self._own_key(name), name, entry[len(_VERSION) :], most)
        except sealing.Broken:
            return None

    def _own_key(self, name: str) -> bytes:
        """Every entry has a key of its own, so that random nonces cannot meet."""
        return hashlib.blake2b(name.encode(), key=self._key, digest_size=KEY_SIZE, person=b"seal").digest()

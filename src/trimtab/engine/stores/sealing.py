"""Sealing what leaves the process: records are opened only with a key of the ring, under their own name.

The keys come from whoever makes the ring and are kept apart from the data: nothing here stores, finds or
prints one.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final

from trimtab.errors import InvalidSpec
from trimtab.resources import sealing
from trimtab.resources.sealing import KEY_SIZE, NONCE_SIZE

_ID_LENGTH: Final = 8
_FORMAT: Final = b"\x01"
#: what any record may open to; a longer one is damaged or hostile
LARGEST: Final = 256 << 20


class SealBroken(InvalidSpec):
    """Sealed bytes are damaged, belong to another name, or were sealed with a key that is not in the ring."""


class Keyring:
    """Keys for sealing: the first seals, every one opens, so that keys can be changed without a gap."""

    def __init__(self, *keys: bytes) -> None:
        if not keys or any(len(key) != KEY_SIZE for key in keys):
            raise InvalidSpec(
                "the keyring", f"it needs keys of {KEY_SIZE} bytes each", "Make one with `openssl rand 32`"
            )
        self._keys = {_id(key): key for key in keys}
        self._current = _id(keys[0])

    def __repr__(self) -> str:
        return f"<Keyring of {len(self._keys)}>"

    def sealed(self, plain: bytes, name: str) -> bytes:
        """The bytes, compressed and encrypted for this name."""
        entry = sealing.sealed(self._keys[self._current], name, plain, os.urandom(NONCE_SIZE))
        return _FORMAT + self._current + entry

    def opened(self, sealed: bytes, name: str) -> bytes:
        """What was sealed for this name."""
        start = len(_FORMAT) + _ID_LENGTH
        key = self._keys.get(sealed[len(_FORMAT) : start])
        if sealed[: len(_FORMAT)] != _FORMAT or key is None:
            remedy = "Restore the key it had, or the record"
            raise SealBroken(name, "it was sealed with a key that is not in the ring", remedy)
        try:
            return sealing.opened(key, name, sealed[start:], LARGEST)
        except sealing.Broken as error:
            raise SealBroken(name, str(error), "Restore it") from error


def _id(key: bytes) -> bytes:
    """Tells keys apart without saying anything about them."""
    return hashlib.blake2b(key, digest_size=_ID_LENGTH, person=b"trimtab keyid").digest()

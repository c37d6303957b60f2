"""Sealing what leaves the process: compressed, encrypted and bound to its name.

What is sealed can be opened only with the key and only under the name it was sealed for, and any change to it
is noticed. The key comes from whoever makes the ring and is kept apart from the data: nothing here stores,
finds or prints one.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from trimtab.errors import InvalidSpec

KEY_LENGTH: Final = 32
_NONCE_LENGTH: Final = 12
_ID_LENGTH: Final = 8
_FORMAT: Final = b"\x01"
#: what any record may open to; a longer one is damaged or hostile
LARGEST: Final = 256 << 20


class SealBroken(InvalidSpec):
    """Sealed bytes are damaged, belong to another name, or were sealed with a key that is not in the ring."""


class Keyring:
    """Keys for sealing: the first seals, every one opens, so that keys can be changed without a gap."""

    def __init__(self, *keys: bytes) -> None:
        if not keys or any(len(key) != KEY_LENGTH for key in keys):
            raise InvalidSpec(
                "the keyring", f"it needs keys of {KEY_LENGTH} bytes each", "Make one with `openssl rand 32`"
            )
        self._keys = {_id(key): AESGCM(key) for key in keys}
        self._current = _id(keys[0])

    def __repr__(self) -> str:
        return f"<Keyring of {len(self._keys)}>"

    def sealed(self, plain: bytes, name: str) -> bytes:
        """The bytes, compressed and encrypted for this name."""
        nonce = os.urandom(_NONCE_LENGTH)
        cipher = self._keys[self._current].encrypt(nonce, zlib.compress(plain, 3), name.encode())
        return _FORMAT + self._current + nonce + cipher

    def opened(self, sealed: bytes, name: str) -> bytes:
        """What was sealed for this name."""
        start = len(_FORMAT) + _ID_LENGTH
        key = self._keys.get(sealed[len(_FORMAT) : start])
        if sealed[: len(_FORMAT)] != _FORMAT or key is None:
            raise SealBroken(name, "it was sealed with a key that is not in the ring", "Add the key it had")
        nonce, cipher = sealed[start : start + _NONCE_LENGTH], sealed[start + _NONCE_LENGTH :]
        try:
            return _inflated(key.decrypt(nonce, cipher, name.encode()), name)
        except (InvalidTag, ValueError, zlib.error) as error:
            raise SealBroken(name, "it is damaged or belongs to another", "Restore it") from error


def _id(key: bytes) -> bytes:
    """Tells keys apart without saying anything about them."""
    return hashlib.blake2b(key, digest_size=_ID_LENGTH, person=b"trimtab keyid").digest()


def _inflated(packed: bytes, name: str) -> bytes:
    inflater = zlib.decompressobj()
    plain = inflater.decompress(packed, LARGEST)
    if not inflater.eof:
        raise SealBroken(name, f"it opens to more than {LARGEST >> 20} MiB", "Restore it")
    return plain

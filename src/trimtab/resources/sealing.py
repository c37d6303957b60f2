"""Sealing: bytes compressed, encrypted and bound to a name. Pure; whoever seals brings a fresh nonce.

What is sealed opens only with its key and under its name, and any change to it is noticed. Keys are kept
apart from what they seal by those who use this.
"""

from __future__ import annotations

import zlib
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_SIZE: Final = 32
NONCE_SIZE: Final = 12
_QUICK: Final = 1


class Broken(Exception):
    """Sealed bytes that do not open: damaged, of another name or key, or larger than allowed."""


def sealed(key: bytes, name: str, content: bytes, nonce: bytes) -> bytes:
    """The content under seal; one key must never meet the same nonce twice."""
    return nonce + AESGCM(key).encrypt(nonce, zlib.compress(content, _QUICK), name.encode())


def opened(key: bytes, name: str, sealed_bytes: bytes, most: int) -> bytes:
    """What was sealed with this key under this name, if it is no larger than `most`."""
    nonce, cipher = sealed_bytes[:NONCE_SIZE], sealed_bytes[NONCE_SIZE:]
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(AESGCM(key).decrypt(nonce, cipher, name.encode()), most)
    except (InvalidTag, ValueError, zlib.error) as error:
        raise Broken("it is damaged or belongs to another") from error
    if not inflater.eof:
        raise Broken(f"it opens to more than {most >> 20} MiB")
    return content

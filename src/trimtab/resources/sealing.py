"""Sealing: bytes compressed, encrypted and bound to a name. Pure; whoever seals brings a fresh nonce.

What is sealed opens only with its key and under its name, and any change to it is noticed. Keys are kept
apart from what they seal by those who use this.
"""

from __future__ import annotations

import zlib
from typing import Final

import zstandard
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_SIZE: Final = 32
NONCE_SIZE: Final = 12
#: a fourth of the time that zlib takes at its quickest, and smaller
_QUICK: Final = 1


class Broken(Exception):
    """Sealed bytes that do not open: damaged, of another name or key, or larger than allowed."""


def sealed(key: bytes, name: str, content: bytes, nonce: bytes) -> bytes:
    """The content under seal; one key must never meet the same nonce twice."""
    packed = zstandard.ZstdCompressor(level=_QUICK).compress(content)
    return nonce + AESGCM(key).encrypt(nonce, packed, name.encode())


def opened(key: bytes, name: str, sealed_bytes: bytes, most: int) -> bytes:
    """What was sealed with this key under this name, if it is no larger than `most`."""
    nonce, cipher = sealed_bytes[:NONCE_SIZE], sealed_bytes[NONCE_SIZE:]
    try:
        packed = AESGCM(key).decrypt(nonce, cipher, name.encode())
        is_ours = packed.startswith(zstandard.FRAME_HEADER)
        content = _unpacked(packed, most) if is_ours else _inflated(packed, most)
    except (InvalidTag, ValueError, zlib.error, zstandard.ZstdError) as error:
        raise Broken("it is damaged or belongs to another") from error
    if content is None:
        raise Broken(f"it opens to more than {most >> 20} MiB")
    return content


def _unpacked(packed: bytes, most: int) -> bytes | None:
    """The content; None if it is larger. How large it is stands before it, and is held to."""
    size = zstandard.frame_content_size(packed)
    if not 0 <= size <= most:
        return None
    return zstandard.ZstdDecompressor().decompress(packed)


def _inflated(packed: bytes, most: int) -> bytes | None:
    """The same of what was sealed before zstandard was chosen."""
    inflater = zlib.decompressobj()
    content = inflater.decompress(packed, most)
    return content if inflater.eof else None

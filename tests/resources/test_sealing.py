"""What is sealed opens with its key and under its name, and only whole."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest
import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from trimtab.resources.sealing import KEY_SIZE, NONCE_SIZE, Broken, opened, sealed

KEY, NONCE = bytes(KEY_SIZE), bytes(range(NONCE_SIZE))
LARGE = 1 << 20


@given(st.binary(max_size=4096), st.text(max_size=20))
def test_what_is_sealed_opens_again(content: bytes, name: str) -> None:
    assert opened(KEY, name, sealed(KEY, name, content, NONCE), LARGE) == content


@given(st.data())
def test_any_change_is_noticed(data: st.DataObject) -> None:
    entry = sealed(KEY, "web", b"content", NONCE)
    place = data.draw(st.integers(0, len(entry) - 1))
    changed = bytearray(entry)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Broken):
        opened(KEY, "web", bytes(changed), LARGE)


@pytest.mark.parametrize("cut", [0, 5, NONCE_SIZE, NONCE_SIZE + 3])
def test_what_is_cut_short_does_not_open(cut: int) -> None:
    with pytest.raises(Broken):
        opened(KEY, "web", sealed(KEY, "web", b"content", NONCE)[:cut], LARGE)


def test_another_name_or_key_does_not_open_it() -> None:
    entry = sealed(KEY, "web", b"content", NONCE)
    for key, name in ((KEY, "api"), (b"\x01" * KEY_SIZE, "web")):
        with pytest.raises(Broken, match="belongs to another"):
            opened(key, name, entry, LARGE)


def deflated(content: bytes) -> bytes:
    """What was sealed by versions that packed with zlib."""
    return NONCE + AESGCM(KEY).encrypt(NONCE, zlib.compress(content, 1), b"web")


def unsized(content: bytes) -> bytes:
    """A seal whose content does not say how large it is."""
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(content)
    return NONCE + AESGCM(KEY).encrypt(NONCE, packed, b"web")


@pytest.mark.parametrize(
    "seal",
    [lambda content: sealed(KEY, "web", content, NONCE), deflated, unsized],
    ids=["now", "zlib", "unsized"],
)
def test_a_small_seal_cannot_hide_a_large_content(seal: Callable[[bytes], bytes]) -> None:
    entry = seal(bytes(3 << 20))
    assert len(entry) < 1 << 14
    with pytest.raises(Broken, match="more than 1 MiB"):
        opened(KEY, "web", entry, LARGE)


@given(st.binary(max_size=4096))
def test_what_older_versions_sealed_opens_still(content: bytes) -> None:
    assert opened(KEY, "web", deflated(content), LARGE) == content

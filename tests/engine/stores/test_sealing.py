"""Sealing: only the key and the name open it, and nothing shows through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.stores.sealing import Keyring, SealBroken
from trimtab.errors import InvalidSpec

OLD, NEW = b"o" * 32, b"n" * 32


@given(st.binary(max_size=2000))
def test_what_is_sealed_opens_to_the_same_under_its_name(plain: bytes) -> None:
    ring = Keyring(NEW)
    assert ring.opened(ring.sealed(plain, "unit shop/web"), "unit shop/web") == plain


def test_another_name_does_not_open_it() -> None:
    ring = Keyring(NEW)
    with pytest.raises(SealBroken, match="belongs to another"):
        ring.opened(ring.sealed(b"plain", "unit a"), "unit b")


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    ring = Keyring(NEW)
    sealed = bytearray(ring.sealed(b"the plain text", "a"))
    sealed[place % len(sealed)] ^= change
    with pytest.raises(SealBroken):
        ring.opened(bytes(sealed), "a")


def test_nothing_of_the_text_shows_and_the_same_text_looks_different_each_time() -> None:
    ring, canary = Keyring(NEW), b"correct horse battery staple" * 20
    first, second = ring.sealed(canary, "a"), ring.sealed(canary, "a")
    assert first != second
    assert b"correct" not in first
    assert len(first) < len(canary)


def test_an_older_key_still_opens_and_the_newest_seals() -> None:
    before = Keyring(OLD).sealed(b"plain", "a")
    both = Keyring(NEW, OLD)
    assert both.opened(before, "a") == b"plain"
    assert Keyring(NEW).opened(both.sealed(b"plain", "a"), "a") == b"plain"
    with pytest.raises(SealBroken, match="not in the ring"):
        Keyring(NEW).opened(before, "a")


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x02" + b"x" * 40])
def test_nonsense_is_refused(sealed: bytes) -> None:
    with pytest.raises(SealBroken):
        Keyring(NEW).opened(sealed, "a")


@pytest.mark.parametrize("keys", [(), (b"short",), (NEW, b"")])
def test_a_ring_needs_keys_of_the_right_length(keys: tuple[bytes, ...]) -> None:
    with pytest.raises(InvalidSpec, match="32 bytes"):
        Keyring(*keys)


def test_a_ring_does_not_print_its_keys() -> None:
    assert repr(Keyring(NEW, OLD)) == "<Keyring of 2>"

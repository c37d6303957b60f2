"""What is sealed opens with its key and under its name, and only whole."""

from __future__ import annotations

import pytest
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


def test_a_small_seal_cannot_hide_a_large_content() -> None:
    entry = sealed(KEY, "web", bytes(3 << 20), NONCE)
    assert len(entry) < 1 << 14
    with pytest.raises(Broken, match="more than 1 MiB"):
        opened(KEY, "web", entry, LARGE)

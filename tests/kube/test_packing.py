"""Packing: what goes in comes out, before and after there is a dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.packing import Packer

ENOUGH = 64
DATA = b",".join(b'"setting-%d":"%d"' % (key, key * 7919) for key in range(40))


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.binary(max_size=300), max_size=8))
def test_whatever_was_packed_comes_out_whenever_it_was_packed(early: list[bytes], late: list[bytes]) -> None:
    packer: Packer[int] = Packer()
    before = [packer.packed(raw) for raw in early]
    packer.train(early)
    after = [packer.packed(raw) for raw in late]
    assert [packer.unpacked(each) for each in (*before, *after)] == [*early, *late]


def test_samples_too_short_to_teach_anything_do_no_harm() -> None:
    packer: Packer[int] = Packer()
    packer.train([b"'", b"", b"", b"a", b"", b"b", b"c" * 9, bytes(range(100))])
    assert packer.unpacked(packer.packed(b"abc")) == b"abc"


def test_samples_are_asked_for_once_when_there_are_enough() -> None:
    packer: Packer[int] = Packer()
    asked = [tuple(packer.samples(key)) for key in range(ENOUGH)]
    assert asked == [()] * (ENOUGH - 1) + [tuple(range(ENOUGH))]
    packer.train([b"a"])
    assert packer.samples(ENOUGH) == ()


def test_what_resembles_the_samples_takes_few_bytes() -> None:
    packer: Packer[int] = Packer()
    bodies = [b'{"metadata":{"name":"config-%d"},"data":{%s}}' % (each, DATA) for each in range(99)]
    plain = len(packer.packed(bodies[-1]))
    packer.train(bodies[:ENOUGH])
    assert len(packer.packed(bodies[-1])) < plain * 0.5

"""Bodies: what is kept comes back as it was; what memory does not allow is given up in good order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.cache.objects import key
from trimtab.engine.cache.bodies import Bodies
from trimtab.resources.keys import ResourceKey


def body(number: int) -> bytes:
    return b'{"metadata":{"name":"config-%d","labels":{"app":"web"}},"data":{"x":"%d"}}' % (
        number,
        number * 7919,
    )


def keys(count: int) -> list[ResourceKey]:
    return [key(f"config-{number:03}") for number in range(count)]


@given(st.lists(st.binary(max_size=300), max_size=150), st.integers(min_value=0, max_value=40_000))
def test_whatever_is_kept_comes_back_before_and_after_it_is_packed_and_a_dictionary_was_made(
    raws: list[bytes], few: int
) -> None:
    bodies = Bodies(few)
    names = keys(len(raws))
    for name, raw in zip(names, raws, strict=True):
        bodies.keep(name, raw)
    assert [bodies.read(name) for name in names] == raws
    for name in names:
        bodies.drop(name)
    assert (len(bodies), bodies.size) == (0, 0)


def test_objects_that_resemble_each_other_take_few_bytes_once_there_are_enough_of_them() -> None:
    bodies, raw = Bodies(few=0), body(1) * 20
    for name in keys(40):
        bodies.keep(name, raw + name.name.encode())
    before = bodies.size / 40
    for name in keys(80):
        bodies.keep(name, raw + name.name.encode())
    assert bodies.size / 80 < before * 0.8
    assert [bodies.read(name) for name in keys(80)] == [raw + name.name.encode() for name in keys(80)]


def test_few_objects_stay_as_they_came() -> None:
    bodies, raw = Bodies(), body(1) * 20
    for name in keys(80):
        bodies.keep(name, raw)
    assert bodies.size > 80 * len(raw)


def test_objects_that_stayed_as_they_came_are_packed_before_any_is_given_up() -> None:
    bodies, raw = Bodies(), body(1) * 20
    for name in keys(80):
        bodies.keep(name, raw)
    bodies.trim(bodies.size // 4)
    assert (len(bodies), [bodies.read(name) for name in keys(80)]) == (80, [raw] * 80)


def test_a_body_is_replaced_not_added_to() -> None:
    bodies = Bodies()
    bodies.keep(key("a"), body(1))
    size = bodies.size
    bodies.keep(key("a"), body(1))
    assert (bodies.size, len(bodies)) == (size, 1)
    bodies.keep(key("a"), body(2))
    assert bodies.read(key("a")) == body(2)


def test_the_longest_unread_are_given_up_first() -> None:
    bodies, names = Bodies(few=0), keys(10)
    for number, name in enumerate(names):
        bodies.keep(name, body(number))
    assert bodies.read(names[0]) == body(0)
    bodies.trim(bodies.size)
    assert len(bodies) == 10
    bodies.trim(bodies.size // 2)
    kept = [name for name in names if bodies.read(name) is not None]
    assert kept == [names[0], *names[-len(kept) + 1 :]]
    assert 0 < len(kept) < 6
    bodies.trim(0)
    assert (len(bodies), bodies.size) == (0, 0)

"""Whom a change concerns."""

from __future__ import annotations

from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.sources.hints.changes import Change, Concerned, Interest, Interests, is_concerned
from trimtab.sources.repositories.addresses import Place
from trimtab.sources.repositories.refs import target_of

HERE, THERE = Place("git.example", "team/app"), Place("git.example", "team/other")


def interest(consumer: str = "web", target: str = "main", paths: tuple[str, ...] = ()) -> Interest:
    return Interest(consumer=consumer, repository="r", target=target_of(target), paths=paths)


REFS = [
    ("main", "refs/heads/main", True),
    ("main", "refs/tags/main", True),
    ("main", "refs/heads/main2", False),
    ("refs/heads/main", "refs/heads/main", True),
    ("refs/heads/main", "refs/tags/main", False),
    ("HEAD", "refs/heads/main", True),
    ("HEAD", "refs/heads/feature", False),
    ("HEAD", "refs/tags/main", False),
    ("^1", "refs/tags/v1.0.0", True),
    ("^1", "refs/heads/main", False),
    ("a" * 40, "refs/heads/main", False),
    ("abcdef0", "refs/heads/main", False),
    ("main", "", True),
    ("a" * 40, "", False),
]


@pytest.mark.parametrize(("target", "ref", "expected"), REFS)
def test_a_ref_concerns_those_who_follow_it(target: str, ref: str, expected: bool) -> None:  # noqa: FBT001 - a table
    change = Change(places=(HERE,), ref=ref, default_branch="main")
    assert is_concerned(interest(target=target), change) == expected


PATHS = [
    ((), ("web/x",), True),
    (("web",), ("web/x",), True),
    (("web/",), ("web/x",), True),
    (("web",), ("website/x",), False),
    (("web",), ("api/x",), False),
    (("web/x",), ("web/x",), True),
    (("",), ("api/x",), True),
    (("/",), ("api/x",), True),
    (("web", "base"), ("api/x", "base/y"), True),
    (("web",), None, True),
    (("web",), (), False),
]


@pytest.mark.parametrize(("wanted", "changed", "expected"), PATHS)
def test_paths_concern_those_who_look_at_them(
    wanted: tuple[str, ...],
    changed: tuple[str, ...] | None,
    expected: bool,  # noqa: FBT001 - a table
) -> None:
    change = Change(places=(HERE,), ref="refs/heads/main", paths=changed)
    assert is_concerned(interest(paths=wanted), change) == expected


def test_consumers_are_found_by_place_and_forgotten() -> None:
    interests = Interests()
    interests.add(HERE, interest("web"))
    interests.add(HERE, interest("api", target="other"))
    interests.add(THERE, interest("elsewhere"))
    change = Change(places=(HERE, HERE, Place("git.example", "nobody")), ref="refs/heads/main")
    assert interests.concerned(change) == Concerned(consumers=("web",), repositories=("r",))
    interests.add(THERE, interest("web"))
    assert interests.concerned(change) == Concerned(consumers=(), repositories=())
    interests.remove("web")
    interests.remove("web")
    assert interests.concerned(Change(places=(THERE,))).consumers == ("elsewhere",)


class Touchy(tuple[str, ...]):
    """Paths that must not be looked at."""

    __slots__ = ()

    def __iter__(self) -> NoReturn:
        raise AssertionError("somebody was looked at whom the change does not concern")


def test_a_change_costs_as_much_as_it_concerns_people_and_no_scan() -> None:
    interests = Interests()
    for number in range(2000):
        looked_at = number == 7
        paths = ("web",) if looked_at else Touchy(("web",))
        interests.add(Place("git.example", f"team/{number}"), interest(f"app-{number}", paths=paths))
    change = Change(places=(Place("git.example", "team/7"),), paths=("web/x",))
    assert interests.concerned(change).consumers == ("app-7",)


STEPS = st.tuples(st.sampled_from("abc"), st.sampled_from([HERE, THERE]), st.booleans())


@given(st.lists(STEPS, max_size=20))
def test_the_index_says_what_a_scan_would_say(steps: list[tuple[str, Place, bool]]) -> None:
    interests, known = Interests(), dict[str, Place]()
    for consumer, place, stays in steps:
        if stays:
            interests.add(place, interest(consumer))
            known[consumer] = place
        else:
            interests.remove(consumer)
            known.pop(consumer, None)
    for place in (HERE, THERE):
        expected = tuple(sorted(name for name, where in known.items() if where == place))
        assert interests.concerned(Change(places=(place,))).consumers == expected

"""How long a demo and its set-up took is read off what they print."""

from __future__ import annotations

from scripts.demo_times import Told, told

FIRST = "Getting uv 1.2 into /cache\nset-up took 9.5 s\nFetching helm, once (37 MB)\nset-up took 3.0 s\n"
REST = "1. A chart\n\nThat was all of it, in 21 s. To go on:\n"


def test_a_first_demo_tells_of_packages_and_programs() -> None:
    assert told(FIRST + REST) == Told(set_up=12.5, demo=21)


def test_a_later_demo_has_nothing_to_set_up() -> None:
    assert told(REST) == Told(set_up=0, demo=21)


def test_a_demo_that_broke_tells_nothing() -> None:
    assert told(FIRST) is None

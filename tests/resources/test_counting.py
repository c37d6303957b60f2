"""Counts read as sentences: one thing is not several."""

from __future__ import annotations

import pytest

from trimtab.resources.counting import counted


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("object",), "0 objects"),
        (1, ("object",), "1 object"),
        (1_000_000, ("object",), "1000000 objects"),
        (1, ("app is", "apps are"), "1 app is"),
        (3, ("app is", "apps are"), "3 apps are"),
        (1.0, ("second",), "1 second"),
        (0.5, ("second",), "0.5 seconds"),
    ],
)
def test_a_count_reads_as_people_say_it(number: float, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said

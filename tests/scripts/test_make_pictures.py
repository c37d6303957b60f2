"""Pictures say what the terminal said, at the place where it said it."""

from __future__ import annotations

import pytest

from scripts.make_pictures import after, lasting, svg, words_in
from testbed.terminals import Emulated

SAID = (
    "$ trimtab sync a\r\nold\r\n$ trimtab sync file:///tmp/x-1/shop --yes\r\n\x1b[32m+\x1b[0m 1 < 2\r\n"
    "one\r\n\x1b[1F\x1b[2Ktwo\r\n\r\n\x1b[1m3. Next\x1b[0m\r\n"
)


def test_a_picture_shows_the_last_run_of_a_command_up_to_the_next_chapter() -> None:
    screen = Emulated()
    screen.feed(SAID)
    shown = after(screen.rows, "trimtab sync")
    assert words_in(svg(shown)) == ["$ trimtab sync file:///tmp/demo/shop --yes", "+ 1 < 2", "two"]


def test_colours_and_places_are_kept() -> None:
    screen = Emulated()
    screen.feed("ab\x1b[31mc\x1b[0m")
    assert '<tspan x="32" textLength="8" fill="#ff7b72">c</tspan>' in svg(screen.rows)


@pytest.mark.parametrize(
    ("shown", "lasts"),
    [
        (f"plan 788289116b70 of shop at {'1f' * 20}", "plan PLAN of shop at COMMIT"),
        (
            "because Pod shop/web-748bc85596-4fn4c is new (for 4 s)",
            "because Pod shop/web-MADE-UP is new (for A WHILE)",
        ),
        ("ReplicaSet.apps shop/web-748bc85596", "ReplicaSet.apps shop/web-MADE-UP"),
        ('ImagePullBackOff: Back-off pulling image "web:2.2": ErrImagePull: no', "ErrImagePull: no"),
        ("add --confirm-deletions.", "add --confirm-deletions."),
        ("$ trimtab sync shop --prune --yes", "$ trimtab sync shop --prune --yes"),
    ],
)
def test_what_every_run_has_another_of_is_left_out(shown: str, lasts: str) -> None:
    assert lasting(shown) == lasts

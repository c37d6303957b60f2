"""Pictures say what the terminal said, at the place where it said it."""

from __future__ import annotations

import re
from html import unescape

from scripts.make_pictures import after, svg
from testbed.terminals import Emulated

SAID = (
    "$ trimtab sync a\r\nold\r\n$ trimtab sync file:///tmp/x-1/shop --yes\r\n\x1b[32m+\x1b[0m 1 < 2\r\n"
    "one\r\n\x1b[1F\x1b[2Ktwo\r\n\r\n\x1b[1m3. Next\x1b[0m\r\n"
)


def words(picture: str) -> list[str]:
    return [unescape(re.sub("<[^>]+>", "", line)) for line in re.findall("<text.*?</text>", picture)]


def test_a_picture_shows_the_last_run_of_a_command_up_to_the_next_chapter() -> None:
    screen = Emulated()
    screen.feed(SAID)
    shown = after(screen.rows, "trimtab sync")
    assert words(svg(shown)) == ["$ trimtab sync file:///tmp/demo/shop --yes", "+ 1 < 2", "two"]


def test_colours_and_places_are_kept() -> None:
    screen = Emulated()
    screen.feed("ab\x1b[31mc\x1b[0m")
    assert '<tspan x="32" textLength="8" fill="#ff7b72">c</tspan>' in svg(screen.rows)

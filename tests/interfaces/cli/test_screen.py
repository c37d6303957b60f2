"""Lines drawn in place: the new picture covers the old one, and no line is wider than the terminal."""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.terminals import Emulated
from trimtab.interfaces.cli.picturing import Line, Mark
from trimtab.interfaces.cli.screen import Screen, can_redraw, fitted


class Paper(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, *, terminal: bool = True, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a stream in memory has none of its own
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


def drawn(
    *pictures: list[str], columns: int = 20, lines: int = 10, colour: bool = False, encoding: str = "utf-8"
) -> list[str]:
    paper, seen = Paper(encoding=encoding), Emulated()
    screen = Screen(paper, colour=colour, size=lambda: os.terminal_size((columns, lines)))
    paper.write("before\n")
    for picture in pictures:
        screen.draw([Line(Mark.ACTIVE, text) for text in picture])
    screen.leave()
    paper.write("after")
    seen.feed(paper.getvalue().replace("\n", "\r\n"))
    return seen.text()


@pytest.mark.parametrize("colour", [False, True])
def test_a_picture_covers_the_one_before(colour: bool) -> None:  # noqa: FBT001 - a parameter of the table
    shown = drawn(["one", "two", "three"], ["four"], ["five", "six"], colour=colour)
    assert shown == ["before", "● five", "● six", "after"]


def test_a_line_is_cut_where_the_terminal_ends() -> None:
    assert drawn(["waiting for Deployment.apps shop/web"], columns=16) == [
        "before",
        "● waiting for …",
        "after",
    ]


def test_where_letters_are_few_a_line_is_no_wider_for_it() -> None:
    shown = drawn(["Größe of Deployment.apps shop/web"], columns=16, encoding="ascii")
    assert shown == ["before", "* Gr??e of Dep~", "after"]


def test_a_picture_higher_than_the_terminal_shows_its_end() -> None:
    assert drawn(["1", "2", "3"], ["4", "5", "6"], lines=3) == ["before", "● 5", "● 6", "after"]


def test_what_would_command_a_terminal_is_left_out() -> None:
    assert fitted("a\x1b[2Jb\nc", 20) == "a [2Jb c"


@given(st.text(), st.integers(0, 30))
def test_a_fitted_text_never_has_more_characters_than_columns(text: str, columns: int) -> None:
    assert len(fitted(text, columns)) <= columns


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (False, {"TERM": "xterm"}, False),
    ],
)
def test_only_a_terminal_that_can_go_up_is_drawn_on(
    terminal: bool,  # noqa: FBT001 - a column of the table
    environment: dict[str, str],
    expected: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert can_redraw(Paper(terminal=terminal), environment) is expected

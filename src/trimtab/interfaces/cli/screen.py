"""Lines that are drawn again in place, at the foot of a terminal. What they say is not decided here."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TextIO

import click

from trimtab.interfaces.cli.picturing import Line, Mark

_SIGNS: Final = {Mark.DONE: "✔", Mark.ACTIVE: "●", Mark.FAILED: "✗", Mark.LATER: "·", Mark.NOTE: " "}
_PLAIN_SIGNS: Final = {Mark.DONE: "+", Mark.ACTIVE: "*", Mark.FAILED: "x", Mark.LATER: ".", Mark.NOTE: " "}
_COLOURS: Final = {Mark.DONE: "green", Mark.ACTIVE: "yellow", Mark.FAILED: "red"}
_UP, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[{}F", "\x1b[2K", "\x1b[J"


def can_redraw(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether lines can be drawn in place: a terminal that knows how to go up a line."""
    return stream.isatty() and environment.get("TERM", "") not in {"", "dumb"}


class Screen:
    """The foot of one terminal."""

    def __init__(
        self,
        stream: TextIO,
        *,
        colour: bool,
        size: Callable[[], os.terminal_size] = shutil.get_terminal_size,
    ) -> None:
        self._stream = stream
        self._colour = colour
        self._size = size
        self._signs = _SIGNS if _can_say(stream, "".join(_SIGNS.values())) else _PLAIN_SIGNS
        self._height = 0

    def draw(self, lines: Sequence[Line]) -> None:
        """Put these lines in the place of those that were drawn last."""
        size = self._size()
        shown = [self._painted(line, size.columns) for line in lines[-max(1, size.lines - 1) :]]
        back = _UP.format(self._height) if self._height else ""
        rows = "".join(f"{_CLEAR_LINE}{row}\n" for row in shown)
        self._stream.write(f"{back}{rows}{_CLEAR_BELOW}")
        self._stream.flush()
        self._height = len(shown)

    def leave(self) -> None:
        """Let what was drawn stand; what comes next is written below it."""
        self._height = 0

    def _painted(self, line: Line, columns: int) -> str:
        # One column stays free: a terminal may wrap when the last one is written.
        text = fitted(line.text, columns - 3)
        if self._signs is _PLAIN_SIGNS:  # a letter that has to be escaped would be wider than it should
            text = text.replace("…", "~").encode("ascii", "replace").decode()
        sign = self._signs[line.mark]
        if not self._colour:
            return f"{sign} {text}"
        if line.mark in _COLOURS:
            return f"{click.style(sign, fg=_COLOURS[line.mark])} {text}"
        return click.style(f"{sign} {text}", dim=True)


def fitted(text: str, columns: int) -> str:
    """The text in so many columns, cut with an ellipsis; what would command a terminal is left out."""
    kept: list[str] = []
    used = 0
    for char in text:
        shown = char if char.isprintable() else " "
        used += _width(shown)
        if used > columns:
            return f"{''.join(kept)[: max(0, columns - 1)]}…" if columns > 0 else ""
        kept.append(shown)
    return "".join(kept)


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def _can_say(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True

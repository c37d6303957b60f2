"""Tables for people: rows of words, the columns aligned and made to fit what they are written on. Pure.

Where there is not enough room, the columns that matter least become narrower and, when that does not do, are
left out: a line is never broken. What is written on is a `Paper`; who looks at a terminal makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

GAP = "  "


class Paper(NamedTuple):
    """What there is to write on."""

    #: columns of a terminal; 0 where lines may be of any length
    width: int = 0
    #: whether it shows more than ASCII
    glyphs: bool = True
    colour: bool = False

    @property
    def ellipsis(self) -> str:
        """What stands for words that were left out."""
        return "…" if self.glyphs else "..."


ENDLESS = Paper()


class Column(NamedTuple):
    """One column of a table."""

    heading: str
    #: it becomes no narrower than this
    least: int = 8
    #: those with most to spare become narrow, and are left out, before others; of equal ones the right one
    spare: int = 0
    #: holds words that have a colour
    painted: bool = False
    #: shown only to those who ask for more
    wide: bool = False
    #: holds names, which differ at their ends: what is too long loses its middle
    names: bool = False


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """The rows as lines, without blanks at their ends."""
    columns = [Column("") for _ in rows[0]]
    return "\n".join(_lines(rows, columns, _natural(rows), ENDLESS, str))


def fitted(
    columns: Sequence[Column],
    rows: Sequence[tuple[str, ...]],
    paper: Paper,
    paint: Callable[[str], str] = str,
) -> str:
    """The rows below their headings, if any, in as many columns and letters as the paper has room for."""
    headings = tuple(column.heading for column in columns)
    titled = [tuple(one_line(cell, glyphs=paper.glyphs) for cell in row) for row in rows]
    if any(headings):
        titled.insert(0, headings)
    natural = _natural(titled)
    kept = _kept(columns, natural, paper.width)
    chosen = [columns[number] for number in kept]
    widths = _narrowed(chosen, [natural[number] for number in kept], paper.width)
    shown = [tuple(row[number] for number in kept) for row in titled]
    return "\n".join(_lines(shown, chosen, widths, paper, paint))


def one_line(text: str, *, glyphs: bool = True) -> str:
    """The text in one line, without what would command a terminal, or what a plain one cannot show."""
    if text.isprintable() and (glyphs or text.isascii()):
        return text
    return "".join(
        char if char.isprintable() and (glyphs or char.isascii()) else _harmless(char) for char in text
    )


def harmless(text: str) -> str:
    """The text without what would command a terminal; its lines stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)


def shortened(text: str, width: int, ellipsis: str, *, middle: bool = False) -> str:
    """As much of the text as fits this width, with the ellipsis where its end, or its middle, is left out."""
    if width_of(text) <= width:
        return text
    if width <= len(ellipsis):
        return ellipsis[:width]
    room = width - len(ellipsis)
    tail = _within(reversed(text), room // 2)[::-1] if middle else ""
    return _within(text, room - width_of(tail)) + ellipsis + tail


def _within(chars: Iterable[str], room: int) -> str:
    """The first of the characters that fit."""
    kept = ""
    for char in chars:
        room -= width_of(char)
        if room < 0:
            break
        kept += char
    return kept


def width_of(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _harmless(char: str) -> str:
    return " " if char.isspace() else ascii(char)[1:-1]


def _natural(rows: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(map(width_of, column)) for column in zip(*rows, strict=True)]


def _kept(columns: Sequence[Column], natural: Sequence[int], room: int) -> list[int]:
    """Which columns there is room for, each at its narrowest; one there always is."""
    kept = list(range(len(columns)))
    while room and len(kept) > 1:
        narrowest = [min(natural[number], columns[number].least) for number in kept]
        if sum(narrowest) + len(GAP) * (len(kept) - 1) <= room:
            break
        kept.remove(max(kept, key=lambda number: (columns[number].spare, number)))
    return kept


def _narrowed(columns: Sequence[Column], natural: Sequence[int], room: int) -> list[int]:
    """The widths, those that matter least made smaller until all fit."""
    widths = list(natural)
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - room if room else 0
    for number in sorted(range(len(widths)), key=lambda each: (columns[each].spare, each), reverse=True):
        if excess <= 0:
            break
        given = min(excess, max(widths[number] - columns[number].least, 0))
        widths[number] -= given
        excess -= given
    return widths if excess <= 0 else [room]  # only the last one left can be too wide at its narrowest


def _lines(
    rows: Sequence[tuple[str, ...]],
    columns: Sequence[Column],
    widths: Sequence[int],
    paper: Paper,
    paint: Callable[[str], str],
) -> list[str]:
    lines = []
    for row in rows:
        line = ""
        for cell, column, width in zip(row, columns, widths, strict=True):
            shown = shortened(cell, width, paper.ellipsis, middle=column.names)
            padding = " " * (width - width_of(shown)) + GAP
            line += (paint(shown) if column.painted and paper.colour else shown) + padding
        lines.append(line.rstrip())
    return lines

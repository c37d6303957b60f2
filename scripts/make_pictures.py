"""Makes the pictures of docs/pictures: what a terminal really showed while the demo ran, as SVG.

    python -m scripts.make_pictures

No outside service and no fonts are needed: a picture is text, which can be searched and copied.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from html import escape, unescape
from itertools import groupby
from pathlib import Path

from testbed.terminals import Cell, Style, Terminal

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
COLUMNS = 112
#: pictures of what a command showed, by how its line begins
AFTER = {"held": "trimtab sync shop --prune", "why": "trimtab why"}
_WIDTH, _HEIGHT, _MARGIN = 8.0, 18, 16
_PAPER, _INK = "#0d1117", "#e6edf3"
_INKS = {
    "red": "#ff7b72",
    "green": "#3fb950",
    "yellow": "#d29922",
    "blue": "#79c0ff",
    "magenta": "#d2a8ff",
    "cyan": "#56d4dd",
}
#: where the demo had its folder, which says nothing to anybody
_FOLDER = re.compile(r"file:///\S+?/shop\b")

_PASSING = (
    (re.compile(r"\b[0-9a-f]{40}\b"), "COMMIT"),
    (re.compile(r"^plan [0-9a-f]{12}\b"), "plan PLAN"),
    (re.compile(r"\b([a-z]+)-(?=[a-z]*\d)[0-9a-z]{8,10}(-[0-9a-z]{5})?\b"), r"\1-MADE-UP"),
    (re.compile(r"\(for [^)]*\)"), "(for A WHILE)"),
    # an image is tried again after a while, and says so
    (re.compile(r'ImagePullBackOff: Back-off pulling image "[^"]*": '), ""),
)


def svg(rows: Sequence[Sequence[Cell]]) -> str:
    """Rows of a terminal as a picture."""
    width = max((len(row) for row in rows), default=0) * _WIDTH + 2 * _MARGIN
    height = len(rows) * _HEIGHT + 2 * _MARGIN
    lines = "\n".join(_line(row, _MARGIN + (number + 0.75) * _HEIGHT) for number, row in enumerate(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}"/>\n{lines}\n</svg>\n'
    )


def _line(row: Sequence[Cell], y: float) -> str:
    spans, column = [], 0
    for style, cells in groupby(row, key=lambda cell: cell.style):
        text = "".join(cell.char for cell in cells)
        if text.strip():
            spans.append(_span(text, style, _MARGIN + column * _WIDTH))
        column += len(text)
    return f'<text y="{y:g}" xml:space="preserve">{"".join(spans)}</text>'


def _span(text: str, style: Style, x: float) -> str:
    """Words at their place; their length is said, so that other fonts align as well."""
    ink = _INKS.get(style.colour, _INK)
    weight = ' font-weight="bold"' if style.bold else ""
    faint = ' opacity="0.6"' if style.dim else ""
    length = f'textLength="{len(text) * _WIDTH:g}"'
    return f'<tspan x="{x:g}" {length} fill="{ink}"{weight}{faint}>{escape(text, quote=False)}</tspan>'


def after(rows: Sequence[Sequence[Cell]], command: str) -> list[list[Cell]]:
    """What was shown from the last time this command was typed, up to the next chapter."""
    texts = [_text(row).rstrip() for row in rows]
    start = max(number for number, text in enumerate(texts) if text.startswith(f"$ {command}"))
    end = next(
        (number for number in range(start, len(texts)) if not texts[number] and _ends(texts, number)), None
    )
    return [_plain(row) for row in rows[start:end]]


def _ends(texts: Sequence[str], number: int) -> bool:
    return bool(re.match(r"\d+\. |That was all", "".join(texts[number + 1 : number + 2])))


def _plain(row: Sequence[Cell]) -> list[Cell]:
    """The row without the name of a folder that was there for a moment."""
    found = _FOLDER.search(_text(row))
    if found is None:
        return list(row)
    name = [Cell(char, row[found.start()].style) for char in "file:///tmp/demo/shop"]
    return [*row[: found.start()], *name, *row[found.end() :]]


def words_in(picture: str) -> list[str]:
    """The lines that a picture shows."""
    return [unescape(re.sub("<[^>]+>", "", line)) for line in re.findall("<text.*?</text>", picture)]


def lasting(line: str) -> str:
    """A line without what is another in every run: digests, names that a cluster makes up, times."""
    for pattern, instead in _PASSING:
        line = pattern.sub(instead, line)
    return line


def write(name: str, rows: Iterable[Sequence[Cell]]) -> None:
    """Write one picture."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.svg").write_text(svg(list(rows)), encoding="utf-8")
    print(f"wrote docs/pictures/{name}.svg")


def main() -> int:
    """Run the demo, and keep what it showed at three moments."""
    environment = {**os.environ, "USER": "ann"}  # noqa: TID251 - this is the edge
    command = [sys.executable, "-m", "trimtab", "demo"]
    with Terminal(command, environment=environment, folder=Path.cwd(), columns=COLUMNS) as terminal:
        terminal.until("0 of 2 updated replicas are available")
        under_way = after(terminal.screen.rows, "trimtab sync")
        code = terminal.end()
    rows = terminal.screen.rows
    first = next(number for number, row in enumerate(under_way) if "PreSync wave" in _text(row))
    write("waves", [under_way[0], *under_way[first:]])
    for name, asked in AFTER.items():
        write(name, after(rows, asked))
    return code


def _text(row: Sequence[Cell]) -> str:
    return "".join(cell.char for cell in row)


if __name__ == "__main__":
    sys.exit(main())

"""The ways a verb can answer, decided once for all of them.

Every verb that prints data answers with a table, a wider one, JSON, YAML or names (`FORMS`); some have a form
of their own besides, such as words in sentences (`words_option`). On a terminal, tables fit its width; only
words that judge, and diffs, have colour; nothing is written that the reader cannot show.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from trimtab.interfaces.cli.leading import as_meant
from trimtab.resources.tables import Column, Paper, fitted, harmless, one_line

if TYPE_CHECKING:
    from trimtab.app.lastknown import Away
    from trimtab.interfaces.cli.verbs import Invocation
    from trimtab.programs import Tell

F = TypeVar("F", bound=Callable[..., Any])

#: how every verb that prints data can answer
FORMS: Final = ("table", "wide", "json", "yaml", "name")
#: lines shorter than this are no lines
_READABLE = 16
_COLOURS = {
    "Synced": "green",
    "OutOfSync": "yellow",
    "Healthy": "green",
    "Suspended": "blue",
    "Progressing": "cyan",
    "Missing": "yellow",
    "Degraded": "red",
    "Unknown": "magenta",
}


def output_forms(default: str, *others: str) -> Callable[[F], F]:
    """Give a verb `-o` with the forms of all verbs, and whatever else it has."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(tuple(dict.fromkeys((default, *FORMS, *others)))),
        default=default,
        show_default=True,
        help="How to print the answer.",
    )


#: for verbs that answer in words
words_option = output_forms("text")
#: for verbs that print rows
rows_option = output_forms("table")
#: for verbs that print manifests
manifests_option = output_forms("yaml")


class Listing(NamedTuple):
    """Rows, as people and as programs read them."""

    columns: Sequence[Column]
    rows: Sequence[tuple[str, ...]]
    #: what `-o name` prints, one per line
    names: Sequence[str]
    #: what programs get
    value: Any
    #: lines above the table
    title: str = ""


def show(invocation: Invocation, listing: Listing, output: str) -> None:
    """Print a listing in the form that is asked for."""
    text = shown(listing, output, paper_at(invocation))
    if text:
        click.echo(text)


def shown(listing: Listing, output: str, paper: Paper) -> str:
    """A listing in one of the forms of all verbs."""
    if output == "name":
        return "\n".join(map(one_line, listing.names) if paper.width else listing.names)
    if output not in {"table", "wide"}:
        return encoded(listing.value, output)
    chosen = [number for number, each in enumerate(listing.columns) if output == "wide" or not each.wide]
    columns = [listing.columns[number] for number in chosen]
    rows = [tuple(row[number] for number in chosen) for row in listing.rows]
    drawn = fitted(columns, rows, paper, painted) if rows else ""
    return f"{listing.title}\n\n{drawn}" if listing.title and drawn else listing.title or drawn


def facts(pairs: Sequence[tuple[str, str]], paper: Paper) -> str:
    """Names and what is to be said of them; what does not fit a line goes on below itself."""
    indent = max(len(name) for name, _ in pairs) + 2
    lines = []
    for name, text in pairs:
        first, *more = wrapped(
            one_line(text, glyphs=paper.glyphs), paper.width - indent if paper.width else 0
        )
        lines.append(name.ljust(indent) + (painted(first) if paper.colour else first))
        lines += [" " * indent + each for each in more]
    return "\n".join(lines)


def wrapped(text: str, room: int) -> list[str]:
    """The text in lines of this length, where that is one that can be read."""
    from textwrap import wrap

    return wrap(text, room) or [""] if room >= _READABLE else [text]


def tell_warnings(warnings: Sequence[str]) -> None:
    """Say on stderr what is in nobody's way, but should be known."""
    for each in warnings:
        click.echo(f"{click.style('warning:', fg='yellow')} {as_meant(one_line(each))}", err=True)


def tell_fetches() -> Tell:
    """Says on stderr which programs are fetched, each once."""
    from trimtab.programs import said_once

    return said_once(partial(click.echo, err=True))


def tell_away(away: Away | None) -> None:
    """Say on stderr that a source is away, and what is shown instead, if that is so."""
    tell_warnings((str(away),) if away is not None else ())


def painted(word: str) -> str:
    """A word that judges in its colour; all others as they are."""
    return click.style(word, fg=_COLOURS[word]) if word in _COLOURS else word


def encoded(value: object, output: str) -> str:
    """The value for programs; letters that stdout cannot take are escaped as JSON, and so YAML, has it."""
    import json

    if output == "yaml":
        from trimtab.resources.yaml import dump

        text = dump(value).removesuffix("\n")  # further ones belong to the value
        text = harmless(text) if sys.stdout.isatty() else text
    else:
        text = json_text(value)
    return text if _takes(sys.stdout.encoding, text) else json.dumps(value, indent=2)


def json_text(value: object) -> str:
    """The value as JSON, whatever would command a terminal written as JSON writes what is not for the eye."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def _takes(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def paper_at(invocation: Invocation) -> Paper:
    """What this process writes on."""
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else 0
    return paper_for(invocation.environment, encoding=sys.stdout.encoding, terminal_width=width)


def paper_for(environment: Mapping[str, str], *, encoding: str, terminal_width: int) -> Paper:
    """What is written on; no width means that it is no terminal."""
    is_dumb = environment.get("TERM") == "dumb"
    return Paper(
        width=terminal_width,
        glyphs=_is_utf8(encoding) and _locale_has_glyphs(environment),
        colour=bool(terminal_width) and not is_dumb and not environment.get("NO_COLOR"),
    )


def _is_utf8(encoding: str) -> bool:
    return encoding.casefold().replace("-", "").replace("_", "") == "utf8"


def _locale_has_glyphs(environment: Mapping[str, str]) -> bool:
    """Whether the locale is one of UTF-8; Python writes that also where somebody asked for plain `C`."""
    ctype = environment.get("LC_CTYPE", "")
    # Python itself sets this one where it finds no other; it says nothing about the reader.
    asked = environment.get("LC_ALL") or (ctype if ctype != "C.UTF-8" else "") or environment.get("LANG")
    return not asked or "utf" in asked.casefold()

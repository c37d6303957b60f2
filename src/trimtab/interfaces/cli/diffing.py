"""Differences as people read them: like `diff -u`, a hunk per field, whose it is and why it counts. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.output import Listing
from trimtab.resources.tables import Column, Paper, one_line
from trimtab.resources.yaml import dump

if TYPE_CHECKING:
    from trimtab.app.differing import ObjectDiff
    from trimtab.engine.rows import Difference

_COLUMNS = (
    Column("OBJECT", least=8, names=True),
    Column("FIELD", least=10, names=True),
    Column("LIVE", least=7, spare=1),
    Column("DESIRED", least=7, spare=1),
    Column("OWNER", spare=2),
    Column("RULE", spare=3),
    Column("CHANGE", spare=4, wide=True),
    Column("API VERSION", spare=6, wide=True),
    Column("NOTE", least=12, spare=5, wide=True),
)
_COLOURS = {"-": "red", "+": "green", "@": "cyan"}
_WORDS = {"create": "it is not there", "prune": "no longer declared: a sync with --prune deletes it"}
#: lines beyond which it takes too long to find out which of them are the same
_MOST_COMPARED = 4000
_RULES = {
    "given up": "applied before, no longer declared",
    "server": "confirmed by the server",
    "other version": "in another version: nothing else can be told without a server",
}


def diff_listing(found: Iterable[ObjectDiff]) -> Listing:
    """One row per field."""
    from trimtab.app.differing import diff_report
    from trimtab.app.naming import short_name

    objects = tuple(found)
    rows = [row for each in objects for row in _rows(each)]
    return Listing(
        _COLUMNS, rows, [short_name(each.key) for each in objects], [diff_report(each) for each in objects]
    )


def _rows(found: ObjectDiff) -> Iterator[tuple[str, ...]]:
    more = (found.change.value, found.api_version or "-", found.note or "-")
    if not found.fields:
        yield (str(found.key), "-", "-", "-", "-", found.change.value, *more)
    for each in found.fields:
        yield (
            str(found.key),
            each.path,
            _cell(each.live),
            _cell(each.desired),
            each.manager or "-",
            each.rule,
            *more,
        )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def unified(found: Iterable[ObjectDiff], paper: Paper) -> str:
    """All objects, one below the other."""
    lines = (line for each in found for line in _object_lines(each))
    shown = (one_line(line, glyphs=paper.glyphs) for line in lines)
    return "\n".join(_painted(line) if paper.colour else line for line in shown)


def _painted(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        return click.style(line, bold=True)
    colour = _COLOURS.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def _object_lines(found: ObjectDiff) -> Iterator[str]:
    yield f"--- live     {found.key}"
    yield f"+++ desired  {found.key}"
    if found.note:
        yield f"# {found.note}"
    if not found.fields:
        yield f"@@ {_WORDS.get(found.change.value, found.change.value)} @@"
    if found.desired is not None:
        yield from (f"+{line}" for line in dump(found.desired).splitlines())
    for each in found.fields:
        yield from _hunks(each)


def _hunks(field: Difference) -> Iterator[str]:
    """The lines in which the two sides of a field differ, with some around them."""
    name = field.path.rpartition("/")[2]
    why = _RULES.get(field.rule, field.rule)
    yield f"@@ {field.path} ({f'set by {field.manager}; ' if field.manager else ''}{why}) @@"
    live, desired = _lines(name, field.live), _lines(name, field.desired)
    if len(live) + len(desired) > _MOST_COMPARED:
        yield from (f"-{line}" for line in live)
        yield from (f"+{line}" for line in desired)
        return
    hunks = list(unified_diff(live, desired, lineterm=""))[2:]
    for number, line in enumerate(hunks):
        if not line.startswith("@@"):
            yield line
        elif number:
            yield f"@@ {field.path} @@"


def _lines(name: str, value: Any) -> list[str]:
    """A value beside its name, as YAML has it; items of lists have no names."""
    if value is None:
        return []
    token = name.replace("~1", "/").replace("~0", "~")
    return dump([value] if token.isdecimal() else {token: value}).splitlines()

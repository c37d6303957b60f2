"""Words about failures, fit for a status: short, on one line, without dumps. Pure."""

from __future__ import annotations

import re

from trimtab.errors import TrimtabError

_LONGEST, _MOST_READ = 1000, 1 << 15
_GAP = "…"
#: where a dump begins: a map of Go, or the braces of JSON and of Go's values with the type before them
_OPENING = re.compile(r"map\[|[&*]?(?<![\w.])[\w.]*\{")
_BRACKETS = re.compile(r"[\[\]{}]")
_GAPS = re.compile(rf"{_GAP}(?:\w{{0,20}} ?{_GAP})+")
#: what writers put before the server's own words: the patch they sent to what, the file they read
_PATCH = re.compile(
    rf'error when applying patch:\s*{_GAP}?\s*to:[^"]*"[^"]*"[^"]*(?:"[^"]*"[^"]*)?for: "[^"]*":\s*'
)
_FILE = re.compile(r'error when \w+ "[^"]*":\s*')


def told(error: TrimtabError) -> str:
    """What a failure means, in the words that concern the object it befell."""
    words = clean(error.reason)
    return f"{words.rstrip('.')}. {error.remedy}" if error.remedy else words


def clean(text: str) -> str:
    """A text without file names, patches and dumps of maps, on one line and not too long."""
    text = _GAPS.sub(_GAP, _without_dumps(text[:_MOST_READ]))
    for noise in (_PATCH, _FILE):
        text = noise.sub("", text)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}{_GAP}"


def _without_dumps(text: str) -> str:
    kept: list[str] = []
    place = 0
    while (opening := _OPENING.search(text, place)) is not None:
        end = _end_of(text, opening.end())
        kept += [text[place : opening.start()], _GAP]
        place = end
    return "".join([*kept, text[place:]])


def _end_of(text: str, place: int) -> int:
    """Where the bracket that was opened before this place is closed again; the end if it never is."""
    depth = 1
    for bracket in _BRACKETS.finditer(text, place):
        depth += 1 if bracket[0] in "[{" else -1
        if depth == 0:
            return bracket.end()
    return len(text)

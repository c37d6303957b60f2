"""Globs as Argo CD's directory sources mean them. Pure.

`*` and `**` match anything, `/` included; `?` one character; `[a-z]` and `[!a-z]` one of a set; `{a,b}` one
of several globs; a backslash takes the next character as it is. The whole path has to match. Patterns are run
by RE2, so none of them takes more than linear time.
"""

from __future__ import annotations

import functools
import re
from typing import Final, Protocol

import re2

from trimtab.errors import InvalidSpec

LONGEST: Final = 4096
_DEEPEST: Final = 16


class Glob(Protocol):
    """A compiled glob."""

    def fullmatch(self, text: str) -> object | None:
        """Something, if the whole text matches."""


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Glob:
    """The glob, ready to match; an `InvalidSpec` if it is none."""
    if len(pattern) > LONGEST:
        raise InvalidSpec("the glob", "it is too long", "Shorten it")
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    try:
        glob: Glob = re2.compile(_expression(pattern), options)
    except re2.error as error:
        raise InvalidSpec(f"the glob {pattern!r}", "it cannot be understood", "Mend its brackets") from error
    return glob


def matches(pattern: str, path: str) -> bool:
    """Does the whole path match?"""
    return compiled(pattern).fullmatch(path) is not None


def _expression(pattern: str) -> str:
    """The glob as a regular expression."""
    out: list[str] = []
    open_braces, place = 0, 0
    while place < len(pattern):
        sign = pattern[place]
        place += 1
        if sign == "*":
            out.append(".*")
        elif sign == "?":
            out.append(".")
        elif sign == "[":
            text, place = _set(pattern, place)
            out.append(text)
        elif sign == "{" and open_braces < _DEEPEST:
            open_braces += 1
            out.append("(?:")
        elif sign == "}" and open_braces:
            open_braces -= 1
            out.append(")")
        elif sign == "," and open_braces:
            out.append("|")
        elif sign == "\\" and place < len(pattern):
            out.append(re.escape(pattern[place]))
            place += 1
        else:
            out.append(re.escape(sign))
    if open_braces:
        raise InvalidSpec(f"the glob {pattern!r}", "a brace is not closed", "Close it")
    return "".join(out)


def _set(pattern: str, place: int) -> tuple[str, int]:
    """The set that begins here, and where it ends."""
    end = pattern.find("]", place + 1)
    if end < 0:
        raise InvalidSpec(f"the glob {pattern!r}", "a bracket is not closed", "Close it")
    inside = pattern[place:end]
    negated, rest = inside[:1] == "!", inside.removeprefix("!")
    escaped = rest.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("^", "\\^")
    return f"[{'^' if negated else ''}{escaped}]", end + 1

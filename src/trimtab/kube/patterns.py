"""Regular expressions that users write: RE2, as the server uses, so that none can run away with the time.

Python's own `re` must not see such patterns: it backtracks, and it reads some of them otherwise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

_WORDS = {  # RE2's names of mistakes that the server names otherwise
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "bad repetition operator": "invalid nested repetition operator",
}


class BadPattern(ValueError):
    """A text that is no regular expression; the words are the server's."""


def is_found(pattern: str, text: str) -> bool:
    """Whether a text has something in it that follows the pattern."""
    return _compiled(pattern).search(text) is not None


def pattern_problem(pattern: str) -> str:
    """Why a text is no regular expression, in the server's words; empty if it is one."""
    try:
        _compiled(pattern)
    except BadPattern as exc:
        return str(exc)
    return ""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as exc:
        told = exc.args[0].decode() if isinstance(exc.args[0], bytes) else str(exc.args[0])
        what, _, where = told.partition(": ")
        name = _WORDS.get(what, what)
        raise BadPattern(f"error parsing regexp: {name}: `{where}`" if where else name) from exc

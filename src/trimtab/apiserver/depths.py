"""Bodies nested deeper than this server can walk: what lies too deep is cut off, and must not be kept. Pure.

A real server reads 10,000 levels. Hardly any field holds so many: most of what is that deep stands in fields
that nobody knows, or where a text belongs, and is forgotten or refused without being looked at. So a body
that turns out to be too deep is read once more with a mark in the place of what lies deepest; where the mark
would be kept after all, the request is refused.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

from trimtab.kube.refusals import Refused, bad_request

DEEPEST = 10_000  # levels that a real server reads
LEVELS = 100  # levels that are left; known fields lie no deeper, but in what may contain itself
MARK = secrets.token_hex(16)  # nobody else can say it
_MARK = MARK.encode()
_CUT = {b"{": b'{"%s":""}' % _MARK, b"[": b'["%s"]' % _MARK}
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def depth_of(content: bytes) -> int:
    """How many maps and lists stand in each other in JSON."""
    depth = deepest = 0
    for token in _TOKENS.finditer(content):
        if token[0] in (b"{", b"["):
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in (b"}", b"]"):
            depth -= 1
    return deepest


def cut(content: bytes) -> bytes:
    """JSON without what lies too deep; a mark stands there instead, in a map or a list."""
    depth, kept, start, opened = 0, [], 0, b""
    for token in _TOKENS.finditer(content):
        if token[0] in (b"{", b"["):
            depth += 1
            if depth == LEVELS:
                kept.append(content[start : token.start()])
                opened = token[0]
        elif token[0] in (b"}", b"]"):
            if depth == LEVELS:
                kept.append(_CUT[opened])
                start = token.end()
            depth -= 1
    return b"".join((*kept, content[start:]))


def check_whole(encoded: bytes) -> None:
    """Refuse to keep an object of which something was cut off."""
    if _MARK in encoded:
        raise too_deep()


def too_deep() -> Refused:
    """The refusal of a body with more levels than can be walked here."""
    return bad_request("exceeded max depth")


def without_mark(refused: Refused) -> Refused:
    """A refusal that may show the body, with dots for what was cut off."""
    if MARK not in str(refused.status()):
        return refused
    details = None if refused.details is None else _dotted(refused.details)
    dotted = Refused(refused.code, refused.word, _dotted(refused.message), details=details)
    for warning in getattr(refused, "__notes__", ()):
        dotted.add_note(warning)
    return dotted


def _dotted(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(MARK, "...")
    if isinstance(value, Mapping):
        return {name: _dotted(each) for name, each in value.items()}
    return [_dotted(each) for each in value] if isinstance(value, list | tuple) else value

"""JSON that is nested beyond all reason, made readable: what lies too deep is left out. Pure.

Whoever reads JSON goes down with it, so that one object nested a thousand deep would make a whole list
unreadable: anybody who may create objects of a kind could blind us to all others of it. Servers take such
objects where a definition lets fields be anything. Nothing that people declare lies as deep as this.
"""

from __future__ import annotations

import re
from typing import Final

#: maps and lists inside each other, in one object
DEEPEST: Final = 300
_TOKENS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def shallow(body: bytes, deepest: int = DEEPEST) -> bytes:
    """The same JSON, with null in the place of every map and list that lies deeper."""
    kept: list[bytes] = []
    depth = begin = 0
    for token in _TOKENS.finditer(body):
        sign = body[token.start()]
        if sign in b"[{":
            depth += 1
            if depth == deepest + 1:
                kept += (body[begin : token.start()], b"null")
        elif sign in b"]}":
            if depth == deepest + 1:
                begin = token.end()
            depth -= 1
    return b"".join((*kept, body[begin:]))

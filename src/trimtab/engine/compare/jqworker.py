"""What worker processes do with jq: compile an expression, take out what it names. Pure.

jq is a language with loops and recursion, given by users; nothing inside a process can stop it. So it runs
where a process can be killed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from trimtab.errors import InvalidSpec


class Job(Struct, frozen=True):
    """An expression, and the values to take out of what it names."""

    expression: str
    values: tuple[Raw, ...] = ()


def check(payload: bytes) -> bytes:
    """Nothing, or what is wrong with an expression."""
    job = msgspec.json.decode(payload, type=Job)
    try:
        _compiled(job.expression)
    except ValueError as exc:
        return str(exc).partition("\n")[0].encode()
    return b""


def removed(payload: bytes) -> bytes:
    """The values less what the expression names, as a list."""
    job = msgspec.json.decode(payload, type=Job)
    return b"[" + b",".join(_removed(job.expression, bytes(value)) for value in job.values) + b"]"


def _removed(expression: str, value: bytes) -> bytes:
    program = _compiled(expression)
    try:
        found = program.input_text(value.decode()).all()
    except ValueError as exc:
        # What jq says may quote the value, which may be a secret.
        raise InvalidSpec(f"ignore rule {expression!r}", "it fails on this object") from exc
    if len(found) != 1:
        reason = f"it makes {len(found)} values of one object"
        raise InvalidSpec(f"ignore rule {expression!r}", reason)
    return msgspec.json.encode(found[0])


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Any:
    import jq

    return jq.compile(f"del({expression})")

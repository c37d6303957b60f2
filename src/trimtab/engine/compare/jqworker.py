"""What worker processes do with jq: compile an expression, take out what it names.

jq is a language with loops and recursion, given by users; nothing inside a process can stop it. So it runs
where a process can be killed, under an alarm that kills it: the kernel counts the processor time of jq
alone, however busy the machine is and however long the process took to start. Not to be called at home.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from trimtab.engine.compare.paths import Path, without_paths
from trimtab.errors import InvalidSpec
from trimtab.shapes import Shape

_PATHS: Final = Shape(list[Path])


class Job(Struct, frozen=True):
    """An expression, and the values to take out of what it names."""

    expression: str
    #: seconds of processor time
    limit: float
    values: tuple[Raw, ...] = ()


_JOB: Final = msgspec.json.Decoder(Job)


def check(payload: bytes) -> bytes:
    """Nothing, or what is wrong with an expression."""
    job = _JOB.decode(payload)
    try:
        with _limited(job.limit):
            _compiled(job.expression)
    except ValueError as exc:
        return str(exc).partition("\n")[0].encode()
    return b""


def removed(payload: bytes) -> bytes:
    """The values less what the expression names, as a list."""
    job = _JOB.decode(payload)
    with _limited(job.limit):
        return b"[" + b",".join(_removed(job.expression, bytes(value)) for value in job.values) + b"]"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """End this process when the block takes more processor time; nobody handles the signal, so it kills."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _removed(expression: str, value: bytes) -> bytes:
    program = _compiled(expression)
    try:
        (found,) = program.input_text(value.decode()).all()
        paths = _PATHS.of(found)
        left = without_paths(msgspec.json.decode(value), paths)
    except ValueError as exc:
        # What jq says may quote the value, which may be a secret.
        raise InvalidSpec(f"ignore rule {expression!r}", "it fails on this object") from exc
    return msgspec.json.encode(left)


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Any:
    import jq

    return jq.compile(f"[path({expression})]")

"""Several things said as one: what servers and people say may end like a sentence, or not. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def joined(parts: Iterable[str]) -> str:
    """What there is to say, with semicolons between: `a; b`, never `a.; b`."""
    said = [part for part in parts if part]
    return "; ".join([*(_open(part) for part in said[:-1]), *said[-1:]])


def _open(sentence: str) -> str:
    """A sentence without its full stop; one that trails off keeps its dots."""
    return sentence if sentence.endswith("..") else sentence.removesuffix(".")

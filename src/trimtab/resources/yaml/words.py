"""Words the reader's parts share: a document, the bounds it must keep, and how a refusal is phrased."""

from __future__ import annotations

import sys
from typing import Any, Final

from msgspec import Struct

from trimtab.errors import InvalidSpec

MAX_DEPTH: Final = 256


class Limits(Struct, frozen=True, kw_only=True):
    """How much one text may ask of us; whatever Kubernetes itself accepts fits by far."""

    # Longer texts are refused unread.
    size: int = 32 * 1024 * 1024
    # Maps and lists inside each other; pure code may then walk any value by recursion.
    depth: int = MAX_DEPTH
    # Steps through what lies deeper than usual, each times its level: the parser takes so long for it.
    steps: int = sys.maxsize
    # Values that aliases may repeat, all documents of the text together.
    aliased: int = 400_000
    # Values of one document, its keys among them; a long text weighs as much as several.
    values: int = sys.maxsize
    # Lines that separate documents, be these empty or not.
    separators: int = sys.maxsize


DEFAULT_LIMITS: Final = Limits()


class Excessive(InvalidSpec):
    """A text asks more of us than its limits allow; the message repeats nothing of it."""


class Place(Struct, frozen=True, kw_only=True):
    """Where a document of a text was found."""

    source: str
    # The line it begins on, from 1.
    line: int
    # Its place among the documents that are not empty, from 0.
    index: int

    @property
    def where(self) -> str:
        """As people say it: `app.yaml, document 2, line 14`."""
        return f"{self.source}, document {self.index + 1}, line {self.line}"


class Document(Place, frozen=True, kw_only=True):
    """One document of a text: its value and where it was found."""

    value: Any


class Unread(Place, frozen=True, kw_only=True):
    """A document that cannot be read: why, and where it was found."""

    error: InvalidSpec


class Twin(Struct, frozen=True):
    """A key that stands a second time in one map, and the line on which it does, from 1."""

    line: int
    key: str


class Forgiven(Struct, frozen=True):
    """A value as a server reads it that lets the last of equal keys win, and the keys that stood twice."""

    value: Any
    twins: tuple[Twin, ...] = ()


def too_deep(limits: Limits) -> tuple[str, str]:
    """What is said of maps and lists that stand too deep in each other, and what to do."""
    return f"maps and lists are nested deeper than {limits.depth}", "Flatten the document"


TOO_HEAVY: Final = "too much of it is nested too deep"


def too_many(limits: Limits) -> tuple[str, str]:
    """What is said of a document of too many values, and what to do."""
    return f"it holds more than {limits.values} values", "Remove what is not needed"


def too_torn(limits: Limits) -> tuple[str, str]:
    """What is said of a text with too many separators, and what to do."""
    return f"more than {limits.separators} lines of it begin with `---`", "Remove what is not needed"


def refusal(source: str, line: int, column: int, reason: str, remedy: str) -> InvalidSpec:
    """An error that points at a place; lines and columns count from 1."""
    return InvalidSpec(f"{source}, line {line}, column {column}", reason, remedy)

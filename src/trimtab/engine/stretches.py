"""Long decisions in short stretches. Pure.

A decision about thousands of objects takes long enough to be felt by everybody who shares the event loop.
Such a function is a generator: it yields where others may have their turn, and returns what it decided.
`trimtab.tasks.in_turns` runs it beside others, `whole` in one go; both come to the same.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")
Stretches: TypeAlias = Generator[None, None, T]

#: objects between two yields: some milliseconds of work
STRETCH: Final = 50


def whole(work: Stretches[T]) -> T:
    """What the work comes to, in one go."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            # A generator carries what it returns in the exception that ends it, which is not typed.
            found: T = end.value
            return found

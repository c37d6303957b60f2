"""Long work of the event loop itself, done in short stretches between which everybody else has a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


async def in_turns(work: Generator[None, None, T]) -> T:
    """What the work returns; wherever it yields, others go on first. Cancelling ends it there."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            found: T = end.value
            return found
        await asyncio.sleep(0)

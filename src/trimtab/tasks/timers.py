"""Things that become due, each at most once at a time: a heap that can also forget and move.

Pure: it holds what is due when, and is told what time it is; nobody is woken here.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

#: a heap smaller than this is not worth tidying
_SMALL = 32


class Timers(Generic[T]):
    """When each thing is due. Setting, forgetting and taking cost O(log n), amortised."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, T]] = []
        self._valid: dict[T, int] = {}  # the number of the one heap row that counts for this thing
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._valid)

    def rows(self) -> int:
        """Rows held, those of moved and forgotten things included: never far above twice the things."""
        return len(self._heap)

    def set(self, thing: T, due: float) -> None:
        """Make the thing due then, and no more at any other time."""
        number = next(self._numbers)
        self._valid[thing] = number
        heapq.heappush(self._heap, (due, number, thing))
        self._tidy()

    def forget(self, thing: T) -> None:
        """Make the thing not due any more, if it was."""
        if self._valid.pop(thing, None) is not None:
            self._tidy()

    def next_due(self) -> float | None:
        """When the earliest thing is due."""
        while self._heap and self._is_stale(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now: float) -> T | None:
        """The earliest thing that is due by now, taken out."""
        due = self.next_due()
        if due is None or due > now:
            return None
        _, _, thing = heapq.heappop(self._heap)
        del self._valid[thing]
        return thing

    def _is_stale(self, row: tuple[float, int, T]) -> bool:
        return self._valid.get(row[2]) != row[1]

    def _tidy(self) -> None:
        """Throw stale rows out once they are the majority: each row pays for its own removal."""
        if len(self._heap) > 2 * len(self._valid) + _SMALL:
            self._heap = [row for row in self._heap if not self._is_stale(row)]
            heapq.heapify(self._heap)

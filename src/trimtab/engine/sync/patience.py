"""Asks a server again that cannot answer just now, until that has proven to be in vain.

For requests that do the same twice only. A server that is away is borne with once by a whole operation, not
by each of its objects: what has waited in vain leaves nothing for those that come after, and whatever comes
through in the end gives it back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from trimtab.errors import TrimtabError, Unavailable
from trimtab.tasks import Backoff, Clock
from trimtab.tasks.backoff import pause
from trimtab.tasks.chance import Chance, draw

_AGAIN = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_T = TypeVar("_T")


class Patience:
    """What one operation has of it."""

    def __init__(
        self, clock: Clock, lasts: timedelta = timedelta(seconds=30), *, chance: Chance = draw
    ) -> None:
        self._clock, self._chance = clock, chance
        self._lasts = lasts.total_seconds()
        self._ends: float | None = None

    async def ask(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """The answer, or the last failure once patience has ended."""
        begun, failures = self._clock.monotonic(), 0
        while True:
            try:
                answer = await ask()
            except Unavailable as error:
                failures += 1
                wait = pause(error, failures=failures, backoff=_AGAIN, chance=self._chance())
                if not self._outlasts(wait, begun):
                    raise
            except TrimtabError:
                self._renew(failures)
                raise
            else:
                self._renew(failures)
                return answer
            await self._clock.sleep(wait)

    def _outlasts(self, wait: float, begun: float) -> bool:
        """Whether there is patience for another wait: this request's own, and that of all."""
        now = self._clock.monotonic()
        if self._ends is None:
            self._ends = now + self._lasts
        return now + wait < min(self._ends, begun + self._lasts)

    def _renew(self, failures: int) -> None:
        """A request that failed and was answered in the end shows that waiting helps."""
        if failures:
            self._ends = None

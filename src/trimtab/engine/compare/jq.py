"""Takes what jq paths name out of objects, in worker processes that are killed when they take too long.

A rule that fails on an object, ends in no or several values, or runs out of its time is skipped for that
object. One that was too slow several times is put aside and reported, so that it cannot eat the workers'
time. A worker that ends while it checks an expression says nothing about the expression: that is checked
again, at once and then from time to time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec
from msgspec import Raw

from trimtab.engine.compare import jqworker
from trimtab.errors import UserError
from trimtab.resources.manifests import Manifest
from trimtab.tasks import (
    Clock,
    DeadlinePassed,
    JobRaised,
    PoolPolicy,
    SystemClock,
    WorkerCrashed,
    WorkerProcesses,
)

#: one worker is enough for what few objects need; what jq may use is bounded, for users write it
WORKERS: Final = PoolPolicy(size=1, memory_limit=512 * 1024**2, largest_result=64 * 1024**2)
STRIKES: Final = 3
#: how often an expression is checked when its worker ends, and how many seconds later that begins anew
CHECKS: Final = 2
CHECKED_AGAIN_AFTER: Final = 30.0
MOST_REMEMBERED: Final = 10_000
_TOO_SLOW: Final = "it was not done within {limit:g} s on {count} objects, and is not tried any more"
#: for the process to start, on however busy a machine; jq's own time is counted by the kernel
START: Final = timedelta(seconds=60)
_MANIFESTS: Final = msgspec.json.Decoder(list[Manifest])


class JqPaths:
    """Runs the jq expressions of ignore rules."""

    def __init__(
        self,
        pool: WorkerProcesses,
        *,
        limit: timedelta = timedelta(seconds=1),
        clock: Clock | None = None,
    ) -> None:
        self._pool = pool
        self._limit = limit
        self._clock = clock or SystemClock()
        self._checked: dict[str, str] = {}
        #: what could not be checked, why, and until when that is not tried again
        self._unchecked: dict[str, tuple[str, float]] = {}
        self._strikes: dict[str, int] = {}

    async def bad(self, expressions: Iterable[str]) -> Mapping[str, str]:
        """The expressions that cannot be compiled, with the reason."""
        found = {text: await self._check(text) for text in expressions}
        return {text: problem for text, problem in found.items() if problem}

    def put_aside(self, expressions: Iterable[str]) -> tuple[str, ...]:
        """What to tell about expressions that were too slow too often."""
        limit = self._limit.total_seconds()
        return tuple(
            f"ignore rule {text!r}: {_TOO_SLOW.format(limit=limit, count=STRIKES)}"
            for text in expressions
            if self._strikes.get(text, 0) >= STRIKES
        )

    async def without(self, manifests: Sequence[Manifest], expressions: Iterable[str]) -> Sequence[Manifest]:
        """The manifests less what the expressions name; an expression that fails takes out nothing."""
        for text in expressions:
            if self._strikes.get(text, 0) < STRIKES:
                manifests = await self._removed(text, manifests)
        return manifests

    async def _removed(self, expression: str, manifests: Sequence[Manifest]) -> Sequence[Manifest]:
        values = tuple(Raw(msgspec.json.encode(each)) for each in manifests)
        payload = self._job(expression, values)
        try:
            answer = await self._pool.run(jqworker.removed, payload, deadline=self._limit + START)
        except (DeadlinePassed, WorkerCrashed):
            self._strikes[expression] = self._strikes.get(expression, 0) + 1
            return manifests
        except (UserError, JobRaised):
            return manifests
        return _MANIFESTS.decode(answer)

    def _job(self, expression: str, values: tuple[Raw, ...]) -> bytes:
        return msgspec.json.encode(jqworker.Job(expression, self._limit.total_seconds(), values))

    async def _check(self, expression: str) -> str:
        """What is wrong with an expression, as far as that is known; empty if nothing is."""
        if expression in self._checked:
            return self._checked[expression]
        why, until = self._unchecked.get(expression, ("", 0.0))
        if why and self._clock.monotonic() < until:
            return why
        for held in (self._checked, self._unchecked):
            if len(held) >= MOST_REMEMBERED:
                held.clear()
        return await self._check_anew(expression)

    async def _check_anew(self, expression: str) -> str:
        payload, why = self._job(expression, ()), ""
        for _ in range(CHECKS):
            try:
                said = (await self._pool.run(jqworker.check, payload, deadline=self._limit + START)).decode()
            except (DeadlinePassed, WorkerCrashed) as exc:
                why = f"whether it can be compiled is not known: {exc.reason}"
            else:
                self._unchecked.pop(expression, None)
                self._checked[expression] = said
                return said
        self._unchecked[expression] = why, self._clock.monotonic() + CHECKED_AGAIN_AFTER
        return why

"""Keyed work, run fairly: one run per key at a time, tenants in turn, failures kept apart.

`Schedule` decides whose turn it is; this starts the runs and tells it how they ended. There are no locks:
everything that touches the schedule does so between two awaits, on one event loop. A run that hangs keeps its
place until it ends, so whatever waits inside it needs a deadline of its own.
"""

from __future__ import annotations

import asyncio
import enum
import itertools
from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from msgspec import Struct

from trimtab.tasks.chance import Chance, draw
from trimtab.tasks.clock import Clock
from trimtab.tasks.outcomes import Outcome, Settled, WorkPolicy, outcome_of
from trimtab.tasks.schedule import Row, Schedule, WorkState
from trimtab.tasks.together import GroupEnding, plain_group

K = TypeVar("K", bound=Hashable)

#: how nearly every run ends; only a failure draws a chance, which asks the kernel
_WELL: Final = Settled()
#: things moved between two looks at the rest of the event loop
_AT_ONCE = 256
#: nobody means to wait longer; a bigger number is a mistake of the caller
_LONGEST_DELAY = timedelta(days=366).total_seconds()


class KeyedWork(Struct, Generic[K], frozen=True, kw_only=True):
    """One key that is not idle: what it does or waits for, since when, and when it is next tried."""

    tenant: str
    key: K
    state: WorkState
    since: datetime
    until: datetime | None  # None while only other runs are waited for
    failures: int  # in a row
    failing_since: datetime | None
    last_error: str  # fit to be shown: a bug tells only its type
    offered_again: bool  # running, and to be run once more


class WorkSnapshot(Struct, Generic[K], frozen=True, kw_only=True):
    """What the workers had in hand at one moment."""

    taken_at: datetime
    work: tuple[KeyedWork[K], ...]
    left_out: int  # keys beyond the number asked for

    def in_state(self, *states: WorkState) -> tuple[KeyedWork[K], ...]:
        """Only the work in one of these states."""
        return tuple(work for work in self.work if work.state in states)


class _Mode(enum.Enum):
    OPEN = enum.auto()
    DRAINING = enum.auto()  # what is queued is still run
    STOPPING = enum.auto()  # what runs may end


class KeyedWorkers(Generic[K]):
    """Runs keys that are offered: each alone, tenants in turn, within the policy's limits."""

    def __init__(
        self,
        run: Callable[[str, K], Awaitable[object]],
        *,
        clock: Clock,
        on_failure: Callable[[str, K, Exception], None],
        policy: WorkPolicy,
        chance: Chance = draw,
        on_run: Callable[[float, float], None] | None = None,
    ) -> None:
        """Take what runs a key, and who is told of each failed run (for the log: the error may be a bug).

        `on_run` is told of every run that ended: the seconds that it waited for its turn, and those it took.
        """
        self._run_key = run
        self._clock = clock
        self._on_failure = on_failure
        self._policy = policy
        self._chance = chance
        self._on_run = on_run
        self._schedule: Schedule[K] = Schedule(policy)
        self._changed = asyncio.Event()
        self._mode = _Mode.OPEN
        self._at_work = False
        self._runs: set[tuple[str, K]] = set()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = float("inf")

    def offer(self, tenant: str, key: K, *, after: float = 0.0) -> bool:
        """Ask for a run of the key, at once or after so many seconds; False when the workers are stopping.

        Offers of one key merge: whatever waits takes the earliest time asked for, and an offer during a run
        causes one more run after it. A run reads the current state, so one run answers all offers before it.
        """
        if not after <= _LONGEST_DELAY:
            raise ValueError(f"an offer may be delayed by a year at most, not by {after} seconds")
        if self._mode is not _Mode.OPEN:
            return False
        now = self._clock.monotonic()
        self._schedule.offer(tenant, key, due=now + max(after, 0.0), now=now)
        self._changed.set()
        return True

    def stop(self, *, drain: bool = False) -> None:
        """Take no more offers and let `work` return when the runs under way have ended.

        With `drain`, what is queued by now is run first. What waits for a time is left in any case: it is
        found again after the next start, like everything else.
        """
        self._mode = _Mode.DRAINING if drain else _Mode.STOPPING
        self._changed.set()

    async def work(self) -> None:
        """Run what is offered until stopped or cancelled; cancelled runs are queued again.

        Only an error of `on_failure` ends it otherwise. It may then be called again and loses nothing.
        """
        if self._at_work:
            raise RuntimeError("these workers are already at work")
        self._at_work = True
        try:
            async with plain_group() as group:
                await self._start_runs_in_turn(group)
        finally:
            self._interrupt_runs()
            self._at_work = False
            self._alarm, self._alarm_at = None, float("inf")

    def snapshot(self, tenant: str | None = None, *, at_most: int = 1000) -> WorkSnapshot[K]:
        """What is in hand now, of one tenant or of all, but no more keys than asked for."""
        now, wall = self._clock.monotonic(), self._clock.now()
        rows = itertools.islice(self._schedule.rows(tenant, now), at_most)
        work = tuple(_shown(row, now, wall) for row in rows)
        return WorkSnapshot(taken_at=wall, work=work, left_out=self._schedule.count(tenant) - len(work))

    def remembered(self) -> tuple[int, int]:
        """How many tenants and keys take up memory now: both fall to 0 when nothing is left to do."""
        return self._schedule.tenants(), len(self._schedule)

    async def _start_runs_in_turn(self, group: asyncio.TaskGroup) -> None:
        while True:
            self._changed.clear()
            now = self._clock.monotonic()
            all_woken = self._schedule.wake(now, at_most=_AT_ONCE)
            while (picked := self._pick(now)) is not None:
                group.create_task(self._run(*picked))
            if self._is_over():
                break
            if not all_woken:
                await asyncio.sleep(0)
                continue
            self._set_alarm(group)
            await self._changed.wait()
        if self._alarm is not None:
            self._alarm.cancel()

    def _is_over(self) -> bool:
        left = self._schedule.running + (self._schedule.queued if self._mode is _Mode.DRAINING else 0)
        return self._mode is not _Mode.OPEN and left == 0

    def _set_alarm(self, group: asyncio.TaskGroup) -> None:
        """Have the loop woken when something becomes due; an alarm that is early enough is left alone."""
        due = self._schedule.next_due()
        if due is None or due >= self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = group.create_task(self._ring(due)), due

    async def _ring(self, due: float) -> None:
        await self._clock.sleep(due - self._clock.monotonic())
        self._alarm, self._alarm_at = None, float("inf")
        self._changed.set()

    def _pick(self, now: float) -> tuple[str, K] | None:
        """Whose turn it is, if anybody may start."""
        picked = self._schedule.pick(now) if self._mode is not _Mode.STOPPING else None
        if picked is not None:
            self._runs.add(picked)
        return picked

    async def _run(self, tenant: str, key: K) -> None:
        """Run a key, and in the place that is free then whoever is next."""
        picked: tuple[str, K] | None = (tenant, key)
        while picked is not None:
            tenant, key = picked
            error = await self._failure_of(tenant, key)
            now = self._clock.monotonic()
            self._finish(tenant, key, error, now)
            picked = self._pick(now)
            if picked is not None:
                await asyncio.sleep(0)  # a run may have nothing to wait for

    async def _failure_of(self, tenant: str, key: K) -> Exception | None:
        """Run a key once; why that failed, if it did."""
        try:
            await self._run_key(tenant, key)
        except GroupEnding:
            raise  # our own cancellation is on its way
        except asyncio.CancelledError as cancelled:
            if _was_cancelled_from_outside():
                raise
            error = RuntimeError("the run ended by a cancellation that nobody asked of it")
            error.__cause__ = cancelled
            return error
        except Exception as raised:  # noqa: BLE001 - a bug in one key's run must not end the others'
            return raised
        return None

    def _interrupt_runs(self) -> None:
        """Queue again what was cut off, even runs that were cancelled before their first step."""
        for tenant, key in self._runs:
            self._schedule.interrupt(tenant, key, now=self._clock.monotonic())
        self._runs.clear()

    def _finish(self, tenant: str, key: K, error: Exception | None, now: float) -> None:
        self._runs.remove((tenant, key))
        if self._on_run is not None:
            self._on_run(*self._schedule.times(tenant, key, now))
        self._schedule.finish(tenant, key, self._outcome(tenant, key, error), now=now)
        due = self._schedule.next_due()
        if self._mode is not _Mode.OPEN or (due is not None and due < self._alarm_at):
            self._changed.set()  # else the one place that is free now is all that changed
        if error is not None:
            self._on_failure(tenant, key, error)

    def _outcome(self, tenant: str, key: K, error: Exception | None) -> Outcome:
        if error is None:
            return _WELL
        failures = self._schedule.failures(tenant, key)
        return outcome_of(error, failures=failures, policy=self._policy, chance=self._chance())


def _was_cancelled_from_outside() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _shown(row: Row[K], now: float, wall: datetime) -> KeyedWork[K]:
    """The row with times as people read them."""

    def at(moment: float) -> datetime:
        return wall + timedelta(seconds=moment - now)

    return KeyedWork(
        tenant=row.tenant,
        key=row.key,
        state=row.state,
        since=at(row.since),
        until=None if row.until is None else at(row.until),
        failures=row.failures,
        failing_since=None if row.failing_since is None else at(row.failing_since),
        last_error=row.last_error,
        offered_again=row.offered_again,
    )

"""Drives one operation to its end, from any state that was recorded of it.

A short loop: decide (`progress`), perform (`apply`), record. Before a wave's first write it is recorded what
is about to be written and which hooks will be made, so a process that takes over knows its own work again.
While nothing can be done it waits for changes of the planned objects, for a time, or for a word through
`Control`; it asks for nothing in between.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.cache.records import Judge
from trimtab.engine.live import Change, Live, LiveView
from trimtab.engine.marks import Tracking
from trimtab.engine.operations import OperationPhase, OperationState
from trimtab.engine.sync.acts import (
    Act,
    Asks,
    Awaited,
    Done,
    Facts,
    Failed,
    Look,
    Next,
    Outcome,
    Sighting,
    Wait,
    Wave,
    step_of,
)
from trimtab.engine.sync.apply import Performer, WriteSettings
from trimtab.engine.sync.judging import matters
from trimtab.engine.sync.kinds import Kinds
from trimtab.engine.sync.plan import is_multi_step
from trimtab.engine.sync.progress import Course
from trimtab.engine.sync.results import closed, crucial, folded, next_attempt
from trimtab.engine.sync.steps import Apply, CreateNamespace, RunHook, SyncPlan
from trimtab.engine.sync.sums import content_name
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Discovery
from trimtab.resources.keys import ResourceKey
from trimtab.resources.secrets import StandIns
from trimtab.tasks import plain_group, see_through
from trimtab.tasks.clock import Clock

#: from so many steps on, a decision is made only after so many seconds per step
_LARGE, _PATIENCE = 100, 0.000_05
#: while an operation waits, how it goes is recorded so often at most, in seconds
_RECORD_EVERY = 5.0
Record = Callable[[OperationState], Awaitable[None]]
Replan = Callable[[OperationState], Awaitable[SyncPlan]]
AfterWave = Callable[[Wave], Awaitable[None]]


class Control:
    """The way to a running operation for whoever wants something of it."""

    def __init__(self) -> None:
        self._asks = Asks()
        self._wake: Callable[[], None] | None = None

    @property
    def asks(self) -> Asks:
        """All that was asked so far."""
        return self._asks

    def terminate(self) -> None:
        """End the operation: hooks that run are deleted, nothing new begins."""
        self._ask(replace(self._asks, terminate=True))

    def approve_deletions(self, at: datetime) -> None:
        """Agree to what the operation wants to delete."""
        self._ask(replace(self._asks, approved_at=at))

    def supersede(self, revision: str) -> None:
        """Say that a newer revision waits; an operation that only waits makes room for it."""
        self._ask(replace(self._asks, newer=revision))

    def _ask(self, asks: Asks) -> None:
        self._asks = asks
        if self._wake is not None:
            self._wake()

    def listen(self, wake: Callable[[], None] | None) -> None:
        """Be woken by whatever is asked; None ends it."""
        self._wake = wake


async def operate(
    cluster: Cluster,
    live: LiveView,
    plan: SyncPlan,
    state: OperationState,
    *,
    record: Record,
    clock: Clock,
    discovery: Discovery,
    judge: Judge,
    stand_ins: StandIns,
    settings: WriteSettings | None = None,
    control: Control | None = None,
    replan: Replan | None = None,
    after_wave: AfterWave | None = None,
    told: Callable[[Iterable[Outcome]], None] | None = None,
    tracking: Tracking | None = None,
) -> OperationState:
    """Carry the plan out from the state it was left in, and return the state at its end.

    With `replan` a failed attempt is followed by the next one, after its wait and on a new plan; without it
    the state comes back with the time of the next attempt, and whoever called may call again. `tracking`
    tells whose an object is that the cache does not show.
    """
    means = _Means(
        cluster=cluster,
        live=live,
        clock=clock,
        discovery=discovery,
        judge=judge,
        settings=settings or WriteSettings(),
        content=lambda found: content_name(found.key, found.digest, stand_ins),
        record=record,
        control=control or Control(),
        after_wave=after_wave,
        told=told,
        tracking=tracking,
    )
    run = _Run(means)
    means.control.listen(run.news.set)
    try:
        return await _attempts(run, plan, state, replan)
    finally:
        means.control.listen(None)
        run.leave()


async def _attempts(
    run: _Run, plan: SyncPlan, state: OperationState, replan: Replan | None
) -> OperationState:
    """Attempt it until it is over, or as often as there is a plan for."""
    while not state.phase.final:
        if state.retry_at is not None:
            state = await run.until_attempt(state)
            if state.phase.final:
                break
            if replan is not None:
                plan = await replan(state)
                state = replace(state, revision=plan.revision)
        state = await run.attempt(plan, state)
        if replan is None:
            break
    return state


class _Means(Struct, frozen=True, kw_only=True):
    """What an operation is carried out with, and whom it asks and tells."""

    cluster: Cluster
    live: LiveView
    clock: Clock
    discovery: Discovery
    judge: Judge
    settings: WriteSettings
    content: Callable[[Live], str]
    record: Record
    control: Control
    after_wave: AfterWave | None
    told: Callable[[Iterable[Outcome]], None] | None
    tracking: Tracking | None

    def performer(self, plan: SyncPlan, kinds: Kinds) -> Performer:
        """Who performs the acts of a plan."""
        watched = is_multi_step(plan.steps) or any(
            isinstance(step, RunHook) or (isinstance(step, Apply) and step.defines) for step in plan.steps
        )
        return Performer(
            self.cluster,
            kinds,
            self.clock,
            self.judge,
            self.settings,
            exact=plan.exact,
            watched=watched,
            tracking=self.tracking,
            known=self.live.get,
        )


class _Run:
    """One operation under way: what was heard, seen and recorded so far."""

    def __init__(self, means: _Means) -> None:
        self.means, self.clock = means, means.clock
        self.news = asyncio.Event()
        self.planned: frozenset[ResourceKey] = frozenset()
        self.sightings: dict[ResourceKey, Sighting] = {}
        self.recorded: OperationState | None = None
        self.recorded_at = 0.0
        self.waits_on: Awaited | None = None
        self._leave: Callable[[], None] | None = None

    def listen(self) -> None:
        """Hear of changes from now on; who never waits decides by what is there, and need not hear."""
        if self._leave is None:
            self._leave = self.means.live.subscribe(self.hear)

    def leave(self) -> None:
        """Hear of no more changes."""
        if self._leave is not None:
            self._leave()

    def hear(self, change: Change) -> None:
        """Wake up for changes of planned objects that can matter."""
        if change.key in self.planned and matters(change):
            self.news.set()

    # -- one attempt -------------------------------------------------------------------------------------

    async def attempt(self, plan: SyncPlan, state: OperationState) -> OperationState:
        """Carry the plan out once."""
        self.planned = frozenset(step.key for step in plan.steps)
        self.sightings.clear()
        means, course = self.means, Course(plan)
        kinds = Kinds(means.cluster, self.clock, means.discovery, plan.steps)
        performer = means.performer(plan, kinds)
        while True:
            self.news.clear()
            facts = Facts(
                live=means.live.get,
                sightings=self.sightings,
                asks=means.control.asks,
                content=means.content,
                knows=lambda key: means.live.knows(key.group, key.kind, key.namespace),
            )
            decided = course.progress(state, facts, self.clock.now())
            state = decided.state
            if len(plan.steps) >= _LARGE:
                await asyncio.sleep(0)  # that took a while
            match decided.move:
                case Next() as move:
                    state = await self._act(plan, state, move, performer, kinds)
                case Wait() as move:
                    self.listen()  # nothing can have changed since it was decided: nobody has had a turn
                    await self._record_wait(state, move.on)
                    await self._rest(move.until)
                    await self._gather_news(len(plan.steps))
                case Done() | Failed() as end:
                    state = closed(state, end, self.clock.now())
                    await self._record(state)
                    return state
                case _:
                    assert_never(decided.move)

    async def _act(
        self, plan: SyncPlan, state: OperationState, move: Next, performer: Performer, kinds: Kinds
    ) -> OperationState:
        if not all(isinstance(act, Look) for act in move.acts):
            self.waits_on = None
        if self._must_record(state):
            await self._record(state)
        await kinds.learn(step_of(act) for act in move.acts)
        outcomes = await self._perform(move.acts, performer)
        self._remember(outcomes)
        if self.means.told is not None:
            self.means.told(outcomes)
        state = folded(state, outcomes, dry_run=plan.dry_run)
        return state if move.completes is None else await self._tell_wave(state, move.completes)

    async def _perform(self, acts: tuple[Act, ...], performer: Performer) -> list[Outcome]:
        """Perform the acts, so many at a time as the settings allow; who cancels waits for their answers."""
        settings = self.means.settings
        outcomes: list[Outcome] = []
        left = deque(acts)

        async def work() -> None:
            while left:
                outcomes.append(await performer.perform(left.popleft()))
                if left:
                    await asyncio.sleep(0)  # a cluster in this very process answers without giving way

        async def work_together() -> None:
            async with plain_group() as group:
                for _ in range(min(settings.concurrency, len(acts))):
                    group.create_task(work())

        whole = work_together() if len(acts) > 1 else work()
        await see_through(whole, stop=left.clear, within=settings.answered_within, clock=self.clock)
        return outcomes

    def _remember(self, outcomes: Iterable[Outcome]) -> None:
        """Keep what the server itself said of objects that are waited for."""
        for outcome in outcomes:
            match outcome.act:
                case Look(step=step):
                    before = self.sightings.get(step.key)
                    last = before.live if before and not outcome.known else outcome.seen
                    known = outcome.known or (before is not None and before.known)
                    self.sightings[step.key] = Sighting(last, outcome.at, known)
                case Apply() | CreateNamespace() | RunHook() as step if outcome.seen is not None:
                    self.sightings[step.key] = Sighting(outcome.seen, outcome.at)
                case _:
                    pass

    async def _tell_wave(self, state: OperationState, wave: Wave) -> OperationState:
        if self.means.after_wave is None:
            return state
        try:
            await self.means.after_wave(wave)
        except TrimtabError as error:
            return replace(
                state,
                phase=OperationPhase.TERMINATING,
                message=f"after wave {wave.wave} of {wave.phase.value}",
                failure=str(error),
            )
        return state

    # -- recording ---------------------------------------------------------------------------------------

    def _must_record(self, state: OperationState) -> bool:
        """Whether the state says something that the next process must know before anything is done."""
        return self.recorded is None or crucial(state) != crucial(self.recorded)

    async def _record_wait(self, state: OperationState, on: Awaited) -> None:
        """Record a wait when it begins, and how it goes from time to time: not every object by itself."""
        now = self.clock.monotonic()
        if on is not self.waits_on or self._must_record(state) or now >= self.recorded_at + _RECORD_EVERY:
            self.waits_on = on
            await self._record(state)

    async def _record(self, state: OperationState) -> None:
        if state != self.recorded:
            await self.means.record(state)
            self.recorded, self.recorded_at = state, self.clock.monotonic()

    # -- waiting -----------------------------------------------------------------------------------------

    async def _rest(self, until: datetime | None) -> None:
        """Return when there is news, or at that time."""
        if until is None:
            await self.news.wait()
            return
        async with plain_group() as group:
            alarm = group.create_task(self._ring(until))
            await self.news.wait()
            alarm.cancel()

    async def _gather_news(self, steps: int) -> None:
        """Let the news of a large plan gather for a moment: deciding costs what the plan is long."""
        if steps >= _LARGE:
            await self.clock.sleep(steps * _PATIENCE)

    async def _ring(self, until: datetime) -> None:
        await self.clock.sleep((until - self.clock.now()).total_seconds())
        self.news.set()

    async def until_attempt(self, state: OperationState) -> OperationState:
        """Wait for the time of the next attempt, unless somebody ends the operation before."""
        while state.retry_at is not None and self.clock.now() < state.retry_at:
            self.news.clear()
            asks = self.means.control.asks
            if asks.terminate or (asks.newer and asks.newer != state.revision):
                state = _given_up(state, asks, self.clock.now())
                await self._record(state)
                return state
            await self._rest(state.retry_at)
        state = next_attempt(state, self.clock.now())
        await self._record(state)
        return state


def _given_up(state: OperationState, asks: Asks, now: datetime) -> OperationState:
    """The end of an operation that was ended between two attempts."""
    newer = "" if asks.terminate else asks.newer
    why = f"revision {newer} took its place" if newer else "the operation was terminated"
    return replace(
        state,
        phase=OperationPhase.FAILED,
        message=f"{why} before its next attempt",
        retry_at=None,
        finished_at=now,
        superseded_by=newer,
    )

"""Drives one operation to its end, from any state that was recorded of it.

A short loop: decide (`progress`), perform (`apply`), record. Before a wave's first write it is recorded what
is about to be written and which hooks will be made, so a process that takes over knows its own work again.
While nothing can be done it waits for changes of the planned objects, for a time, or for a word through
`Control`; it asks for nothing in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from trimtab.engine.acts import (
    Act,
    Asks,
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
from trimtab.engine.apply import Performer, WriteSettings
from trimtab.engine.cache.records import Judge
from trimtab.engine.kinds import Kinds
from trimtab.engine.live import Change, Live, LiveView
from trimtab.engine.operations import OperationPhase, OperationState
from trimtab.engine.plan import is_multi_step
from trimtab.engine.progress import progress
from trimtab.engine.results import closed, folded, next_attempt
from trimtab.engine.steps import Apply, CreateNamespace, RunHook, SyncPlan
from trimtab.engine.sums import content_name
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Discovery
from trimtab.resources.keys import ResourceKey
from trimtab.resources.secrets import StandIns
from trimtab.tasks import plain_group
from trimtab.tasks.clock import Clock

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
) -> OperationState:
    """Carry the plan out from the state it was left in, and return the state at its end.

    With `replan` a failed attempt is followed by the next one, after its wait and on a new plan; without it
    the state comes back with the time of the next attempt, and whoever called may call again.
    """
    run = _Run(cluster, live, clock, discovery, judge, settings or WriteSettings())
    run.record, run.after_wave, run.told = record, after_wave, told
    run.control = control or Control()
    run.content = lambda found: content_name(found.key, found.digest, stand_ins)
    ending = live.subscribe(run.hear)
    run.control.listen(run.news.set)
    try:
        state = await run.until_attempt(state)
        while not state.phase.final:
            state = await run.attempt(plan, state)
            if state.phase.final or replan is None:
                break
            state = await run.until_attempt(state)
            if not state.phase.final:
                plan = await replan(state)
                state = replace(state, revision=plan.revision)
        return state
    finally:
        run.control.listen(None)
        ending()


class _Run:
    """One operation under way: what was heard, seen and recorded so far."""

    record: Record
    control: Control
    after_wave: AfterWave | None
    told: Callable[[Iterable[Outcome]], None] | None
    content: Callable[[Live], str]

    def __init__(
        self,
        cluster: Cluster,
        live: LiveView,
        clock: Clock,
        discovery: Discovery,
        judge: Judge,
        settings: WriteSettings,
    ) -> None:
        self.cluster, self.live, self.clock = cluster, live, clock
        self.discovery, self.judge, self.settings = discovery, judge, settings
        self.news = asyncio.Event()
        self.planned: frozenset[ResourceKey] = frozenset()
        self.sightings: dict[ResourceKey, Sighting] = {}
        self.recorded: OperationState | None = None

    def hear(self, change: Change) -> None:
        """Wake up for changes of planned objects that can matter."""
        if change.key in self.planned and _matters(change):
            self.news.set()

    # -- one attempt -------------------------------------------------------------------------------------

    async def attempt(self, plan: SyncPlan, state: OperationState) -> OperationState:
        """Carry the plan out once."""
        self.planned = frozenset(step.key for step in plan.steps)
        self.sightings.clear()
        kinds = Kinds(self.cluster, self.clock, self.discovery, plan.steps)
        watched = is_multi_step(plan.steps) or any(isinstance(step, RunHook) for step in plan.steps)
        performer = Performer(
            self.cluster, kinds, self.clock, self.judge, self.settings, exact=plan.exact, watched=watched
        )
        while True:
            self.news.clear()
            facts = Facts(
                live=self.live.get, sightings=self.sightings, asks=self.control.asks, content=self.content
            )
            decided = progress(plan, state, facts, self.clock.now())
            state = decided.state
            match decided.move:
                case Next() as move:
                    state = await self._act(plan, state, move, performer, kinds)
                case Wait() as move:
                    await self._record(state)
                    await self._rest(move.until)
                case Done() | Failed() as end:
                    state = closed(state, end, self.clock.now())
                    await self._record(state)
                    return state
                case _:
                    assert_never(decided.move)

    async def _act(
        self, plan: SyncPlan, state: OperationState, move: Next, performer: Performer, kinds: Kinds
    ) -> OperationState:
        if self._must_record(state):
            await self._record(state)
        await kinds.learn(step_of(act) for act in move.acts)
        outcomes = await self._perform(move.acts, performer)
        self._remember(outcomes)
        if self.told is not None:
            self.told(outcomes)
        state = folded(state, outcomes, dry_run=plan.dry_run)
        return state if move.completes is None else await self._tell_wave(state, move.completes)

    async def _perform(self, acts: tuple[Act, ...], performer: Performer) -> list[Outcome]:
        """Perform the acts, so many at a time as the settings allow."""
        outcomes: list[Outcome] = []
        left = iter(acts)

        async def work() -> None:
            for act in left:
                outcome = await performer.perform(act)
                outcomes.append(outcome)

        async with plain_group() as group:
            for _ in range(min(self.settings.concurrency, len(acts))):
                group.create_task(work())
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
        if self.after_wave is None:
            return state
        try:
            await self.after_wave(wave)
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
        known = self.recorded
        return known is None or (state.begun, state.hooks, state.phase, state.rehearsed, state.plan) != (
            known.begun,
            known.hooks,
            known.phase,
            known.rehearsed,
            known.plan,
        )

    async def _record(self, state: OperationState) -> None:
        if state != self.recorded:
            await self.record(state)
            self.recorded = state

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

    async def _ring(self, until: datetime) -> None:
        await self.clock.sleep((until - self.clock.now()).total_seconds())
        self.news.set()

    async def until_attempt(self, state: OperationState) -> OperationState:
        """Wait for the time of the next attempt, unless somebody ends the operation before."""
        if state.retry_at is None:
            return state
        while self.clock.now() < state.retry_at:
            self.news.clear()
            asks = self.control.asks
            if asks.terminate or (asks.newer and asks.newer != state.revision):
                state = _given_up(state, asks, self.clock.now())
                await self._record(state)
                return state
            await self._rest(state.retry_at)
        state = next_attempt(state)
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


def _matters(change: Change) -> bool:
    """Whether a change can mean that something is over; reports of progress in between cannot."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    if before.uid != after.uid or before.deleting != after.deleting:
        return True
    old, new = before.health, after.health
    return (old.status if old else None) is not (new.status if new else None)

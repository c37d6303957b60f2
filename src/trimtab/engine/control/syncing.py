"""One operation of a unit, from wherever it was left to its end: look, plan, ask, operate, record."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.compare.comparer import Puts, put_once
from trimtab.engine.control.desks import Desk
from trimtab.engine.control.looking import Looker, Sight
from trimtab.engine.listeners import Subscribers
from trimtab.engine.operations import Operation, OperationPhase, OperationState, started
from trimtab.engine.rows import Desired, Row
from trimtab.engine.sync.acts import Outcome
from trimtab.engine.sync.apply import WriteSettings
from trimtab.engine.sync.deletion import deletion_rows
from trimtab.engine.sync.operate import Control, operate
from trimtab.engine.sync.options import SyncOptions, idle_words, object_options, sync_options
from trimtab.engine.sync.patience import Patience
from trimtab.engine.sync.plan import Namespace, SyncRequest, planning_of
from trimtab.engine.sync.prunes import WITHOUT_END
from trimtab.engine.sync.releasing import let_go
from trimtab.engine.sync.steps import Step, SyncPlan
from trimtab.engine.sync.sums import plan_digest
from trimtab.engine.units import SyncUnit
from trimtab.errors import TrimtabError, Unavailable
from trimtab.resources import manifests
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import StandIns
from trimtab.resources.sentences import joined
from trimtab.tasks import Clock, in_turns

#: may reorder or drop steps; an error it raises prevents the sync
BeforeSync: TypeAlias = Callable[[SyncUnit, tuple[Step, ...]], tuple[Step, ...] | Awaitable[tuple[Step, ...]]]
Record: TypeAlias = Callable[[OperationState], Awaitable[None]]


class Vetoed(Exception):
    """Somebody who is asked before syncs said no."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Journey(Struct, kw_only=True):
    """One operation under way: whom to ask, and whom to tell."""

    unit: SyncUnit
    desk: Desk
    control: Control
    record: Record
    #: told what the operation tries to reach, as soon as that is known
    on_planned: Callable[[Sight, SyncPlan], Awaitable[None]]
    on_outcomes: Callable[[Iterable[Outcome]], None]
    on_vetoed: Callable[[str], None]


async def _respected(
    unit: SyncUnit, desk: Desk, sight: Sight, options: SyncOptions
) -> dict[ResourceKey, Desired]:
    """What is written in the place of desired objects, if ignored fields are to stay as they are."""
    if not options.respect_ignore_differences:
        return {}

    def is_replaced(wanted: Manifest, live: Manifest) -> bool:
        told = (object_options(manifests.annotations(each)) for each in (wanted, live))
        return options.replace or any(each.replace for each in told)

    return await desk.comparer.respecting(sight.rows, desk.rules(unit), is_replaced)


def _with_odd_words(unit: SyncUnit, state: OperationState) -> OperationState:
    """The end of an operation, with what of its options meant nothing; its unit's are said on the unit."""
    if not state.operation.options:
        return state
    odd = [word for word in idle_words(state.operation.options) if word not in unit.policy.options]
    note = f"sync options that mean nothing: {', '.join(odd)}"
    if not odd or not state.phase.final or state.message.endswith(note):
        return state
    return replace(state, message=joined((state.message, note)))


class _Way:
    """How far a journey has come: what was recorded last."""

    def __init__(self, journey: Journey, reached: OperationState) -> None:
        self.journey, self.reached = journey, reached

    async def record(self, state: OperationState) -> None:
        """Have the state stored; it is where an end begins from."""
        said = _with_odd_words(self.journey.unit, state)
        await self.journey.record(said)
        self.reached = said


class Syncer:
    """Plans operations and carries them out."""

    def __init__(
        self,
        looker: Looker,
        *,
        stand_ins: StandIns,
        settings: WriteSettings,
        timeout: timedelta | None,
        clock: Clock,
    ) -> None:
        self._looker = looker
        self._stand_ins = stand_ins
        self._settings = settings
        self._timeout = timeout
        self._clock = clock
        self.before_sync = Subscribers[BeforeSync]()

    def begin(self, operation: Operation) -> OperationState:
        """The state of an operation that is about to begin."""
        timeout = operation.timeout or self._timeout
        timed = operation if timeout == operation.timeout else replace(operation, timeout=timeout)
        return started(timed, operation.revision, self._clock.now())

    async def plan(
        self, unit: SyncUnit, desk: Desk, state: OperationState, put: Puts = put_once
    ) -> tuple[Sight, SyncPlan]:
        """What an operation would do now; what has to be asked of the server is `put` to it in this way."""
        operation = state.operation
        sight = await self._looker.look_at(unit, desk, operation, state.revision, put)
        metadata = unit.policy.namespace_metadata
        namespace = Namespace(
            name=unit.destination.namespace,
            labels=metadata.labels if metadata else {},
            annotations=metadata.annotations if metadata else {},
            allowed=not desk.entry.namespaces or unit.destination.namespace in desk.entry.namespaces,
        )
        options = sync_options(unit.policy.options, SyncOptions())
        request = SyncRequest(
            unit=unit.id,
            operation=operation,
            revision=sight.revision,
            started_at=state.started_at,
            rows=self._rows(unit, desk, operation, sight),
            hooks=sight.wanted.hooks,
            discovery=desk.discovery(),
            stand_ins=self._stand_ins,
            options=options,
            namespace=namespace,
            budget=WITHOUT_END if operation.delete else unit.policy.prune_budget,
            complete=sight.wanted.complete,
            earlier=state,
            mark=desk.ways.tracking.mark_for(unit.id),
            respected=await _respected(unit, desk, sight, sync_options(operation.options, options)),
        )
        plan = await in_turns(planning_of(request, desk.cache))
        return sight, await self._asked(unit, plan)

    def _rows(self, unit: SyncUnit, desk: Desk, operation: Operation, sight: Sight) -> tuple[Row, ...]:
        """What the plan is made of; a deletion speaks of more than a sync."""
        if not operation.delete:
            return sight.rows
        return deletion_rows(unit, sight.rows, desk.cache, desk.ways.tracking)

    async def _asked(self, unit: SyncUnit, plan: SyncPlan) -> SyncPlan:
        """The plan as those who are asked before syncs leave it."""
        steps = plan.steps
        for ask in self.before_sync:
            try:
                answer = ask(unit, steps)
                steps = tuple(await answer if inspect.isawaitable(answer) else answer)
            except TrimtabError as error:
                raise Vetoed(str(error)) from error
        if steps == plan.steps:
            return plan
        digest = plan_digest(plan.unit, plan.revision, plan.render, steps, plan.refused)
        return replace(plan, steps=steps, digest=digest)

    async def sync(self, journey: Journey, state: OperationState) -> OperationState:
        """Carry an operation on to its end; `Unavailable` means that it can be carried on later."""
        way = _Way(journey, state)
        try:
            state, plan = await self._ready(way, state)
            return _with_odd_words(journey.unit, await self._operate(way, state, plan))
        except Unavailable:
            raise
        except Vetoed as veto:
            journey.on_vetoed(veto.reason)
            return await self._end(way, OperationPhase.FAILED, veto.reason)
        except TrimtabError as error:
            return await self._end(way, OperationPhase.ERROR, str(error))

    async def _end(self, way: _Way, phase: OperationPhase, message: str) -> OperationState:
        """The end of an operation that could not even be planned: what it held is let go of."""
        state = await self._let_go(way, way.reached, ())
        held = [f"{run.key}: {run.problem}" for run in state.hooks if run.problem]
        told = joined((message, *held))
        ended = replace(state, phase=phase, message=told, finished_at=self._clock.now(), retry_at=None)
        await way.record(ended)
        return way.reached

    async def _ready(self, way: _Way, state: OperationState) -> tuple[OperationState, SyncPlan]:
        # What cannot be compared is refused: a server that is away for a moment must not have that happen.
        journey, patience = way.journey, Patience(self._clock, self._settings.patience)
        sight, plan = await self.plan(journey.unit, journey.desk, state, patience.ask)
        state = await self._let_go(way, replace(state, revision=sight.revision), plan.steps)
        await journey.on_planned(sight, plan)
        way.reached = state
        return state, plan

    async def _let_go(self, way: _Way, state: OperationState, steps: Iterable[Step]) -> OperationState:
        """Let go of hooks that were made before and are in no plan any more."""
        if not state.hooks:
            return state
        desk, planned = way.journey.desk, {(step.key, step.phase) for step in steps}
        after, _ = await let_go(desk.cluster, desk.discovery(), state, self._settings.manager, planned)
        return after

    async def _operate(self, way: _Way, state: OperationState, plan: SyncPlan) -> OperationState:
        journey, desk = way.journey, way.journey.desk

        async def replan(failed: OperationState) -> SyncPlan:
            pinned = "" if failed.operation.retry.refresh else failed.revision
            _, again = await self._ready(way, replace(failed, revision=pinned))
            return again

        return await operate(
            desk.cluster,
            desk.cache,
            plan,
            state,
            record=way.record,
            clock=self._clock,
            discovery=desk.discovery(),
            judge=desk.judge,
            stand_ins=self._stand_ins,
            settings=self._settings,
            control=journey.control,
            replan=replan,
            told=journey.on_outcomes,
            tracking=desk.ways.tracking,
        )

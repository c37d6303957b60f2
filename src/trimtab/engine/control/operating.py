"""The operation processor: carries the operations of units to their end, each as far as it can go at once.

A run is over when its operation is, or when it only waits: for health, a hook, a confirmation, the next
attempt. Waiting goes on beside the processors and takes none of their places. After a crash a run finds the
operation in the store and goes on from what was recorded of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from trimtab.engine.control.desks import Desk
from trimtab.engine.control.ledger import Ledger
from trimtab.engine.control.looking import Sight, has_deletion_hooks
from trimtab.engine.control.policy import history_after, is_remembered, source_digest
from trimtab.engine.control.rooms import Rooms
from trimtab.engine.control.syncing import Journey, Syncer
from trimtab.engine.events import (
    Events,
    OperationEnded,
    OperationPlanned,
    OperationRetried,
    OperationVetoed,
    OperationWaits,
    StepDone,
)
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    OperationState,
    StepStatus,
    by_our_clock,
    is_begun,
    never_begun,
)
from trimtab.engine.sync.acts import Outcome, Rehearse
from trimtab.engine.sync.operate import Control
from trimtab.engine.sync.steps import Apply, CreateNamespace, Prune, RunHook, SyncPlan
from trimtab.engine.units import Attempt, RenderArchive, SyncUnit, UnitMissing, UnitStatus
from trimtab.errors import Unavailable
from trimtab.tasks import Backoff, Clock
from trimtab.tasks.backoff import pause
from trimtab.tasks.chance import draw

_log = logging.getLogger(__name__)
_RECORD_AGAIN: Final = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=10))
_TRY_AGAIN: Final = 5.0


class _Voyage:
    """One operation under way in this process."""

    def __init__(self) -> None:
        self.control = Control()
        self.settled = asyncio.Event()
        self.told = False
        self.error: Exception | None = None
        self.task: asyncio.Task[None] | None = None
        self.desk: Desk | None = None
        self.again = False


class Operator:
    """Carries operations to their end."""

    def __init__(
        self,
        ledger: Ledger,
        rooms: Rooms,
        syncer: Syncer,
        events: Events,
        *,
        clock: Clock,
        on_ended: Callable[[SyncUnit, OperationState], None],
        again: Callable[[str, float], None],
        archive: RenderArchive | None = None,
    ) -> None:
        self._ledger, self._rooms, self._syncer, self._events = ledger, rooms, syncer, events
        self._clock, self._on_ended, self._again = clock, on_ended, again
        self._archive = archive
        self._under_way: dict[str, _Voyage] = {}
        self._group: asyncio.TaskGroup | None = None

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Have operations carried on in this group of tasks from now on."""
        self._group = group

    def control(self, unit_id: str) -> Control | None:
        """The way to an operation that is under way here."""
        voyage = self._under_way.get(unit_id)
        return voyage.control if voyage else None

    async def terminate(self, unit_id: str) -> bool:
        """Have the unit's operation ended; False if it has none. One that has not begun is over at once."""
        voyage, unit = self._under_way.get(unit_id), self._ledger.get(unit_id)
        if voyage is not None:
            voyage.control.terminate()
            return True
        if unit is None or unit.operation is None:
            return False
        state = unit.status.operation_state or self._syncer.begin(unit.operation)
        if is_begun(state):
            ending = replace(state, phase=OperationPhase.TERMINATING, message="the operation was terminated")
            await self._record(unit_id, ending, _Voyage())
            return True
        ended = never_begun(state, self._clock.now())
        await self._record(unit_id, ended, _Voyage())
        await self._close(unit_id, ended)
        return True

    def abandon(self, unit_id: str) -> asyncio.Task[None] | None:
        """Stop at once, because the unit has left its cluster; the answer ends once nothing is under way."""
        voyage = self._under_way.get(unit_id)
        if voyage is None or voyage.task is None:
            return None
        voyage.again = True  # it may live elsewhere now, or another one may have its name
        voyage.task.cancel()
        return voyage.task

    def renew(self, unit_id: str, desk: Desk | None) -> None:
        """Begin anew from what is recorded, if the operation works on a cluster by way of another desk."""
        voyage = self._under_way.get(unit_id)
        if voyage is not None and voyage.task is not None and voyage.desk not in {None, desk}:
            voyage.again = True
            voyage.task.cancel()

    async def run(self, _tenant: str, unit_id: str) -> None:
        """Carry a unit's operation on until it is over or only waits."""
        voyage = self._under_way.get(unit_id)
        if voyage is None:
            unit = self._ledger.get(unit_id)
            if unit is None or unit.operation is None or self._group is None:
                return
            voyage = self._under_way[unit_id] = _Voyage()
            voyage.task = self._group.create_task(self._carry_on(unit, voyage))
            # One that is cancelled before its first step has no way to say that it is over.
            voyage.task.add_done_callback(lambda _: self._leave(unit_id, voyage))
        await voyage.settled.wait()
        if voyage.error is not None:
            raise voyage.error

    async def _carry_on(self, unit: SyncUnit, voyage: _Voyage) -> None:
        """One voyage, whatever becomes of it: what goes wrong while nobody waits is tried again later."""
        try:
            await self._operate(unit, voyage)
            # Once the end is stored, somebody may ask for the next one before we are out of its way.
            known = self._ledger.get(unit.id)
            voyage.again = known is not None and known.operation is not None
        except UnitMissing:
            pass  # whoever deleted the unit wants nothing more of it
        except Exception as error:  # noqa: BLE001 - one unit's trouble must not end the others'
            voyage.error = error
            if voyage.settled.is_set():
                _log.warning("the operation of %s stopped: %s", unit.id, type(error).__name__)
                self._again(unit.id, _TRY_AGAIN)
        finally:
            self._leave(unit.id, voyage)

    def _leave(self, unit_id: str, voyage: _Voyage) -> None:
        """Have the voyage be over, if it is not."""
        voyage.settled.set()
        if self._under_way.get(unit_id) is voyage:
            del self._under_way[unit_id]
            if voyage.again:
                self._again(unit_id, 0)

    async def _operate(self, unit: SyncUnit, voyage: _Voyage) -> None:
        state, operation = unit.status.operation_state, unit.operation
        if operation is None:
            return
        if state is None:
            state = replace(self._syncer.begin(operation), cluster=unit.destination.cluster)
            # Until something is done a process that dies leaves nothing to be known: all of this is stored
            # with the first record that has to be.
            self._ledger.note(unit.id, lambda status: replace(status, operation_state=state))
        state = by_our_clock(state, self._clock.now())
        if operation.deletions_approved_at is not None:
            # Somebody may have agreed while nobody was at work on it.
            voyage.control.approve_deletions(operation.deletions_approved_at)
        if operation.ended_by:
            voyage.control.terminate()
            if not is_begun(state):
                state = never_begun(state, self._clock.now())
                await self._record(unit.id, state, voyage)
        if not state.phase.final:
            room = self._rooms.open(unit.destination.cluster)
            desk = room.open_desk()
            if desk is None:
                raise Unavailable(f"cluster {room.name}", room.refusal().reason)
            voyage.desk = desk
            state = await self._syncer.sync(self._journey(unit, desk, voyage), state)
        if state.phase.final:
            await self._drop_renders(unit)
            await self._close(unit.id, state)

    def _journey(self, unit: SyncUnit, desk: Desk, voyage: _Voyage) -> Journey:
        async def record(state: OperationState) -> None:
            await self._record(unit.id, state, voyage)

        return Journey(
            unit=unit,
            desk=desk,
            control=voyage.control,
            record=record,
            on_planned=lambda sight, plan: self._note_plan(unit, sight, plan),
            on_outcomes=lambda outcomes: self._tell_steps(unit.id, outcomes),
            on_vetoed=lambda reason: self._events.publish(
                OperationVetoed(at=self._clock.now(), unit=unit.id, reason=reason)
            ),
        )

    async def _note_plan(self, unit: SyncUnit, sight: Sight, plan: SyncPlan) -> None:
        """Remember what is tried, before it is; what is only tried out does not count."""
        if self._events:
            now = self._clock.now()
            self._events.publish(
                OperationPlanned(at=now, unit=unit.id, plan=plan.digest, steps=len(plan.steps))
            )
        operation = unit.operation or Operation()
        made_of = sight.generated
        if plan.dry_run or made_of is None:
            return
        attempt = Attempt(
            revision=made_of.revision,
            rendered=made_of.digest,
            source=source_digest(unit.source if operation.source is None else operation.source),
            delete_hooks=has_deletion_hooks(sight.wanted.hooks),
        )
        self._ledger.note(unit.id, lambda before: replace(before, attempted=attempt))
        # A deletion is gone on with as it was begun, whatever becomes of its source meanwhile.
        needs_it = attempt.delete_hooks if operation.delete else is_remembered(unit, operation)
        if needs_it:
            await self._keep_render(unit, sight)

    async def _keep_render(self, unit: SyncUnit, sight: Sight) -> None:
        """Keep what is about to be synced, so that one can come back to it whatever becomes of its source."""
        is_kept = any(entry.rendered == sight.rendered for entry in unit.status.history)
        if self._archive is not None and sight.generated is not None and not is_kept:
            await self._archive.keep(unit.id, sight.generated)

    async def _drop_renders(self, before: SyncUnit) -> None:
        """Forget what no entry of history speaks of any more, if that may have changed."""
        after = self._ledger.get(before.id)
        if self._archive is None or after is None or after.status.attempted is None:
            return
        named = {entry.rendered for entry in after.status.history}
        tried = {after.status.attempted.rendered, *(entry.rendered for entry in before.status.history)}
        if not tried <= named:
            await self._archive.drop(before.id, named)

    # -- recording ---------------------------------------------------------------------------------------

    async def _record(self, unit_id: str, state: OperationState, voyage: _Voyage) -> None:
        """Store how far an operation has come, and go no further until that is done; the end ends it."""
        before = self._ledger.get(unit_id)
        # A process that goes on with a wait says so, too, though the record has said it before.
        known = before.status.operation_state if before and voyage.told else None
        self._tell_state(unit_id, known, state)
        voyage.told = True
        failures = 0
        while True:
            try:
                store = self._ledger.conclude if state.phase.final else self._ledger.change
                await store(unit_id, lambda status: self._with_state(unit_id, status, state))
                break
            except Unavailable as error:
                failures += 1
                voyage.settled.set()
                wait = pause(error, failures=failures, backoff=_RECORD_AGAIN, chance=draw())
                await self._clock.sleep(wait)
        if state.waiting_since is not None or state.retry_at is not None:
            voyage.settled.set()

    def _with_state(self, unit_id: str, status: UnitStatus, state: OperationState) -> UnitStatus:
        """The status with this state; at the end, in one writing with the history that it makes."""
        unit = self._ledger.get(unit_id)
        was_open = status.operation_state is None or not status.operation_state.phase.final
        history = history_after(unit, state) if unit and state.phase.final and was_open else status.history
        return replace(status, operation_state=state, history=history)

    async def _close(self, unit_id: str, state: OperationState) -> None:
        known = self._ledger.get(unit_id)
        is_done = known is not None and known.operation is None
        unit = known if known is not None and is_done else await self._ledger.ask(unit_id, None)
        if self._events:
            self._tell_end(unit, state)
        self._on_ended(unit, state)

    # -- telling -----------------------------------------------------------------------------------------

    def _tell_end(self, unit: SyncUnit, state: OperationState) -> None:
        now = self._clock.now()
        self._events.publish(
            OperationEnded(
                at=now,
                unit=unit.id,
                cluster=unit.destination.cluster,
                phase=state.phase,
                revision=state.revision,
                dry_run=state.operation.dry_run,
                seconds=((state.finished_at or now) - state.started_at).total_seconds(),
                message=state.message,
            )
        )

    def _tell_state(self, unit_id: str, before: OperationState | None, state: OperationState) -> None:
        if not self._events or state.phase.final:
            return
        now = self._clock.now()
        if state.retry_at is not None and (before is None or before.retry_at != state.retry_at):
            self._events.publish(
                OperationRetried(
                    at=now,
                    unit=unit_id,
                    retries=state.retry_count,
                    until=state.retry_at,
                    message=state.message,
                )
            )
        elif state.waiting_since is not None and (before is None or before.message != state.message):
            self._events.publish(OperationWaits(at=now, unit=unit_id, message=state.message))

    def _tell_steps(self, unit_id: str, outcomes: Iterable[Outcome]) -> None:
        if not self._events:
            return
        for outcome in outcomes:
            act = outcome.act
            if isinstance(act, Rehearse) or not isinstance(act, Apply | CreateNamespace | Prune | RunHook):
                continue
            done = StepStatus.PRUNED if isinstance(act, Prune) else StepStatus.SYNCED
            self._events.publish(
                StepDone(
                    at=outcome.at,
                    unit=unit_id,
                    key=act.key,
                    phase=act.phase,
                    status=StepStatus.SYNC_FAILED if outcome.problem else done,
                    hook=isinstance(act, RunHook),
                    message=outcome.problem or outcome.message,
                )
            )

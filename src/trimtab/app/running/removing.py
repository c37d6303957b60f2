"""Deletes the objects of units whose files went and that asked for it with `onRemoval: delete`.

Which units those are is decided by `declared`; here it is done, the way `trimtab delete` does it: an
operation that is recorded and carried out by the shard's engine, with whatever needs somebody's consent
waiting for it. When nothing is left the record goes, last of all, so whoever is killed on the way is
succeeded by the next runner that reads the same files. A file that comes back ends the deletion, and the unit
is synced again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.deletion import going
from trimtab.app.running.events import AnyEvent, UnitRemovalHeld, UnitRemoved, UnitRemoving
from trimtab.engine import Engine
from trimtab.engine.operations import Operation, OperationPhase, Strategy
from trimtab.engine.stores.changing import with_end
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import RenderArchive, SyncUnit, SyncUnitStore, UnitMissing
from trimtab.errors import TrimtabError, Unavailable
from trimtab.tasks import Clock

#: what is asked of the engine; by its author it is known again
REMOVAL: Final = Operation(delete=True, prune=True, asked_by="a runner, whose unit file went")
#: how long after a deletion that did not end well the next one is asked for
AGAIN_AFTER: Final = timedelta(minutes=1)
#: seconds between two looks while something is under way
_LOOK_AGAIN: Final = 1.0


class Ask(Struct, frozen=True):
    """The deletion is to be asked for."""


class End(Struct, frozen=True):
    """What is under way has to end first."""


class Look(Struct, frozen=True):
    """The deletion is done: is anything left?"""


class Sync(Struct, frozen=True):
    """The unit is wanted again, and has to be synced."""


class Wait(Struct, frozen=True):
    """Something is waited for."""

    reason: str


class Done(Struct, frozen=True):
    """There is nothing to do."""


Step: TypeAlias = Ask | End | Look | Sync | Wait | Done


def next_step(unit: SyncUnit, now: datetime) -> Step:
    """What comes next on the way of a unit without a file out of the cluster. Pure."""
    if unit.hold:
        return Wait(f"it is {unit.hold}")
    state = unit.status.operation_state
    if unit.operation is not None and not unit.operation.delete:
        return Wait("what is under way ends first") if unit.operation.ended_by else End()
    if unit.operation is not None:
        return Wait(state.message if state is not None else "")
    if state is None or not state.operation.delete:
        return Ask()
    if state.phase is not OperationPhase.SUCCEEDED:
        return _again(unit, now) or Wait(f"deleting failed: {state.message}")
    if state.operation.asked_by == REMOVAL.asked_by:
        return Look()
    return _again(unit, now) or Wait("somebody deletes it, and forgets it then")


def _again(unit: SyncUnit, now: datetime) -> Ask | None:
    state = unit.status.operation_state
    ended = state.finished_at if state is not None else None
    return Ask() if ended is not None and now - ended >= AGAIN_AFTER else None


def step_back(unit: SyncUnit) -> Step:
    """What comes next for a unit that has a file: a removal that was begun is no longer wanted. Pure."""
    state = unit.status.operation_state
    asked = unit.operation or (state.operation if state is not None else None)
    if asked is None or not (asked.delete and asked.asked_by == REMOVAL.asked_by):
        return Done()
    if unit.operation is not None:
        return Wait("its file is back") if unit.operation.ended_by else End()
    automated = unit.policy.automated
    return Sync() if automated is not None and automated.enabled and not unit.hold else Done()


class Removals:
    """Sees units of one shard out whose files went."""

    def __init__(
        self,
        engine: Engine,
        store: SyncUnitStore,
        archive: RenderArchive,
        *,
        clock: Clock,
        tell: Callable[[AnyEvent], None],
    ) -> None:
        self._engine, self._store, self._archive = engine, store, archive
        self._clock, self._tell = clock, tell
        self._gone: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        #: what each unit without a file waits for
        self.waiting: dict[str, str] = {}

    def want(self, gone: Collection[str]) -> None:
        """Have these units seen out, and no others."""
        self._gone = frozenset(gone)
        self._changed.set()

    async def run(self) -> None:
        """See units out, for ever."""
        await self._engine.known()
        while True:
            await self._changed.wait()
            self._changed.clear()
            while await self._pass():
                await self._clock.sleep(_LOOK_AGAIN)

    async def _pass(self) -> bool:
        """Take one step with every unit that needs one; whether there may be more to do."""
        is_open = False
        for unit in self._engine.units():
            is_gone = unit.id in self._gone
            step = next_step(unit, self._clock.now()) if is_gone else step_back(unit)
            if not isinstance(step, Done):
                is_open = True
                await self._try(unit, step)
        await self._forget_those_who_left()
        return is_open or bool(self._gone)

    async def _forget_those_who_left(self) -> None:
        """Wait no longer for units that are not recorded any more; some are known to others alone for now."""
        known = {unit.id for unit in self._engine.units()}
        for unit_id in self._gone - known:
            try:
                await self._store.get(unit_id)
            except UnitMissing:
                self._gone -= {unit_id}
            except Unavailable:
                return
        self.waiting = {unit_id: why for unit_id, why in self.waiting.items() if unit_id in self._gone}

    async def _try(self, unit: SyncUnit, step: Step) -> None:
        try:
            await self._take(unit, step)
        except UnitMissing:
            return  # somebody was faster, and the engine hears of it in a moment
        except TrimtabError as error:
            self._note(unit.id, str(error))

    async def _take(self, unit: SyncUnit, step: Step) -> None:
        match step:
            case Ask():
                await self._engine.start_sync(unit.id, replace(REMOVAL, retry=unit.policy.retry))
                self.waiting.pop(unit.id, None)
                self._tell(UnitRemoving(at=self._clock.now(), unit=unit.id))
            case End():
                await self._store.amend(unit.id, with_end(REMOVAL.asked_by))
            case Look():
                await self._look(unit)
            case Sync():
                await self._engine.start_sync(unit.id)
            case Wait(reason=reason):
                self._note(unit.id, reason)
            case Done():
                return
            case _:
                assert_never(step)

    async def _look(self, unit: SyncUnit) -> None:
        """Forget the unit if nothing of it is left."""
        plan = (await self._engine.preview(unit.id, replace(REMOVAL, strategy=Strategy.APPLY))).plan
        if reason := _left(plan):
            if _again(unit, self._clock.now()) is not None:
                await self._take(unit, Ask())
            self._note(unit.id, reason)
            return
        if unit.id not in self._gone:
            return
        await self._archive.drop(unit.id, ())
        await self._store.delete(unit.id, is_empty=not (plan.steps or plan.refused))
        self._tell(UnitRemoved(at=self._clock.now(), unit=unit.id))

    def _note(self, unit_id: str, reason: str) -> None:
        """Tell what is waited for, once."""
        if reason and unit_id in self._gone and self.waiting.get(unit_id) != reason:
            self.waiting[unit_id] = reason
            self._tell(UnitRemovalHeld(at=self._clock.now(), unit=unit_id, reason=reason))


def _left(plan: SyncPlan) -> str:
    """What of a unit is still there, or cannot be seen; empty if nothing is."""
    unseen = [each for each in plan.refused if each.blocks]
    if unseen:
        return f"{unseen[0].key}: {unseen[0].reason}"
    left = going(plan)
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{left[0].key}{more} is still there" if left else ""

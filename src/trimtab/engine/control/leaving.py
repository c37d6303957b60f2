"""Units that are gone: their hooks, which we held for their outcome, are let go of.

Hooks carry a finalizer that nobody else takes off. Whoever hears that a unit went knows from its last state
which ones are held. A process that was killed before it had let go is succeeded by one that finds them in the
cluster: by our mark, with our finalizer, of a unit that no longer is. Nothing is deleted here.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from trimtab.engine.control.desks import Desk
from trimtab.engine.control.rooms import Room, Rooms
from trimtab.engine.events import Events, HooksReleased
from trimtab.engine.health.values import HOOK_FINALIZER
from trimtab.engine.live import Live
from trimtab.engine.operations import HookRun, OperationState, StepName, held_runs
from trimtab.engine.stores.changing import without_left
from trimtab.engine.sync.messages import told
from trimtab.engine.sync.releasing import let_go, release
from trimtab.engine.units import LeftBehind, SyncUnit, SyncUnitStore, UnitMissing
from trimtab.errors import TrimtabError, Unavailable
from trimtab.tasks import Backoff, Clock
from trimtab.tasks.backoff import pause
from trimtab.tasks.chance import draw

_log = logging.getLogger(__name__)
_AGAIN: Final = Backoff(first=timedelta(milliseconds=500), cap=timedelta(minutes=1))


def _held(unit: SyncUnit) -> tuple[HookRun, ...]:
    """The hooks of a unit's last operation that may carry our finalizer."""
    return held_runs(unit.status.operation_state)


def _as_it_was(unit: SyncUnit, behind: LeftBehind) -> SyncUnit:
    """The unit while it was where it left something."""
    there = replace(unit.destination, cluster=behind.cluster)
    return replace(unit, destination=there, status=replace(unit.status, operation_state=behind.state))


class _Visit:
    """A cluster that is looked into though no unit lives there."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then
        self.settled = asyncio.Event()


class Leaving:
    """Lets go of the hooks of units that are gone."""

    def __init__(
        self, store: SyncUnitStore, rooms: Rooms, events: Events, *, clock: Clock, manager: str
    ) -> None:
        self._store, self._rooms, self._events = store, rooms, events
        self._clock, self._manager = clock, manager
        self._group: asyncio.TaskGroup | None = None
        self._at: Counter[str] = Counter()
        self._behind: set[tuple[str, str, datetime]] = set()
        self._visits: dict[str, _Visit] = {}

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Have hooks let go of in this group of tasks from now on."""
        self._group = group

    def is_at(self, cluster: str) -> bool:
        """Whether something is still to be let go of in a cluster."""
        return bool(self._at[cluster])

    def leave(
        self,
        unit: SyncUnit,
        working: asyncio.Task[None] | None,
        then: Callable[[], None],
        *,
        is_moved: bool = False,
    ) -> None:
        """Let go of what a unit held in its cluster once nothing works on it any more; `then` follows.

        One that `is_moved` lives elsewhere now; of any other the store is asked whether it is really gone.
        """
        if self._group is None or (working is None and not _held(unit)):
            then()
            return

        async def let_go() -> None:
            if _held(unit):
                await self._persistently(unit, is_moved=is_moved)

        self._at[unit.destination.cluster] += 1
        self._group.create_task(self._leave(unit, working, let_go, then))

    async def _leave(
        self,
        unit: SyncUnit,
        working: asyncio.Task[None] | None,
        let_go: Callable[[], Awaitable[None]],
        then: Callable[[], None],
    ) -> None:
        if working is not None:
            await asyncio.wait({working})  # its last write may be under way, and make a hook
        try:
            await let_go()
        except TrimtabError as error:
            problems = tuple(f"{run.key}: {told(error)}" for run in _held(unit))
            self._tell(unit.id, unit.destination.cluster, (), problems)
        except Exception:  # noqa: BLE001 - one unit's trouble must not end the others'
            _log.exception("the hooks of %s could not be let go of", unit.id)
        self._at[unit.destination.cluster] -= 1
        then()

    def leave_behind(
        self,
        unit: SyncUnit,
        behind: LeftBehind,
        working: asyncio.Task[None] | None,
        then: Callable[[], None],
    ) -> None:
        """Let go of what a unit left in a cluster where it is no longer, and take that off its record."""
        place = (unit.id, behind.cluster, behind.state.started_at)
        if self._group is None or place in self._behind:
            return
        there = _as_it_was(unit, behind)

        async def let_go() -> None:
            with suppress(UnitMissing):  # nobody remembers it any more
                await self._persistently(there, is_moved=True)
                self._behind.discard(place)
                after = await self._store.amend(unit.id, without_left(behind))
                for more in after.left:  # what was begun there may have been recorded later than the move
                    self.leave_behind(after, more, None, then)

        self._behind.add(place)
        self._at[behind.cluster] += 1
        self._group.create_task(self._leave(there, working, let_go, then))

    async def _persistently(self, unit: SyncUnit, *, is_moved: bool) -> None:
        """Let go, and try again for as long as that may help."""
        failures = 0
        while True:
            try:
                if is_moved or not await self._is_there(unit.id):
                    await self._let_go(unit)
                break
            except Unavailable as error:
                failures += 1
                wait = pause(error, failures=failures, backoff=_AGAIN, chance=draw())
                await self._clock.sleep(wait)

    async def _let_go(self, unit: SyncUnit) -> None:
        state, held = unit.status.operation_state, {(run.key, run.sync_phase) for run in _held(unit)}
        if state is None:
            return
        room = self._rooms.open(unit.destination.cluster)
        desk = room.open_desk()
        if desk is None:
            raise room.refusal()
        after, carried = await let_go(desk.cluster, desk.discovery(), state, self._manager)
        runs = [run for run in after.hooks if (run.key, run.sync_phase) in held]
        self._tell(
            unit.id,
            unit.destination.cluster,
            (str(run.key) for run in runs if not run.problem and _was_held(state, run, carried)),
            (f"{run.key}: {run.problem}" for run in runs if run.problem),
        )

    def sweep(self, room: Room, *, after: asyncio.Event, known: Callable[[str], bool]) -> None:
        """Let go of what units left in a cluster that went while nobody was there to hear it."""
        if self._group is not None:
            self._group.create_task(self._sweep(room, after, known))

    async def _sweep(self, room: Room, after: asyncio.Event, known: Callable[[str], bool]) -> None:
        await after.wait()
        if await self._swept(room, known):
            self.end_visit(room.name)

    async def _swept(self, room: Room, known: Callable[[str], bool]) -> bool:
        """Whether a cluster could be swept now; if not, it is swept when it is ready again."""
        desk = room.open_desk()
        if desk is None:
            return False
        for unit_id, left in tuple(_left(desk, known)):
            try:
                if not await self._is_there(unit_id):
                    await self._take_off(desk, unit_id, left)
            except Unavailable:
                return False
            except Exception:  # noqa: BLE001 - one unit's trouble must not end the others'
                _log.exception("the hooks of %s could not be let go of", unit_id)
        return True

    async def visit(self, cluster: str, then: Callable[[], None]) -> None:
        """Have a cluster swept in which no unit lives; `then` follows.

        One that cannot be reached is not waited for: it is swept when it can be.
        """
        room = self._rooms.get(cluster)
        if cluster in self._visits or (room is not None and room.open_desk() is not None):
            return  # one that is ready was swept when it became so
        visit = self._visits[cluster] = _Visit(then)
        self._at[cluster] += 1
        self._rooms.open(cluster)
        await visit.settled.wait()

    def lose(self, cluster: str) -> None:
        """Take in that a cluster cannot be reached now."""
        if cluster in self._visits:
            self._visits[cluster].settled.set()

    def end_visit(self, cluster: str) -> None:
        """Have nothing more to do in a cluster in which no unit lives."""
        visit = self._visits.pop(cluster, None)
        if visit is not None:
            self._at[cluster] -= 1
            visit.settled.set()
            visit.then()

    async def _take_off(self, desk: Desk, unit_id: str, left: Iterable[Live]) -> None:
        """Take our finalizer off what a unit left that is no more."""
        released, problems = [], []
        for each in left:
            resource = desk.discovery().resource(each.api_version, each.key.kind)
            if resource is None:
                continue
            try:
                await release(desk.cluster, resource, each.key, each.uid.__eq__, self._manager)
                released.append(str(each.key))
            except Unavailable:
                raise
            except TrimtabError as error:
                problems.append(f"{each.key}: {told(error)}")
        self._tell(unit_id, desk.entry.name, released, problems)

    async def _is_there(self, unit_id: str) -> bool:
        """Whether the store has such a unit: then somebody else works on it, or it is back."""
        try:
            await self._store.get(unit_id)
        except UnitMissing:
            return False
        except Unavailable:
            raise
        except TrimtabError:
            return True  # it is there and cannot be read
        return True

    def _tell(self, unit_id: str, cluster: str, hooks: Iterable[str], problems: Iterable[str]) -> None:
        told = HooksReleased(
            at=self._clock.now(), unit=unit_id, cluster=cluster, hooks=tuple(hooks), problems=tuple(problems)
        )
        if told.hooks or told.problems:
            self._events.publish(told)


def _was_held(state: OperationState, run: HookRun, carried: Collection[StepName]) -> bool:
    """Whether a hook was really made: whoever is killed has not recorded the answer to his last write."""
    place = (run.key, run.sync_phase)
    return place in carried or any((each.key, each.sync_phase) == place for each in state.results)


def _left(desk: Desk, known: Callable[[str], bool]) -> Iterator[tuple[str, tuple[Live, ...]]]:
    """The units that are not known and seem to have left hooks behind, and those."""
    for mark in desk.cache.marks():
        unit_id = desk.ways.tracking.unit_named(mark)
        if unit_id and not known(unit_id):
            left = tuple(each for each in desk.cache.managed(mark) if HOOK_FINALIZER in each.finalizers)
            if left:
                yield unit_id, left

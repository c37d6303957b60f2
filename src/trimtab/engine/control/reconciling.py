"""The status processor: one run looks at one unit, records how it stands, and has a sync begun if one is due.

What is decided is decided in `policy` and `statuses`; here is the order of things. A unit whose cluster is
out of reach, whose manifests cannot be had or whose own writes have not been told yet is left as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.control.desks import Desk
from trimtab.engine.control.ledger import Ledger
from trimtab.engine.control.looking import Looker, Sight
from trimtab.engine.control.policy import (
    Later,
    Leave,
    Refresh,
    Refuse,
    Start,
    auto_sync,
    conditions_after,
    declared_digest,
    is_overtaken,
    refresh_due,
)
from trimtab.engine.control.rooms import Room, Rooms, RoomState
from trimtab.engine.control.statuses import status_after, status_unknown
from trimtab.engine.events import (
    ComparisonFailed,
    Events,
    SyncLeft,
    SyncPostponed,
    SyncRefused,
    UnitRefreshed,
)
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Verdict
from trimtab.engine.sync.judging import is_unheard
from trimtab.engine.units import (
    ConditionType,
    Destination,
    OperationUnderWay,
    Policy,
    SyncUnit,
    UnitStatus,
)
from trimtab.errors import InvalidSpec, TrimtabError, Unavailable
from trimtab.settings import EngineSettings
from trimtab.tasks import Clock
from trimtab.tasks.chance import draw

#: until it is seen again whether our writes were told, in seconds: usually that takes a moment
_LISTEN_SOON, _LISTEN_LATE = 0.01, 0.2


class Wiring(Struct, frozen=True, kw_only=True):
    """Whom a status processor talks to."""

    #: have an operation begun; None where nothing begins that was not asked for
    start: Callable[[SyncUnit, Operation, str], Coroutine[Any, Any, None]] | None
    #: look at a unit again, so many seconds later
    again: Callable[[str, float], None]
    #: tell an operation under way that a newer revision waits
    supersede: Callable[[str, str], None]


class Reconciler:
    """Looks at units when they are due."""

    def __init__(
        self,
        ledger: Ledger,
        rooms: Rooms,
        looker: Looker,
        events: Events,
        wiring: Wiring,
        *,
        settings: EngineSettings,
        clock: Clock,
    ) -> None:
        self._ledger, self._rooms, self._looker = ledger, rooms, looker
        self._events, self._wiring = events, wiring
        self._settings, self._clock = settings, clock
        self._levels: dict[str, Refresh] = {}
        self._waiters: dict[str, list[asyncio.Future[SyncUnit]]] = {}
        self._failing_since: dict[str, datetime] = {}
        self._reasons: dict[str, str] = {}
        self._unheard: dict[str, datetime] = {}
        self._digests: dict[str, tuple[Any, Destination, Policy, str]] = {}

    def request(self, unit_id: str, level: Refresh) -> None:
        """Have the next look be at least so thorough."""
        self._levels[unit_id] = max(level, self._levels.get(unit_id, level))

    def waiting(self, unit_id: str) -> asyncio.Future[SyncUnit]:
        """The unit after its next whole look."""
        waiter: asyncio.Future[SyncUnit] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(unit_id, []).append(waiter)
        return waiter

    def is_awaited(self, unit_id: str) -> bool:
        """Whether somebody waits for the next look at the unit."""
        return bool(self._waiters.get(unit_id))

    def listen_for_writes(self, unit_id: str) -> None:
        """Judge the unit no more until the cluster has told of what its last operation wrote."""
        self._unheard[unit_id] = self._clock.now() + self._settings.hear_writes_within

    def forget(self, unit_id: str, why: TrimtabError) -> None:
        """Forget a unit that is gone; whoever waits for a look at it is told `why` there will be none."""
        for held in (self._levels, self._failing_since, self._reasons, self._unheard, self._digests):
            held.pop(unit_id, None)
        fail(self._waiters.pop(unit_id, []), why)
        self._looker.forget(unit_id)

    def end(self, why: TrimtabError) -> None:
        """Tell whoever waits for a look why there will be none."""
        for unit_id in list(self._waiters):
            fail(self._waiters.pop(unit_id), why)

    async def run(self, _tenant: str, unit_id: str) -> None:
        """Look at one unit."""
        unit = self._ledger.get(unit_id)
        if unit is None:
            return
        room = self._rooms.open(unit.destination.cluster)
        desk = room.open_desk()
        if desk is None and room.state is RoomState.STARTING:
            return  # everybody is looked at as soon as it is ready
        if desk is not None and self._is_unheard(unit, desk):
            self._wiring.again(unit_id, self._listen_again(unit_id))
            return
        waiters = self._waiters.pop(unit_id, [])
        try:
            looked = await (self._without_cluster(unit, room) if desk is None else self._look(unit, desk))
        except asyncio.CancelledError:
            self._waiters.setdefault(unit_id, []).extend(waiters)  # whoever ends the work tells them
            raise
        except Exception as error:
            fail(waiters, error)
            raise
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(looked)
        if every := self._settings.refresh_every.total_seconds():
            self._wiring.again(unit_id, every * (1 + draw() / 2))

    # -- looking -----------------------------------------------------------------------------------------

    async def _look(self, unit: SyncUnit, desk: Desk) -> SyncUnit:
        interval, begun = self._settings.refresh_every, self._clock.monotonic()
        due = refresh_due(unit, self._declared(unit), self._clock.now(), interval) or Refresh.LIVE
        level = max(due, self._levels.pop(unit.id, Refresh.LIVE))
        try:
            sight = await self._looker.look(unit, desk, level)
        except TrimtabError as error:
            self.request(unit.id, level)
            return await self._failed(unit, error, level)
        self._failing_since.pop(unit.id, None)
        looked = await self._record(unit, sight)
        self._tell(looked, sight, self._clock.monotonic() - begun)
        if is_overtaken(unit, looked):
            self._wiring.again(unit.id, 0)
        else:
            await self._decide(looked, sight)
        return looked

    def _declared(self, unit: SyncUnit) -> str:
        """What tells apart what is wanted of a unit; computed anew only when that is another value."""
        known = self._digests.get(unit.id)
        if known is not None:
            source, destination, policy, digest = known
            if source is unit.source and destination is unit.destination and policy is unit.policy:
                return digest
        found = declared_digest(unit)
        self._digests[unit.id] = unit.source, unit.destination, unit.policy, found
        return found

    async def _record(self, unit: SyncUnit, sight: Sight) -> SyncUnit:
        now, declared = self._clock.now(), self._declared(unit)

        def after(before: UnitStatus) -> UnitStatus:
            found = status_after(
                before,
                sight.rows,
                sight.findings,
                revision=sight.revision,
                rendered=sight.rendered,
                declared=declared,
                now=now,
            )
            if not sight.problems:
                return found
            told = [(ConditionType.INVALID_SPEC, problem) for problem in sight.problems]
            kept = [(each.type, each.message) for each in found.conditions]
            judged = frozenset(ConditionType)
            return replace(found, conditions=conditions_after(found.conditions, judged, [*kept, *told], now))

        return await self._ledger.change(unit.id, after)

    def _tell(self, unit: SyncUnit, sight: Sight, seconds: float) -> None:
        if not self._events:
            return
        status = unit.status
        self._events.publish(
            UnitRefreshed(
                at=self._clock.now(),
                unit=unit.id,
                cluster=unit.destination.cluster,
                verdict=status.verdict,
                health=status.health.status,
                revision=status.revision,
                objects=len(sight.rows),
                differing=sum(row.verdict is Verdict.OUT_OF_SYNC for row in sight.rows),
                seconds=seconds,
            )
        )

    async def _failed(self, unit: SyncUnit, error: TrimtabError, level: Refresh) -> SyncUnit:
        """A look that failed: for a while the last verdict stands, if the same look may work later."""
        now = self._clock.now()
        self._events.publish(ComparisonFailed(at=now, unit=unit.id, reason=str(error)))
        since = self._failing_since.setdefault(unit.id, now)
        may_pass = isinstance(error, Unavailable) and level is not Refresh.HARD
        if may_pass and now - since < self._settings.error_grace and unit.status.reconciled_at is not None:
            raise error
        type_ = ConditionType.INVALID_SPEC if isinstance(error, InvalidSpec) else ConditionType.COMPARISON
        looked = await self._ledger.change(
            unit.id, lambda before: status_unknown(before, type_, str(error), now=now)
        )
        if isinstance(error, Unavailable):
            raise error
        return looked

    async def _without_cluster(self, unit: SyncUnit, room: Room) -> SyncUnit:
        """Nothing can be said of a unit whose cluster is out of reach."""
        told = str(room.refusal())
        now = self._clock.now()
        self._events.publish(ComparisonFailed(at=now, unit=unit.id, reason=told))
        return await self._ledger.change(
            unit.id, lambda before: status_unknown(before, ConditionType.COMPARISON, told, now=now)
        )

    # -- hearing of our own writes -----------------------------------------------------------------------

    def _listen_again(self, unit_id: str) -> float:
        """After as many seconds again as have been listened for."""
        begun = self._unheard[unit_id] - self._settings.hear_writes_within
        listened = (self._clock.now() - begun).total_seconds()
        return min(max(_LISTEN_SOON, listened), _LISTEN_LATE)

    def _is_unheard(self, unit: SyncUnit, desk: Desk) -> bool:
        """Whether the cluster has yet to tell of what the last operation wrote."""
        deadline, state = self._unheard.get(unit.id), unit.status.operation_state
        if deadline is None:
            return False
        if (
            state is not None
            and self._clock.now() < deadline
            and any(is_unheard(result, desk.cache.get(result.key)) for result in state.results)
        ):
            return True
        del self._unheard[unit.id]
        return False

    # -- deciding ----------------------------------------------------------------------------------------

    async def _decide(self, unit: SyncUnit, sight: Sight) -> None:
        now, start = self._clock.now(), self._wiring.start
        if start is None:
            return
        self._make_room(unit, sight)
        decision = auto_sync(unit, now)
        refusal = decision.message if isinstance(decision, Refuse) else ""
        await self._say_refusal(unit, refusal)
        match decision:
            case Start(operation=operation, reason=reason):
                self._reasons.pop(unit.id, None)
                with suppress(OperationUnderWay):  # somebody was faster: what he asked for goes first
                    await start(unit, operation, reason)
            case Later(at=at, reason=reason):
                self._wiring.again(unit.id, (at - now).total_seconds())
                self._events.publish(SyncPostponed(at=now, unit=unit.id, until=at, reason=reason))
            case Refuse(message=reason):
                if self._is_news(unit.id, reason):
                    self._events.publish(SyncRefused(at=now, unit=unit.id, reason=reason))
            case Leave(reason=reason):
                if self._is_news(unit.id, reason):
                    self._events.publish(SyncLeft(at=now, unit=unit.id, reason=reason))
            case _:
                assert_never(decision)

    def _make_room(self, unit: SyncUnit, sight: Sight) -> None:
        """Have an automated operation that only waits make room for what is wanted now."""
        state, attempted = unit.status.operation_state, unit.status.attempted
        if unit.operation is None or not unit.operation.automated or state is None or attempted is None:
            return
        if attempted.rendered != sight.rendered and state.revision != sight.revision:
            self._wiring.supersede(unit.id, sight.revision)

    def _is_news(self, unit_id: str, reason: str) -> bool:
        before, self._reasons[unit_id] = self._reasons.get(unit_id), reason
        return before != reason

    async def _say_refusal(self, unit: SyncUnit, message: str) -> None:
        has_one = any(each.type is ConditionType.SYNC for each in unit.status.conditions)
        if not message and not has_one:
            return
        now, found = self._clock.now(), [(ConditionType.SYNC, message)] if message else []
        judged = {ConditionType.SYNC}
        await self._ledger.change(
            unit.id,
            lambda before: replace(
                before, conditions=conditions_after(before.conditions, judged, found, now)
            ),
        )


def fail(waiters: Iterable[asyncio.Future[Any]], error: Exception) -> None:
    """Raise an error where it is still waited."""
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(error)

"""Who works on an app: the runner that keeps it, or else we, while nobody else does.

What is to be done is handed over through the app's record and followed to its end (`handing`). A runner that
dies leaves it there, and we go on from where it stands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from trimtab.app.course import Course, Held
from trimtab.app.drafts import DraftStore
from trimtab.app.handing import followed, handed_over, post
from trimtab.app.shards import is_kept
from trimtab.engine import Engine, RecordStore
from trimtab.engine.operations import Operation, OperationState
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import OperationUnderWay, Pin, SyncUnit
from trimtab.errors import Conflict
from trimtab.kube import Lease
from trimtab.tasks import SystemClock

if TYPE_CHECKING:
    from trimtab.app.apps import Apps

#: does something itself
Here: TypeAlias = Callable[[], Awaitable[OperationState]]
#: has something done by whoever holds this lease; None if nobody holds it any more
ByRunner: TypeAlias = Callable[[Lease], Awaitable[OperationState | None]]


class _Kept(Exception):
    """A runner has come to keep the app."""


def _words(operation: Operation) -> str:
    return "a sync of its own" if operation.automated else "what somebody asked for"


class Delegation:
    """Has operations of one app done by whoever is to do them."""

    def __init__(
        self, apps: Apps, engine: Engine, draft: DraftStore, records: RecordStore, asked: SyncUnit
    ) -> None:
        self._apps, self._engine, self._draft, self._records = apps, engine, draft, records
        self._asked, self._name = asked, asked.id
        self._handed: Operation | None = None
        #: how far what is asked for has come
        self.course = Course()

    async def done(self, here: Here, by_runner: ByRunner, held: Held) -> OperationState:
        """Have something done: by the runner that keeps the app, or else here, while nobody else works on it.

        A runner that dies leaves what it was handed in the record, and it is gone on with from there.
        """
        while True:
            keeper = await self.keeper()
            if keeper is not None:
                state = await by_runner(keeper)
                if state is not None:
                    return state
                here = here if self._handed is None else self.go_on
                continue
            with suppress(_Kept):
                return await self._apps.alone(self._name, partial(self._unless_kept, here), held)

    async def go_on(self) -> OperationState:
        """Go on with what is recorded, from where it stands."""
        await self._draft.resume(self._records)
        return await self._engine.wait_for_sync(self._name)

    async def keeper(self) -> Lease | None:
        """The lease of the runner that keeps the app, if there is one."""
        asked, recorded = is_kept(self._asked), await self._apps.find(self._name)
        if not asked and (recorded is None or not is_kept(recorded)):
            return None
        keeper = await self._apps.keeper_of(self._name)
        if keeper is not None and not asked:
            reason = "a runner keeps it, and cannot follow a folder of your machine"
            raise Conflict(f"app {self._name}", reason, "Choose another name with --app")
        return keeper

    async def _unless_kept(self, work: Here) -> OperationState:
        """Work, unless a runner keeps the app.

        That is looked at under the app's lease: a runner that comes later sees the lease and waits for its
        end, and one that came before is seen.
        """
        self.course.have_way()
        if await self.keeper() is not None:
            raise _Kept
        return await work()

    def handing(
        self, operation: Operation, plan: SyncPlan, held: Held, *, consent: bool, pin: Pin | None = None
    ) -> ByRunner:
        """How an operation that was agreed to is handed over to a runner, once, and followed to its end."""
        handed = handed_over(operation, plan.revision, SystemClock().now(), consent=consent)

        async def by_runner(keeper: Lease) -> OperationState | None:
            while self._handed != handed:
                wanted = await self._draft.get(self._name)
                try:
                    put = partial(post, self._records, wanted, handed, pin)
                    await self._apps.alone(self._name, put, held)
                    self._handed = handed
                    self.course.begin()
                except OperationUnderWay:
                    if not await self._wait_for_other(keeper, held):
                        return None
            return await self.followed(handed, keeper)

        return by_runner

    async def _wait_for_other(self, keeper: Lease, held: Held) -> bool:
        """Wait for the end of what a runner is busy with; whether the runner was there to the end."""
        other = (await self._records.get(self._name)).operation
        if other is None:
            return True
        held(f"{await keeper.holder() or 'a runner'}, busy with {_words(other)},")
        is_over = await self.followed(other, keeper) is not None
        self.course.have_way()
        return is_over

    async def followed(self, operation: Operation, keeper: Lease) -> OperationState | None:
        """The end of an operation that a runner carries out; None if no runner keeps the app any more."""
        return await followed(self._records, self._name, operation, keeper, self._engine.events.publish)

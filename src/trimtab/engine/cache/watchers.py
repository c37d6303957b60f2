"""One task per kind and scope, each on its own: what one meets, none of the others feels.

A watcher reads and says how far it is; what the news mean is its owner's business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from trimtab.engine.cache.index import Index, Scope
from trimtab.engine.cache.seen import Remembered
from trimtab.engine.cache.states import KindStatus, Reading, begun, heard, reading_after, stopped
from trimtab.errors import TrimtabError, Unavailable
from trimtab.kube import follow
from trimtab.kube.failures import Unauthenticated
from trimtab.kube.picture import Complete, Removed, Upserted
from trimtab.tasks.backoff import Backoff, pause
from trimtab.tasks.chance import draw

if TYPE_CHECKING:
    from trimtab.kube.cluster import Collections
    from trimtab.kube.discovery import Resource
    from trimtab.settings import CacheSettings
    from trimtab.tasks import Clock

#: takes what is news of a kind in a scope
Takes: TypeAlias = Callable[[Scope, "Resource", Upserted | Removed], None]

_BACKOFF = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=1))
#: others get their turn after so many objects
_TURN = 200
_log = logging.getLogger(__name__)


class Watchers:
    """The tasks that read one cluster."""

    def __init__(
        self,
        index: Index,
        settings: CacheSettings,
        clock: Clock,
        *,
        take: Takes,
        miss: Callable[[], None],
        resting: bool = False,
    ) -> None:
        """Watchers that hand on the news, and call `miss` when the server knows no such kind.

        Those that rest have read everything and hear no changes until they are wanted, or all are woken.
        """
        self.settings = settings
        self.clock = clock
        self.take = take
        self.miss = miss
        self._index = index
        self._group: asyncio.TaskGroup | None = None
        self._watchers: dict[Scope, _Watcher] = {}
        self._is_arranged = False
        self._rules = 0
        self._read_by: dict[Scope, int] = {}
        self._turned = asyncio.Event()
        self.is_resting = resting
        self._wanted: set[tuple[str, str]] = set()

    def want(self, kinds: Iterable[tuple[str, str]]) -> None:
        """Hear the changes of these kinds from now on."""
        self._wanted.update(kinds)
        for scope, watcher in self._watchers.items():
            if not self.rests(scope):
                watcher.awake.set()

    def wake(self) -> None:
        """Hear the changes of everything from now on."""
        self.is_resting = False
        self.want(())

    def rests(self, scope: Scope) -> bool:
        """Whether nobody wants to hear changes of this kind yet."""
        return self.is_resting and (scope.group, scope.kind) not in self._wanted

    @property
    def statuses(self) -> dict[Scope, KindStatus]:
        """How the reading of every kind and scope stands."""
        return {scope: watcher.status for scope, watcher in self._watchers.items()}

    def status(self, scope: Scope) -> KindStatus | None:
        """How the reading of one kind and scope stands, if it is watched."""
        found = self._watchers.get(scope)
        return None if found is None else found.status

    @property
    def is_settled(self) -> bool:
        """Whether all that shall be watched is complete or has said why not."""
        return self._is_arranged and all(each.status.is_settled for each in self._watchers.values())

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Let this group own the tasks from now on."""
        self._group = group

    def end(self) -> None:
        """The group has ended, and all tasks with it: from now on nothing is known to be current."""
        self._group = None
        self._watchers.clear()
        self._is_arranged = False
        self.turn()

    def arrange(self, source: Collections, wanted: Mapping[Scope, Resource]) -> None:
        """Watch what is wanted and nothing else."""
        for scope in [scope for scope in self._watchers if scope not in wanted]:
            self._watchers.pop(scope).end()
        self._read_by = {scope: rules for scope, rules in self._read_by.items() if scope in wanted}
        for scope, resource in wanted.items():
            before = self.status(scope)
            if before is None:
                self._start(source, scope, resource)
            elif _address(before.resource) != _address(resource):
                self._read_by.pop(scope, None)
                self._start(source, scope, resource)
        self._is_arranged = True
        self.turn()

    def restart(self, source: Collections, scopes: Iterable[Scope] | None = None) -> None:
        """Read these, or all, anew; only what differs is told."""
        for scope in list(self._watchers if scopes is None else scopes):
            self._start(source, scope, self._watchers[scope].status.resource)
        self.turn()

    def renew(self, source: Collections) -> None:
        """Read everything anew by other rules: every object counts as new, even in a state that is known."""
        self._rules += 1
        self.restart(source)

    def _start(self, source: Collections, scope: Scope, resource: Resource) -> None:
        if self._group is None:
            return
        if (running := self._watchers.get(scope)) is not None:
            running.end()
        # Until a kind has been read completely by the rules of today, its records may be of other rules.
        renewing = self._read_by.get(scope) != self._rules
        remembered = Remembered(self._index, scope, renewing=renewing)
        watcher = self._watchers[scope] = _Watcher(self, scope, resource, remembered)
        watcher.task = self._group.create_task(watcher.run(source), name=f"watch {resource.full_kind}")

    def completed(self, scope: Scope) -> None:
        """A kind has been read completely by the rules of today."""
        self._read_by[scope] = self._rules

    async def turned(self) -> None:
        """Return when the status of some kind has changed."""
        await self._turned.wait()

    def turn(self) -> None:
        """Wake those who wait for a status."""
        self._turned.set()
        self._turned = asyncio.Event()


def _address(resource: Resource) -> tuple[str, str, bool]:
    """Where a kind is read; it may be defined anew elsewhere."""
    return resource.api_version, resource.plural, resource.namespaced


class _Watcher:
    """Reads one kind in one scope until it is ended."""

    def __init__(self, owner: Watchers, scope: Scope, resource: Resource, remembered: Remembered) -> None:
        self.status = begun(scope, resource, owner.clock.now())
        self.task: asyncio.Task[None] | None = None
        self._owner = owner
        self._scope = scope
        self._resource = resource
        self._remembered = remembered
        self._is_ended = False
        #: somebody wants to hear changes
        self.awake = asyncio.Event()

    def end(self) -> None:
        """Take no more news, not even those that were read already."""
        self._is_ended = True
        if self.task is not None:
            self.task.cancel()

    async def run(self, source: Collections) -> None:
        """Read for ever, whatever happens."""
        failures = 0
        while not self._is_ended:
            complete_at = self.status.complete_at
            error = await self._outcome(source)
            failures = failures + 1 if self.status.complete_at == complete_at else 1
            wait = self._pause(error, failures)
            self._turn(stopped(self.status, error, self._owner.clock.now(), wait))
            if self.status.reading is Reading.UNSERVED:
                self._owner.miss()
            await self._owner.clock.sleep(wait)

    async def _outcome(self, source: Collections) -> Exception:
        """Why the reading ended."""
        try:
            await self._read(source)
        except TrimtabError as error:
            return error
        except Exception as bug:  # noqa: BLE001 - a poisonous object must stop its own kind alone
            _log.exception("reading %s failed", self._resource.full_kind)
            return bug
        return Unavailable(f"watch {self._resource.full_kind}", "it ended")

    async def _read(self, source: Collections) -> None:
        clock, taken = self._owner.clock, 0
        told = follow(
            source, self._resource, namespace=self._scope.namespace, seen=self._remembered, clock=clock
        )
        async with aclosing(told) as all_news:
            async for news in all_news:
                if self._is_ended:
                    return
                if isinstance(news, Upserted | Removed):
                    self._owner.take(self._scope, self._resource, news)
                    taken += 1
                    if taken % _TURN == 0:
                        await asyncio.sleep(0)
                    continue
                if isinstance(news, Complete):
                    self._remembered.renewing = False
                    self._owner.completed(self._scope)
                self._turn(heard(self.status, news, clock.now()))
                if isinstance(news, Complete) and self._owner.rests(self._scope):
                    # The watch is opened when more news is asked for, and begins where the list ended.
                    await self.awake.wait()

    def _pause(self, error: Exception, failures: int) -> float:
        """How long to wait before the next try: rights come rarely, other things may pass soon."""
        if not isinstance(error, TrimtabError):
            error = Unavailable("", "")
        # Credentials are renewed by themselves; rights are given by somebody, some day.
        if reading_after(error) is Reading.REFUSED and not isinstance(error, Unauthenticated):
            return self._owner.settings.retry_refused.total_seconds()
        return pause(error, failures=failures, backoff=_BACKOFF, chance=draw())

    def _turn(self, status: KindStatus) -> None:
        self.status = status
        self._owner.turn()

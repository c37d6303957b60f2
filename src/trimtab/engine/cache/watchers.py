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
    ) -> None:
        """Watchers that hand on the news, and call `miss` when the server knows no such kind."""
        self.statuses: dict[Scope, KindStatus] = {}
        self.settings = settings
        self._group: asyncio.TaskGroup | None = None
        self._index = index
        self._clock = clock
        self._take = take
        self._miss = miss
        self._tasks: dict[Scope, asyncio.Task[None]] = {}
        self._turned = asyncio.Event()

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Let this group own the tasks from now on."""
        self._group = group

    def end(self) -> None:
        """The group has ended, and all tasks with it: from now on nothing is known to be current."""
        self._group = None
        self._tasks.clear()
        self.statuses.clear()
        self.turn()

    def arrange(self, source: Collections, wanted: Mapping[Scope, Resource]) -> tuple[Scope, ...]:
        """Watch what is wanted and nothing else; the answer is what was watched and is no longer."""
        left = tuple(scope for scope in self._tasks if scope not in wanted)
        for scope in left:
            self._tasks.pop(scope).cancel()
            del self.statuses[scope]
        for scope, resource in wanted.items():
            before = self.statuses.get(scope)
            if before is None:
                self._start(source, scope, resource, renewing=False)
            elif before.resource.api_version != resource.api_version:
                self._start(source, scope, resource, renewing=True)
        self.turn()
        return left

    def restart(self, source: Collections, scopes: Iterable[Scope], *, renewing: bool = False) -> None:
        """Read these anew; `renewing` takes every object for new, even in a state that is known."""
        for scope in scopes:
            self._start(source, scope, self.statuses[scope].resource, renewing=renewing)
        self.turn()

    def _start(self, source: Collections, scope: Scope, resource: Resource, *, renewing: bool) -> None:
        if self._group is None:
            return
        if (running := self._tasks.get(scope)) is not None:
            running.cancel()
        self.statuses[scope] = begun(scope, resource, self._clock.now())
        remembered = Remembered(self._index, scope, renewing=renewing)
        self._tasks[scope] = self._group.create_task(
            self._watch(source, scope, resource, remembered), name=f"watch {resource.full_kind}"
        )

    async def turned(self) -> None:
        """Return when the status of some kind has changed."""
        await self._turned.wait()

    def turn(self) -> None:
        """Wake those who wait for a status."""
        self._turned.set()
        self._turned = asyncio.Event()

    async def _watch(
        self, source: Collections, scope: Scope, resource: Resource, remembered: Remembered
    ) -> None:
        """Read one kind in one scope for ever, whatever happens to it."""
        failures = 0
        while True:
            complete_at = self.statuses[scope].complete_at
            try:
                await self._read(source, scope, resource, remembered)
                error: Exception = Unavailable(f"watch {resource.full_kind}", "it ended")
            except TrimtabError as refused:
                error = refused
            except Exception as bug:  # noqa: BLE001 - a poisonous object must stop its own kind alone
                _log.exception("reading %s failed", resource.full_kind)
                error = bug
            failures = failures + 1 if self.statuses[scope].complete_at == complete_at else 1
            wait = self._pause(error, failures)
            self._set(scope, stopped(self.statuses[scope], error, self._clock.now(), wait))
            if self.statuses[scope].reading is Reading.UNSERVED:
                self._miss()
            await self._clock.sleep(wait)

    async def _read(
        self, source: Collections, scope: Scope, resource: Resource, remembered: Remembered
    ) -> None:
        told = follow(source, resource, namespace=scope.namespace, seen=remembered, clock=self._clock)
        taken = 0
        async with aclosing(told) as all_news:
            async for news in all_news:
                if isinstance(news, Upserted | Removed):
                    self._take(scope, resource, news)
                    taken += 1
                    if taken % _TURN == 0:
                        await asyncio.sleep(0)
                    continue
                if isinstance(news, Complete):
                    remembered.renewing = False
                self._set(scope, heard(self.statuses[scope], news, self._clock.now()))

    def _pause(self, error: Exception, failures: int) -> float:
        """How long to wait before the next try: rights come rarely, other things may pass soon."""
        if not isinstance(error, TrimtabError):
            error = Unavailable("", "")
        # Credentials are renewed by themselves; rights are given by somebody, some day.
        if reading_after(error) is Reading.REFUSED and not isinstance(error, Unauthenticated):
            return self.settings.retry_refused.total_seconds()
        return pause(error, failures=failures, backoff=_BACKOFF, chance=draw())

    def _set(self, scope: Scope, status: KindStatus) -> None:
        self.statuses[scope] = status
        self.turn()

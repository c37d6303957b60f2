"""Which kinds there are: learns it from the server once, then from the objects that declare kinds.

CustomResourceDefinitions say themselves what they make the server serve. For servers behind an APIService,
and now and then in any case, the server is asked, once for however many reasons there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from trimtab.engine.cache.catalog import (
    ApiService,
    Catalog,
    Definition,
    api_service_from,
    catalog_of,
    definition_from,
    plain_version,
    with_definitions,
)
from trimtab.errors import TrimtabError, Unavailable
from trimtab.tasks import plain_group
from trimtab.tasks.backoff import Backoff, pause
from trimtab.tasks.chance import draw

if TYPE_CHECKING:
    from trimtab.kube.cluster import Cluster
    from trimtab.kube.objects import KubeObject
    from trimtab.resources.keys import ResourceKey
    from trimtab.settings import CacheSettings
    from trimtab.tasks import Clock

_BACKOFF = Backoff(first=timedelta(milliseconds=500), cap=timedelta(seconds=30))
#: an API that an APIService announces is looked for so often, each time half as long again
_LOOKS, _FIRST_LOOK, _LONGER = 9, 0.5, 1.5


class Kinds:
    """The kinds of one cluster, kept up to date; `changed` is called whenever they may have changed."""

    def __init__(
        self, cluster: Cluster, settings: CacheSettings, clock: Clock, changed: Callable[[], None]
    ) -> None:
        self.catalog = Catalog()
        self.version = ""
        self.learnt_at: datetime | None = None
        self.error: TrimtabError | None = None
        self._cluster = cluster
        self.settings = settings
        self._clock = clock
        self._changed = changed
        self._definitions: dict[ResourceKey, Definition] = {}
        self._services: dict[ResourceKey, ApiService] = {}
        self._awaited: dict[str, int] = {}
        self._news = asyncio.Event()
        self._asked = asyncio.Event()

    @property
    def discovered(self) -> bool:
        """Whether the server has ever said which kinds there are."""
        return self.learnt_at is not None

    async def run(self) -> None:
        """Keep up, for ever."""
        self.ask()
        async with plain_group() as group:
            group.create_task(self._follow_definitions())
            group.create_task(self._discover())

    def ask(self) -> None:
        """Ask the server soon which kinds it serves."""
        self._asked.set()

    def define(self, key: ResourceKey, told: KubeObject) -> None:
        """A CustomResourceDefinition is there, in this state."""
        definition = definition_from(told.raw)
        if self._definitions.get(key) != definition:
            self._definitions[key] = definition
            self._news.set()

    def undefine(self, key: ResourceKey) -> None:
        """A CustomResourceDefinition is gone, and with it what it declared."""
        if (gone := self._definitions.pop(key, None)) is not None:
            left = (Definition(gone.group, gone.kind, ()), *self._definitions.values())
            self._learn(with_definitions(self.catalog, left))
            self._news.set()

    def announce(self, key: ResourceKey, told: KubeObject) -> None:
        """An APIService is there, in this state."""
        service = api_service_from(told.raw)
        if service.is_local or self._services.get(key) == service:
            return
        self._services[key] = service
        if service.is_available:
            self._awaited[f"{service.group}/{service.version}"] = _LOOKS
            self.ask()

    def withdraw(self, key: ResourceKey) -> None:
        """An APIService is gone."""
        if self._services.pop(key, None) is not None:
            self.ask()

    async def _follow_definitions(self) -> None:
        while True:
            await self._news.wait()
            await self._clock.sleep(self.settings.settle.total_seconds())
            self._news.clear()
            if self.discovered:
                self._learn(with_definitions(self.catalog, self._definitions.values()))
                self._changed()

    async def _discover(self) -> None:
        failures = 0
        while True:
            await self._asked.wait()
            if self.discovered:
                await self._clock.sleep(self.settings.settle.total_seconds())
            self._asked.clear()
            try:
                wait = await self._discovered()
                failures = 0
            except TrimtabError as error:
                failures += 1
                self.error = error
                wait = pause(error, failures=failures, backoff=_BACKOFF, chance=draw())
            self._changed()
            if wait is not None:
                await self._clock.sleep(wait)
                self.ask()

    async def _discovered(self) -> float | None:
        """Learn all kinds anew; the answer is when to look again, if something is still missing."""
        found = await self._cluster.discover()
        if not self.version:
            self.version = plain_version((await self._cluster.version()).git_version)
        known = catalog_of(found, self.catalog)
        self._learn(with_definitions(known, self._definitions.values()))
        self.learnt_at = self._clock.now()
        self.error = _partly(found.failed)
        return self._next_look()

    def _learn(self, catalog: Catalog) -> None:
        """Keep the catalog that is there if nothing is new: whoever builds on it then has nothing to do."""
        if catalog != self.catalog:
            self.catalog = catalog

    def _next_look(self) -> float | None:
        served = {each.api_version for each in self.catalog.resources()}
        self._awaited = {
            name: left - 1 for name, left in self._awaited.items() if left > 1 and name not in served
        }
        if not self._awaited:
            return _BACKOFF.cap.total_seconds() if self.error is not None else None
        return _FIRST_LOOK * _LONGER ** (_LOOKS - 1 - max(self._awaited.values()))


def _partly(failed: Mapping[str, str]) -> TrimtabError | None:
    if not failed:
        return None
    named = ", ".join(sorted(failed))
    return Unavailable(f"discover {named}", "what serves them does not answer", "The rest is watched.")

"""`ClusterCache`: the live state of one cluster, kept up to date by one independent task per kind and scope.

    cache = ClusterCache(cluster, settings.cache, tracking)
    async with asyncio.TaskGroup() as room:
        room.create_task(cache.run())
        await cache.complete()
        for live in cache.managed(tracking.mark_for("shop")):
            ...

Deciding is done elsewhere in this folder; here things are read, put where they belong, and told. Nothing is
ever removed because reading failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.cache import trees
from trimtab.engine.cache.catalog import CRD_GROUP, SERVICE_GROUP, Catalog
from trimtab.engine.cache.filters import USUAL, ResourceFilter
from trimtab.engine.cache.gate import Gate
from trimtab.engine.cache.holdings import Holdings
from trimtab.engine.cache.index import Scope
from trimtab.engine.cache.kinds import Kinds
from trimtab.engine.cache.reach import EVERYWHERE, Reach, check_reach, wanted
from trimtab.engine.cache.records import Judge, Recorder, judged_by
from trimtab.engine.cache.states import Facts, KindStatus, facts_of
from trimtab.engine.cache.trees import Branch
from trimtab.engine.cache.watchers import Watchers
from trimtab.engine.listeners import Subscribers
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark, Tracking
from trimtab.errors import Missing, TrimtabError, Unavailable
from trimtab.kube.failures import NotFound
from trimtab.kube.picture import Removed, Upserted
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.tasks import SystemClock, every, plain_group

if TYPE_CHECKING:
    from trimtab.kube.cluster import Cluster
    from trimtab.kube.discovery import Resource
    from trimtab.settings import CacheSettings
    from trimtab.tasks import Clock

_SWEEP = timedelta(minutes=1)
_AT_ONCE = 16
#: groups whose objects declare kinds
_DECLARING = frozenset({CRD_GROUP, SERVICE_GROUP})


class Fetched(Struct, frozen=True, kw_only=True):
    """An object, read from the cluster itself just now."""

    live: Live
    manifest: Manifest


class ClusterCache:
    """The live state of one cluster; a `LiveView`."""

    def __init__(
        self,
        cluster: Cluster,
        settings: CacheSettings,
        tracking: Tracking,
        *,
        reach: Reach = EVERYWHERE,
        chosen: ResourceFilter = USUAL,
        judge: Judge | None = None,
        server: str = "",
        digest_key: bytes = b"",
        rest: timedelta = timedelta(0),
        keeps: Callable[[Mark], bool] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """A cache of what `reach` covers and `chosen` lets in; `server` is what the filter's rules call it.

        Health is judged by `judge`, or else by the rules of the built-in kinds. With a `digest_key` nobody
        without it can guess contents, such as those of Secrets, from digests. Whoever asks a few things and
        goes lets it `rest`: for so long after everything was read, only changes of kinds that somebody wants
        are heard. Nothing is lost: what happened meanwhile is told afterwards. With `keeps`, whole manifests
        are kept of roots alone whose mark it says so of, rather than of all that carry our kind of mark.
        """
        self._cluster, self._settings, self._clock = cluster, settings, clock or SystemClock()
        self._tracking, self._judge, self._digest_key = tracking, judge or judged_by(), digest_key
        self._keeps = keeps
        self._reach, self._chosen, self._server = reach, chosen, server
        self._gate = Gate(cluster, settings.lists_at_once, settings.list_patience)
        self._kinds = Kinds(cluster, settings, self._clock, self._arrange)
        self._holdings = Holdings(self._recorder(), settings.memory)
        self._watchers = Watchers(
            self._holdings.index,
            settings,
            self._clock,
            take=self._take,
            miss=self._kinds.ask,
            resting=bool(rest),
        )
        self._rest = rest
        self._told = Subscribers[Callable[[Change], None]]()

    # --- keeping up -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep up with the cluster, for ever."""
        try:
            async with plain_group() as group:
                self._watchers.begin(group)
                group.create_task(self._kinds.run())
                group.create_task(every(_SWEEP, self._sweep, clock=self._clock, on_failure=lambda _: None))
                if self.is_resting:
                    group.create_task(self._wake_later())
        finally:
            self._watchers.end()

    @property
    def is_resting(self) -> bool:
        """Whether changes are heard of those kinds alone that somebody wants."""
        return self._watchers.is_resting

    def want(self, kinds: Iterable[tuple[str, str]]) -> None:
        """Hear changes of these groups and kinds, from what was read of them on."""
        self._watchers.want(kinds)

    async def _wake_later(self) -> None:
        with suppress(TrimtabError):  # whoever waits for it to be complete is told
            await self.complete()
        await self._clock.sleep(self._rest.total_seconds())
        self._watchers.wake()

    async def complete(self) -> None:
        """Return when every kind is complete or has said why not; raises if the kinds cannot be learnt."""
        while not (self._kinds.discovered and self._watchers.is_settled):
            if self._kinds.error is not None and not self._kinds.discovered:
                raise self._kinds.error
            await self._watchers.turned()

    async def turned(self) -> None:
        """Return when the reading of some kind has gone on, stopped or begun, or kinds came or went."""
        await self._watchers.turned()

    async def _sweep(self) -> None:
        """Learn and read anew what was last learnt or read whole too long ago, a few kinds at a time."""
        now = self._clock.now()
        if self._kinds.learnt_at is not None and now - self._kinds.learnt_at >= self._settings.discover_every:
            self._kinds.ask()
        due = now - self._settings.relist_every
        old = [
            each.scope
            for each in self._watchers.statuses.values()
            if each.is_current and each.complete_at is not None and each.complete_at <= due
        ]
        share = ceil(len(self._watchers.statuses) * (_SWEEP / self._settings.relist_every))
        self._watchers.restart(self._gate, old[:share])

    def _arrange(self) -> None:
        """Watch what there is and is wanted; of what is left out, the kinds no longer served are gone."""
        catalog = self._kinds.catalog
        watched = wanted(catalog, self._reach, self._chosen, self._server)
        forgotten = self._holdings.rearrange(watched)
        self._watchers.arrange(self._gate, watched)
        self._tell(each for each in forgotten if (each.key.group, each.key.kind) not in catalog.kinds)

    def _take(self, scope: Scope, resource: Resource, news: Upserted | Removed) -> None:
        if isinstance(news, Upserted):
            changes = self._holdings.put(scope, resource, news.object)
        else:
            key = ResourceKey(scope.group, scope.kind, news.namespace, news.name)
            changes = self._holdings.remove(scope, key)
        if scope.group in _DECLARING:
            self._learn(scope, news)
        self._tell(changes)

    def _learn(self, scope: Scope, news: Upserted | Removed) -> None:
        """Kinds come and go with the objects that declare them."""
        match scope.kind, news:
            case "CustomResourceDefinition", Upserted(told):
                self._kinds.define(told.key, told)
            case "CustomResourceDefinition", Removed(name=name):
                self._kinds.undefine(ResourceKey(scope.group, scope.kind, "", name))
            case "APIService", Upserted(told):
                self._kinds.announce(told.key, told)
            case "APIService", Removed(name=name):
                self._kinds.withdraw(ResourceKey(scope.group, scope.kind, "", name))
            case _:
                pass

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            for told in self._told:
                told(change)

    def _recorder(self) -> Recorder:
        return Recorder(self._tracking, self._judge, self._scope, self._digest_key, self._keeps)

    def _scope(self, group: str, kind: str) -> bool | None:
        return self._kinds.catalog.namespaced(group, kind)

    # --- changing the rules ---------------------------------------------------------------------------

    def change(
        self,
        *,
        settings: CacheSettings | None = None,
        tracking: Tracking | None = None,
        reach: Reach | None = None,
        chosen: ResourceFilter | None = None,
        judge: Judge | None = None,
    ) -> None:
        """Go on by other rules: only what they concern is read anew, and all stays readable meanwhile."""
        if settings is not None and settings != self._settings:
            self._settings = self._watchers.settings = self._kinds.settings = settings
            self._gate = Gate(self._cluster, settings.lists_at_once, settings.list_patience)
            self._holdings.limit_to(settings.memory)
        if (reach or self._reach) != self._reach or (chosen or self._chosen) != self._chosen:
            self._reach, self._chosen = reach or self._reach, chosen or self._chosen
            self._arrange()
        if (tracking or self._tracking) != self._tracking or (judge or self._judge) != self._judge:
            self._tracking, self._judge = tracking or self._tracking, judge or self._judge
            self._holdings.recorder = self._recorder()
            self._watchers.renew(self._gate)

    def invalidate(self) -> None:
        """Ask again which kinds there are and read all of them anew; all stays readable meanwhile."""
        self._kinds.ask()
        self._watchers.restart(self._gate)

    # --- questions: every answer is of one moment -----------------------------------------------------

    def get(self, key: ResourceKey) -> Live | None:
        """The object, as far as it is known."""
        return self._holdings.index.get(key)

    def manifest(self, key: ResourceKey) -> Manifest | None:
        """The whole object, if it is kept: tracked roots and CRDs are, as long as memory allows."""
        return self._holdings.manifest(key)

    def managed(self, mark: Mark) -> tuple[Live, ...]:
        """The roots that carry this mark, in the order of their keys."""
        return self._holdings.index.roots(mark)

    def marks(self) -> tuple[Mark, ...]:
        """Every mark that some root carries, in order."""
        return self._holdings.index.marks()

    def knows(self, group: str, kind: str, namespace: str) -> bool:
        """Whether an object of this kind that is absent here is absent in the cluster, too."""
        scopes = Scope(group, kind), Scope(group, kind, namespace)
        status = self._watchers.status(scopes[0]) or self._watchers.status(scopes[1])
        return status is not None and status.is_current

    def subscribe(self, told: Callable[[Change], None]) -> Callable[[], None]:
        """Be told every change, in order, without awaiting; the answer ends it."""
        return self._told.subscribe(told)

    def tree(
        self, roots: Iterable[ResourceKey], descend: Callable[[Live], bool] | None = None
    ) -> tuple[Branch, ...]:
        """These objects and all below them, parents first, each once; `descend` says below which to look."""
        return trees.tree(self._holdings.index, roots, descend or (lambda _: True))

    def children(self, key: ResourceKey) -> tuple[Live, ...]:
        """What an object owns, in the order of the keys."""
        found = self.get(key)
        return () if found is None else trees.children(self._holdings.index, found)

    def claimant(self, key: ResourceKey) -> Mark | None:
        """Whose an object is: the mark of the first root found by going up its owners."""
        return trees.claimant(self._holdings.index, key)

    def orphans(self, namespace: str) -> tuple[Live, ...]:
        """What in a namespace is owned by nothing and claimed by nobody."""
        return trees.orphans(self._holdings.index, namespace)

    def kinds(self) -> tuple[KindStatus, ...]:
        """Every kind and scope that is watched: how its reading stands, in order."""
        index = self._holdings.index
        return tuple(
            replace(status, objects=len(index.shelf(scope)))
            for scope, status in sorted(self._watchers.statuses.items())
        )

    def facts(self) -> Facts:
        """The cache at a glance."""
        return facts_of(
            self.kinds(),
            version=self._kinds.version,
            api_versions=len({each.api_version for each in self.catalog.resources()}),
            error="" if self._kinds.error is None else str(self._kinds.error),
            memory=self._holdings.memory(),
            now=self._clock.now(),
        )

    @property
    def catalog(self) -> Catalog:
        """Every kind the cluster serves, in all versions, watched or not."""
        return self._kinds.catalog

    def resource_for(self, api_version: str, kind: str, verb: str = "") -> Resource:
        """The kind in exactly this version, able to do this; `Missing` if the cluster serves none such."""
        if not self._kinds.discovered:
            raise Unavailable(f"{kind} {api_version}", "which kinds there are has not been learnt yet")
        return self.catalog.resource(api_version, kind, verb)

    def namespaced(self, group: str, kind: str) -> bool:
        """Whether objects of this kind live in namespaces; `Missing` if the cluster serves none such."""
        known = self.catalog.namespaced(group, kind)
        if known is None:
            named = f"{kind}.{group}" if group else kind
            raise Missing(named, "the cluster serves no such kind", "Install what declares it.")
        return known

    def check_reach(self, keys: Iterable[ResourceKey]) -> None:
        """Refuse, by name, objects that lie outside what is managed in this cluster."""
        check_reach(self._reach, keys)

    # --- asking the cluster itself --------------------------------------------------------------------

    async def fetch(
        self, keys: Iterable[ResourceKey], *, api_version: str = ""
    ) -> dict[ResourceKey, Fetched | None]:
        """Read objects from the cluster itself, in the order asked; None where absent.

        All in one version, or each in the one the server prefers.
        """
        places = asyncio.Semaphore(_AT_ONCE)
        found: dict[ResourceKey, Fetched | None] = dict.fromkeys(keys)

        async def fetch_one(key: ResourceKey) -> None:
            async with places:
                found[key] = await self._fetched(key, api_version)

        async with plain_group() as group:
            for key in found:
                group.create_task(fetch_one(key))
        return found

    async def manifest_in(self, key: ResourceKey, api_version: str) -> Manifest | None:
        """The whole object in one version: as it is kept, or else read from the cluster."""
        held = self.get(key)
        if held is not None and held.api_version == api_version:
            if (kept := self.manifest(key)) is not None:
                return kept
        elif held is None and self.knows(key.group, key.kind, key.namespace):
            return None
        fetched = (await self.fetch([key], api_version=api_version))[key]
        return None if fetched is None else fetched.manifest

    async def _fetched(self, key: ResourceKey, api_version: str) -> Fetched | None:
        resource = self.resource_for(api_version or self._preferred(key), key.kind, "get")
        try:
            told = await self._cluster.get(resource, key.name, namespace=key.namespace)
        except NotFound:
            return None
        return Fetched(live=self._holdings.recorder.record(told, resource).live, manifest=told.manifest())

    def _preferred(self, key: ResourceKey) -> str:
        found = self.catalog.preferred(key.group, key.kind)
        return key.group if found is None else found.api_version

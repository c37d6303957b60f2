"""The runner: stands for shards, and keeps the units of those it holds in sync, for ever.

Everything that must not be forgotten is in the cluster's records, so a runner that is killed is succeeded by
any other. A shard is kept under a lease; every write of its engine asks first whether the lease still holds.
Where there are several shards, a runner that keeps many hands over to one that keeps few: see `balancing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.fencing import FencedCluster
from trimtab.app.installation import Installation
from trimtab.app.running.balancing import Division, division_of, surplus, turn
from trimtab.app.running.clusters import Clusters
from trimtab.app.running.declaring import Declarations, keep_records
from trimtab.app.running.events import AnyEvent, ShardHandedOver, ShardHeldElsewhere, ShardLost, ShardTaken
from trimtab.app.running.following import Commits
from trimtab.app.running.removing import Removals
from trimtab.app.running.showing import ClusterStand, ShardStand
from trimtab.app.running.store import ShardStore
from trimtab.app.shards import Shard, is_app_lease, rivals, seats, shard_named, shards, terms_of
from trimtab.engine import Engine, Keyring, Metrics, RecordArchive, RecordStore
from trimtab.engine.events import Event
from trimtab.engine.units import ManifestGenerator
from trimtab.errors import TrimtabError, Unavailable
from trimtab.kube import Lease
from trimtab.kube.cluster import Cluster
from trimtab.kube.leases import LEASES, Holding, LeaseTaken, Sighting, holding_in, sighted
from trimtab.settings import Settings
from trimtab.tasks import Clock, every, run_together

_TIDY_EVERY: Final = timedelta(hours=1)


class Home(Struct, frozen=True, kw_only=True):
    """Where a runner's records are, and who it is to others."""

    cluster: Cluster
    installation: Installation
    me: str


class _Keeping:
    """One shard while it is kept here."""

    def __init__(self, engine: Engine, store: ShardStore, metrics: Metrics) -> None:
        self.engine, self.store, self.metrics = engine, store, metrics
        self.removals: Removals | None = None
        self.known = False
        #: to whom it is handed over, as soon as somebody keeps fewer
        self.heir: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def is_idle(self) -> bool:
        """Whether no operation of its units is under way."""
        return self.known and all(unit.operation is None for unit in self.engine.units())


class _HandedOver(Exception):
    """A shard is let go for another runner."""

    def __init__(self, to: str) -> None:
        super().__init__(f"handed over to {to}")
        self.to = to


class _RivalsHold(Exception):
    """Shards of another division are held; they may have units of ours."""

    def __init__(self, rival: Shard, holder: str) -> None:
        super().__init__(f"{holder} keeps shard {rival}")
        self.rival, self.holder = rival, holder


class Runner:
    """Keeps the units of the shards it can get."""

    def __init__(
        self,
        home: Home,
        clusters: Clusters,
        manifests: ManifestGenerator,
        commits: Commits | None,
        settings: Settings,
        *,
        clock: Clock,
        tell: Callable[[AnyEvent], None],
        declarations: Declarations | None = None,
    ) -> None:
        self._home, self._clusters, self._manifests = home, clusters, manifests
        self._commits, self._settings, self._clock, self._tell = commits, settings, clock, tell
        self.declarations = declarations
        self._terms = terms_of(settings.runner.takeover)
        self._kept: dict[Shard, _Keeping] = {}
        #: shards that are about to be taken, which need room as well
        self._reaching: set[Shard] = set()
        self._holders: dict[Shard, str] = {}
        self._division = Division(count=settings.runner.shards)

    async def run(self) -> None:
        """Stand for every shard, until cancelled."""
        count = self._settings.runner.shards
        loops = [self._stand_for(shard) for shard in shards(count)]
        if count > 1:
            loops += [self._sit(), self._balance()]
        await run_together(*loops)

    def look(self, unit_id: str) -> None:
        """Have a unit looked at soon, if it is kept here."""
        for shard, keeping in self._kept.items():
            if shard.has(unit_id):
                keeping.engine.request_refresh(unit_id)

    def stands(self) -> tuple[ShardStand, ...]:
        """How every shard stands with this runner."""
        return tuple(self._stand(shard) for shard in shards(self._settings.runner.shards))

    def metrics(self) -> dict[str, Metrics]:
        """The metrics of the shards that are kept here, by shard."""
        return {str(shard.number): keeping.metrics for shard, keeping in self._kept.items()}

    # -- shards ------------------------------------------------------------------------------------------

    async def _stand_for(self, shard: Shard) -> None:
        """Keep a shard whenever it can be had."""
        lease = self._lease(shard.lease)
        while True:
            try:
                await self._watch_for(shard, lease)
                await lease.hold(lambda: self._keep(shard, lease), waits=False)
            except LeaseTaken:
                continue
            except _HandedOver as handed:
                now = self._clock.now()
                self._tell(ShardHandedOver(at=now, shard=str(shard), to=handed.to))
                await self._leave(lease)
            except _RivalsHold as rival:
                self._lost(shard, f"{rival}: runners have to agree on the number of shards")
                await self._lease(rival.rival.lease).freed()
            except Unavailable as error:
                self._lost(shard, str(error))
                await self._rest()
            finally:
                self._reaching.discard(shard)

    async def _watch_for(self, shard: Shard, lease: Lease) -> None:
        """Return when a shard can be had, there is room for it, and it is our turn."""
        while True:
            holding = await lease.holding()
            self._note_holder(shard, holding.holder if holding is not None else "")
            await lease.freed()
            before = turn(self._division, self._home.me)
            if before:
                await self._rest(2 * before)
                if await lease.holder():
                    continue
            if self._has_room():
                self._reaching.add(shard)
                return
            await self._rest()

    def _has_room(self) -> bool:
        most = self._settings.runner.most_shards
        return most is None or len({*self._kept, *self._reaching}) < most

    async def _rest(self, times: int = 1) -> None:
        await self._clock.sleep(times * self._terms.rhythm.total_seconds())

    # -- sharing -----------------------------------------------------------------------------------------

    async def _sit(self) -> None:
        """Be seen by others for as long as there is room for a shard."""
        places = [self._lease(name) for name in seats(self._settings.runner.shards)]
        while True:
            for place in places if self._has_room() else ():
                try:
                    await place.hold(self._until_full, waits=False)
                    break
                except LeaseTaken:
                    continue
                except Unavailable:
                    break
            await self._rest()

    async def _until_full(self) -> None:
        while self._has_room():
            await self._rest()

    async def _balance(self) -> None:
        """Hand over a shard whenever somebody keeps fewer, one at a time and between operations."""
        sightings: dict[str, Sighting] = {}
        while True:
            try:
                sightings = await self._sighted(sightings)
            except Unavailable:
                await self._rest()
                continue
            me, now = self._home.me, self._clock.monotonic()
            fresh = self._terms.give_up_after.total_seconds()
            self._division = division_of(sightings, self._settings.runner.shards, me, now, fresh=fresh)
            idle = [shard for shard, keeping in self._kept.items() if keeping.is_idle]
            found = surplus(self._division, me, idle)
            if found is not None and not self._kept[found[0]].heir.done():
                self._kept[found[0]].heir.set_result(found[1])
            await self._rest()

    async def _sighted(self, before: dict[str, Sighting]) -> dict[str, Sighting]:
        """Every lease of the installation, with the time since which it has been as it is."""
        found = await self._leases()
        now = self._clock.monotonic()
        return {name: sighted(before.get(name), holding, now) for name, holding in found.items()}

    async def _leave(self, lease: Lease) -> None:
        """Leave a shard to others, until somebody has it or nobody wanted it."""
        until = self._clock.monotonic() + self._terms.duration.total_seconds()
        while self._clock.monotonic() < until:
            with suppress(Unavailable):
                if await lease.holder():
                    return
            await self._rest()

    # -- keeping -----------------------------------------------------------------------------------------

    def _note_holder(self, shard: Shard, holder: str) -> None:
        if holder and holder != self._home.me and self._holders.get(shard) != holder:
            self._tell(ShardHeldElsewhere(at=self._clock.now(), shard=str(shard), holder=holder))
        self._holders[shard] = holder

    def _lost(self, shard: Shard, reason: str) -> None:
        self._tell(ShardLost(at=self._clock.now(), shard=str(shard), reason=reason))

    async def _keep(self, shard: Shard, lease: Lease) -> None:
        """Keep the units of a shard for as long as its lease holds."""
        held = await self._held()
        named = {found: holding for name, holding in held.items() if (found := shard_named(name))}
        for rival in rivals(shard, named):
            raise _RivalsHold(rival, named[rival].holder)
        busy = {name: self._lease(name) for name in held if is_app_lease(name)}
        records = self._records(lease)
        store = ShardStore(records, shard, busy, heard=self._commits.hear if self._commits else None)
        engine = self._engine(lease, store, visits=shard.number == 0)
        store.learn_places(engine.places)
        keeping = _Keeping(engine, store, engine.metrics())
        self._kept[shard], self._holders[shard] = keeping, self._home.me
        self._reaching.discard(shard)
        self._tell(ShardTaken(at=self._clock.now(), shard=str(shard)))
        try:
            await run_together(
                engine.run(self._settings.runner.looks_at_once, self._settings.runner.syncs_at_once),
                self._note_known(keeping),
                self._until_handed_over(keeping),
                *([self._tidy(records)] if shard.number == 0 else []),
                *self._declaring(keeping, records, lease, shard),
            )
        finally:
            del self._kept[shard]
            self._holders[shard] = ""
            if self._commits is not None:
                for unit in engine.units():
                    self._commits.forget(unit.id)

    def _declaring(
        self, keeping: _Keeping, records: RecordStore, lease: Lease, shard: Shard
    ) -> tuple[Coroutine[Any, Any, None], ...]:
        if self.declarations is None:
            return ()
        clock, tell = self._clock, self._tell
        removals = Removals(keeping.engine, records, self._archive(lease), clock=clock, tell=tell)
        keeping.removals = removals
        following = keep_records(
            self.declarations, records, shard, remove=removals.want, clock=clock, tell=tell
        )
        return following, removals.run()

    async def _tidy(self, records: RecordStore) -> None:
        """Take away, now and then, what processes that died left among the records of all shards."""

        def wait_for_the_next_turn(_error: TrimtabError) -> None:
            """What is left harms nobody."""

        await every(
            _TIDY_EVERY,
            records.collect_garbage,
            clock=self._clock,
            on_failure=wait_for_the_next_turn,
            jitter=0,
        )

    async def _note_known(self, keeping: _Keeping) -> None:
        await keeping.engine.known()
        keeping.known = True

    async def _until_handed_over(self, keeping: _Keeping) -> None:
        raise _HandedOver(await keeping.heir)

    async def _held(self) -> dict[str, Holding]:
        """Every lease of the installation that somebody else holds, by its name."""
        found = await self._leases()
        return {name: each for name, each in found.items() if each.holder not in {"", self._home.me}}

    async def _leases(self) -> dict[str, Holding]:
        """Every lease of the installation, by its name."""
        namespace, found = self._home.installation.namespace, dict[str, Holding]()
        async for page in self._home.cluster.list(LEASES, namespace=namespace):
            found |= {lease.metadata.name: holding_in(lease) for lease in page.objects}
        return found

    def _engine(self, lease: Lease, store: ShardStore, *, visits: bool) -> Engine:
        installation, settings = self._home.installation, self._settings
        engine = Engine(
            replace(settings.engine, installation=installation.id),
            self._clusters.fenced_by(lambda: lease.is_held),
            self._manifests,
            store,
            cache=settings.cache,
            archive=self._archive(lease),
            key=installation.key,
            clock=self._clock,
            visits=visits,
        )
        engine.events.subscribe(self._tell_event)
        return engine

    def _archive(self, lease: Lease) -> RecordArchive:
        installation = self._home.installation
        return RecordArchive(
            FencedCluster(self._home.cluster, lambda: lease.is_held),
            namespace=installation.namespace,
            keys=Keyring(installation.key),
        )

    def _tell_event(self, event: Event) -> None:
        self._tell(event)

    def _records(self, lease: Lease) -> RecordStore:
        installation = self._home.installation
        return RecordStore(
            FencedCluster(self._home.cluster, lambda: lease.is_held),
            namespace=installation.namespace,
            keys=Keyring(installation.key),
            clock=self._clock,
        )

    def _lease(self, name: str) -> Lease:
        return Lease(
            self._home.cluster,
            namespace=self._home.installation.namespace,
            name=name,
            me=self._home.me,
            clock=self._clock,
            terms=self._terms,
        )

    def _stand(self, shard: Shard) -> ShardStand:
        keeping = self._kept.get(shard)
        if keeping is None:
            return ShardStand(shard=str(shard), held=False, holder=self._holders.get(shard, ""))
        rooms = (
            ClusterStand(name=room.name, state=room.state, problem=room.problem)
            for room in keeping.engine.clusters()
        )
        return ShardStand(
            shard=str(shard),
            held=True,
            holder=self._home.me,
            known=keeping.known,
            clusters=tuple(rooms),
            units=keeping.engine.units(),
            left=dict(keeping.store.left),
            removals=dict(keeping.removals.waiting) if keeping.removals is not None else {},
        )

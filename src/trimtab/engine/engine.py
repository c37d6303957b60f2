"""`Engine`: keeps units of any number of clusters as their sources want them.

    engine = Engine(settings, credentials, manifests, units)
    async with asyncio.TaskGroup() as room:
        room.create_task(engine.run())
        state = await engine.sync("shop/web")

It knows nothing of Git, of kubeconfigs or of where units are kept: those are the three roles it is given. Two
pools of processors work on units, fair over tenants and clusters: one looks at them, one carries operations
on. Everything an engine must not forget is in the unit store, so a new process goes on where the last one was
killed.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from msgspec import Struct

from trimtab.engine.cache.trees import Branch
from trimtab.engine.compare.jq import WORKERS, JqPaths
from trimtab.engine.compare.matching import Finding
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.control.desks import Desk, ways_of
from trimtab.engine.control.leaving import Leaving
from trimtab.engine.control.ledger import Ledger
from trimtab.engine.control.looking import Looker
from trimtab.engine.control.operating import Operator
from trimtab.engine.control.policy import Refresh, check_hold
from trimtab.engine.control.reconciling import Reconciler, Wiring, fail
from trimtab.engine.control.rooms import Room, Rooms, RoomView, watch_clusters
from trimtab.engine.control.scraping import LOOKS, OPERATIONS, EngineReadings
from trimtab.engine.control.syncing import BeforeSync, Syncer
from trimtab.engine.events import (
    ClusterDropped,
    ClusterLost,
    ClusterReady,
    Event,
    Events,
    OperationStarted,
    SettingsChanged,
    UnitEvent,
    UnitForgotten,
    UnitQuarantined,
    UnitUnreadable,
)
from trimtab.engine.listeners import Listeners
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark, Tracking
from trimtab.engine.operations import Operation, OperationState, by_whom, taken_up
from trimtab.engine.places import Place
from trimtab.engine.readings import UnitLabels, labels_by_tenant
from trimtab.engine.rows import Row
from trimtab.engine.stores.changing import resumed, with_pause, without_progress
from trimtab.engine.sync.apply import WriteSettings
from trimtab.engine.sync.operate import Control
from trimtab.engine.sync.plan import missing_namespaces
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import (
    AllTold,
    ClusterCame,
    ClusterEntry,
    ClusterNews,
    ClusterWent,
    CredentialsStore,
    Gone,
    LeftBehind,
    ManifestGenerator,
    Pause,
    ReconciliationSettings,
    RenderArchive,
    Stored,
    SyncUnit,
    SyncUnitStore,
    UnitMissing,
    UnitNews,
    Unreadable,
)
from trimtab.errors import TrimtabError, Unavailable, UserError
from trimtab.kube.cluster import Cluster
from trimtab.resources.keys import ResourceKey
from trimtab.resources.secrets import StandIns
from trimtab.settings import CacheSettings, EngineSettings
from trimtab.tasks import (
    Clock,
    KeyedWorkers,
    Rate,
    SystemClock,
    WorkerProcesses,
    WorkPolicy,
    WorkSnapshot,
    plain_group,
)

if TYPE_CHECKING:
    from trimtab.engine.metrics import Metrics

_log = logging.getLogger(__name__)
#: turns are what keeps tenants apart; how fast one may go is limited by its share of them
_UNLIMITED: Final = Rate(per_second=100_000, burst=100_000)


class NothingUnderWay(UserError):
    """The unit has no operation that could be ended, waited for or approved."""


class Preview(Struct, frozen=True, kw_only=True):
    """A unit as it compares now, and what a sync would do about it."""

    rows: tuple[Row, ...]
    #: what is the matter with single objects of its source
    findings: tuple[Finding, ...]
    #: the digest of what it was compared with
    rendered: str
    plan: SyncPlan
    #: namespaces that the plan writes into, and that are neither there nor made by it
    missing_namespaces: tuple[str, ...] = ()


class Engine:
    """Keeps units as their sources want them; `run` does the work, everything else asks for it."""

    def __init__(
        self,
        settings: EngineSettings,
        credentials: CredentialsStore,
        manifests: ManifestGenerator,
        units: SyncUnitStore,
        *,
        reconciliation: ReconciliationSettings | None = None,
        cache: CacheSettings | None = None,
        tracking: Tracking | None = None,
        archive: RenderArchive | None = None,
        key: bytes | None = None,
        rest: timedelta = timedelta(0),
        clock: Clock | None = None,
        automatic: bool = True,
        visits: bool = True,
    ) -> None:
        """Take the three roles.

        `key` hides what is secret in digests and differences: with the same one, plans are called the same
        by the next process. Without one it is made up. With an `archive` one can go back to an entry of
        history while the source is out of reach. An engine for a moment lets its caches `rest`: for so long,
        changes are heard of kinds alone that its units have objects of, and manifests are kept of those
        objects alone. Unless `automatic`, nothing begins that was not asked for, whatever units say, and a
        unit is looked at only when somebody asks or something of it has changed. With `visits` the clusters
        that its credentials tell of and in which no unit lives are looked into once, for what was left there;
        of several engines of one installation, one is enough to do so.
        """
        self._visits, self._unvisited = visits, asyncio.Queue[str]()
        self._rest, self._is_automatic = rest, automatic
        self._settings, self._cache_settings = settings, cache or CacheSettings()
        self._credentials, self._store, self._archive = credentials, units, archive
        self._clock = clock or SystemClock()
        self._key = key or secrets.token_bytes(32)
        self._tracking = tracking or OwnerAnnotation(settings.installation)
        self._reconciliation = reconciliation or ReconciliationSettings()
        self._ways = ways_of(self._reconciliation, self._tracking)
        self._stand_ins = StandIns(self._key)
        self._jq: JqPaths | None = None
        self.events = Events()
        self._ledger = Ledger(units)
        self._by_mark: dict[Mark, str] = {}
        self._pools: tuple[KeyedWorkers[str], KeyedWorkers[str]] | None = None
        self._known = asyncio.Event()
        self._updated = Listeners[str, Live]()
        self._removed = Listeners[str, ResourceKey]()
        self._initialized = Listeners[[str]]()
        self._completed = Listeners[SyncUnit, OperationState]()
        self._counting = Listeners[[SyncUnit]]()
        self._timing = Listeners[str, float, float]()
        self._changes: Counter[tuple[str, str, str]] = Counter()
        self._ends: dict[str, list[asyncio.Future[OperationState]]] = {}
        self._ended: Unavailable | None = None
        self._build(manifests)

    def _build(self, manifests: ManifestGenerator) -> None:
        settings, clock = self._settings, self._clock
        self._rooms = Rooms(
            self._credentials,
            self._make_desk,
            clock=clock,
            on_ready=self._cluster_ready,
            on_lost=self._cluster_lost,
        )
        writing = WriteSettings(concurrency=settings.writes_at_once, patience=settings.patience)
        looker = Looker(manifests, settings.kept_objects, self._archive)
        self._syncer = Syncer(
            looker,
            stand_ins=self._stand_ins,
            settings=writing,
            timeout=settings.sync_timeout,
            clock=clock,
        )
        wiring = Wiring(
            start=self._start if self._is_automatic else None,
            again=self._look_later,
            supersede=self._supersede,
        )
        self._reconciler = Reconciler(
            self._ledger, self._rooms, looker, self.events, wiring, settings=settings, clock=clock
        )
        self._leaving = Leaving(self._store, self._rooms, self.events, clock=clock, manager=writing.manager)
        self._operator = Operator(
            self._ledger,
            self._rooms,
            self._syncer,
            self.events,
            clock=clock,
            on_ended=self._operation_ended,
            again=self._operate_later,
            archive=self._archive,
        )

    # -- running -----------------------------------------------------------------------------------------

    async def run(self, status_processors: int = 20, operation_processors: int = 10) -> None:
        """Keep units as they should be, until cancelled; whoever wants to go on then makes a new engine.

        Once it has ended nothing that it began is under way any more, unless the server owes an answer for
        longer than a few seconds.
        """
        if self._pools is not None:
            raise RuntimeError("an engine runs once: recovery is a new one's normal start")
        self._pools = (
            self._pool(LOOKS, self._reconciler.run, status_processors),
            self._pool(OPERATIONS, self._operator.run, operation_processors),
        )
        try:
            await self._work(*self._pools)
        finally:
            self._ended = Unavailable(
                "the engine", "it has ended", "Make a new one: it goes on from the store"
            )
            self._reconciler.end(self._ended)
            for unit_id in list(self._ends):
                fail(self._ends.pop(unit_id), self._ended)

    async def _work(self, looks: KeyedWorkers[str], operations: KeyedWorkers[str]) -> None:
        # Clusters are left last: operations that end wait for the answers to their writes.
        async with (
            WorkerProcesses(WORKERS) as workers,
            plain_group() as rooms,
            plain_group() as group,
        ):
            self._jq = JqPaths(workers, clock=self._clock)
            self._rooms.begin(rooms)
            self._operator.begin(group)
            self._leaving.begin(group)
            group.create_task(looks.work())
            group.create_task(operations.work())
            group.create_task(watch_clusters(self._credentials, self._hear_cluster))
            group.create_task(self._store.follow(self._hear))
            group.create_task(self._visit_unused())

    async def _visit_unused(self) -> None:
        """Look once into every cluster in which no unit lives, one after another.

        A unit may have gone from there while nobody was there to hear it, and have left hooks.
        """
        await self._known.wait()
        while True:
            name = await self._unvisited.get()
            if not self._is_used(name):
                await self._leaving.visit(name, partial(self._close_unused, name))

    def _pool(
        self, name: str, run: Callable[[str, str], Awaitable[object]], processors: int
    ) -> KeyedWorkers[str]:
        policy = WorkPolicy(
            concurrency=processors,
            per_tenant=max(1, processors * 3 // 4),
            rate=_UNLIMITED,
            rhythm=self._settings.refresh_every or WorkPolicy().rhythm,
        )
        return KeyedWorkers(
            run,
            clock=self._clock,
            on_failure=self._run_failed,
            policy=policy,
            on_run=lambda waited, worked: self._timing.publish(name, waited, worked),
        )

    async def known(self) -> None:
        """Return when every unit of the store is known."""
        await self._known.wait()

    def _run_failed(self, _tenant: str, unit_id: str, error: Exception) -> None:
        if isinstance(error, TrimtabError):
            return
        _log.error("a bug met unit %s", unit_id, exc_info=error)
        self._publish(UnitQuarantined(at=self._clock.now(), unit=unit_id, error=type(error).__name__))

    def _publish(self, event: Event) -> None:
        self.events.publish(event)

    # -- settings ----------------------------------------------------------------------------------------

    def set_reconciliation_settings(self, settings: ReconciliationSettings) -> None:
        """Go on by other settings: what depended on the old ones is read and compared anew."""
        before, self._reconciliation = self._reconciliation, settings
        changed = tuple(
            name
            for name in ("app_instance_label_key", "resources_filter", "resource_overrides")
            if getattr(before, name) != getattr(settings, name)
        )
        if not changed:
            return
        self._ways = ways_of(settings, self._tracking)
        self._by_mark = {self._mark(unit.id): unit.id for unit in self._ledger}
        for room in self._rooms.all():
            if room.desk is not None:
                room.desk.change(self._ways)
        self._publish(SettingsChanged(at=self._clock.now(), what=changed))
        for unit in self._ledger:
            self.request_refresh(unit.id)

    # -- callbacks ---------------------------------------------------------------------------------------

    def on_before_sync(self, ask: BeforeSync) -> Callable[[], None]:
        """Ask before each sync, with the unit and the steps of its plan.

        The answer is the steps to do: reordered, or fewer. A `TrimtabError` it raises prevents the sync.
        After a crash it is asked again about the same plan, so it should answer the same.
        """
        return self._syncer.before_sync.subscribe(ask)

    def on_sync_completed(self, told: Callable[[SyncUnit, OperationState], None]) -> Callable[[], None]:
        """Be told when an operation of a unit is over, however it ended."""
        return self._completed.subscribe(told)

    def on_cluster_cache_initialized(self, told: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of a cluster when its live state is known."""
        return self._initialized.subscribe(told)

    def on_resource_updated(self, told: Callable[[str, Live], None]) -> Callable[[], None]:
        """Be told of every live object that came or changed, with the cluster's name."""
        return self._updated.subscribe(told)

    def on_resource_removed(self, told: Callable[[str, ResourceKey], None]) -> Callable[[], None]:
        """Be told of every live object that went, with the cluster's name."""
        return self._removed.subscribe(told)

    def on_unit_event(self, told: Callable[[str, UnitEvent], None]) -> Callable[[], None]:
        """Be told every event of a unit, with its id; as text the event is a sentence."""

        def pass_on(event: Event) -> None:
            unit = getattr(event, "unit", "")
            if unit and isinstance(event, UnitEvent):
                told(unit, event)

        return self.events.subscribe(pass_on)

    # -- asking ------------------------------------------------------------------------------------------

    def units(self) -> tuple[SyncUnit, ...]:
        """Every unit as it is known now, in the order of their ids."""
        return tuple(sorted(self._ledger, key=lambda unit: unit.id))

    def unit(self, unit_id: str) -> SyncUnit:
        """One unit as it is known now."""
        found = self._ledger.get(unit_id)
        if found is None:
            raise UnitMissing(f"unit {unit_id}", "there is no such unit", "Create it")
        return found

    def clusters(self) -> tuple[RoomView, ...]:
        """Every cluster in use, and how it stands with us."""
        return tuple(sorted((room.view() for room in self._rooms.all()), key=lambda view: view.name))

    async def start_sync(self, unit_id: str, operation: Operation | None = None) -> SyncUnit:
        """Ask for a sync; once this returns it is stored, and happens even if the process dies."""
        unit, asked = self.unit(unit_id), operation or self._usual(self.unit(unit_id))
        check_hold(unit, asked)
        await self._start(unit, asked, f"asked for by {by_whom(asked.person, asked.asked_by) or 'somebody'}")
        return self.unit(unit_id)

    async def wait_for_sync(self, unit_id: str) -> OperationState:
        """The end of the unit's operation: the one under way, or else the last one."""
        unit = self.unit(unit_id)
        state = unit.status.operation_state
        if unit.operation is None:
            if state is None:
                raise NothingUnderWay(f"unit {unit_id}", "it has never been synced", "Start a sync")
            return state
        self._check_ended()
        waiter: asyncio.Future[OperationState] = asyncio.get_running_loop().create_future()
        self._ends.setdefault(unit_id, []).append(waiter)
        return await waiter

    async def sync(self, unit_id: str, operation: Operation | None = None) -> OperationState:
        """Ask for a sync and wait for its end."""
        await self.start_sync(unit_id, operation)
        return await self.wait_for_sync(unit_id)

    async def pause(self, unit_id: str, *, reason: str = "", by: str = "") -> SyncUnit:
        """Have nothing begin on the unit until it is resumed; what is under way goes on."""
        paused = with_pause(Pause(reason=reason, by=by, since=self._clock.now()))
        return await self._amend(unit_id, paused)

    async def resume(self, unit_id: str) -> SyncUnit:
        """Have the unit follow its source again, whether it was paused or pinned."""
        return await self._amend(unit_id, resumed)

    async def _amend(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        self._hear_unit(await self._store.amend(self.unit(unit_id).id, change))
        return self.unit(unit_id)

    async def terminate(self, unit_id: str) -> OperationState:
        """End the unit's operation, and wait until it has ended."""
        if not await self._operator.terminate(self.unit(unit_id).id):
            raise NothingUnderWay(f"unit {unit_id}", "no operation is under way", "Start one")
        return await self.wait_for_sync(unit_id)

    def approve_deletions(self, unit_id: str) -> None:
        """Agree to what the unit's operation wants to delete."""
        self._control(unit_id).approve_deletions(self._clock.now())

    async def plan(self, unit_id: str, operation: Operation | None = None) -> SyncPlan:
        """What a sync of the unit would do now; nothing is written."""
        return (await self.preview(unit_id, operation)).plan

    async def preview(self, unit_id: str, operation: Operation | None = None) -> Preview:
        """How the unit compares now, difference by difference, and what a sync would do about it."""
        unit = self.unit(unit_id)
        asked = taken_up(operation or self._usual(unit), unit.status.operation_state)
        state = self._syncer.begin(asked)
        desk = self._desk(unit)
        sight, plan = await self._syncer.plan(unit, desk, state)
        return Preview(
            rows=sight.rows,
            findings=sight.findings,
            rendered=sight.rendered,
            plan=plan,
            missing_namespaces=missing_namespaces(plan.steps, desk.cache),
        )

    def tree(self, unit_id: str, rows: Iterable[Row] | None = None) -> tuple[Branch, ...]:
        """The live objects of a unit and all that they own, parents first.

        Which objects it has, `rows` of a preview say, or else how it was last looked at.
        """
        unit = self.unit(unit_id)
        roots = unit.status.resources if rows is None else rows
        return self._desk(unit).cache.tree(each.key for each in roots)

    def places(self, unit_id: str) -> tuple[Place, ...] | None:
        """Where objects carry the mark of a unit; None if that was not looked for everywhere."""
        return self._desk(self.unit(unit_id)).places(unit_id)

    async def read_all(self, cluster: str) -> None:
        """Have all of a cluster read from now on, whatever places its entry names; return when it is."""
        room = self._rooms.get(cluster)
        desk = room.open_desk() if room is not None else None
        if room is not None and desk is not None:
            room.entry = desk.widened()
            await desk.cache.complete()

    def _desk(self, unit: SyncUnit) -> Desk:
        """Where to work on the unit's cluster; why that cannot be done is raised."""
        room = self._rooms.open(unit.destination.cluster)
        desk = room.open_desk()
        if desk is None:
            raise room.refusal()
        return desk

    def request_refresh(self, unit_id: str, level: Refresh = Refresh.USUAL) -> None:
        """Have a unit looked at soon."""
        self._reconciler.request(unit_id, level)
        self._look_later(unit_id, 0)

    async def refresh(self, unit_id: str, level: Refresh = Refresh.USUAL) -> SyncUnit:
        """Look at a unit now, and answer how it stands."""
        self.unit(unit_id)
        self._check_ended()
        waiter = self._reconciler.waiting(unit_id)
        self.request_refresh(unit_id, level)
        return await waiter

    def _check_ended(self) -> None:
        if self._ended is not None:
            raise self._ended

    def in_hand(self) -> tuple[WorkSnapshot[str], WorkSnapshot[str]]:
        """What the two pools have in hand: which units wait, for what, since when and until when."""
        looks, operations = self._working()
        return looks.snapshot(), operations.snapshot()

    def metrics(
        self, *, labels_of: Callable[[SyncUnit], UnitLabels] = labels_by_tenant, most_units: int = 10_000
    ) -> Metrics:
        """Prometheus metrics of this engine, kept from now on; `registry` is what a scrape reads."""
        from trimtab.engine.metrics import Metrics  # a library that only scrapes need

        readings = EngineReadings(self._ledger, self._rooms, lambda: self._pools or (), self._changes)
        made = Metrics(readings, labels_of=labels_of, most_units=most_units)
        for unit in self._ledger:
            made.know(unit)
        self._counting.subscribe(made.know)
        self._timing.subscribe(made.time)
        self.events.subscribe(made.tell)
        return made

    def _usual(self, unit: SyncUnit) -> Operation:
        """A sync as the unit's policy has it."""
        automated = unit.policy.automated
        return Operation(
            prune=automated is not None and automated.prune,
            options=unit.policy.options,
            retry=unit.policy.retry,
            adopt=unit.policy.adopt,
        )

    # -- units -------------------------------------------------------------------------------------------

    def _hear(self, news: UnitNews) -> None:
        match news:
            case Stored(unit=unit):
                self._hear_unit(unit)
            case Gone(id=unit_id):
                self._forget(unit_id)
            case Unreadable(id=unit_id, error=error):
                self._publish(UnitUnreadable(at=self._clock.now(), unit=unit_id, reason=str(error)))
            case AllTold():
                self._known.set()
            case _:
                assert_never(news)

    def _hear_unit(self, stored: SyncUnit) -> None:
        before = self._ledger.hear(stored)
        if before is None:
            self._by_mark[self._mark(stored.id)] = stored.id
        self._counting.publish(stored)
        working: asyncio.Task[None] | None = None
        if before is not None and before.destination.cluster != stored.destination.cluster:
            working = self._leave_cluster(before, stored.left)
            if stored.operation is not None:
                self._ledger.note(stored.id, without_progress)
        if self._is_automatic:
            for each in stored.left:
                close = partial(self._close_unused, each.cluster)
                self._leaving.leave_behind(stored, each, working, close)
        is_new = before is None or before.operation is None
        if stored.operation is not None and is_new:
            self._operate_later(stored.id, 0)
        elif stored.operation is not None and stored.operation.ended_by:
            self._end(stored.id)
        if before is not None and _is_agreed(before.operation, stored.operation):
            self._hear_consent(stored.id)
        if before is None or _wanted(before) != _wanted(stored):
            self.request_refresh(stored.id)

    def _hear_consent(self, unit_id: str) -> None:
        control = self._operator.control(unit_id)
        if control is not None:
            # By our own clock: it was heard now, whatever the clock of whoever agreed says.
            control.approve_deletions(self._clock.now())

    def _forget(self, unit_id: str) -> None:
        unit = self._ledger.forget(unit_id)
        if unit is None:
            return
        gone = UnitMissing(f"unit {unit_id}", "it was deleted meanwhile")
        self._reconciler.forget(unit_id, gone)
        self._by_mark.pop(self._mark(unit_id), None)
        self._leave_cluster(unit)
        fail(self._ends.pop(unit_id, []), gone)
        self._publish(UnitForgotten(at=self._clock.now(), unit=unit_id))

    def _leave_cluster(self, unit: SyncUnit, left: tuple[LeftBehind, ...] = ()) -> asyncio.Task[None] | None:
        """A unit no longer lives in a cluster, which is closed after its last one.

        The answer ends once nothing works on it there any more. What its record says was left is not let go
        of here.
        """
        room = self._rooms.get(unit.destination.cluster)
        if room is not None and room.desk is not None:
            room.desk.comparer.forget(unit.id)
        working = self._operator.abandon(unit.id)
        is_moved = unit.id in self._ledger
        if self._is_automatic and any(each.cluster == unit.destination.cluster for each in left):
            return working
        self._leaving.leave(
            unit, working, partial(self._close_unused, unit.destination.cluster), is_moved=is_moved
        )
        return working

    def _close_unused(self, name: str) -> None:
        """No longer use a cluster in which no unit lives."""
        is_free = not (self._is_used(name) or self._leaving.is_at(name))
        if is_free and self._rooms.close(name) is not None:
            self._publish(ClusterDropped(at=self._clock.now(), cluster=name, reason="no unit lives there"))

    def _is_used(self, name: str) -> bool:
        return any(each.destination.cluster == name for each in self._ledger)

    def _mark(self, unit_id: str) -> Mark:
        return self._ways.tracking.mark_for(unit_id)

    def _tenant(self, unit: SyncUnit) -> str:
        """Who takes turns with whom: the tenants of each cluster."""
        return f"{unit.destination.cluster}|{unit.tenant}"

    def _look_later(self, unit_id: str, seconds: float) -> None:
        unit = self._ledger.get(unit_id)
        if unit is not None and self._pools is not None:
            self._pools[0].offer(self._tenant(unit), unit_id, after=seconds)

    def _operate_later(self, unit_id: str, seconds: float) -> None:
        unit = self._ledger.get(unit_id)
        if unit is not None and self._pools is not None:
            self._pools[1].offer(self._tenant(unit), unit_id, after=seconds)

    def _working(self) -> tuple[KeyedWorkers[str], KeyedWorkers[str]]:
        if self._pools is None:
            raise RuntimeError("the engine does not run")
        return self._pools

    # -- operations --------------------------------------------------------------------------------------

    async def _start(self, unit: SyncUnit, operation: Operation, reason: str) -> None:
        await self._ledger.ask(unit.id, taken_up(operation, unit.status.operation_state))
        if self.events:
            self._publish(
                OperationStarted(
                    at=self._clock.now(),
                    unit=unit.id,
                    revision=operation.revision,
                    automated=operation.automated,
                    dry_run=operation.dry_run,
                    reason=reason,
                )
            )
        self._operate_later(unit.id, 0)

    def _end(self, unit_id: str) -> None:
        """Heed the record, which says that the operation is to end; one that has not begun hears it then."""
        control = self._operator.control(unit_id)
        if control is not None:
            control.terminate()

    def _supersede(self, unit_id: str, revision: str) -> None:
        control = self._operator.control(unit_id)
        if control is not None:
            control.supersede(revision)

    def _control(self, unit_id: str) -> Control:
        control = self._operator.control(self.unit(unit_id).id)
        if control is None:
            raise NothingUnderWay(f"unit {unit_id}", "no operation is under way", "Start one")
        return control

    def _operation_ended(self, unit: SyncUnit, state: OperationState) -> None:
        self._reconciler.listen_for_writes(unit.id)
        self.request_refresh(unit.id)
        for waiter in self._ends.pop(unit.id, []):
            if not waiter.done():
                waiter.set_result(state)
        self._completed.publish(unit, state)

    # -- clusters ----------------------------------------------------------------------------------------

    def _make_desk(self, entry: ClusterEntry, cluster: Cluster) -> Desk:
        desk = Desk(
            entry,
            cluster,
            self._ways,
            settings=self._cache_settings,
            stand_ins=self._stand_ins,
            digest_key=self._key[:32],
            manager="trimtab",
            jq=self._jq,
            clock=self._clock,
            rest=self._rest,
            keeps=(lambda mark: mark in self._by_mark) if self._rest else None,
        )
        desk.cache.subscribe(partial(self._hear_change, entry.name))
        return desk

    def _cluster_ready(self, room: Room) -> None:
        objects = room.desk.cache.facts().objects if room.desk else 0
        self._publish(ClusterReady(at=self._clock.now(), cluster=room.name, objects=objects))
        self._initialized.publish(room.name)
        self._look_at_cluster(room.name)
        if self._is_automatic:
            self._leaving.sweep(room, after=self._known, known=self._ledger.__contains__)

    def _cluster_lost(self, room: Room, error: TrimtabError, wait: float) -> None:
        self._publish(ClusterLost(at=self._clock.now(), cluster=room.name, reason=str(error), retry_in=wait))
        self._leaving.lose(room.name)
        self._look_at_cluster(room.name)

    def _look_at_cluster(self, name: str) -> None:
        for unit in self._ledger:
            if unit.destination.cluster == name:
                if self._is_automatic or self._reconciler.is_awaited(unit.id):
                    self.request_refresh(unit.id)
                if unit.operation is not None:
                    room = self._rooms.get(name)
                    self._operator.renew(unit.id, room.open_desk() if room is not None else None)
                    self._operate_later(unit.id, 0)

    async def _hear_cluster(self, news: ClusterNews) -> None:
        match news:
            case ClusterCame(name=name):
                await self._rooms.renew(name)
                if self._is_automatic and self._visits:
                    self._unvisited.put_nowait(name)
            case ClusterWent(name=name):
                self._leaving.end_visit(name)
                if self._rooms.close(name) is not None:
                    reason = "its credentials were withdrawn"
                    self._publish(ClusterDropped(at=self._clock.now(), cluster=name, reason=reason))
                    self._look_at_cluster(name)
            case _:
                assert_never(news)

    def _hear_change(self, cluster: str, change: Change) -> None:
        self._changes[cluster, change.key.group, change.key.kind] += 1
        if change.after is not None:
            if self._updated:
                self._updated.publish(cluster, change.after)
        elif self._removed:
            self._removed.publish(cluster, change.key)
        if change.is_status_traffic:
            return
        for live in (change.before, change.after):
            if live is not None and live.is_root:
                self._look_after_change(cluster, live)

    def _look_after_change(self, cluster: str, live: Live) -> None:
        unit_id = self._by_mark.get(live.mark) if live.mark is not None else None
        unit = self._ledger.get(unit_id) if unit_id is not None else None
        if unit is None or unit.destination.cluster != cluster:
            return
        settings = self._settings
        delay = settings.settle if unit.operation is None else settings.settle_while_syncing
        self._look_later(unit.id, delay.total_seconds())


def _wanted(unit: SyncUnit) -> tuple[object, ...]:
    """What somebody wants of a unit; a change of it has the unit looked at."""
    return unit.source, unit.destination, unit.policy, unit.paused, unit.pinned


def _is_agreed(before: Operation | None, after: Operation | None) -> bool:
    """Whether somebody has agreed to the deletions of an operation under way."""
    if before is None or after is None or after.deletions_approved_at is None:
        return False
    return before.deletions_approved_at != after.deletions_approved_at

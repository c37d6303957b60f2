"""Apps: units with a name that a user gave them, worked on one at a time from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta

from msgspec.structs import replace

from trimtab.app.capabilities import capabilities_of
from trimtab.app.drafts import DraftStore
from trimtab.app.holds import held
from trimtab.app.installation import Installation, find_installation, record_installation
from trimtab.app.sources import HERE, SourceManifests, open_manifests
from trimtab.engine import Engine, GivenClusters, Keyring, RecordStore
from trimtab.engine.control.policy import check_hold
from trimtab.engine.events import ClusterLost, ClusterReady, Event, OperationPlanned, UnitEvent
from trimtab.engine.health import HealthStatus
from trimtab.engine.operations import Operation, OperationPhase, OperationState
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import SyncUnit, UnitHeld, UnitMissing
from trimtab.errors import Conflict, Unavailable, UserError
from trimtab.kube import Access, Cluster, Lease, connect
from trimtab.resources.digests import digest
from trimtab.settings import Settings
from trimtab.tasks import DeadlinePassed, SystemClock, plain_group, time_limit


@asynccontextmanager
async def open_apps(access: Access, settings: Settings, *, path: str, who: str) -> AsyncIterator[Apps]:
    """Open the apps of a cluster.

    `path` is where outside programs are looked for first; `who` names this process to others who wait for it.
    """
    async with connect(access, settings.cluster) as cluster:
        installation = await find_installation(cluster, settings.apps.namespace)
        capabilities = await capabilities_of(cluster)
        async with open_manifests(settings, path=path, capabilities=capabilities) as manifests:
            yield Apps(cluster, settings, manifests, installation, who)


class Apps:
    """The apps that one installation keeps in one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        manifests: SourceManifests,
        installation: Installation,
        who: str,
    ) -> None:
        self.cluster = cluster
        self.installation = installation
        self._who = who
        #: who works, without the process: what records remember
        self.person = who.partition(" (")[0]
        self._settings = settings
        self._manifests = manifests

    async def all(self) -> tuple[SyncUnit, ...]:
        """Every app, by name."""
        return await self.records().list() if self.installation.recorded else ()

    async def find(self, name: str) -> SyncUnit | None:
        """The app of this name, if there is one."""
        if not self.installation.recorded:
            return None
        try:
            return await self.records().get(name)
        except UnitMissing:
            return None

    @asynccontextmanager
    async def work_on(self, unit: SyncUnit) -> AsyncIterator[Work]:
        """Have an engine that knows this app alone, and does nothing before it is asked."""
        # An operation that somebody did not finish waits for `Work.finish`: looking must not go on with it.
        draft = DraftStore(replace(unit, operation=None))
        engine = Engine(
            replace(self._settings.engine, installation=self.installation.id),
            GivenClusters({HERE: self.cluster}),
            self._manifests,
            draft,
            cache=self._settings.cache,
            key=self.installation.key,
        )
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def hear(event: Event) -> None:
            if ready.done():
                return
            if isinstance(event, ClusterReady):
                ready.set_result(None)
            elif isinstance(event, ClusterLost):
                ready.set_exception(Unavailable("the cluster", event.reason))

        engine.events.subscribe(hear)
        async with plain_group() as group:
            running = group.create_task(engine.run(1, 1))
            try:
                await ready
                yield Work(self, engine, draft, unit)
            finally:
                running.cancel()

    async def record_installation(self) -> None:
        """Have the cluster know the installation, if this is its first app."""
        self.installation = await record_installation(self.cluster, self.installation)

    def lease_of(self, name: str) -> Lease:
        """Who works on the app of this name."""
        return Lease(
            self.cluster,
            namespace=self.installation.namespace,
            name=f"trimtab-app-{digest(name)}",
            me=self._who,
            clock=SystemClock(),
        )

    def records(self) -> RecordStore:
        """Where apps are recorded."""
        return RecordStore(
            self.cluster, namespace=self.installation.namespace, keys=Keyring(self.installation.key)
        )


class SyncFailed(UserError):
    """A sync came to a bad end: what it says has to be mended first."""


class NotWell(Unavailable):
    """An app was synced, and has not become healthy in time."""


class Work:
    """One app at hand."""

    def __init__(self, apps: Apps, engine: Engine, draft: DraftStore, unit: SyncUnit) -> None:
        self.engine = engine
        self.name = unit.id
        #: what somebody asked for and did not see through
        self.unfinished = unit.operation
        self._apps = apps
        self._draft = draft
        self._asked = unit
        self._is_as_asked = False

    async def look(self) -> SyncUnit:
        """How the app stands now."""
        return await self.engine.refresh(self.name)

    async def plan(self, operation: Operation) -> SyncPlan:
        """What a sync would do now; if it cannot be done, an error that says why."""
        plan = await self.engine.plan(self.name, operation)
        if plan.refused:
            first, *more = plan.refused
            others = f" (and {len(more)} more)" if more else ""
            raise Conflict(str(first.key), f"{first.reason}{others}", first.remedy)
        return plan

    def check_hold(self, operation: Operation) -> None:
        """Refuse to work on an app that somebody paused or pinned, with the way out."""
        try:
            check_hold(self._asked, operation)
        except UnitHeld as error:
            raise held(self._asked) from error

    async def carry_out(
        self, operation: Operation, plan: SyncPlan, *, consent: bool, held: Callable[[str], None]
    ) -> OperationState:
        """Record the app, then do exactly what the plan says; another plan is refused.

        Deletions that wait for somebody's word need `consent`; without it nothing is begun.
        """
        self.check_hold(operation)
        if plan.held and not consent:
            reasons = "; ".join(dict.fromkeys(step.hold for step in plan.held))
            remedy = "If they are meant, add --confirm-deletions"
            raise Conflict(f"app {self.name}", f"{len(plan.held)} deletions need consent: {reasons}", remedy)
        await self._apps.record_installation()

        async def carry_out() -> OperationState:
            await self._draft.publish(self._apps.records())
            return await self.engine.sync(self.name, replace(operation, plan_digest=plan.digest))

        with self._agreeing(consent=consent):
            return await self._alone(carry_out, held)

    @contextmanager
    def _agreeing(self, *, consent: bool) -> Iterator[None]:
        """Agree to the deletions of the plan once the engine has it, if that is meant."""

        def agree(_app: str, event: UnitEvent) -> None:
            if consent and isinstance(event, OperationPlanned):
                self.engine.approve_deletions(self.name)

        silence = self.engine.on_unit_event(agree)
        try:
            yield
        finally:
            silence()

    async def finish(self, *, consent: bool, held: Callable[[str], None]) -> OperationState:
        """See through what somebody began, from where it stands; then go on with what is asked now."""
        self.check_hold(Operation())

        async def go_on() -> OperationState:
            await self._draft.resume(self._apps.records())
            return await self.engine.wait_for_sync(self.name)

        with self._agreeing(consent=consent):
            state = await self._alone(go_on, held)
        begun, asked = await self._draft.get(self.name), self._asked
        self._is_as_asked = (begun.source, begun.destination) == (asked.source, asked.destination)
        self._draft.redraft(asked)
        return state

    def was_it(self, finished: OperationState, operation: Operation, plan: SyncPlan) -> bool:
        """Whether what was just finished is all that is asked for now."""
        begun = finished.operation
        return (
            self._is_as_asked
            and finished.revision == plan.revision
            and operation.prune <= begun.prune
            and operation.adopt <= begun.adopt
            and set(operation.options) <= set(begun.options)
        )

    async def _alone(
        self, work: Callable[[], Awaitable[OperationState]], held: Callable[[str], None]
    ) -> OperationState:
        """Work while nobody else does; whoever works on the app now is told to `held`, and waited for."""
        lease = self._apps.lease_of(self.name)
        holding = await lease.holding()
        if holding is not None and holding.holder:
            held(holding.holder)
        state = await lease.hold(work)
        if state.phase is not OperationPhase.SUCCEEDED:
            raise SyncFailed(f"app {self.name}", f"the sync {state.phase.value.lower()}: {state.message}")
        return state

    async def until_well(self, seconds: float) -> SyncUnit:
        """The app once it is healthy; an error that says what it lacks if that takes too long."""
        changed = asyncio.Event()
        quiet = self.engine.on_resource_updated(lambda _cluster, _live: changed.set())
        gone = self.engine.on_resource_removed(lambda _cluster, _key: changed.set())
        unit = await self.look()
        try:
            async with time_limit(
                timedelta(seconds=seconds), clock=SystemClock(), subject=f"app {self.name}"
            ):
                while unit.status.health.status is not HealthStatus.HEALTHY:
                    await changed.wait()
                    changed.clear()
                    unit = await self.look()
        except DeadlinePassed as error:
            health = unit.status.health
            reason = f"it is {health.status.value} after {seconds:g} s: {health.message}"
            raise NotWell(f"app {self.name}", reason) from error
        finally:
            quiet()
            gone()
        return unit

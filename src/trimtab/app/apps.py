"""Apps: units with a name that a user gave them, worked on one at a time from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, TypeVar

from msgspec.structs import replace

from trimtab.app.deletion import DELETION, until_deleted
from trimtab.app.differing import Differing, differing
from trimtab.app.drafts import DraftStore
from trimtab.app.goals import Goal
from trimtab.app.holds import held
from trimtab.app.installation import Installation, find_installation, record_installation
from trimtab.app.sources import open_manifests
from trimtab.app.trees import Node, grown
from trimtab.app.waiting import until, until_gone
from trimtab.engine import Engine, GivenClusters, Keyring, RecordArchive, RecordStore
from trimtab.engine.control.policy import check_hold
from trimtab.engine.events import ClusterLost, ClusterReady, Event, OperationPlanned, UnitEvent
from trimtab.engine.operations import Operation, OperationPhase, OperationState
from trimtab.engine.stores.changing import with_end, with_pin
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import ManifestGenerator, Pin, SyncUnit, UnitHeld, UnitMissing
from trimtab.errors import ClusterUnreachable, Conflict, Missing, TrimtabError, UserError
from trimtab.kube import Access, Cluster, Lease, connect
from trimtab.kube.cluster import Deletion
from trimtab.kube.leases import LEASES
from trimtab.resources.digests import digest
from trimtab.resources.secrets import StandIns
from trimtab.settings import Settings
from trimtab.sources.rendering.specs import Capabilities
from trimtab.tasks import SystemClock, plain_group

#: the cluster at hand, as records name it
HERE: Final = "here"
_T = TypeVar("_T")


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


async def capabilities_of(cluster: Cluster) -> Capabilities:
    """What charts may ask about the cluster."""
    version, discovery = await cluster.version(), await cluster.discover()
    served = {each.api_version for each in discovery.resources}
    kinds = {f"{each.api_version}/{each.kind}" for each in discovery.resources}
    return Capabilities(
        kube_version=version.git_version.removeprefix("v"), api_versions=tuple(sorted(served | kinds))
    )


def lease_name(name: str) -> str:
    """The Lease that says who works on the app of this name."""
    return f"trimtab-app-{digest(name)}"


class Apps:
    """The apps that one installation keeps in one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        manifests: ManifestGenerator,
        installation: Installation,
        who: str,
    ) -> None:
        self.cluster = cluster
        self.installation = installation
        self._who = who
        #: who works, without the process: what records remember
        self.person = who.partition(" (")[0]
        self._settings = settings
        #: what makes manifests of the apps' sources
        self.manifests = manifests

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

    async def named(self, name: str) -> SyncUnit:
        """The app of this name; `Missing` if there is none."""
        found = await self.find(name)
        if found is None:
            raise Missing(f"app {name}", "there is no such app", "List them with: trimtab status")
        return found

    async def until_gone(self, name: str, seconds: float) -> None:
        """Return when there is no app of this name."""
        if self.installation.recorded:
            await until_gone(self.records(only=name), name, seconds)

    @asynccontextmanager
    async def work_on(self, unit: SyncUnit) -> AsyncIterator[Work]:
        """Have an engine that knows this app alone, and does nothing before it is asked."""
        # An operation that somebody did not finish waits for `Work.finish`: looking must not go on with it.
        draft = DraftStore(replace(unit, operation=None))
        engine = Engine(
            replace(self._settings.engine, installation=self.installation.id),
            GivenClusters({HERE: self.cluster}),
            self.manifests,
            draft,
            cache=self._settings.cache,
            archive=self.archive(),
            key=self.installation.key,
        )
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def hear(event: Event) -> None:
            if ready.done():
                return
            if isinstance(event, ClusterReady):
                ready.set_result(None)
            elif isinstance(event, ClusterLost):
                ready.set_exception(ClusterUnreachable("the cluster", event.reason))

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

    async def alone(self, name: str, work: Callable[[], Awaitable[_T]], held: Callable[[str], None]) -> _T:
        """Work on an app while nobody else does; whoever does now is told to `held`, and waited for."""
        lease = self.lease_of(name)
        holding = await lease.holding()
        if holding is not None and holding.holder:
            held(holding.holder)
        return await lease.hold(work)

    async def drop_lease(self, name: str) -> None:
        """Have the lease of an app that is no more go, too, unless somebody has taken it since."""
        lease = self.lease_of(name)
        with suppress(TrimtabError):
            holding = await lease.holding()
            if holding is not None and not holding.holder:
                how = Deletion(resource_version=holding.resource_version)
                space = self.installation.namespace
                await self.cluster.delete(LEASES, lease_name(name), namespace=space, how=how)

    def lease_of(self, name: str) -> Lease:
        """Who works on the app of this name."""
        return Lease(
            self.cluster,
            namespace=self.installation.namespace,
            name=lease_name(name),
            me=self._who,
            clock=SystemClock(),
        )

    def records(self, *, only: str = "") -> RecordStore:
        """Where apps are recorded; with `only`, that one alone is followed."""
        return RecordStore(
            self.cluster,
            namespace=self.installation.namespace,
            keys=Keyring(self.installation.key),
            only=only,
        )

    def archive(self) -> RecordArchive:
        """What apps rendered to, for going back."""
        return RecordArchive(
            self.cluster, namespace=self.installation.namespace, keys=Keyring(self.installation.key)
        )


class SyncFailed(UserError):
    """A sync came to a bad end: what it says has to be mended first."""


def _silent(_unit: SyncUnit) -> None:
    return


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
        self._records = apps.records(only=unit.id)
        self._is_as_asked = False

    @property
    def objects(self) -> int:
        """How many objects the app had when it was last looked at."""
        return len(self._asked.status.resources)

    async def look(self) -> SyncUnit:
        """How the app stands now."""
        return await self.engine.refresh(self.name)

    async def differing(self) -> Differing:
        """What of the app is not as its source wants it; nothing is written."""
        seen = await self.engine.preview(self.name)
        stand_ins = StandIns(self._apps.installation.key)
        return differing(seen.rows, seen.findings, stand_ins)

    async def tree(self) -> tuple[SyncUnit, tuple[Node, ...]]:
        """How the app stands now, its objects, and what they own."""
        unit = await self.look()
        return unit, grown(unit.status.resources, self.engine.tree(self.name))

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
        self,
        operation: Operation,
        plan: SyncPlan,
        *,
        consent: bool,
        held: Callable[[str], None],
        pin: Pin | None = None,
    ) -> OperationState:
        """Record the app, then do exactly what the plan says; another plan is refused.

        Deletions that wait for somebody's word need `consent`; without it nothing is begun. A `pin` is
        recorded before anything is done, so that nobody undoes it.
        """
        self.check_hold(operation)
        self._check_consent(plan, consent=consent)
        await self._apps.record_installation()

        async def carry_out() -> OperationState:
            if pin is not None:
                await self._draft.amend(self.name, with_pin(pin))
                await self._records.amend(self.name, with_pin(pin))
            await self._draft.publish(self._records)
            return await self.engine.sync(self.name, replace(operation, plan_digest=plan.digest))

        with self._agreeing(consent=consent):
            return await self._alone(carry_out, held)

    def _check_consent(self, plan: SyncPlan, *, consent: bool) -> None:
        if plan.held and not consent:
            reasons = "; ".join(dict.fromkeys(step.hold for step in plan.held))
            remedy = "If they are meant, add --confirm-deletions"
            raise Conflict(f"app {self.name}", f"{len(plan.held)} deletions need consent: {reasons}", remedy)

    async def delete(
        self,
        plan: SyncPlan,
        *,
        consent: bool,
        seconds: float,
        held: Callable[[str], None],
        told: Callable[[str], None],
    ) -> None:
        """Do what the plan of a deletion says, wait until all of that is gone, then forget the app.

        What is waited for is `told`. Whoever is stopped on the way leaves an app that can be deleted again.
        """
        self.check_hold(DELETION)
        self._check_consent(plan, consent=consent)

        async def carry_out() -> OperationState:
            await self._draft.publish(self._records)
            state = await self.engine.sync(self.name, replace(DELETION, plan_digest=plan.digest))
            if state.phase is OperationPhase.SUCCEEDED:
                await until_deleted(self.engine, self._apps.cluster, plan, seconds, told)
                await self._forget()
            return state

        with self._agreeing(consent=consent):
            await self._alone(carry_out, held)
        await self._apps.drop_lease(self.name)

    async def abandon(self, *, held: Callable[[str], None]) -> None:
        """Forget the app; its objects stay as they are, marks included."""
        self.check_hold(DELETION)
        await self._apps.alone(self.name, self._forget, held)
        await self._apps.drop_lease(self.name)

    async def _forget(self) -> None:
        """Forget the app: the record goes last, so that whatever is left can be found again."""
        self._draft.redraft(self._asked)
        await self._apps.archive().drop(self.name, ())
        await self._records.delete(self.name)

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
        self.check_hold(self.unfinished or Operation())
        if self.unfinished is not None and self.unfinished.delete:
            remedy = f"See it through with trimtab delete {self.name}, or trimtab terminate {self.name}"
            raise Conflict(f"app {self.name}", "somebody began to delete it", remedy)

        async def go_on() -> OperationState:
            await self._draft.resume(self._records)
            return await self.engine.wait_for_sync(self.name)

        with self._agreeing(consent=consent):
            state = await self._alone(go_on, held)
        begun, asked = await self._draft.get(self.name), self._asked
        self._is_as_asked = (begun.source, begun.destination) == (asked.source, asked.destination)
        self._draft.redraft(asked)
        return state

    async def end(self, *, held: Callable[[str], None]) -> OperationState:
        """End what is under way, whoever carries it on: the word is left in the record, and seen through."""
        await self._records.amend(self.name, with_end(self._apps.person))

        async def see_it_end() -> OperationState:
            await self._draft.resume(self._records)
            return await self.engine.wait_for_sync(self.name)

        state = await self._apps.alone(self.name, see_it_end, held)
        self._draft.redraft(self._asked)
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
        """Work while nobody else does, to a good end."""
        state = await self._apps.alone(self.name, work, held)
        if state.phase is not OperationPhase.SUCCEEDED:
            raise SyncFailed(f"app {self.name}", f"the sync {state.phase.value.lower()}: {state.message}")
        return state

    async def until_well(self, seconds: float, told: Callable[[SyncUnit], None] = _silent) -> SyncUnit:
        """The app once it is healthy; an error that says what it lacks if that takes too long."""
        return await self.until([Goal.HEALTHY], seconds, told)

    async def until(
        self, goals: Collection[Goal], seconds: float, told: Callable[[SyncUnit], None] = _silent
    ) -> SyncUnit:
        """The app once it is as it is waited for; `told` hears how it stands each time it was looked at."""
        return await until(self.engine, self.name, goals, seconds, told)

"""Apps: units with a name that a user gave them, worked on one at a time from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import replace

from trimtab.app.acquainted import AcquaintedCluster, AskedOnceCluster
from trimtab.app.ahead import Ahead
from trimtab.app.appsources import HERE
from trimtab.app.capabilities import facts_of
from trimtab.app.course import Course, Held
from trimtab.app.delegating import Delegation
from trimtab.app.deletion import DELETION, called, failed, is_same_deletion, is_whole, late, until_deleted
from trimtab.app.differing import Differing, check_readable, differing, warnings_in
from trimtab.app.drafts import DraftStore
from trimtab.app.foresight import Recalling, entry_wanted, foreseen
from trimtab.app.goals import Goal, Recorded, is_recorded
from trimtab.app.handing import agreed, seen_as
from trimtab.app.holds import held
from trimtab.app.installation import Installation, record_installation
from trimtab.app.lastknown import Away, LastKnown
from trimtab.app.naming import app_printed
from trimtab.app.narrowing import places_to_read
from trimtab.app.remedies import refusals_in, remedy_of, without_namespace
from trimtab.app.rollbacks import is_same_rollback
from trimtab.app.shards import app_lease, shard_named
from trimtab.app.trees import Node, grown
from trimtab.app.waiting import patient, until, until_recorded
from trimtab.app.widening import Widening, needs_everything
from trimtab.engine import Engine, Keyring, RecordArchive, RecordStore
from trimtab.engine.clusters import opened
from trimtab.engine.control.policy import check_hold, rollback
from trimtab.engine.events import ClusterLost, ClusterReady, Event, OperationPlanned, UnitEvent
from trimtab.engine.operations import Operation, OperationPhase, OperationState
from trimtab.engine.places import Place
from trimtab.engine.stores.changing import with_end, with_pin
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import ManifestGenerator, Pin, RenderArchive, SyncUnit, UnitHeld, UnitMissing
from trimtab.errors import ClusterUnreachable, Conflict, Missing, TrimtabError, UserError
from trimtab.kube import Cluster, Lease
from trimtab.kube.cluster import Deletion
from trimtab.kube.leases import LEASES
from trimtab.resources.counting import counted
from trimtab.resources.manifests import Found
from trimtab.resources.secrets import StandIns
from trimtab.settings import Settings
from trimtab.tasks import SystemClock, plain_group

#: most commands are over before so long after the cluster was read, and never need most of its changes
_REST: Final = timedelta(seconds=5)
_T = TypeVar("_T")


def _unsaid(_error: TrimtabError) -> None:
    """Nobody is told."""


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
        #: leases of shards as they were seen: one that is not renewed any more runs out
        self._seen: dict[str, Lease] = {}
        #: where the objects of whatever is named go, if that was said
        self._namespace = ""

    async def all(self, unreadable: Callable[[TrimtabError], None] = _unsaid) -> tuple[SyncUnit, ...]:
        """Every app, by name; what is recorded and cannot be read is told to `unreadable`."""
        return await self.records().list(unreadable) if self.installation.recorded else ()

    async def find(self, name: str) -> SyncUnit | None:
        """The app of this name, if there is one."""
        if not self.installation.recorded:
            return None
        try:
            return await self.records().get(name)
        except UnitMissing:
            return None

    async def meant(self, name: str) -> SyncUnit | None:
        """The app that somebody means: of this name, or else as `-o name` prints it."""
        found, printed = await self.find(name), app_printed(name)
        meant = found or (await self.find(printed) if printed else None)
        if meant is not None:
            self.check_within(meant)
        return meant

    def check_within(self, unit: SyncUnit) -> None:
        """Refuse an app whose objects go to another namespace than was said, if any was."""
        home = unit.destination.namespace
        if self._namespace not in {"", home}:
            reason = f"its namespace is {home}, not {self._namespace}"
            raise Missing(f"app {unit.id}", reason, f"Write -n {home}, or leave it out")

    async def places_before(self, name: str) -> tuple[Place, ...] | None:
        """Where objects may carry the mark of an app that is not recorded; None if that may be anywhere."""
        if not self.installation.recorded:
            return ()
        known = self.installation.leaves_traces and not await self.records().has_trace(name)
        return () if known else None

    async def named(self, name: str) -> SyncUnit:
        """The app that is meant by this name; `Missing` if there is none."""
        found = await self.meant(name)
        if found is None:
            raise Missing(f"app {name}", "there is no such app", "List them with: trimtab status")
        return found

    async def until(self, name: str, event: Recorded, seconds: float) -> None:
        """Return when that has become of an app, whoever worked on it; it is looked at once in any case."""
        unit = await self.meant(name)
        if unit is not None and not is_recorded(unit, event):
            await until_recorded(self.records(only=unit.id), unit.id, event, seconds)

    @asynccontextmanager
    async def work_on(
        self,
        unit: SyncUnit,
        *,
        operation: Operation | None = None,
        renders: bool = False,
        narrowly: bool = False,
        families: bool = False,
        only_looks: bool = False,
        stands_in: bool = True,
    ) -> AsyncIterator[Work]:
        """Have an engine that knows this app alone, and does nothing before it is asked.

        Whoever is about to look at the app as its source wants it says so with `renders`: that is made while
        the cluster is read, at the revision of the `operation` that is about to be asked for, if it is known
        already. `narrowly` reads only where objects of the app are or shall be, if that is known of all of
        them; what they own is seen then if `families` are. Whoever `only_looks` goes on with nothing, and is
        shown what was synced last while the source is away, unless nothing `stands_in`.
        """
        archive = Recalling(self.archive())
        last_known = LastKnown(self.manifests, archive, stands_in=only_looks and stands_in)
        manifests = Ahead(last_known, unit, operation.revision if operation is not None else "")
        entry = entry_wanted(unit, operation, only_looks=only_looks)
        is_made = renders and not entry
        async with plain_group() as group:
            rendering = group.create_task(manifests.begin()) if is_made else None
            try:
                wanted: Iterable[Found] | None = None
                if narrowly and unit.places is not None:
                    source = manifests if is_made else None
                    wanted = await foreseen(unit, entry, source, archive, goes_on=not only_looks)
                reading = await self._reading(unit, wanted, manifests, archive, families=families)
                if unit.operation is not None and not only_looks:
                    manifests.forget()  # it is old by the time that what was left over has ended
                async with self._worked_on(unit, reading, last_known) as work:
                    yield work
            finally:
                if rendering is not None:
                    rendering.cancel()

    async def _reading(
        self,
        unit: SyncUnit,
        wanted: Iterable[Found] | None,
        manifests: ManifestGenerator,
        archive: RenderArchive,
        *,
        families: bool,
    ) -> Widening:
        """The cluster, as far as it has to be read for what is wanted of this app; None for all of it."""
        if wanted is None:
            return Widening(manifests, archive, opened(HERE, self.cluster), needs_everything)
        discovery, version = await facts_of(self.cluster)

        def needs(unit: SyncUnit, wanted: Iterable[Found]) -> frozenset[Place] | None:
            namespace = unit.destination.namespace
            return places_to_read(unit.places, wanted, namespace, discovery, families=families)

        cluster = AcquaintedCluster(self.cluster, discovery, version)
        return Widening(manifests, archive, opened(HERE, cluster, places=needs(unit, wanted)), needs)

    @asynccontextmanager
    async def _worked_on(
        self, unit: SyncUnit, reading: Widening, last_known: LastKnown
    ) -> AsyncIterator[Work]:
        # An operation that somebody did not finish waits for `Work.finish`: looking must not go on with it.
        draft = DraftStore(replace(unit, operation=None), reading.cover)
        engine = Engine(
            replace(self._settings.engine, installation=self.installation.id),
            reading.clusters,
            reading,
            draft,
            cache=self._settings.cache,
            archive=reading,
            key=self.installation.key,
            rest=_REST,
            automatic=False,
        )
        reading.serve(engine)
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
                yield Work(self, engine, draft, unit, last_known)
            finally:
                running.cancel()

    def within(self, namespace: str) -> Apps:
        """The same apps for somebody who means those of one namespace alone when he names them."""
        found = Apps(self.cluster, self._settings, self.manifests, self.installation, self._who)
        found._namespace = namespace
        return found

    def only_looking(self) -> Apps:
        """The same apps for somebody who only looks and is gone: kinds are asked for once."""
        cluster = AskedOnceCluster(self.cluster)
        found = Apps(cluster, self._settings, self.manifests, self.installation, self._who)
        found._namespace = self._namespace
        return found

    async def record_installation(self) -> None:
        """Have the cluster know the installation, if this is its first app."""
        self.installation = await record_installation(self.cluster, self.installation)

    async def alone(self, name: str, work: Callable[[], Awaitable[_T]], held: Held) -> _T:
        """Work on an app while nobody else does; whoever does now is told to `held`, and waited for."""
        lease = self.lease_of(name)
        if holder := await lease.holder():
            held(holder)
        return await lease.hold(work, seen_free=not holder)

    async def drop_lease(self, name: str) -> None:
        """Have the lease of an app that is no more go, too, unless somebody has taken it since."""
        lease = self.lease_of(name)
        with suppress(TrimtabError):
            holding = await lease.holding()
            if holding is not None and not holding.holder:
                how = Deletion(resource_version=holding.resource_version)
                space = self.installation.namespace
                await self.cluster.delete(LEASES, app_lease(name), namespace=space, how=how)

    def lease_of(self, name: str) -> Lease:
        """Who works on the app of this name."""
        return self._lease(app_lease(name))

    async def keeper_of(self, name: str) -> Lease | None:
        """The lease of the shard that an app belongs to, if a runner seems to keep it."""
        if not self.installation.recorded:
            return None
        async for page in self.cluster.list(LEASES, namespace=self.installation.namespace):
            for found in page.objects:
                shard = shard_named(found.metadata.name)
                if shard is not None and shard.has(name):
                    lease = self._seen.setdefault(shard.lease, self._lease(shard.lease))
                    if await lease.holder():
                        return lease
        return None

    def _lease(self, name: str) -> Lease:
        namespace = self.installation.namespace
        return Lease(self.cluster, namespace=namespace, name=name, me=self._who, clock=SystemClock())

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

    def __init__(
        self, apps: Apps, engine: Engine, draft: DraftStore, unit: SyncUnit, last_known: LastKnown
    ) -> None:
        self.engine = engine
        self.name = unit.id
        #: what the last plan met that is in nobody's way, but should be known
        self.warnings: tuple[str, ...] = ()
        #: what somebody asked for and did not see through
        self.unfinished = unit.operation
        self._apps = apps
        self._draft = draft
        self._asked = unit
        self._records = apps.records(only=unit.id)
        self._is_as_asked = False
        self._delegation = Delegation(apps, engine, draft, self._records, unit)
        self._was_synced = False
        self._last_known = last_known

    @property
    def course(self) -> Course:
        """How far what was asked last has come."""
        return self._delegation.course

    @property
    def away(self) -> Away | None:
        """Why it was compared with what was synced last, if it was."""
        return self._last_known.away

    @property
    def objects(self) -> int:
        """How many objects the app had when it was last looked at."""
        return len(self._asked.status.resources)

    async def look(self) -> SyncUnit:
        """How the app stands now."""
        return await self.engine.refresh(self.name)

    async def differing(self) -> Differing:
        """What of the app is not as its source, or the pin that holds it, wants it; nothing is written."""
        pin = self._asked.pinned
        operation = rollback(self._asked, pin.entry) if pin is not None else None
        seen = await self.engine.preview(self.name, operation)
        stand_ins = StandIns(self._apps.installation.key)
        return differing(seen.rows, seen.findings, stand_ins)

    async def tree(self) -> tuple[SyncUnit, tuple[Node, ...]]:
        """How the app stands now, its objects, and what they own."""
        unit = await self.look()
        return unit, grown(unit.status.resources, self.engine.tree(self.name))

    async def plan(self, operation: Operation) -> SyncPlan:
        """What a sync would do now; if it cannot be done, an error that says why."""
        seen = await self.engine.preview(self.name, operation)
        home = self._asked.destination.namespace
        missing = (without_namespace(each, destination=home) for each in seen.missing_namespaces)
        refused = refusals_in(seen.plan, seen.rows)
        self.warnings, plan = (*warnings_in(seen.findings), *missing, *refused), seen.plan
        if not operation.entry and not operation.delete:
            check_readable(seen.findings)
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

    def check_deletion(self) -> None:
        """Refuse to work on an app that somebody began to delete, with the ways out."""
        if self.unfinished is not None and self.unfinished.delete:
            remedy = f"See it through with trimtab delete {self.name}, or trimtab terminate {self.name}"
            raise Conflict(f"app {self.name}", "somebody began to delete it", remedy)

    async def check_ready(self, plan: SyncPlan, *, consent: bool) -> None:
        """Refuse a plan that could not be begun: for want of consent, or because of who keeps the app."""
        self._check_consent(plan, consent=consent)
        await self._delegation.keeper()

    async def carry_out(
        self,
        operation: Operation,
        plan: SyncPlan,
        *,
        consent: bool,
        held: Held,
        pin: Pin | None = None,
    ) -> OperationState:
        """Record the app, then do exactly what the plan says; another plan is refused.

        Deletions that wait for somebody's word need `consent`; without it nothing is begun. A `pin` is
        recorded before anything is done, so that nobody undoes it.
        """
        self.check_hold(operation)
        self._check_consent(plan, consent=consent)
        held = self._asking(held)
        await self._apps.record_installation()
        agreed_to = replace(operation, plan_digest=plan.digest, person=self._apps.person)

        async def carry_out() -> OperationState:
            if pin is not None:
                await self._draft.amend(self.name, with_pin(pin))
                await self._records.amend(self.name, with_pin(pin))
            self._know_places()
            await self._draft.publish(self._records)
            self.course.begin()
            return await self.engine.sync(self.name, agreed_to)

        by_runner = self._delegation.handing(agreed_to, plan, held, consent=consent, pin=pin)
        with self._agreeing(consent=consent):
            state = await self._delegation.done(carry_out, by_runner, held)
        self._draft.redraft(await self._draft.get(self.name))
        self._was_synced = True
        self._last_known.stand_in()  # a source that goes away now takes nothing from what was done
        return self._well_ended(state)

    def _know_places(self) -> None:
        """Learn where objects of the app are, if that was not recorded and all of the cluster was read."""
        places = self.engine.places(self.name) if self._asked.places is None else None
        if places is not None:
            self._draft.place(places)

    def _check_consent(self, plan: SyncPlan, *, consent: bool) -> None:
        if plan.held and not consent:
            reasons = "; ".join(dict.fromkeys(step.hold for step in plan.held))
            count = counted(len(plan.held), "deletion needs", "deletions need")
            remedy = "If that is meant, add --confirm-deletions"
            raise Conflict(f"app {self.name}", f"{count} consent: {reasons}", remedy)

    async def delete(
        self,
        plan: SyncPlan,
        *,
        consent: bool,
        seconds: float,
        held: Held,
        told: Callable[[str], None],
        operation: Operation = DELETION,
    ) -> OperationState:
        """Do what the plan of a deletion says, wait until all of that is gone, then forget the app.

        What is waited for is `told`. Whoever is stopped on the way leaves an app that can be deleted again;
        what he began is gone on with.
        """
        self.check_hold(operation)
        self._check_consent(plan, consent=consent)
        is_forgotten, held = False, self._asking(held, is_begun=self.goes_on(operation))
        agrees = consent and bool(plan.held)
        again = called(self.name, operation, consent=agrees)

        async def carry_out() -> OperationState:
            if self.goes_on(operation):
                return await forgotten(await self._delegation.go_on())
            await self._draft.publish(self._records)
            self.course.begin()
            return await forgotten(await self.engine.sync(self.name, agreed_to))

        async def forgotten(state: OperationState) -> OperationState:
            nonlocal is_forgotten
            if state.phase is OperationPhase.SUCCEEDED:
                limit.reschedule(None)
                await until_deleted(self.engine, self._apps.cluster, plan, seconds, told, again=again)
                await self._forget(is_empty=is_whole(plan))
                is_forgotten = True
            return state

        async def by_runner(keeper: Lease) -> OperationState | None:
            if self.goes_on(operation):
                state = await self._followed(keeper, consent=consent)
            else:
                state = await hand_over(keeper)
            return None if state is None else await forgotten(state)

        agreed_to = replace(operation, plan_digest=plan.digest, person=self._apps.person)
        hand_over = self._delegation.handing(agreed_to, plan, held, consent=consent)
        with self._agreeing(consent=consent):
            slow = partial(late, self.name, self.course, again, seconds)
            async with patient(self.engine, seconds, slow) as limit:
                state = await self._delegation.done(carry_out, by_runner, held)
                if not is_forgotten and state.phase is OperationPhase.SUCCEEDED:
                    # A runner that was handed it has died, and its operation was gone on with here.
                    await self._apps.alone(self.name, partial(forgotten, state), held)
        if state.phase is not OperationPhase.SUCCEEDED:
            raise failed(self.name, state, consent=agrees)
        await self._apps.drop_lease(self.name)
        return state

    def _asking(self, held: Held, *, is_begun: bool = False) -> Held:
        """Have something be asked anew, or be gone on with; whoever is waited for is heard."""
        self.course.restart()
        if is_begun:
            self.course.begin()
        return self.course.hearing(held)

    def is_going_back(self, operation: Operation) -> bool:
        """Whether this very rollback was begun and not seen through: it is gone on with from there."""
        return is_same_rollback(self.unfinished, operation)

    def goes_on(self, operation: Operation) -> bool:
        """Whether this very deletion was begun and not seen through: it is gone on with from there."""
        return is_same_deletion(self.unfinished, self._asked.status.operation_state, operation)

    async def _followed(self, keeper: Lease, *, consent: bool) -> OperationState | None:
        """The end of what was begun and a runner carries on, with the consent that was given now."""
        if consent:
            await self._records.amend(self.name, agreed(SystemClock().now()))
        return await self._delegation.followed(self.unfinished or Operation(), keeper)

    async def abandon(self, *, held: Held) -> None:
        """Forget the app; its objects stay as they are, marks included."""
        self.check_hold(DELETION)

        async def forget() -> None:
            self.course.begin()
            await self._forget()

        await self._apps.alone(self.name, forget, self._asking(held))
        await self._apps.drop_lease(self.name)

    async def _forget(self, *, is_empty: bool = False) -> None:
        """Forget the app: the record goes last, so that whatever is left can be found again."""
        self._draft.redraft(self._asked)
        await self._apps.archive().drop(self.name, ())
        await self._records.delete(self.name, is_empty=is_empty)

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

    async def finish(self, *, consent: bool, held: Held) -> OperationState:
        """See through what somebody began, from where it stands; then go on with what is asked now."""
        self.check_hold(self.unfinished or Operation())
        self.check_deletion()
        held = self._asking(held, is_begun=True)

        by_runner = partial(self._followed, consent=consent)
        with self._agreeing(consent=consent):
            state = self._well_ended(await self._delegation.done(self._delegation.go_on, by_runner, held))
        begun, asked = await self._records.get(self.name), self._asked
        self._is_as_asked = (begun.source, begun.destination) == (asked.source, asked.destination)
        self._draft.redraft(asked)
        self._was_synced = True
        return state

    async def end(self, *, held: Held) -> OperationState:
        """End what is under way, whoever carries it on: the word is left in the record, and seen through."""
        await self._records.amend(self.name, with_end(self._apps.person))

        async def by_runner(keeper: Lease) -> OperationState | None:
            return await self._delegation.followed(self.unfinished or Operation(), keeper)

        state = await self._delegation.done(self._delegation.go_on, by_runner, held)
        self._draft.redraft(self._asked)
        return state

    def take_over(self) -> None:
        """Have what a process carried out, and did not live to look after, be ours to look after."""
        self._was_synced = True

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

    def _well_ended(self, state: OperationState) -> OperationState:
        """The state of an operation, unless it came to a bad end."""
        if state.phase is not OperationPhase.SUCCEEDED:
            reason = f"the sync {state.phase.value.lower()}: {state.message}"
            remedy = remedy_of(
                state.message,
                f"Ask why with: trimtab why {self.name}",
                destination=self._asked.destination.namespace,
            )
            raise SyncFailed(f"app {self.name}", reason, remedy)
        return state

    async def until_well(self, seconds: float, told: Callable[[SyncUnit], None] = _silent) -> SyncUnit:
        """The app once it is healthy; an error that says what it lacks if that takes too long."""
        return await self.until([Goal.HEALTHY], seconds, told)

    async def until(
        self, goals: Collection[Goal], seconds: float, told: Callable[[SyncUnit], None] = _silent
    ) -> SyncUnit:
        """The app once it is as it is waited for; `told` hears how it stands each time it was looked at."""
        try:
            return await until(self.engine, self.name, goals, seconds, told)
        finally:
            await self._note_stand()

    async def _note_stand(self) -> None:
        """Record how an app that was synced here stands; a runner that keeps it does so itself."""
        looked = self.engine.unit(self.name).status
        if self._was_synced and await self._delegation.keeper() is None:
            with suppress(UnitMissing):
                await self._records.amend(self.name, partial(seen_as, looked))

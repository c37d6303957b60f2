"""The plan of a sync: from rows, hooks and an operation to steps in order. Pure.

`plan_sync` decides everything that can be decided before the first write: what is written and how, what is
deleted and what must not be, what runs when, and which objects make the whole sync impossible. Carrying it
out is decided in `progress` and done in `operate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.health.values import HOOK_FINALIZER
from trimtab.engine.live import Live, LiveView
from trimtab.engine.marks import Mark
from trimtab.engine.operations import (
    Operation,
    OperationState,
    RanBefore,
    Rehearsal,
    Strategy,
    SyncPhase,
)
from trimtab.engine.rows import Desired, Row, Verdict
from trimtab.engine.stretches import STRETCH, Stretches, whole
from trimtab.engine.sync.hooks import Role, delete_policies, hook_name, hook_phases, role_of
from trimtab.engine.sync.judging import RENAME_HOOK, in_the_way
from trimtab.engine.sync.options import (
    Consent,
    ObjectOptions,
    SyncOptions,
    delete_consent,
    object_options,
    sync_options,
    wave_of,
    written_server_side,
)
from trimtab.engine.sync.ordering import Slot, ordered
from trimtab.engine.sync.prunes import INCOMPLETE, REFUSED, PruneBudget, defined_by, prunes
from trimtab.engine.sync.steps import (
    NOTHING,
    Apply,
    Body,
    CreateNamespace,
    Expected,
    Prune,
    Refuse,
    Refused,
    RunHook,
    Step,
    SyncPlan,
    WriteMode,
    images_of,
)
from trimtab.engine.sync.sums import content_name, plan_digest, render_digest
from trimtab.errors import InvalidSpec
from trimtab.kube.discovery import Discovery
from trimtab.resources import manifests
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import generate_name, name
from trimtab.resources.secrets import StandIns

_MOST_PATHS = 3


class Namespace(Struct, frozen=True, kw_only=True):
    """The destination namespace, and what its labels and annotations are to be if the unit says so."""

    name: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    #: whether it is among those that may be written to
    allowed: bool = True


class SyncRequest(Struct, frozen=True, kw_only=True):
    """All that a plan is made from, but for the live objects themselves."""

    unit: str
    operation: Operation
    revision: str
    started_at: datetime
    rows: tuple[Row, ...]
    hooks: tuple[Desired, ...] = ()
    #: what the server serves
    discovery: Discovery
    #: hides what is secret in digests
    stand_ins: StandIns
    options: SyncOptions = SyncOptions()
    namespace: Namespace = Namespace()
    budget: PruneBudget = PruneBudget()
    #: the desired objects are all that there are: only then may anything be pruned
    complete: bool = True
    #: how far this very operation came before: what it has begun stays in the plan, synced or not
    earlier: OperationState | None = None
    finalizer: str = HOOK_FINALIZER
    #: the unit's own mark; a hook takes the place of nothing else
    mark: Mark | None = None
    #: what is written in the place of a desired object, because ignored fields of it are to stay as they are
    respected: Mapping[ResourceKey, Desired] = {}


def plan_sync(request: SyncRequest, live: LiveView) -> SyncPlan:
    """Everything a sync will do, in order."""
    return whole(planning_of(request, live))


def planning_of(request: SyncRequest, live: LiveView) -> Stretches[SyncPlan]:
    """`plan_sync` in stretches.

    The view may move on meanwhile: what a step expects of its object is what its row saw.
    """
    return _Planner(request, live).plan()


class _Planner:
    """One planning: the request and what is looked up in it again and again."""

    def __init__(self, request: SyncRequest, live: LiveView) -> None:
        self.request = request
        self.operation = request.operation
        self.options = sync_options(request.operation.options, request.options)
        self.live = live
        self.refused: list[Refused] = []
        self.declined: list[Refuse] = []
        self.rows = tuple(row for row in request.rows if self._is_selected(row.key))
        self.hooks = self._hooks()
        desired = [row.desired for row in request.rows if row.desired] + list(request.hooks)
        self.defined = {found for each in desired if (found := defined_by(each.manifest))}
        self.new_namespaces = {
            row.key.name
            for row in request.rows
            if row.key.kind == "Namespace" and not row.key.group and row.desired and not row.live
        }
        earlier = request.earlier
        self.touched = {*earlier.begun, *(each.key for each in earlier.results)} if earlier else set()

    def plan(self) -> Stretches[SyncPlan]:
        applies = yield from self._applies()
        hooks = list(self._hook_steps({step.key for step in applies}))
        prunes = yield from self._prunes({step.key for step in hooks})
        steps = self._in_order([*applies, *prunes, *hooks, *self.declined])
        is_long = len(self.rows) >= STRETCH
        if is_long:
            yield
        steps = (*self._namespace_steps(steps), *steps)
        request, refused = self.request, tuple(self.refused)
        render = render_digest(request.rows, request.hooks, request.stand_ins)
        if is_long:
            yield
        return SyncPlan(
            unit=request.unit,
            revision=request.revision,
            render=render,
            steps=steps,
            refused=refused,
            dry_run=self.operation.dry_run,
            rehearse=_is_rehearsed(self.operation, steps),
            exact=bool(self.operation.plan_digest),
            digest=plan_digest(request.unit, request.revision, render, steps, refused),
        )

    def _is_selected(self, key: ResourceKey) -> bool:
        chosen = self.operation.resources
        return not chosen or any(each.matches(key) for each in chosen)

    def _hooks(self) -> tuple[Desired, ...]:
        """The hooks that take part: none in a selective sync, nor where the strategy leaves them out."""
        skipped = self.operation.resources or self.operation.strategy is Strategy.APPLY
        return () if skipped else self.request.hooks

    def _refuse(self, key: ResourceKey, reason: str, remedy: str = "", of: Desired | None = None) -> None:
        """Leave one object out; it fails in its place, and others go on."""
        phase, wave = _place_of(of)
        # A deletion is done whole or not begun: its hooks must not run for nothing.
        self.refused.append(Refused(key=key, reason=reason, remedy=remedy, blocks=self.operation.delete))
        self.declined.append(Refuse(key=key, phase=phase, wave=wave, why=reason, remedy=remedy))

    # -- objects to write --------------------------------------------------------------------------------

    def _applies(self) -> Stretches[list[Apply]]:
        steps: list[Apply] = []
        looked_at = 0
        for row in self.rows:
            if row.problem:
                self._refuse(row.key, row.problem, of=row.desired)
            elif row.desired is not None and self._is_written(row):
                steps.extend(self._apply(row, row.desired))
                looked_at += 1
                if looked_at % STRETCH == 0:
                    yield
        return steps

    def _is_written(self, row: Row) -> bool:
        unchanged = row.verdict is Verdict.SYNCED and row.live is not None
        return not (unchanged and self.options.out_of_sync_only and row.key not in self.touched)

    def _apply(self, row: Row, desired: Desired) -> Iterator[Apply]:
        if row.claimed_by is not None and not self.operation.adopt:
            remedy = "Release it there, or take it over with --adopt."
            self._refuse(row.key, f"it is managed by {row.claimed_by}", remedy, desired)
            return
        try:
            told = manifests.annotations(desired.manifest)
            if role_of(told) is not Role.RESOURCE:
                return
            own = object_options(told)
            if self._is_possible(desired, own):
                yield self._apply_step(row, desired, own, wave_of(told))
        except InvalidSpec as problem:
            self._refuse(row.key, problem.reason, problem.remedy, desired)

    def _apply_step(self, row: Row, desired: Desired, own: ObjectOptions, wave: int) -> Apply:
        desired, kept = self.request.respected.get(row.key, desired), self._live_options(row)
        force = self.operation.force or own.force or kept.force
        return Apply(
            key=row.key,
            phase=SyncPhase.SYNC,
            wave=wave,
            why=_why(row),
            api_version=desired.api_version,
            body=Body(desired.manifest),
            content=content_name(row.key, desired.digest, self.request.stand_ins),
            mode=self._mode(desired, replaced=own.replace or kept.replace or self.options.replace),
            force=force,
            validate=own.validate and self.options.validate,
            rehearsable=row.verdict is not Verdict.SYNCED
            and not force
            and self._is_rehearsable(row.key, desired),
            expected=self._expected(row.live),
            images=images_of(row.key.kind, desired.manifest),
            defines=defined_by(desired.manifest),
        )

    def _live_options(self, row: Row) -> ObjectOptions:
        """What the live object says about how it is written."""
        kept = self.live.manifest(row.key) if row.live else None
        return object_options(manifests.annotations(kept)) if kept else ObjectOptions()

    def _mode(self, desired: Desired, *, replaced: bool) -> WriteMode:
        if not name(desired.manifest):
            return WriteMode.CREATE
        return WriteMode.REPLACE if replaced else WriteMode.SERVER_SIDE

    def _is_possible(self, desired: Desired, own: ObjectOptions) -> bool:
        """Whether the object can be written at all; says why not."""
        if not written_server_side(own, self.options) and not (own.replace or self.options.replace):
            self._refuse(
                desired.key,
                "it asks for client-side apply, which is not offered here",
                "Remove the option ServerSideApply=false.",
                desired,
            )
            return False
        skipped = own.skip_rehearsal_of_missing_kind or self.options.skip_rehearsal_of_missing_kinds
        known = self._is_served(desired) or (desired.key.group, desired.key.kind) in self.defined
        if not known and not skipped:
            self._refuse(desired.key, *self._unknown_kind(desired), desired)
            return False
        return True

    def _is_served(self, desired: Desired) -> bool:
        return self.request.discovery.resource(desired.api_version, desired.key.kind) is not None

    def _unknown_kind(self, desired: Desired) -> tuple[str, str]:
        failed = self.request.discovery.failed.get(desired.api_version)
        if failed:
            return f"whether the server serves {desired.api_version} is not known: {failed}", ""
        return (
            f"the server serves no {desired.key.kind} in {desired.api_version}",
            "Correct the kind, or add the definition that makes it known.",
        )

    def _is_rehearsable(self, key: ResourceKey, desired: Desired) -> bool:
        space = key.namespace
        made_later = space == self.request.namespace.name and self.operation.dry_run and self._is_new(space)
        return self._is_served(desired) and space not in self.new_namespaces and not made_later

    def _is_new(self, namespace: str) -> bool:
        return self.options.create_namespace and self.live.get(_namespace_key(namespace)) is None

    def _expected(self, found: Live | None) -> Expected:
        if found is None:
            return NOTHING
        return Expected(uid=found.uid, digest=content_name(found.key, found.digest, self.request.stand_ins))

    # -- objects to delete -------------------------------------------------------------------------------

    def _prunes(self, hooks: Collection[ResourceKey]) -> Stretches[tuple[Prune, ...]]:
        """What goes; the objects of hooks that take part are cleared away as hooks are."""
        kept = {*hooks} if self.operation.delete else set()
        if self.options.create_namespace:
            kept.add(_namespace_key(self.request.namespace.name))
        extra = [
            row for row in self.rows if row.desired is None and row.live is not None and row.key not in kept
        ]
        if not extra:
            return ()
        owned = sum(row.live is not None and row.ours for row in self.request.rows)
        found = yield from prunes(
            extra,
            owned=owned,
            operation=self.operation,
            options=self.options,
            budget=self.request.budget,
            kept=self._keeps_all(),
            live=self.live,
            stand_ins=self.request.stand_ins,
        )
        return found

    def _keeps_all(self) -> str:
        """Why nothing may be pruned, if so: what takes the place of an object may be what is missing."""
        if not self.request.complete:
            return INCOMPLETE
        # Healing chooses what drifted alone: what is refused counts, chosen or not.
        is_refused = self.declined or any(row.problem or self._is_claimed(row) for row in self.request.rows)
        return REFUSED if is_refused else ""

    def _is_claimed(self, row: Row) -> bool:
        """Whether a wanted object is somebody else's, and not to be taken over."""
        return row.desired is not None and row.claimed_by is not None and not self.operation.adopt

    # -- hooks -------------------------------------------------------------------------------------------

    def _hook_steps(self, written: Collection[ResourceKey]) -> Iterator[RunHook]:
        planned: set[tuple[ResourceKey, SyncPhase]] = set()
        for desired in self.hooks:
            for step in self._hook(desired):
                if step.phase is SyncPhase.SYNC and step.key in written:
                    self._refuse(
                        step.key, "it is both a hook and an ordinary object", "Give one another name."
                    )
                elif (step.key, step.phase) not in planned:
                    planned.add((step.key, step.phase))
                    yield step

    def _hook(self, desired: Desired) -> Iterator[RunHook]:
        try:
            told = manifests.annotations(desired.manifest)
            phases = hook_phases(told, deletes=self.operation.delete)
            if phases and role_of(told) is Role.HOOK and self._is_possible(desired, object_options(told)):
                steps = [self._hook_step(desired, told, phase) for phase in phases]
                if not any(self._is_in_the_way(step) for step in steps):
                    yield from steps
        except InvalidSpec as problem:
            self._refuse(desired.key, problem.reason, problem.remedy, desired)

    def _is_in_the_way(self, step: RunHook) -> bool:
        """Whether what stands under a hook's name is not an earlier run of ours; says so."""
        reason = in_the_way(self.live.get(step.key), step.mark)
        if reason:
            self._refuse(step.key, reason, RENAME_HOOK)
        return bool(reason)

    def _hook_step(self, desired: Desired, told: Mapping[str, str], phase: SyncPhase) -> RunHook:
        request, manifest = self.request, desired.manifest
        prefix = "" if name(manifest) else generate_name(manifest)
        named = hook_name(prefix, request.revision, phase, request.started_at) if prefix else ""
        key = replace(desired.key, name=named) if named else desired.key
        ran = self._ran_before(key, phase, prefix)
        key = ran.key if ran is not None else key
        found, own = self.live.get(key), object_options(told)
        policies = sorted(delete_policies(told), key=lambda policy: policy.value)
        return RunHook(
            key=key,
            phase=phase,
            wave=wave_of(told),
            why=f"{phase.value} hook{'; it ran before' if ran else ''}",
            api_version=desired.api_version,
            body=Body(manifest),
            content=content_name(key, desired.digest, request.stand_ins),
            policies=tuple(policies),
            finalizer=request.finalizer,
            propagation=self.options.propagation,
            rehearsable=found is None and ran is None and self._is_rehearsable(key, desired),
            expected=self._expected(found),
            images=images_of(key.kind, manifest),
            generate_name=prefix,
            mark=None if self.operation.adopt else request.mark,
            ran=ran.uid if ran is not None else "",
            stays=delete_consent(own, told) is Consent.NO,
        )

    def _ran_before(self, key: ResourceKey, phase: SyncPhase, prefix: str) -> RanBefore | None:
        """The run of a hook that an earlier try of the deletion saw through; made names begin alike."""
        for each in self.operation.ran:
            name = key.name if prefix and each.key.name.startswith(prefix) else each.key.name
            if each.sync_phase is phase and replace(each.key, name=name) == key:
                return each
        return None

    # -- order and namespace -----------------------------------------------------------------------------

    def _in_order(self, steps: list[Step]) -> tuple[Step, ...]:
        last = self.options.prune_last
        places = (
            Slot(
                step=number,
                key=step.key,
                phase=step.phase,
                wave=step.wave,
                prune=isinstance(step, Prune),
                last=isinstance(step, Prune) and (last or step.last),
                defines=step.defines if isinstance(step, Apply | Prune) else None,
            )
            for number, step in enumerate(steps)
        )
        return tuple(_moved(steps[place.step], place) for place in ordered(places))

    def _namespace_steps(self, steps: tuple[Step, ...]) -> Iterator[CreateNamespace]:
        """The step that makes the destination namespace: before all others, in the first one's wave."""
        wanted, key = self.request.namespace, _namespace_key(self.request.namespace.name)
        if self.operation.delete or not (self.options.create_namespace and wanted.name):
            return
        managed = any(each.key == key and each.desired for each in self.request.rows)
        if managed or any(hook.key == key for hook in self.hooks):
            return
        found = self.live.get(key)
        if not wanted.allowed:
            reason, remedy = "the namespace is not among those allowed", "Name another, or have it allowed."
            self.refused.append(Refused(key=key, reason=reason, remedy=remedy, blocks=True))
        elif found is not None and found.deleting:
            reason, remedy = "the namespace is being deleted", "Wait until it is gone."
            self.refused.append(Refused(key=key, reason=reason, remedy=remedy, blocks=True))
        elif found is None or wanted.labels or wanted.annotations:
            yield CreateNamespace(
                key=key,
                phase=steps[0].phase if steps else SyncPhase.PRE_SYNC,
                wave=steps[0].wave if steps else 0,
                why="missing" if found is None else "its labels and annotations",
                labels=wanted.labels,
                annotations=wanted.annotations,
                expected=self._expected(found),
            )


def is_multi_step(steps: Iterable[Step]) -> bool:
    """Whether waves or phases differ, hooks for failure left aside: they run only when all else is over."""
    return len({(step.phase, step.wave) for step in steps if step.phase is not SyncPhase.SYNC_FAIL}) > 1


def _is_rehearsed(operation: Operation, steps: tuple[Step, ...]) -> bool:
    if operation.dry_run or operation.rehearsal is not Rehearsal.AUTO:
        return operation.rehearsal is Rehearsal.ALWAYS and not operation.dry_run
    return is_multi_step(steps) or any(
        isinstance(step, RunHook) or (isinstance(step, Prune) and not step.skip) for step in steps
    )


def _place_of(desired: Desired | None) -> tuple[SyncPhase, int]:
    """Where an object would have stood; at the beginning if that cannot be read."""
    try:
        told = manifests.annotations(desired.manifest) if desired else {}
    except InvalidSpec:
        return SyncPhase.SYNC, 0
    phases = hook_phases(told) if role_of(told) is Role.HOOK else ()
    return phases[0] if phases else SyncPhase.SYNC, wave_of(told)


def missing_namespaces(steps: Iterable[Step], live: LiveView) -> tuple[str, ...]:
    """The namespaces that steps write into, and that are neither there nor made by one of them."""
    if not live.knows("", "Namespace", ""):
        return ()
    writes = [step for step in steps if not isinstance(step, Prune)]
    made = {step.key for step in writes}
    spaces = dict.fromkeys(step.key.namespace for step in writes if step.key.namespace)
    return tuple(
        space for space in spaces if (key := _namespace_key(space)) not in made and live.get(key) is None
    )


def _namespace_key(namespace: str) -> ResourceKey:
    return ResourceKey("", "Namespace", "", namespace)


def _moved(step: Step, place: Slot) -> Step:
    """The step in the phase and wave that the order gave it."""
    if (step.phase, step.wave) == (place.phase, place.wave):
        return step
    return replace(step, phase=place.phase, wave=place.wave)


def _why(row: Row) -> str:
    if row.live is None:
        return "missing"
    if row.verdict is Verdict.SYNCED:
        return "unchanged, written all the same"
    if not row.differences:
        return "whether it differs is not known" if row.verdict is Verdict.UNKNOWN else "differs"
    paths = [each.path for each in row.differences[:_MOST_PATHS]]
    more = len(row.differences) - len(paths)
    return f"differs at {', '.join(paths)}{f' and {more} more' if more else ''}"

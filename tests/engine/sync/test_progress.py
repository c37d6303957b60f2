"""Progress over random plans, outcomes and courses of the world, and its finer points one by one."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.engine.views import (
    DEGRADED,
    HEALTHY,
    NOON,
    PROGRESSING,
    Case,
    config_map,
    job,
    key_of,
    live_of,
    manifest,
)
from trimtab.engine.health import Health
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    OperationState,
    RetryLimits,
    StepPhase,
    StepResult,
    StepStatus,
    SyncPhase,
    started,
)
from trimtab.engine.sync.acts import (
    Act,
    Asks,
    Clear,
    Discard,
    Done,
    Facts,
    Failed,
    Look,
    Next,
    Outcome,
    Rehearse,
    Release,
    Sighting,
    Wait,
    step_of,
)
from trimtab.engine.sync.judging import matters
from trimtab.engine.sync.options import SyncOptions
from trimtab.engine.sync.plan import Namespace
from trimtab.engine.sync.progress import progress
from trimtab.engine.sync.results import causes, closed, crucial, folded, next_attempt, retry_wait
from trimtab.engine.sync.steps import Apply, CreateNamespace, Prune, RunHook, SyncPlan
from trimtab.resources.keys import ResourceKey

FINALIZER = "trimtab.dev/hook-finalizer"


class Sim:
    """A cluster in a few lines: objects, their courses, a cache that lags behind, and chance."""

    def __init__(self, chance: random.Random, view: dict[ResourceKey, Live]) -> None:
        self.chance = chance
        self.objects = dict(view)
        self.cache = dict(view)
        self.courses: dict[ResourceKey, list[Health | None]] = {}
        self.behind: list[ResourceKey] = []
        self.version = 100
        self.made = 0
        self.creations: list[ResourceKey] = []

    def _put(self, live: Live) -> Live:
        self.version += 1
        stored = replace(live, resource_version=str(self.version))
        self.objects[live.key] = stored
        self.behind.append(live.key)
        return stored

    def _remove(self, key: ResourceKey) -> None:
        self.objects.pop(key, None)
        self.courses.pop(key, None)
        self.behind.append(key)

    def perform(self, act: Act, now: datetime) -> Outcome:
        key = step_of(act).key
        if not isinstance(act, Look) and self.chance.random() < 0.04:
            return Outcome(act=act, at=now, problem="the server said no")
        match act:
            case Apply() | RunHook() | CreateNamespace():
                written = self._write(key, hook=isinstance(act, RunHook))
                seen = written if self.chance.random() < 0.5 else None
                return Outcome(
                    act=act, at=now, uid=written.uid, resource_version=written.resource_version, seen=seen
                )
            case Prune():
                self._delete(key, act.expected.uid)
            case Clear(uid=uid, delete=delete):
                self._release(key, uid)
                if delete:
                    self._delete(key, uid)
            case Release(uid=uid):
                self._release(key, uid)
            case Discard(uid=uid):
                self._release(key, uid)
                self._delete(key, uid)
            case Look():
                found = self.objects.get(key)
                return Outcome(act=act, at=now, seen=found, known=self.chance.random() < 0.8)
            case Rehearse():
                pass
        return Outcome(act=act, at=now)

    def _write(self, key: ResourceKey, *, hook: bool) -> Live:
        found = self.objects.get(key)
        if found is None:
            self.made += 1
            self.creations.append(key)
            found = live_of(manifest(key.kind, key.name), key=key, uid=f"made-{self.made}", digest=b"")
        finalizers = (FINALIZER,) if hook else found.finalizers
        judged = key.kind in {"Job", "Deployment"}
        if judged:
            end = HEALTHY if self.chance.random() < 0.9 else DEGRADED
            self.courses[key] = [*[PROGRESSING] * self.chance.randint(0, 2), end]
        return self._put(replace(found, finalizers=finalizers, health=PROGRESSING if judged else None))

    def _release(self, key: ResourceKey, uid: str) -> None:
        found = self.objects.get(key)
        if found is not None and found.uid == uid:
            if found.deleting:
                self._remove(key)
            else:
                self._put(replace(found, finalizers=()))

    def _delete(self, key: ResourceKey, uid: str) -> None:
        found = self.objects.get(key)
        if found is not None and found.uid == uid:
            self._put(replace(found, deleting=True))

    def move_on(self) -> Change | None:
        """Let things happen until the cache tells of a change; None if nothing can happen any more."""
        while True:
            things = [("cache", key) for key in self.behind]
            things += [("course", key) for key, course in self.courses.items() if course]
            going = (live for live in self.objects.values() if live.deleting and not live.finalizers)
            things += [("gone", live.key) for live in going]
            if not things:
                return None
            what, key = self.chance.choice(sorted(things))
            if what == "gone":
                self._remove(key)
            elif what == "course":
                self._go_on(key)
            elif (change := self._show(key)) is not None:
                return change

    def _go_on(self, key: ResourceKey) -> None:
        health, found = self.courses[key].pop(0), self.objects[key]
        if not found.finalizers and self.chance.random() < 0.03:
            self._remove(key)
        else:
            self._put(replace(found, health=health))

    def _show(self, key: ResourceKey) -> Change | None:
        """The cache hears of one change, or of the last of several."""
        self.behind.remove(key)
        if key in self.behind:
            return None
        before, found = self.cache.pop(key, None), self.objects.get(key)
        if found is not None:
            self.cache[key] = found
        return Change(key, before, found)


class Tale:
    """One operation in such a cluster, and everything that was done."""

    def __init__(self, case: Case, operation: Operation, seed: int) -> None:
        self.case, self.operation = case, operation
        self.chance = random.Random(seed)
        self.sim = Sim(self.chance, case.view.lives)
        self.plan: SyncPlan = case.plan(operation)
        self.state = started(operation, "4f2c9e1a7b3d", NOON)
        self.now = NOON
        self.sightings: dict[ResourceKey, Sighting] = {}
        self.asks = Asks()
        self.done: Counter[tuple[str, ResourceKey, SyncPhase]] = Counter()
        self.recorded = self.state
        self.crashes = 0.0
        self.blind = self.chance.random() < 0.3

    def view(self, key: ResourceKey) -> Live | None:
        """The cache, which does not know the kind of one of the hooks."""
        return self.sim.cache.get(key) if key.name != "j0" or not self.blind else None

    def run(self) -> Done | Failed:
        for _ in range(600):
            facts = Facts(
                live=self.view,
                sightings=self.sightings,
                asks=self.asks,
                knows=lambda key: key.name != "j0" or not self.blind,
            )
            decided = progress(self.plan, self.state, facts, self.now)
            self.state = decided.state
            match decided.move:
                case Done() | Failed() as end:
                    return end
                case Next(acts=acts):
                    if crucial(self.state) != crucial(self.recorded):
                        self.recorded = self.state
                    if self.chance.random() < self.crashes:
                        self._crash(acts)
                    else:
                        self.do(acts)
                case Wait() as wait:
                    self.recorded = self.state
                    self.wait(wait)
        raise AssertionError(f"it goes round and round: {self.state.message}")

    def do(self, acts: tuple[Act, ...]) -> None:
        assert acts
        self.now += timedelta(milliseconds=50)
        outcomes = [self.sim.perform(act, self.now) for act in acts]
        for outcome in outcomes:
            step = step_of(outcome.act)
            self.done[(type(outcome.act).__name__, step.key, step.phase)] += 1
            if isinstance(outcome.act, Look):
                before = self.sightings.get(step.key)
                last = outcome.seen if outcome.known else (before.live if before else None)
                known = outcome.known or (before is not None and before.known)
                self.sightings[step.key] = Sighting(last, outcome.at, known)
            elif outcome.seen is not None:
                self.sightings[step.key] = Sighting(outcome.seen, outcome.at)
        self.state = folded(self.state, outcomes, dry_run=self.plan.dry_run)

    def _crash(self, acts: tuple[Act, ...]) -> None:
        """Do some of the acts, forget it, and go on from what was recorded, with a cache read anew."""
        for act in acts:
            if self.chance.random() < 0.5:
                self.sim.perform(act, self.now)
        for _ in range(self.chance.randint(0, 10)):
            self.sim.move_on()
        self.state = self.recorded
        self.sightings.clear()
        self.sim.behind.clear()
        self.sim.cache = dict(self.sim.objects)

    def wait(self, wait: Wait) -> None:
        assert wait.what
        if "consent" in wait.what:
            self.asks = replace(self.asks, approved_at=self.now)
            return
        while (change := self.sim.move_on()) is not None:
            if change.key in wait.keys and matters(change):
                return
        assert wait.until is not None, f"it stalls: {wait.what}"
        assert wait.until > self.now
        self.now = wait.until


WAVES = st.integers(-1, 1)
POLICIES = st.sampled_from(
    ["", "HookSucceeded", "HookFailed", "BeforeHookCreation,HookSucceeded", "HookSucceeded,HookFailed"]
)
HOOKS = st.sampled_from(["PreSync", "Sync", "PostSync", "SyncFail", "PreSync,PostSync"])


def deployment(name: str, wave: int) -> dict[str, Any]:
    return manifest("Deployment", name, api="apps/v1", annotations={"trimtab.dev/sync-wave": str(wave)})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    case = Case()
    for number in range(draw(st.integers(0, 3))):
        case.missing(deployment(f"d{number}", draw(WAVES)))
    for number in range(draw(st.integers(0, 3))):
        case.drifted(config_map(f"c{number}", wave=draw(WAVES)))
    for number in range(draw(st.integers(0, 3))):
        options = draw(st.sampled_from(["", "Prune=false", "Prune=confirm", "PruneLast=true"]))
        case.unwanted(config_map(f"u{number}", wave=draw(WAVES), options=options))
    if draw(st.integers(0, 9)) == 0:
        case.drifted(config_map("theirs", wave=draw(WAVES)), claimed_by=Mark("helm", "shop/web"))
    for number in range(draw(st.integers(0, 4))):
        hook = job(f"j{number}", hook=draw(HOOKS), policy=draw(POLICIES), wave=draw(WAVES))
        case.hook(hook)
        if draw(st.booleans()):
            left = live_of(hook, finalizers=(FINALIZER,), health=HEALTHY, deleting=draw(st.booleans()))
            case.view.lives[left.key] = left
    return case


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.booleans(), st.integers())
def test_it_never_stalls_and_never_acts_twice(case: Case, prune: bool, seed: int) -> None:  # noqa: FBT001 - drawn
    tale = Tale(case, Operation(prune=prune), seed)
    end = tale.run()
    twice = {what: count for what, count in tale.done.items() if count > 1 and what[0] != "Look"}
    assert twice == {}
    bad = [each for each in tale.state.results if each.phase.bad]
    assert isinstance(end, Failed) == bool(bad or any(run.problem for run in tale.state.hooks))
    planned = {(step.key, step.phase) for step in tale.plan.steps}
    assert {(each.key, each.sync_phase) for each in tale.state.results} <= planned
    if isinstance(end, Done):
        main = {(step.key, step.phase) for step in tale.plan.steps if step.phase is not SyncPhase.SYNC_FAIL}
        assert {(each.key, each.sync_phase) for each in tale.state.results} == main


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.integers())
def test_however_often_it_is_cut_off_it_ends_and_makes_no_hook_twice(case: Case, seed: int) -> None:
    tale = Tale(case, Operation(prune=True), seed)
    tale.crashes = 0.2
    tale.run()
    runs = Counter(step.key for step in tale.plan.steps if isinstance(step, RunHook))
    made = Counter(key for key in tale.sim.creations if key in runs)
    assert {key: count for key, count in made.items() if count > runs[key]} == {}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.integers(), st.integers(0, 12))
def test_it_ends_soon_and_holds_nothing_back_whenever_it_is_terminated(
    case: Case, seed: int, after: int
) -> None:
    tale = Tale(case, Operation(prune=True), seed)
    turns = 0

    def facts() -> Facts:
        asks = Asks(terminate=turns >= after, approved_at=NOON)
        return Facts(live=tale.sim.cache.get, sightings=tale.sightings, asks=asks)

    while turns < 400:
        decided = progress(tale.plan, tale.state, facts(), tale.now)
        tale.state = decided.state
        match decided.move:
            case Done() | Failed():
                break
            case Next(acts=acts):
                tale.do(acts)
            case Wait() as wait:
                assert not facts().asks.terminate, f"it waits although it should end: {wait.what}"
                tale.wait(wait)
        turns += 1
    kept = [run for run in tale.state.hooks if not run.released and not run.deleted]
    made = {(each.key, each.sync_phase): each for each in tale.state.results if each.hook and each.uid}
    assert [run for run in kept if (run.key, run.sync_phase) in made] == []


# -- one by one ------------------------------------------------------------------------------------------


def state_of(operation: Operation | None = None, **fields: Any) -> OperationState:
    return replace(started(operation or Operation(), "4f2c9e1a7b3d", NOON), **{"rehearsed": True, **fields})


def result(name: str, kind: str = "ConfigMap", group: str = "", **fields: Any) -> StepResult:
    told = {
        "key": ResourceKey(group, kind, "shop", name),
        "sync_phase": SyncPhase.SYNC,
        "status": StepStatus.SYNCED,
        "uid": f"uid-{name}",
        "resource_version": "20",
        "at": NOON,
    }
    return StepResult(**{**told, **fields})


def decide(plan: SyncPlan, state: OperationState, *lives: Live, now: datetime = NOON, **facts: Any) -> Any:
    view = {live.key: live for live in lives}
    return progress(plan, state, Facts(live=view.get, **facts), now)


WEB = deployment("web", 0)
WAVES_PLAN = Case().missing(WEB, config_map("late", wave=1)).plan()


@pytest.mark.parametrize(
    ("live", "waits"),
    [
        (live_of(WEB, resource_version="19", health=HEALTHY), True),
        (live_of(WEB, resource_version="20", health=HEALTHY), False),
        (live_of(WEB, resource_version="21", health=None), False),
        (live_of(WEB, resource_version="21", health=PROGRESSING), True),
        (live_of(WEB, resource_version="9", health=HEALTHY), True),
    ],
)
def test_an_object_is_healthy_only_if_the_cache_has_our_own_write(
    live: Live,
    waits: bool,  # noqa: FBT001 - a column of the table
) -> None:
    state = state_of(results=(result("web", "Deployment", "apps"),))
    assert isinstance(decide(WAVES_PLAN, state, live).move, Wait) is waits


@pytest.mark.fact("S10")
def test_an_object_that_the_cache_has_not_seen_is_asked_for_and_waited_for() -> None:
    state = state_of(results=(result("web", "Deployment", "apps"),))
    first = decide(WAVES_PLAN, state)
    assert first.move.until == NOON + timedelta(seconds=2)
    later = NOON + timedelta(seconds=2)
    asked = decide(WAVES_PLAN, state, now=later)
    assert [type(act) for act in asked.move.acts] == [Look]
    key = key_of(WEB)
    there = {key: Sighting(live_of(WEB, resource_version="20", health=PROGRESSING), later)}
    still = decide(WAVES_PLAN, state, now=later, sightings=there)
    assert (still.move.keys, still.move.until) == (frozenset({key}), later + timedelta(seconds=2))


@pytest.mark.fact("S9")
@pytest.mark.parametrize(
    ("lives", "sighting"),
    [
        ((), Sighting(None, NOON + timedelta(seconds=3))),
        ((live_of(WEB, uid="another", resource_version="30"),), None),
    ],
)
def test_an_object_that_is_gone_or_replaced_fails_its_step(
    lives: tuple[Live, ...], sighting: Sighting | None
) -> None:
    state = state_of(results=(result("web", "Deployment", "apps"),))
    sightings = {key_of(WEB): sighting} if sighting else {}
    decided = decide(WAVES_PLAN, state, *lives, sightings=sightings)
    assert isinstance(decided.move, Failed)
    found = decided.state.results[0]
    assert (found.status, found.phase) == (StepStatus.SYNC_FAILED, StepPhase.ERROR)


@pytest.mark.fact("S19")
def test_consent_counts_only_if_it_came_after_the_start_and_only_where_pruning_is_on() -> None:
    case = Case().unwanted(config_map("a", options="Prune=confirm")).missing(config_map("b"))
    asked = Operation(prune=True)
    plan, live = case.plan(asked), case.view.lives[key_of(config_map("a"))]
    early = replace(asked, deletions_approved_at=NOON - timedelta(seconds=1))
    late = replace(asked, deletions_approved_at=NOON)
    assert isinstance(decide(plan, state_of(asked), live).move, Wait)
    assert isinstance(decide(plan, state_of(early), live).move, Wait)
    assert [type(act) for act in decide(plan, state_of(late), live).move.acts] == [Prune]
    off = case.plan(Operation())
    assert [type(act) for act in decide(off, state_of(), live).move.acts] == [Apply]


@pytest.mark.fact("S36")
def test_a_hook_that_somebody_else_has_deleted_is_simply_made() -> None:
    case = Case().hook(job("pre"))
    left = live_of(job("pre"))
    case.view.lives[left.key] = left
    plan = case.plan()
    first = decide(plan, state_of(), left)
    assert [type(act) for act in first.move.acts] == [Clear]
    after = decide(plan, first.state)
    assert [type(act) for act in after.move.acts] == [RunHook]


def test_a_hook_made_before_a_restart_is_known_again_and_an_older_one_is_not() -> None:
    case = Case().hook(job("pre"))
    old = live_of(job("pre"), uid="old")
    plan = case.plan()
    begun = decide(plan, state_of(), old).state
    assert [run.replaces for run in begun.hooks] == ["old"]
    mine = live_of(job("pre"), uid="mine", resource_version="30", health=PROGRESSING)
    again = decide(plan, begun, mine)
    assert isinstance(again.move, Wait)
    assert [each.uid for each in again.state.results] == ["mine"]
    still = decide(plan, begun, old)
    assert [type(act) for act in still.move.acts] == [Clear]


def test_where_the_cache_does_not_know_the_server_is_asked_what_stands_under_a_hooks_name() -> None:
    plan, key, old = Case().hook(job("pre")).plan(), key_of(job("pre")), live_of(job("pre"), uid="old")

    def asked(state: OperationState, seconds: int, *sightings: Sighting) -> Any:
        known = dict.fromkeys([key], sightings[0]) if sightings else {}
        return decide(
            plan, state, now=NOON + timedelta(seconds=seconds), sightings=known, knows=lambda _: False
        )

    first = asked(state_of(), 0)
    assert [type(act) for act in first.move.acts] == [Look]
    silent = asked(state_of(), 1, Sighting(None, NOON, known=False))
    assert silent.move.until == NOON + timedelta(seconds=2)
    assert "whether there is Job.batch shop/pre" in silent.move.what
    told = asked(state_of(), 0, Sighting(old, NOON))
    assert [(type(act), act.uid, act.delete) for act in told.move.acts] == [(Clear, "old", True)]
    cleared = folded(told.state, [Outcome(act=told.move.acts[0], at=NOON)])
    going = asked(cleared, 1, Sighting(old, NOON))
    assert going.move.until == NOON + timedelta(seconds=2)
    again = asked(cleared, 2, Sighting(old, NOON))
    assert [type(act) for act in again.move.acts] == [Look]
    gone = asked(cleared, 2, Sighting(None, NOON + timedelta(seconds=2)))
    assert gone.move.acts == plan.steps


def test_what_is_about_to_be_done_is_part_of_the_state_before_it_is_done() -> None:
    case = Case().missing(config_map("a"), WEB).hook(job("during", hook="Sync"))
    decided = decide(case.plan(), state_of())
    assert [key.name for key in decided.state.begun] == ["a", "web"]
    assert [run.key.name for run in decided.state.hooks] == ["during"]
    plan = case.plan(options=SyncOptions(create_namespace=True), namespace=Namespace(name="shop"))
    assert [str(key) for key in decide(plan, state_of()).state.begun] == ["Namespace shop"]


@pytest.mark.parametrize(
    ("live", "reason"),
    [
        (live_of(config_map("a"), uid="another"), "another object has taken its name"),
        (live_of(config_map("a"), digest=b"other"), "it was changed"),
        (None, "is gone"),
        (live_of(config_map("a")), ""),
    ],
)
def test_a_plan_that_was_agreed_to_is_kept_to_exactly(live: Live | None, reason: str) -> None:
    case = Case().drifted(config_map("a"))
    asked = Operation(plan_digest=case.plan().digest)
    decided = decide(case.plan(asked), state_of(asked), *([live] if live else []))
    told = "; ".join(each.message for each in decided.state.results)
    assert reason in told
    assert isinstance(decided.move, Failed) is bool(reason)


def test_another_plan_than_the_one_agreed_to_is_not_begun() -> None:
    asked = Operation(plan_digest="0123456789abcdef")
    decided = decide(Case().missing(config_map("a")).plan(asked), state_of(asked))
    assert decided.move == Failed(
        message="the plan that was agreed to is not what would be done now: "
        f"agreed to was 0123456789ab, now it is {decided.state.plan[:12]}",
        again=False,
    )


def test_an_agreed_plan_tolerates_its_own_earlier_writes() -> None:
    case = Case().drifted(config_map("a"))
    asked = Operation(plan_digest=case.plan().digest)
    mine = live_of(config_map("a"), digest=b"as we wrote it")
    begun = state_of(asked, plan=asked.plan_digest, begun=(mine.key,))
    assert isinstance(decide(case.plan(asked), begun, mine).move, Next)


def test_a_prune_never_hits_an_object_that_took_the_name_of_another() -> None:
    case = Case().unwanted(config_map("a"))
    asked = Operation(prune=True)
    decided = decide(case.plan(asked), state_of(asked), live_of(config_map("a"), uid="another"))
    assert isinstance(decided.move, Failed)
    assert "another object has taken its name" in decided.move.message


def test_a_prune_that_must_not_be_done_stops_its_wave() -> None:
    case = Case().unwanted(config_map("a")).missing(config_map("b"))
    asked = Operation(prune=True)
    decided = decide(case.plan(asked), state_of(asked), live_of(config_map("a"), uid="another"))
    assert isinstance(decided.move, Failed)
    assert [each.key.name for each in decided.state.results] == ["a"]


def test_an_object_that_is_going_already_is_not_deleted_again() -> None:
    case = Case().unwanted(config_map("a"))
    asked = Operation(prune=True)
    decided = decide(case.plan(asked), state_of(asked), live_of(config_map("a"), deleting=True))
    assert isinstance(decided.move, Done)
    assert [each.status for each in decided.state.results] == [StepStatus.PRUNED]


def test_whoever_waits_for_a_deletion_names_what_is_held_and_by_whom() -> None:
    first, held = config_map("a", wave=1), config_map("b", wave=1)
    case, asked = Case().unwanted(config_map("last"), first, held), Operation(prune=True)
    pruned = tuple(result(name, status=StepStatus.PRUNED, phase=StepPhase.SUCCEEDED) for name in ("a", "b"))
    going = {"deleting": True, "finalizers": ("foregroundDeletion",)}
    free = live_of(first, uid="uid-a", **going)
    kept = live_of(held, uid="uid-b", **{**going, "finalizers": ("foregroundDeletion", "example.com/slow")})
    last = case.view.lives[key_of(config_map("last"))]
    waits = [
        decide(case.plan(asked), state_of(asked, results=pruned), last, *left).move.what
        for left in ([free, kept], [kept], [free])
    ]
    assert waits == [
        "waiting for deletion of ConfigMap shop/b (held by example.com/slow) and 1 more object",
        "waiting for deletion of ConfigMap shop/b (held by example.com/slow)",
        "waiting for deletion of ConfigMap shop/a",
    ]


@pytest.mark.fact("S11")
def test_a_failed_prune_stops_its_wave_and_a_failed_apply_does_not() -> None:
    case = Case().unwanted(config_map("u")).missing(config_map("a"), WEB)
    plan, live = case.plan(Operation(prune=True)), case.view.lives[key_of(config_map("u"))]
    failed = result("u", status=StepStatus.SYNC_FAILED, phase=StepPhase.FAILED, message="no")
    assert isinstance(decide(plan, state_of(results=(failed,)), live).move, Failed)
    pruned = result("u", status=StepStatus.PRUNED, phase=StepPhase.SUCCEEDED)
    refused = result("a", status=StepStatus.SYNC_FAILED, phase=StepPhase.FAILED, message="no")
    moved = decide(plan, state_of(results=(pruned, refused))).move
    assert [act.key.name for act in moved.acts] == ["web"]


@pytest.mark.fact("S11")
def test_a_deletion_that_the_server_refuses_fails_the_operation_in_its_words() -> None:
    case, asked = Case().unwanted(config_map("u")), Operation(prune=True)
    plan, live = case.plan(asked), case.view.lives[key_of(config_map("u"))]
    (step,) = plan.steps
    assert isinstance(step, Prune)
    refused = folded(state_of(asked), [Outcome(act=step, at=NOON, problem="held by law")])
    decided = decide(plan, refused, live)
    assert isinstance(decided.move, Failed)
    assert decided.move.message == f"{step.key}: held by law"


def test_a_definition_is_waited_for_until_its_kind_is_served_but_not_for_ever() -> None:
    crd = manifest(
        "CustomResourceDefinition",
        "widgets.example.com",
        api="apiextensions.k8s.io/v1",
        spec={"group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}},
    )
    plan = Case().missing(crd, manifest("Widget", "w", api="example.com/v1")).plan()
    wrote = StepResult(key=key_of(crd), sync_phase=SyncPhase.SYNC, status=StepStatus.SYNCED, at=NOON)
    state, unready = state_of(results=(wrote,)), live_of(crd, health=PROGRESSING)
    waits = decide(plan, state, unready).move
    assert (waits.keys, waits.until) == (frozenset({unready.key}), NOON + timedelta(seconds=10))
    for live, now in ((live_of(crd, health=HEALTHY), NOON), (unready, NOON + timedelta(seconds=10))):
        assert [act.key.name for act in decide(plan, state, live, now=now).move.acts] == ["w"]


def test_a_time_limit_bounds_every_wait() -> None:
    asked = Operation(timeout=timedelta(seconds=60))
    state = state_of(asked, results=(result("web", "Deployment", "apps"),))
    live = live_of(WEB, resource_version="20", health=PROGRESSING)
    assert decide(WAVES_PLAN, state, live).move.until == NOON + timedelta(seconds=60)
    ended = decide(WAVES_PLAN, state, live, now=NOON + timedelta(seconds=60))
    assert ended.move == Failed(message="the operation took longer than 0:01:00", again=False)


def test_it_says_since_when_it_waits() -> None:
    state = state_of(results=(result("web", "Deployment", "apps"),))
    live = live_of(WEB, resource_version="20", health=PROGRESSING)
    first = decide(WAVES_PLAN, state, live)
    later = decide(WAVES_PLAN, first.state, live, now=NOON + timedelta(seconds=9))
    assert (first.state.waiting_since, later.state.waiting_since) == (NOON, NOON)
    assert later.state.message == "waiting for healthy state of Deployment.apps shop/web"


def test_asking_the_server_in_between_does_not_end_a_wait() -> None:
    state = state_of(results=(result("web", "Deployment", "apps"),))
    first = decide(WAVES_PLAN, state)
    asked = decide(WAVES_PLAN, first.state, now=NOON + timedelta(seconds=2))
    assert isinstance(asked.move, Next)
    assert (asked.state.message, asked.state.waiting_since) == (first.state.message, NOON)


def test_consent_becomes_part_of_the_state() -> None:
    case = Case().unwanted(config_map("a", options="Prune=confirm"))
    plan, live = case.plan(Operation(prune=True)), case.view.lives[key_of(config_map("a"))]
    decided = decide(plan, state_of(Operation(prune=True)), live, asks=Asks(approved_at=NOON))
    assert isinstance(decided.move, Next)
    assert decided.state.operation.deletions_approved_at == NOON


# -- the end of an attempt -------------------------------------------------------------------------------


@pytest.mark.fact("A10")
def test_the_first_retry_waits_as_long_as_was_asked_and_the_later_ones_longer() -> None:
    limits = RetryLimits(limit=-1, wait=timedelta(seconds=5), factor=2, longest=timedelta(seconds=30))
    state = state_of(Operation(retry=limits))
    assert [retry_wait(state, count).total_seconds() for count in (1, 2, 3, 4, 99999)] == [5, 10, 20, 30, 30]


@pytest.mark.fact("A9", "A10")
def test_a_failed_attempt_is_followed_by_another_while_there_are_any() -> None:
    state = state_of(Operation(retry=RetryLimits(limit=1)), results=(result("a"),), begun=(result("a").key,))
    again = closed(state, Failed(message="no"), NOON)
    assert (again.phase, again.retry_count, again.retry_at) == (
        OperationPhase.RUNNING,
        1,
        NOON + timedelta(seconds=5),
    )
    assert again.message == "no. Attempt 2 starts at 12:00:05 UTC."
    second = next_attempt(again, NOON + timedelta(seconds=5))
    assert (second.results, second.begun, second.retry_at, second.retry_count) == ((), (), None, 1)
    over = closed(second, Failed(message="no"), NOON)
    assert (over.phase, over.finished_at, over.retry_at) == (OperationPhase.FAILED, NOON, None)


@pytest.mark.fact("A11")
def test_what_is_being_terminated_is_not_tried_again() -> None:
    state = state_of(Operation(retry=RetryLimits(limit=5)), phase=OperationPhase.TERMINATING)
    assert closed(state, Failed(message="no"), NOON).phase is OperationPhase.FAILED


@pytest.mark.parametrize(
    ("operation", "end"),
    [
        (Operation(retry=RetryLimits(limit=5)), Failed(message="no", again=False)),
        (Operation(retry=RetryLimits(limit=5), dry_run=True), Failed(message="no")),
        (Operation(retry=RetryLimits(limit=5), timeout=timedelta(seconds=4)), Failed(message="no")),
    ],
)
def test_some_failures_are_final(operation: Operation, end: Failed) -> None:
    assert closed(state_of(operation), end, NOON).phase is OperationPhase.FAILED


@pytest.mark.fact("S46")
def test_the_same_cause_of_failure_is_told_once() -> None:
    bad = [result(name, phase=StepPhase.FAILED, message="quota exceeded") for name in "abc"]
    other = result("d", phase=StepPhase.FAILED, message="not allowed")
    assert (
        causes([*bad, other]) == "ConfigMap shop/a and 2 more: quota exceeded; ConfigMap shop/d: not allowed"
    )
    many = [result(f"n{number}", message=f"cause {number}") for number in range(12)]
    assert causes(many).endswith("; and 2 more causes")


@pytest.mark.fact("S2", "S5")
def test_a_refused_object_fails_the_operation_with_the_reason_and_the_others_of_its_wave_go_on() -> None:
    widget = manifest("Widget", "w", api="example.com/v1")
    plan = Case().missing(widget, config_map("a"), config_map("late", wave=1)).plan()
    first = decide(plan, state_of())
    assert [act.key.name for act in first.move.acts] == ["a"]
    written = folded(first.state, [Outcome(act=first.move.acts[0], at=NOON, uid="uid-a")])
    decided = decide(plan, written)
    assert isinstance(decided.move, Failed)
    assert "serves no Widget" in decided.move.message
    assert {each.key.name: each.status for each in decided.state.results} == {
        "a": StepStatus.SYNCED,
        "w": StepStatus.SYNC_FAILED,
    }


def test_what_blocks_a_sync_lets_nothing_be_written() -> None:
    case = Case().missing(config_map("a"))
    going = live_of(manifest("Namespace", "shop"), deleting=True)
    case.view.lives[going.key] = going
    plan = case.plan(options=SyncOptions(create_namespace=True), namespace=Namespace(name="shop"))
    decided = decide(plan, state_of())
    assert decided.move == Failed(
        message="Namespace shop: the namespace is being deleted. Wait until it is gone."
    )


def test_results_keep_the_order_in_which_objects_were_first_touched() -> None:
    plan = Case().missing(config_map("a"), config_map("b")).plan()
    first, second = (step for step in plan.steps if isinstance(step, Apply))
    state = folded(state_of(), [Outcome(act=second, at=NOON), Outcome(act=first, at=NOON)])
    again = folded(state, [Outcome(act=first, at=NOON, problem="no")])
    assert [(each.key.name, each.order) for each in again.results] == [("b", 1), ("a", 2)]

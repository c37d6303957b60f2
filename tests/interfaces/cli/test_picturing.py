"""A sync as lines: which waves are over, what the one under way waits for, and why."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from trimtab.engine.events import OperationWaits, StepDone
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Live
from trimtab.engine.operations import StepStatus, SyncPhase
from trimtab.engine.rows import Verdict
from trimtab.engine.sync.steps import Apply, Body, Expected, Prune, RunHook, Step, SyncPlan
from trimtab.engine.units import Destination, ResourceSummary, SyncUnit, UnitStatus
from trimtab.interfaces.cli.picturing import Line, Mark, Picture
from trimtab.resources.keys import ResourceKey

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MIGRATE = ResourceKey("batch", "Job", "shop", "migrate")
SETTINGS = ResourceKey("", "ConfigMap", "shop", "settings")
WEB = ResourceKey("apps", "Deployment", "shop", "web")
OLD = ResourceKey("", "Service", "shop", "old")
SLOW = Health(HealthStatus.PROGRESSING, "1 of 2 updated replicas are available")


def apply(key: ResourceKey, wave: int) -> Apply:
    return Apply(
        key=key, phase=SyncPhase.SYNC, wave=wave, why="missing", api_version="v1", body=Body({}), content=""
    )


def plan(*more: Step) -> SyncPlan:
    hook = RunHook(
        key=MIGRATE,
        phase=SyncPhase.PRE_SYNC,
        wave=0,
        why="PreSync hook",
        api_version="batch/v1",
        body=Body({}),
        content="",
        policies=(),
        finalizer="",
    )
    steps = (hook, apply(SETTINGS, 0), apply(WEB, 1), *more)
    return SyncPlan(unit="shop", revision="1", render="", steps=steps, digest="")


def done(key: ResourceKey, phase: SyncPhase = SyncPhase.SYNC, problem: str = "") -> StepDone:
    status = StepStatus.SYNC_FAILED if problem else StepStatus.SYNCED
    hook, words = phase is not SyncPhase.SYNC, problem or "created"
    return StepDone(at=NOW, unit="shop", key=key, phase=phase, status=status, hook=hook, message=words)


def waits(message: str) -> OperationWaits:
    return OperationWaits(at=NOW, unit="shop", message=message)


def live(health: Health | None, key: ResourceKey = WEB) -> Live:
    return Live(key=key, api_version="apps/v1", uid="1", resource_version="1", health=health)


def unit(health: Health) -> SyncUnit:
    summary = ResourceSummary(key=WEB, version="v1", verdict=Verdict.SYNCED, health=health)
    plain = ResourceSummary(key=SETTINGS, version="v1", verdict=Verdict.SYNCED)
    status = UnitStatus(health=health, resources=(plain, summary))
    return SyncUnit(id="shop", source={}, destination=Destination(cluster="here"), status=status)


def shown(picture: Picture) -> list[tuple[Mark, str]]:
    return [(line.mark, " ".join(line.text.split())) for line in picture.lines(1.25)[:-1]]


def test_before_anything_is_done_the_first_wave_is_under_way_and_the_rest_comes_later() -> None:
    picture = Picture(plan())
    assert not picture.has_news
    assert shown(picture) == [
        (Mark.ACTIVE, "PreSync wave 0 0 of 1"),
        (Mark.LATER, "Sync wave 0 0 of 1"),
        (Mark.LATER, "Sync wave 1 0 of 1"),
    ]
    picture.hear(waits("waiting for the kind"))
    assert picture.has_news


def test_the_wave_under_way_says_what_it_waits_for_and_why() -> None:
    picture = Picture(plan())
    for event in (done(MIGRATE, SyncPhase.PRE_SYNC), done(SETTINGS), done(WEB), waits("waiting for web")):
        picture.hear(event)
    picture.see(live(SLOW))
    picture.see(live(SLOW, key=OLD))  # not ours
    assert shown(picture) == [
        (Mark.DONE, "PreSync wave 0 1 of 1"),
        (Mark.DONE, "Sync wave 0 1 of 1"),
        (Mark.ACTIVE, "Sync wave 1 1 of 1 waiting for web"),
        (Mark.NOTE, f"Deployment.apps shop/web Progressing: {SLOW.message}"),
    ]


def test_what_is_done_next_ends_the_wait() -> None:
    picture = Picture(plan())
    for event in (done(MIGRATE, SyncPhase.PRE_SYNC), waits("waiting for the hook"), done(SETTINGS)):
        picture.hear(event)
    assert shown(picture)[1] == (Mark.ACTIVE, "Sync wave 0 1 of 1")


def test_a_wave_with_a_failure_names_it() -> None:
    picture = Picture(plan())
    picture.hear(done(MIGRATE, SyncPhase.PRE_SYNC, problem="forbidden"))
    assert shown(picture)[:2] == [
        (Mark.FAILED, "PreSync wave 0 1 of 1"),
        (Mark.FAILED, "Job.batch shop/migrate: forbidden"),
    ]


def test_what_is_kept_is_not_counted() -> None:
    kept = Prune(
        key=OLD,
        phase=SyncPhase.SYNC,
        wave=2,
        why="no longer declared",
        api_version="v1",
        expected=Expected(),
        skip="no longer declared (requires pruning)",
    )
    assert shown(Picture(plan(kept))) == shown(Picture(plan()))


def test_after_the_operation_only_health_is_waited_for() -> None:
    picture = Picture(plan())
    for event in (done(MIGRATE, SyncPhase.PRE_SYNC), done(SETTINGS), done(WEB)):
        picture.hear(event)
    picture.end()
    picture.look(unit(SLOW))
    assert shown(picture)[2:] == [
        (Mark.DONE, "Sync wave 1 1 of 1"),
        (Mark.ACTIVE, "Health 0 of 1"),
        (Mark.NOTE, f"Deployment.apps shop/web Progressing: {SLOW.message}"),
    ]
    nearly = Health(HealthStatus.PROGRESSING, "1 old replica is pending termination")
    picture.see(live(nearly))  # which alone has nobody look at the app again
    assert shown(picture)[-1] == (Mark.NOTE, f"Deployment.apps shop/web Progressing: {nearly.message}")
    picture.see(live(Health(HealthStatus.HEALTHY)))
    picture.look(unit(Health(HealthStatus.HEALTHY)))
    assert shown(picture)[3:] == [(Mark.DONE, "Health 1 of 1")]
    assert picture.lines(1.25)[-1] == Line(Mark.NOTE, "1.2 s")
    assert picture.counts() == "2 applied, 1 hook"


def test_without_a_plan_waves_are_not_told_apart() -> None:
    picture = Picture()
    picture.say("ann works on this app; waiting")
    assert shown(picture) == [(Mark.ACTIVE, "ann works on this app; waiting")]
    picture.hear(done(SETTINGS))
    picture.hear(done(WEB))
    assert shown(picture) == [(Mark.ACTIVE, "Sync 2 of 2")]


def test_what_the_server_warned_of_is_kept_for_the_end() -> None:
    picture = Picture()
    warned = "created; warning: policy/v1beta1 is deprecated; warning: unknown field"
    picture.hear(msgspec.structs.replace(done(WEB), message=warned))
    assert picture.warnings() == [f"{WEB}: policy/v1beta1 is deprecated", f"{WEB}: unknown field"]

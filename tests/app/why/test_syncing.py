"""Causes between a commit and the cluster, from recorded operations and plans of many shapes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from trimtab.app.why.chain import Answer, answer_from
from trimtab.app.why.facts import Facts, Said, Seen
from trimtab.engine.compare.matching import Finding, FindingKind
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    OperationState,
    StepPhase,
    StepResult,
    StepStatus,
    SyncPhase,
)
from trimtab.engine.rows import Desired, Difference, Row, Verdict
from trimtab.engine.sync.steps import Expected, Prune, Refused, SyncPlan
from trimtab.engine.units import Destination, Pause, Pin, SyncUnit, UnitStatus
from trimtab.resources.keys import ResourceKey

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEB = ResourceKey("apps", "Deployment", "shop", "web")
POD = ResourceKey("", "Pod", "shop", "web-1")
UNIT = SyncUnit(id="shop", source={}, destination=Destination(cluster="here", namespace="shop"))


def result(**more: Any) -> StepResult:
    return StepResult(**{"key": WEB, "sync_phase": SyncPhase.SYNC, "status": StepStatus.SYNC_FAILED, **more})


def state(*results: StepResult, phase: OperationPhase = OperationPhase.FAILED, **more: Any) -> OperationState:
    words = {"message": "it went wrong", "revision": "4f2c", **more}
    return OperationState(operation=Operation(), started_at=NOON, phase=phase, results=results, **words)


def row(verdict: Verdict = Verdict.OUT_OF_SYNC, **more: Any) -> Row:
    live = Live(key=WEB, api_version="apps/v1", uid="u", resource_version="1")
    desired = Desired(key=WEB, api_version="apps/v1", manifest={}, digest=b"")
    return Row(**{"key": WEB, "desired": desired, "live": live, "verdict": verdict, **more})


def plan(*steps: Prune, refused: tuple[Refused, ...] = ()) -> SyncPlan:
    return SyncPlan(unit="shop", revision="4f2c", render="", steps=steps, digest="", refused=refused)


def prune(**more: Any) -> Prune:
    return Prune(
        key=WEB, phase=SyncPhase.SYNC, wave=0, why="", api_version="apps/v1", expected=Expected(), **more
    )


def facts(known: OperationState | None = None, **more: Any) -> Facts:
    unit = replace(UNIT, status=UnitStatus(operation_state=known))
    words = {"about": "app shop", "now": NOON, "unit": unit, "is_synced": False, "rows": (row(),)}
    return Facts(**{**words, **more})


def told(answer: Answer) -> list[str]:
    return [chain.cause for chain in answer.chains]


BAD = StepPhase.FAILED
DEGRADED = Seen(
    key=WEB, uid="u", manifest={}, health=Health(HealthStatus.DEGRADED, "exceeded its progress deadline")
)


@pytest.mark.parametrize(
    ("known", "causes"),
    [
        (facts(state(result(phase=BAD, message="spec.selector: Required value"))), ["refused"]),
        (facts(state(result(phase=BAD, message="exceeded quota: few, requested: pods=1"))), ["quota"]),
        (
            facts(state(result(phase=BAD, message="it was changed since the plan was made"))),
            ["precondition-moved"],
        ),
        (facts(state(result(phase=BAD, hook=True, status=StepStatus.SYNCED))), ["hook-failed"]),
        (facts(state(result(phase=BAD, hook=True, message="Required value"))), ["refused"]),
        # It was written, and did not become healthy: what it is tells more than that the wave failed.
        (
            facts(state(result(phase=BAD, status=StepStatus.SYNCED)), family={WEB: DEGRADED}, rows=(row(),)),
            ["unwell"],
        ),
        # Somebody has mended by hand what the sync could not write.
        (
            facts(state(result(phase=BAD)), rows=(row(Verdict.SYNCED),), is_synced=True),
            [],
        ),
        (facts(state()), ["sync-failed"]),
        (
            facts(state(message="the plan that was agreed to is not what would be done now: 1, 2")),
            ["precondition-moved"],
        ),
        (facts(rows=(row(problem="jq: it does not compile"),)), ["refused"]),
        (facts(plan=plan(refused=(Refused(key=WEB, reason="the namespace is being deleted"),))), ["refused"]),
        (facts(plan=plan(prune()), rows=()), ["not-pruned"]),
        (facts(plan=plan(prune(skip="ignored (no prune)")), rows=()), ["not-pruned"]),
        (facts(plan=plan(prune(hold="everything in it goes with it")), rows=()), ["prune-held"]),
        (facts(), ["not-synced"]),
    ],
)
def test_each_record_tells_its_cause(known: Facts, causes: list[str]) -> None:
    assert told(answer_from(known)) == causes


FOREIGN = Difference(path="/data/a", desired="1", live="2", manager="kubectl-edit", rule="changed")
RESUMED = "trimtab resume shop && trimtab sync shop"
#: facts whose remedy is a sync, and what that is on an app that is pinned to its entry 3
REMEDIES: list[tuple[str, Facts, str]] = [
    (
        "foreign-owner",
        facts(rows=(row(claimed_by=Mark("flux", "apps/shop")),)),
        f"Release it there, or take it over: {RESUMED} --adopt",
    ),
    (
        "precondition-moved",
        facts(state(result(phase=BAD, message="it was changed since the plan was made"))),
        "Plan anew, with what is there now: trimtab rollback shop 3",
    ),
    (
        "hook-failed",
        facts(state(result(phase=BAD, hook=True, status=StepStatus.SYNCED))),
        f"Mend what it runs, see its pods' logs, and sync again: {RESUMED}",
    ),
    (
        "prune-held",
        facts(plan=plan(prune(hold="everything in it goes with it")), rows=()),
        "If it is meant: trimtab rollback shop 3 --prune --confirm-deletions; else put it back",
    ),
    ("not-pruned", facts(plan=plan(prune()), rows=()), "Delete it: trimtab rollback shop 3 --prune"),
    ("interrupted", facts(state(phase=OperationPhase.RUNNING)), "Finish it: trimtab rollback shop 3"),
    (
        "field-owner",
        facts(rows=(row(differences=(FOREIGN,)),)),
        "Put it back: trimtab rollback shop 3; or leave the field to them: take it out of the source",
    ),
    ("not-synced", facts(), "Bring it there: trimtab rollback shop 3"),
]


@pytest.mark.parametrize(("cause", "known", "remedy"), REMEDIES, ids=[each[0] for each in REMEDIES])
def test_a_pinned_app_is_never_told_to_be_synced_while_the_pin_would_refuse_that(
    cause: str, known: Facts, remedy: str
) -> None:
    assert known.unit is not None
    pinned = replace(known, unit=replace(known.unit, pinned=Pin(entry=3, revision="4f2c")))
    chains = {chain.cause: chain for chain in answer_from(pinned).chains}
    assert chains[cause].remedy == remedy
    paused = replace(known, unit=replace(known.unit, paused=Pause(by="ann")))
    for chain in answer_from(paused).chains:
        assert "trimtab sync" not in chain.remedy.replace(RESUMED, "")
        assert "trimtab rollback" not in chain.remedy


def test_a_kind_that_nobody_serves_is_told_once_however_often_it_was_refused() -> None:
    unknown = Finding(
        kind=FindingKind.UNKNOWN_KIND, subject=str(WEB), reason="no such kind", remedy="", key=WEB
    )
    reason = "the server serves no Deployment in apps/v1"
    answer = answer_from(
        Facts(
            about="app shop",
            now=NOON,
            unit=replace(UNIT, status=UnitStatus(operation_state=state(result(message=reason)))),
            is_synced=False,
            findings=(unknown,),
            rows=(row(live=None),),
            plan=plan(refused=(Refused(key=WEB, reason=reason),)),
        )
    )
    assert [chain.cause for chain in answer.chains] == ["bad-manifest"]


def test_a_sync_that_was_asked_for_and_not_begun_is_not_forgotten() -> None:
    asked = replace(UNIT, operation=Operation(asked_by="ann"))
    assert told(answer_from(facts(unit=asked))) == ["interrupted"]
    assert told(answer_from(facts(unit=asked, holder="ann@here"))) == ["wave-waits"]


def test_what_is_not_well_is_never_called_well() -> None:
    answer = answer_from(facts(rows=(), standing="is Unknown and Healthy at 4f2c"))
    assert (told(answer), answer.sentence) == (["unexplained"], "App shop is Unknown and Healthy at 4f2c.")
    degraded = facts(rows=(), is_synced=True, health=Health(HealthStatus.DEGRADED, "sad"))
    assert told(answer_from(degraded)) == ["unexplained"]
    assert answer_from(facts(rows=(), is_synced=True)).well


def test_what_is_tried_again_says_so_with_the_time() -> None:
    waiting = state(
        result(phase=BAD, message="exceeded quota: few, requested: pods=1"),
        phase=OperationPhase.RUNNING,
        message="no room. Attempt 2 starts at 12:00:05 UTC.",
        retry_at=NOON,
    )
    answer = answer_from(facts(waiting, holder="runner-1"))
    assert told(answer) == ["quota"]
    operation = answer.chains[0].links[1]
    assert operation.what == "failed, and is tried again: no room. Attempt 2 starts at 12:00:05 UTC."
    assert operation.evidence == "runner-1 carries it on"


NO_ROOM = 'pods "web" is forbidden: exceeded quota: few, requested: pods=1, used: pods=4, limited: pods=4'


@pytest.mark.parametrize(
    ("kind", "spec", "status", "cause"),
    [
        ("ReplicaSet", {"replicas": 2}, {"replicas": 1}, "quota"),
        ("ReplicaSet", {"replicas": 2}, {"replicas": 2}, "unwell"),
        ("StatefulSet", {}, {}, "quota"),
        ("DaemonSet", {}, {"desiredNumberScheduled": 3, "currentNumberScheduled": 2}, "quota"),
        ("DaemonSet", {}, {"desiredNumberScheduled": 3, "currentNumberScheduled": 3}, "unwell"),
        ("Job", {}, {"failed": 1}, "quota"),
        ("Job", {}, {"active": 1}, "unwell"),
        ("Deployment", {"replicas": 2}, {}, "unwell"),
        ("ReplicaSet", {"replicas": "two"}, {}, "unwell"),
    ],
)
def test_what_controllers_said_counts_only_while_they_lack_pods(
    kind: str, spec: Any, status: Any, cause: str
) -> None:
    key = ResourceKey("apps", kind, "shop", "web")
    seen = Seen(key=key, uid="w", manifest={"spec": spec, "status": status}, health=DEGRADED.health)
    said = Said(uid="w", reason="FailedCreate", message=NO_ROOM, is_warning=True, last=NOON)
    answer = answer_from(facts(rows=(), family={key: seen}, events=(said, said)))
    assert [(chain.cause, chain.more) for chain in answer.chains] == [(cause, 0)]


def test_a_pod_that_cannot_be_started_is_explained_by_its_newest_event() -> None:
    pending = Seen(key=POD, uid="p", manifest={"status": {"phase": "Pending"}}, parent=WEB)
    events = tuple(
        Said(uid="p", reason="FailedMount", message=words, is_warning=True, last=NOON.replace(minute=minute))
        for minute, words in ((5, 'secret "token" not found'), (1, "timed out"))
    )
    answer = answer_from(facts(rows=(), family={WEB: DEGRADED, POD: pending}, events=events))
    assert told(answer) == ["cannot-start"]
    assert answer.chains[0].links[-1].evidence == 'FailedMount: secret "token" not found'
    running = replace(pending, manifest={"status": {"phase": "Running"}})
    later = answer_from(facts(rows=(), family={WEB: DEGRADED, POD: running}, events=events))
    assert told(later) == ["unwell"]


def test_a_deletion_that_failed_is_not_called_a_sync() -> None:
    failed = state(result(message="no", phase=BAD))
    going = replace(failed, operation=Operation(delete=True, asked_by="trimtab delete"))
    named = [answer_from(facts(each)).chains[0].links[1].object for each in (failed, going)]
    assert named == ["its sync to 4f2c", "its deletion (by trimtab delete)"]


def test_a_word_that_does_nothing_is_told_after_what_keeps_the_app_from_being_well() -> None:
    said = "nothing is meant by Foo"
    odd = Finding(kind=FindingKind.UNKNOWN_OPTION, subject="unit shop", reason=said, remedy="Mend it")
    of_object = replace(odd, key=POD)
    failed = state(result(phase=BAD, hook=True, status=StepStatus.SYNCED))
    assert told(answer_from(facts(failed, findings=(odd, of_object)))) == ["hook-failed", "odd-words"]
    assert told(answer_from(facts(findings=(odd,), rows=(), is_synced=True))) == ["odd-words"]

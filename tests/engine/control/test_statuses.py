"""How a unit stands: what rows, findings and failures become, and what stays of before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from trimtab.engine.compare.matching import Finding, FindingKind, odd_words
from trimtab.engine.control.statuses import status_after, status_unknown
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.engine.rows import Desired, Row, Verdict
from trimtab.engine.units import ConditionType, UnitStatus
from trimtab.resources.keys import ResourceKey

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def row(
    name: str,
    verdict: Verdict = Verdict.SYNCED,
    health: HealthStatus | None = HealthStatus.HEALTHY,
    *,
    desired: bool = True,
    live: bool = True,
) -> Row:
    key = ResourceKey("apps", "Deployment", "shop", name)
    judged = Health(health, "so so") if health else None
    there = Live(key=key, api_version="apps/v1", uid="u", resource_version="1", health=judged)
    return Row(
        key=key,
        desired=Desired(key=key, api_version="apps/v1", manifest={}, digest=b"d") if desired else None,
        live=there if live else None,
        verdict=verdict,
    )


def after(*rows: Row, before: UnitStatus | None = None, now: datetime = NOW) -> UnitStatus:
    return status_after(
        before or UnitStatus(), rows, (), revision="r1", rendered="d1", declared="c1", now=now
    )


def test_a_unit_is_as_its_objects_are() -> None:
    found = after(row("b", Verdict.OUT_OF_SYNC), row("a", health=HealthStatus.DEGRADED))
    assert (found.verdict, found.health.status) == (Verdict.OUT_OF_SYNC, HealthStatus.DEGRADED)
    assert [(each.key.name, each.version, each.verdict) for each in found.resources] == [
        ("a", "v1", Verdict.SYNCED),
        ("b", "v1", Verdict.OUT_OF_SYNC),
    ]
    assert (found.revision, found.rendered, found.declared) == ("r1", "d1", "c1")


def test_what_is_missing_what_is_extra_and_what_is_a_copy_are_told_apart() -> None:
    copy = replace(row("copy", desired=False), ours=False)
    found = after(
        row("new", Verdict.OUT_OF_SYNC, live=False), row("old", Verdict.OUT_OF_SYNC, desired=False), copy
    )
    told = {each.key.name: (each.verdict, each.prune) for each in found.resources}
    assert told == {
        "copy": (None, False),
        "new": (Verdict.OUT_OF_SYNC, False),
        "old": (Verdict.OUT_OF_SYNC, True),
    }
    assert [each.health for each in found.resources if each.key.name == "new"] == [
        Health(HealthStatus.MISSING)
    ]


@pytest.mark.fact("A20")
def test_the_time_of_the_last_look_moves_with_each_look() -> None:
    first = after(row("a"))
    assert first.reconciled_at == NOW
    assert after(row("a"), before=first, now=LATER).reconciled_at == LATER


@pytest.mark.fact("A21")
def test_the_time_of_a_change_of_health_moves_with_the_status_alone() -> None:
    first = after(row("a", health=HealthStatus.PROGRESSING))
    same = after(row("b", health=HealthStatus.PROGRESSING), before=first, now=LATER)
    assert (first.health_since, same.health_since) == (NOW, NOW)
    assert after(row("a"), before=first, now=LATER).health_since == LATER


def test_findings_claims_and_problems_become_conditions() -> None:
    finding = Finding(
        kind=FindingKind.REPEATED, subject="ConfigMap a", reason="twice", remedy="Declare it once"
    )
    claimed = replace(row("a"), claimed_by=Mark("helm", "shop/web"))
    broken = replace(row("b"), problem="no answer")
    found = status_after(
        UnitStatus(), (claimed, broken), (finding,), revision="", rendered="", declared="", now=NOW
    )
    assert [(each.type, each.message) for each in found.conditions] == [
        (ConditionType.COMPARISON, "Deployment.apps shop/b: no answer"),
        (ConditionType.REPEATED, "ConfigMap a: twice. Declare it once."),
        (ConditionType.SHARED, "Deployment.apps shop/a is claimed by helm shop/web, too"),
    ]


def test_what_is_said_of_a_bad_object_is_said_once() -> None:
    bad = replace(row("b", live=False, desired=False), problem="its labels are a list")
    finding = Finding(
        kind=FindingKind.INVALID, subject="b.yaml", reason="its labels are a list", remedy="", key=bad.key
    )
    found = status_after(UnitStatus(), (bad,), (finding,), revision="", rendered="", declared="", now=NOW)
    assert [(each.type, each.message) for each in found.conditions] == [
        (ConditionType.INVALID_SPEC, "b.yaml: its labels are a list.")
    ]


def test_sync_options_that_mean_nothing_are_one_condition_that_names_words_and_objects() -> None:
    findings = [odd_words("unit shop", ["Prun=true"]), odd_words("ConfigMap shop/a", ["X", "Y=1"])]
    found = status_after(UnitStatus(), (), findings, revision="", rendered="", declared="", now=NOW)
    words = (
        "sync options: unit shop: nothing is meant by Prun=true; ConfigMap shop/a: nothing is meant by X, Y=1"
        ". Mend these words, or remove them."
    )
    assert [(each.type, each.message) for each in found.conditions] == [(ConditionType.OPTIONS, words)]
    many = [odd_words(f"ConfigMap shop/{number}", ["X"]) for number in range(9)]
    found = status_after(UnitStatus(), (), many, revision="", rendered="", declared="", now=NOW)
    (one,) = found.conditions
    assert "; and 4 more objects. Mend" in one.message


def test_what_is_said_of_a_source_is_one_condition_however_much_it_is() -> None:
    reasons = [f"{number}.yaml was left out" for number in range(7)]
    said = [
        Finding(kind=FindingKind.SOURCE, subject="its source", reason=each, remedy="") for each in reasons
    ]
    found = status_after(UnitStatus(), (), said, revision="", rendered="", declared="", now=NOW)
    words = "; ".join(reasons[:5]) + "; and 2 more warnings"
    assert [(each.type, each.message) for each in found.conditions] == [(ConditionType.SOURCE, words)]


def test_a_unit_that_could_not_be_compared_keeps_what_was_known_of_its_objects() -> None:
    known = after(row("a"))
    lost = status_unknown(known, ConditionType.COMPARISON, "no answer", now=LATER)
    assert (lost.verdict, lost.health.status) == (Verdict.UNKNOWN, HealthStatus.UNKNOWN)
    assert (lost.resources, lost.revision) == (known.resources, known.revision)
    assert [each.message for each in lost.conditions] == ["no answer"]
    assert after(row("a"), before=lost, now=LATER).conditions == ()

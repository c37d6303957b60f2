"""How a unit stands, from what a comparison found. Pure: computed once, at the end, and never edited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from trimtab.engine.compare.matching import MEND_WORDS, MERE_WARNINGS, Finding, FindingKind
from trimtab.engine.control.policy import conditions_after
from trimtab.engine.health import Health, HealthStatus, Part, worst_of
from trimtab.engine.rows import Row, Verdict, verdict_of
from trimtab.engine.units import ConditionType, ResourceSummary, UnitStatus
from trimtab.resources.sentences import joined

#: what a comparison judges; the verdict on the last sync is another's
JUDGED: Final = frozenset(ConditionType) - {ConditionType.SYNC}
_MOST_TOLD: Final = 5
_MISSING: Final = Health(HealthStatus.MISSING)
_CONDITIONS: Final = {
    FindingKind.REPEATED: ConditionType.REPEATED,
    FindingKind.EXCLUDED: ConditionType.EXCLUDED,
    FindingKind.UNKNOWN_KIND: ConditionType.INVALID_SPEC,
    FindingKind.INVALID: ConditionType.INVALID_SPEC,
    FindingKind.OUTSIDE: ConditionType.INVALID_SPEC,
    FindingKind.TOO_LARGE: ConditionType.INVALID_SPEC,
}


def status_after(
    before: UnitStatus,
    rows: Sequence[Row],
    findings: Iterable[Finding],
    *,
    revision: str,
    rendered: str,
    declared: str,
    now: datetime,
) -> UnitStatus:
    """The status once a unit was compared."""
    resources = tuple(sorted((summary_of(row) for row in rows), key=lambda each: each.key))
    health = worst_of(_part(row) for row in rows).health
    return replace(
        before,
        verdict=verdict_of(rows),
        health=health,
        health_since=before.health_since if health.status is before.health.status else now,
        revision=revision,
        rendered=rendered,
        resources=before.resources if resources == before.resources else resources,
        conditions=conditions_after(before.conditions, JUDGED, _told(rows, findings), now),
        declared=declared,
        reconciled_at=now,
    )


def status_unknown(
    before: UnitStatus, condition: ConditionType, message: str, *, now: datetime
) -> UnitStatus:
    """The status of a unit that could not be compared: nothing is known, and nothing was lost."""
    health = Health(HealthStatus.UNKNOWN)
    return replace(
        before,
        verdict=Verdict.UNKNOWN,
        health=health,
        health_since=before.health_since if before.health.status is health.status else now,
        conditions=conditions_after(before.conditions, JUDGED, [(condition, message)], now),
        reconciled_at=now,
    )


def summary_of(row: Row) -> ResourceSummary:
    """One row as the status tells it."""
    found = row.desired or row.live
    version = "" if found is None else found.api_version.rpartition("/")[2]
    return ResourceSummary(
        key=row.key,
        version=version,
        verdict=row.verdict if row.ours else None,
        health=_MISSING if row.live is None else row.live.health,
        prune=row.desired is None and row.live is not None and row.ours,
        deleting=row.live is not None and row.live.deleting,
        problem=row.problem,
    )


def _part(row: Row) -> Part:
    live = row.live
    return Part(key=row.key, is_live=live is not None, health=live.health if live else None, counts=row.ours)


def _told(rows: Iterable[Row], findings: Iterable[Finding]) -> Iterable[tuple[ConditionType, str]]:
    known = tuple(findings)
    yield from _of_findings(known)
    refused = {finding.place for finding in known if finding.kind not in MERE_WARNINGS}
    for row in rows:
        if row.claimed_by is not None and row.desired is not None:
            yield ConditionType.SHARED, f"{row.key} is claimed by {row.claimed_by}, too"
        if row.problem and row.key not in refused:  # what is said of it as it is declared is enough
            yield ConditionType.COMPARISON, f"{row.key}: {row.problem}"
        if row.live is not None and row.live.holders:
            holders = ", ".join(row.live.holders)
            yield ConditionType.DELETING, f"{row.key} is being deleted and waits for {holders}"


def _of_findings(findings: Iterable[Finding]) -> Iterable[tuple[ConditionType, str]]:
    odd: list[str] = []
    of_source: list[str] = []
    for finding in findings:
        if finding.kind is FindingKind.UNKNOWN_OPTION:
            odd.append(f"{finding.subject}: {finding.reason}")
        elif finding.kind is FindingKind.SOURCE:
            of_source.append(finding.reason)
        else:
            yield _CONDITIONS[finding.kind], str(finding)
    if odd:
        yield ConditionType.OPTIONS, f"sync options: {_few(odd, 'objects')}. {MEND_WORDS}."
    if of_source:
        yield ConditionType.SOURCE, _few(of_source, "warnings")


def _few(told: Sequence[str], what: str) -> str:
    more = f"and {len(told) - _MOST_TOLD} more {what}" if len(told) > _MOST_TOLD else ""
    return joined([*told[:_MOST_TOLD], more])

"""How apps stand, as plain values: what programs read, and what tables are made of. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from trimtab.app.appsources import source_reports, sources_in, sources_of
from trimtab.app.naming import key_report
from trimtab.engine.operations import OperationState, StepResult, StepStatus
from trimtab.engine.units import Deployed, ResourceSummary, SyncUnit
from trimtab.kube.times import seconds_text


def app_report(unit: SyncUnit) -> dict[str, Any]:
    """How an app stood when it was last looked at."""
    stands, ran, sources = unit.status, unit.status.operation_state, sources_of(unit)
    return {
        "app": unit.id,
        "sync": stands.verdict.value,
        "health": stands.health.status.value,
        "revision": stands.revision,
        "namespace": unit.destination.namespace,
        "source": str(sources),
        "sources": source_reports(sources, stands.revision),
        "held": unit.hold,
        "message": stands.health.message,
        "objectCount": len(stands.resources),
        "operation": ran.phase.value if ran else "",
        "operationMessage": ran.message if ran else "",
        "lookedAt": moment(stands.reconciled_at),
        "conditions": [
            {"type": each.type.value, "message": each.message, "since": moment(each.since)}
            for each in stands.conditions
        ],
    }


def outcome_report(unit: SyncUnit, ran: OperationState | None = None) -> dict[str, Any]:
    """How an app stands after something was done to it or waited for; `ran`, or else its last operation."""
    report, ran = app_report(unit), ran or unit.status.operation_state
    words = ("app", "sync", "health", "message", "revision", "namespace", "held")
    return {**{word: report[word] for word in words}, "deleted": False, **_operation_report(ran)}


def gone_report(app: str, namespace: str, ran: OperationState | None = None) -> dict[str, Any]:
    """What is left to say of an app that is no more, in the same words."""
    words = dict.fromkeys(("sync", "health", "message", "revision"), "")
    place = {"namespace": namespace, "held": "", "deleted": True}
    return {"app": app, **words, **place, **_operation_report(ran)}


def _operation_report(ran: OperationState | None) -> dict[str, Any]:
    counts = Counter(_became(each) for each in ran.results) if ran else Counter[str]()
    return {
        "operation": ran.phase.value if ran else "",
        "operationMessage": ran.message if ran else "",
        "counts": {word: counts[word] for word in ("applied", "hooks", "pruned", "kept", "failed")},
    }


def _became(result: StepResult) -> str:
    """What became of one object, in a word."""
    match result.status:
        case StepStatus.SYNCED:
            return "hooks" if result.hook else "applied"
        case StepStatus.PRUNED:
            return "pruned"
        case StepStatus.PRUNE_SKIPPED:
            return "kept"
        case StepStatus.SYNC_FAILED:
            return "failed"
        case None:
            return ""


def resource_report(summary: ResourceSummary) -> dict[str, Any]:
    """How one object of an app stands."""
    health = summary.health
    return {
        **key_report(summary.key),
        "version": summary.version,
        "status": summary.verdict.value if summary.verdict else "",
        "health": health.status.value if health else "",
        "message": summary.problem or (health.message if health else ""),
        "prune": summary.prune,
    }


def deployed_report(entry: Deployed) -> dict[str, Any]:
    """One successful sync."""
    sources = sources_in(entry.source)
    return {
        "id": entry.id,
        "revision": entry.revision,
        "deployedAt": moment(entry.deployed_at),
        "startedAt": moment(entry.started_at),
        "seconds": round((entry.deployed_at - entry.started_at).total_seconds(), 3),
        "by": entry.asked_by,
        "person": entry.person,
        "source": str(sources),
        "sources": source_reports(sources, entry.revision),
    }


def moment(when: datetime | None) -> str:
    """A time as Kubernetes writes it; empty for none."""
    return seconds_text(when) if when else ""

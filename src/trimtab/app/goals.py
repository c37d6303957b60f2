"""What somebody may wait for, and whether it has come. Pure; `waiting` waits."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable

from trimtab.engine.health import HealthStatus
from trimtab.engine.rows import Verdict
from trimtab.engine.units import SyncUnit


class Goal(enum.Enum):
    """What an app may be waited for to be."""

    HEALTHY = "healthy"
    SYNCED = "synced"
    PROGRESSING = "progressing"
    SUSPENDED = "suspended"
    DEGRADED = "degraded"


class Recorded(enum.Enum):
    """What may become of the record of an app, which others change as well."""

    #: no operation is under way
    IDLE = "idle"
    DELETED = "deleted"


def is_recorded(unit: SyncUnit | None, event: Recorded) -> bool:
    """Whether that has become of an app's record; None if there is none."""
    return unit is None or (event is Recorded.IDLE and unit.operation is None)


_HEALTH = {
    Goal.HEALTHY: HealthStatus.HEALTHY,
    Goal.PROGRESSING: HealthStatus.PROGRESSING,
    Goal.SUSPENDED: HealthStatus.SUSPENDED,
    Goal.DEGRADED: HealthStatus.DEGRADED,
}


def holds(unit: SyncUnit, goals: Collection[Goal]) -> bool:
    """Whether the app is in sync, if that is waited for, and in one of the states of health that are."""
    healths = [_HEALTH[goal] for goal in goals if goal in _HEALTH]
    is_well = not healths or unit.status.health.status in healths
    return is_well and (Goal.SYNCED not in goals or unit.status.verdict is Verdict.SYNCED)


def stands(unit: SyncUnit) -> str:
    """How an app stands, in a few words, and why."""
    status = unit.status
    words = f"{status.verdict.value} and {status.health.status.value}"
    why = "; ".join(_reasons(unit))
    return f"{words}: {why}" if why else words


def _reasons(unit: SyncUnit) -> Iterable[str]:
    if unit.status.health.message:
        yield unit.status.health.message
    yield from (each.message for each in unit.status.conditions)
    differing = [each.key for each in unit.status.resources if each.verdict is Verdict.OUT_OF_SYNC]
    if differing:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        yield f"{differing[0]}{more} not as declared"

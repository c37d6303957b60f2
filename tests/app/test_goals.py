"""What is waited for, and whether it has come."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from trimtab.app.goals import Goal, Recorded, holds, is_recorded, stands
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Destination, ResourceSummary, SyncUnit, UnitStatus
from trimtab.resources.keys import ResourceKey


def shop(verdict: Verdict, health: HealthStatus, message: str = "", *differing: str) -> SyncUnit:
    resources = tuple(
        ResourceSummary(key=ResourceKey("", "ConfigMap", "shop", name), version="v1", verdict=verdict)
        for name in differing
    )
    status = UnitStatus(verdict=verdict, health=Health(health, message), resources=resources)
    return SyncUnit(id="shop", source={}, destination=Destination(cluster="here"), status=status)


@pytest.mark.parametrize(
    ("goals", "reached"),
    [
        ([Goal.HEALTHY, Goal.SYNCED], [("Synced", "Healthy")]),
        ([Goal.HEALTHY], [("Synced", "Healthy"), ("OutOfSync", "Healthy")]),
        ([Goal.SYNCED], [("Synced", "Healthy"), ("Synced", "Degraded"), ("Synced", "Suspended")]),
        ([Goal.DEGRADED, Goal.SUSPENDED], [("Synced", "Degraded"), ("Synced", "Suspended")]),
    ],
)
def test_a_goal_is_reached_when_sync_and_one_of_the_healths_are_as_asked(
    goals: list[Goal], reached: list[tuple[str, str]]
) -> None:
    states = [
        ("Synced", "Healthy"),
        ("OutOfSync", "Healthy"),
        ("Synced", "Degraded"),
        ("Synced", "Suspended"),
    ]
    found = [each for each in states if holds(shop(Verdict(each[0]), HealthStatus(each[1])), goals)]
    assert found == reached


@pytest.mark.parametrize(
    ("unit", "is_idle", "is_deleted"),
    [
        (None, True, True),
        (shop(Verdict.SYNCED, HealthStatus.HEALTHY), True, False),
        (replace(shop(Verdict.SYNCED, HealthStatus.HEALTHY), operation=Operation()), False, False),
    ],
)
def test_a_record_tells_whether_an_app_is_idle_or_gone(
    unit: SyncUnit | None,
    is_idle: bool,  # noqa: FBT001 - a column of the table
    is_deleted: bool,  # noqa: FBT001 - a column of the table
) -> None:
    found = [is_recorded(unit, event) for event in (Recorded.IDLE, Recorded.DELETED)]
    assert found == [is_idle, is_deleted]


def test_how_an_app_stands_is_said_with_the_reason() -> None:
    assert stands(shop(Verdict.SYNCED, HealthStatus.HEALTHY)) == "Synced and Healthy"
    assert (
        stands(shop(Verdict.SYNCED, HealthStatus.PROGRESSING, "1 of 3")) == "Synced and Progressing: 1 of 3"
    )
    differing = shop(Verdict.OUT_OF_SYNC, HealthStatus.HEALTHY, "", "a", "b")
    assert stands(differing) == "OutOfSync and Healthy: ConfigMap shop/a and 1 more not as declared"

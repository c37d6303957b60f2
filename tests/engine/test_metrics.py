"""Metrics: what events and readings become, under names that dashboards know, within bounds."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from prometheus_client import generate_latest

from tests.engine.test_events import ENDED, FAILED, LOST, REFRESHED, STEP
from trimtab.engine.events import Event, OperationStarted, SyncLeft, UnitForgotten
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.metrics import FIGURES, OTHERS, Metrics
from trimtab.engine.operations import Operation
from trimtab.engine.readings import ChangeCount, ClusterFigures, QueueFigures, UnitLabels
from trimtab.engine.rows import Verdict
from trimtab.engine.units import (
    Automated,
    Condition,
    ConditionType,
    Destination,
    Policy,
    SyncUnit,
    UnitStatus,
)

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
WEB = SyncUnit(
    id="web",
    source={},
    destination=Destination(cluster="prod", namespace="shop"),
    policy=Policy(automated=Automated()),
    tenant="team",
    status=UnitStatus(
        verdict=Verdict.OUT_OF_SYNC,
        health=Health(HealthStatus.DEGRADED),
        conditions=(Condition(type=ConditionType.SYNC, message="a", since=NOW),),
    ),
    operation=Operation(),
)


class Given:
    def __init__(self, *units: SyncUnit) -> None:
        self._units = units

    def units(self) -> Iterable[SyncUnit]:
        return self._units

    def clusters(self) -> Iterable[ClusterFigures]:
        return [ClusterFigures(name="prod", version="v1.36.3", connected=True, objects=7, kinds=3, age=-1)]

    def queues(self) -> Iterable[QueueFigures]:
        return [QueueFigures(name="status", waiting=2, running=1, held=0)]

    def changes(self) -> Iterable[ChangeCount]:
        return [ChangeCount(cluster="prod", group="apps", kind="Deployment", count=9)]


def metrics(*units: SyncUnit, most_units: int = 10) -> Metrics:
    made = Metrics(Given(*units), most_units=most_units)
    for unit in units:
        made.know(unit)
    return made


def value(of: Metrics, sample: str, /, **labels: str) -> float | None:
    return of.registry.get_sample_value(sample, labels)


def test_ended_syncs_are_counted_with_their_outcome_and_time() -> None:
    found = metrics(WEB)
    found.tell(ENDED)
    found.tell(ENDED)
    unit = {"namespace": "team", "name": "web", "project": "", "dest_server": "prod"}
    assert value(found, "argocd_app_sync_total", **unit, phase="Succeeded", dry_run="false") == 2
    assert value(found, "argocd_app_sync_duration_seconds_total", **unit) == 2.5


def test_looking_at_units_is_timed() -> None:
    found = metrics(WEB)
    found.tell(REFRESHED)
    where = {"namespace": "team", "dest_server": "prod"}
    assert value(found, "argocd_app_reconcile_count", **where) == 1
    assert value(found, "argocd_app_reconcile_bucket", **where, le="0.25") == 1


def test_waiting_for_a_processor_and_being_in_its_hands_are_timed() -> None:
    found = metrics(WEB)
    found.time("status", 0.5, 3.0)
    assert value(found, "workqueue_queue_duration_seconds_sum", name="status") == 0.5
    assert value(found, "workqueue_work_duration_seconds_sum", name="status") == 3.0


@pytest.mark.parametrize(
    ("event", "name", "labels"),
    [
        (STEP, "trimtab_sync_steps_total", {"kind": "Deployment", "status": "SyncFailed"}),
        (FAILED, "trimtab_unit_failures_total", {"why": "ComparisonFailed"}),
        (LOST, "trimtab_cluster_losses_total", {"server": "prod"}),
        (
            SyncLeft(at=NOW, unit="web", reason="Synced"),
            "trimtab_auto_sync_decisions_total",
            {"decision": "left"},
        ),
        (
            OperationStarted(at=NOW, unit="web", revision="1", automated=True, dry_run=False, reason=""),
            "trimtab_auto_sync_decisions_total",
            {"decision": "started"},
        ),
    ],
)
def test_what_happens_is_counted(event: Event, name: str, labels: dict[str, str]) -> None:
    found = metrics(WEB)
    found.tell(event)
    assert value(found, name, **labels) == 1
    assert value(found, "trimtab_events_total", event=type(event).__name__) == 1


def test_what_is_read_for_a_scrape_is_of_one_moment_and_put_into_words_later() -> None:
    named = list[str]()

    def labels_of(unit: SyncUnit) -> UnitLabels:
        named.append(unit.id)
        return UnitLabels("", unit.id)

    words = Metrics(Given(WEB), labels_of=labels_of).scrape()
    assert named == []
    names = {family.name for family in words()}
    assert named == ["web"]
    assert names == {figure.name.removesuffix("_total") for figure in FIGURES}


def test_a_scrape_shows_how_units_clusters_and_queues_stand() -> None:
    found = metrics(WEB)
    assert value(
        found,
        "argocd_app_info",
        namespace="team",
        name="web",
        project="",
        autosync_enabled="true",
        dest_server="prod",
        dest_namespace="shop",
        sync_status="OutOfSync",
        health_status="Degraded",
        operation="sync",
    )
    unit = {"namespace": "team", "name": "web", "project": ""}
    assert value(found, "argocd_app_condition", **unit, condition="SyncError") == 1
    assert value(found, "trimtab_units", sync_status="OutOfSync", health_status="Degraded") == 1
    assert value(found, "argocd_cluster_info", server="prod", k8s_version="v1.36.3", name="prod") == 1
    assert value(found, "argocd_cluster_connection_status", server="prod", k8s_version="v1.36.3") == 1
    assert value(found, "argocd_cluster_api_resource_objects", server="prod") == 7
    assert value(found, "argocd_cluster_cache_age_seconds", server="prod") == -1
    assert value(found, "workqueue_depth", name="status") == 2
    assert value(found, "trimtab_operations", phase="Running") == 1
    assert value(found, "trimtab_operations", phase="Terminating") == 0
    changes = {"server": "prod", "group": "apps", "kind": "Deployment"}
    assert value(found, "argocd_cluster_events_total", **changes) == 9


def test_units_beyond_the_limit_share_one_series() -> None:
    units = [replace(WEB, id=f"unit-{number}") for number in range(50)]
    found = metrics(*units, most_units=5)
    for unit in units:
        found.tell(replace(ENDED, unit=unit.id))
    lines = generate_latest(found.registry).decode().splitlines()
    assert sum(line.startswith("argocd_app_sync_total{") for line in lines) == 6
    assert sum(line.startswith("argocd_app_info{") for line in lines) == 5
    others = {"namespace": "", "name": OTHERS, "project": "", "dest_server": "prod"}
    assert value(found, "argocd_app_sync_total", **others, phase="Succeeded", dry_run="false") == 45
    assert value(found, "trimtab_units", sync_status="OutOfSync", health_status="Degraded") == 50


def test_a_unit_that_goes_takes_its_series_along() -> None:
    found = metrics(WEB)
    found.tell(ENDED)
    found.tell(UnitForgotten(at=NOW, unit="web"))
    assert "argocd_app_sync_total{" not in generate_latest(found.registry).decode()


def test_what_units_are_called_is_the_consumers_choice() -> None:
    found = Metrics(Given(WEB), labels_of=lambda unit: UnitLabels("argocd", unit.id, "default"))
    found.know(WEB)
    found.tell(ENDED)
    unit = {"namespace": "argocd", "name": "web", "project": "default", "dest_server": "prod"}
    assert value(found, "argocd_app_sync_total", **unit, phase="Succeeded", dry_run="false") == 1


def test_every_figure_is_there_and_none_is_unnamed() -> None:
    found = metrics(WEB)
    families = {family.name for family in found.registry.collect()}
    assert families == {figure.name.removesuffix("_total") for figure in FIGURES}

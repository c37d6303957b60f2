"""Prometheus metrics of an engine, named as Argo CD's dashboards know them where there is a counterpart.

Counters and histograms are kept from events; gauges are read from the units and caches when somebody scrapes.
Reading is quick; making text of it is not, and may happen in a thread (`scrape`). The registry is the
engine's own. The number of series is bounded: beyond `most_units` units share one series, and a unit that
goes takes its series along; no series is about a single object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from trimtab.engine.events import (
    ClusterLost,
    ComparisonFailed,
    Event,
    OperationEnded,
    OperationStarted,
    StepDone,
    SyncLeft,
    SyncPostponed,
    SyncRefused,
    UnitForgotten,
    UnitQuarantined,
    UnitRefreshed,
    UnitUnreadable,
)
from trimtab.engine.operations import OperationPhase
from trimtab.engine.readings import Readings, Taken, UnitLabels, labels_by_tenant, taken
from trimtab.engine.units import SyncUnit

#: stands for all units beyond the limit
OTHERS: Final = "(others)"
_BUCKETS: Final = (0.25, 0.5, 1, 2, 4, 8, 16)


class Figure(Struct, frozen=True):
    """One metric: its name, what it says, and by what it is told apart."""

    name: str
    kind: str
    meaning: str
    labels: tuple[str, ...] = ()
    #: what Argo CD calls its own, where that has another name
    counterpart: str = ""


_UNIT: Final = ("namespace", "name", "project")
SYNCS = Figure(
    "argocd_app_sync_total", "counter", "Syncs that ended", (*_UNIT, "dest_server", "phase", "dry_run")
)
SYNC_SECONDS = Figure(
    "argocd_app_sync_duration_seconds_total",
    "counter",
    "Seconds that syncs took, waiting included",
    (*_UNIT, "dest_server"),
)
RECONCILES = Figure(
    "argocd_app_reconcile", "histogram", "Seconds that looking at a unit took", ("namespace", "dest_server")
)
STEPS = Figure("trimtab_sync_steps_total", "counter", "Objects that syncs touched", ("kind", "status"))
FAILURES = Figure("trimtab_unit_failures_total", "counter", "Looks at units that failed", ("why",))
DECISIONS = Figure("trimtab_auto_sync_decisions_total", "counter", "What auto-sync decided", ("decision",))
LOSSES = Figure("trimtab_cluster_losses_total", "counter", "How often a cluster was lost", ("server",))
EVENTS = Figure("trimtab_events_total", "counter", "Events of the engine, by their names", ("event",))
CHANGES = Figure(
    "argocd_cluster_events_total",
    "counter",
    "Changes that a cluster told of, by kind",
    ("server", "group", "kind"),
)
WAITED = Figure(
    "workqueue_queue_duration_seconds",
    "histogram",
    "Seconds that units waited for a processor",
    ("name",),
)
WORKED = Figure(
    "workqueue_work_duration_seconds", "histogram", "Seconds that a processor had a unit in hand", ("name",)
)
APP_INFO = Figure(
    "argocd_app_info",
    "gauge",
    "1 for each unit, with how it stands",
    (
        *_UNIT, "autosync_enabled", "dest_server", "dest_namespace", "sync_status", "health_status",
        "operation",
    ),
)  # fmt: skip
APP_CONDITION = Figure(
    "argocd_app_condition", "gauge", "1 for each thing that is wrong with a unit", (*_UNIT, "condition")
)
OPERATIONS = Figure("trimtab_operations", "gauge", "Operations under way, by their phase", ("phase",))
UNITS = Figure("trimtab_units", "gauge", "How many units stand so", ("sync_status", "health_status"))
CLUSTER_INFO = Figure(
    "argocd_cluster_info", "gauge", "1 for each cluster in use", ("server", "k8s_version", "name")
)
CONNECTION = Figure(
    "argocd_cluster_connection_status", "gauge", "1 while a cluster is heard", ("server", "k8s_version")
)
OBJECTS = Figure("argocd_cluster_api_resource_objects", "gauge", "Objects known of a cluster", ("server",))
KINDS = Figure("argocd_cluster_api_resources", "gauge", "Kinds watched in a cluster", ("server",))
CACHE_AGE = Figure(
    "argocd_cluster_cache_age_seconds",
    "gauge",
    "Seconds since a cluster was read whole; -1: never",
    ("server",),
)
DEPTH = Figure("workqueue_depth", "gauge", "Units that wait for a processor", ("name",))
RUNNING = Figure("workqueue_running", "gauge", "Units that a processor has in hand", ("name",))
HELD = Figure("workqueue_held", "gauge", "Units that back off or are quarantined", ("name",))
FIGURES: Final = (
    SYNCS, SYNC_SECONDS, RECONCILES, STEPS, FAILURES, DECISIONS, EVENTS, APP_INFO, APP_CONDITION, UNITS,
    OPERATIONS, CLUSTER_INFO, CONNECTION, LOSSES, OBJECTS, KINDS, CACHE_AGE, CHANGES, DEPTH, RUNNING, HELD,
    WAITED, WORKED,
)  # fmt: skip


class Metrics(Collector):
    """Keeps the figures of one engine in a registry of its own; subscribe `tell` to the engine's events."""

    def __init__(
        self,
        readings: Readings,
        *,
        labels_of: Callable[[SyncUnit], UnitLabels] = labels_by_tenant,
        most_units: int = 10_000,
    ) -> None:
        self.registry = CollectorRegistry()
        self._readings = readings
        self._labels_of = labels_of
        self._most_units = most_units
        self._named: dict[str, UnitLabels] = {}
        self._kept: list[Collector] = []
        self._syncs, self._seconds = self._counter(SYNCS), self._counter(SYNC_SECONDS)
        self._steps, self._failures = self._counter(STEPS), self._counter(FAILURES)
        self._decisions, self._losses = self._counter(DECISIONS), self._counter(LOSSES)
        self._events = self._counter(EVENTS)
        self._reconciles = self._histogram(RECONCILES)
        self._waited, self._worked = self._histogram(WAITED), self._histogram(WORKED)
        self.registry.register(self)

    def _counter(self, figure: Figure) -> Counter:
        made = Counter(figure.name, figure.meaning, figure.labels, registry=self.registry)
        self._kept.append(made)
        return made

    def _histogram(self, figure: Figure) -> Histogram:
        made = Histogram(figure.name, figure.meaning, figure.labels, buckets=_BUCKETS, registry=self.registry)
        self._kept.append(made)
        return made

    def tell(self, event: Event) -> None:
        """Take an event into account."""
        self._events.labels(type(event).__name__).inc()
        match event:
            case UnitRefreshed(unit=unit, cluster=cluster, seconds=seconds):
                self._reconciles.labels(self._labels(unit).namespace, cluster).observe(seconds)
            case OperationEnded():
                self._ended(event)
            case StepDone(key=key, status=status):
                self._steps.labels(key.kind, status.value).inc()
            case ComparisonFailed() | UnitUnreadable() | UnitQuarantined():
                self._failures.labels(type(event).__name__).inc()
            case OperationStarted(automated=True):
                self._decisions.labels("started").inc()
            case SyncLeft() | SyncRefused() | SyncPostponed():
                self._decisions.labels(type(event).__name__.removeprefix("Sync").lower()).inc()
            case ClusterLost(cluster=cluster):
                self._losses.labels(cluster).inc()
            case UnitForgotten(unit=unit):
                self._forget(unit)
            case _:
                pass

    def _ended(self, event: OperationEnded) -> None:
        labels = self._labels(event.unit)
        base = (labels.namespace, labels.name, labels.project, event.cluster)
        self._syncs.labels(*base, event.phase.value, str(event.dry_run).lower()).inc()
        self._seconds.labels(*base).inc(event.seconds)

    def time(self, queue: str, waited: float, worked: float) -> None:
        """Take into account that a processor had a unit in hand."""
        self._waited.labels(queue).observe(waited)
        self._worked.labels(queue).observe(worked)

    def know(self, unit: SyncUnit) -> None:
        """Learn what a unit is called, while there is room for one more."""
        if unit.id in self._named or len(self._named) < self._most_units:
            self._named[unit.id] = self._labels_of(unit)

    def _labels(self, unit: str) -> UnitLabels:
        return self._named.get(unit) or UnitLabels("", OTHERS)

    def _forget(self, unit: str) -> None:
        found = self._named.pop(unit, None)
        if found is not None:
            base = {"namespace": found.namespace, "name": found.name, "project": found.project}
            self._syncs.remove_by_labels(base)
            self._seconds.remove_by_labels(base)

    def collect(self) -> Iterator[Metric]:
        """The gauges, read now."""
        yield from self._gauges(taken(self._readings))

    def scrape(self) -> Callable[[], Iterator[Metric]]:
        """Read now, and answer with what makes all metrics of it, which a thread may call."""
        found = taken(self._readings)
        return lambda: chain(chain.from_iterable(each.collect() for each in self._kept), self._gauges(found))

    def _gauges(self, found: Taken) -> Iterator[Metric]:
        yield from self._unit_gauges(found)
        yield from _cluster_gauges(found)
        yield from _queue_gauges(found)
        yield _operations(found)

    def _unit_gauges(self, found: Taken) -> Iterator[Metric]:
        info, conditions, units = _gauge(APP_INFO), _gauge(APP_CONDITION), _gauge(UNITS)
        totals: dict[tuple[str, str], int] = {}
        for number, unit in enumerate(sorted(found.units, key=lambda unit: unit.id)):
            states = (unit.status.verdict.value, unit.status.health.status.value)
            totals[states] = totals.get(states, 0) + 1
            if number < self._most_units:
                self._add_unit(unit, info, conditions)
        for states, count in totals.items():
            units.add_metric(states, count)
        yield from (info, conditions, units)

    def _add_unit(self, unit: SyncUnit, info: GaugeMetricFamily, conditions: GaugeMetricFamily) -> None:
        labels, automated = self._labels_of(unit), unit.policy.automated
        base = (labels.namespace, labels.name, labels.project)
        row = (
            str(automated is not None and automated.enabled).lower(),
            unit.destination.cluster,
            unit.destination.namespace,
            unit.status.verdict.value,
            unit.status.health.status.value,
            "sync" if unit.operation is not None else "",
        )
        info.add_metric((*base, *row), 1)
        for type_ in sorted({each.type.value for each in unit.status.conditions}):
            conditions.add_metric((*base, type_), 1)


def _cluster_gauges(found: Taken) -> Iterator[Metric]:
    info, connected = _gauge(CLUSTER_INFO), _gauge(CONNECTION)
    objects, kinds, age = _gauge(OBJECTS), _gauge(KINDS), _gauge(CACHE_AGE)
    for each in found.clusters:
        info.add_metric((each.name, each.version, each.name), 1)
        connected.add_metric((each.name, each.version), float(each.connected))
        objects.add_metric((each.name,), each.objects)
        kinds.add_metric((each.name,), each.kinds)
        age.add_metric((each.name,), each.age)
    changes = CounterMetricFamily(CHANGES.name, CHANGES.meaning, labels=CHANGES.labels)
    for change in found.changes:
        changes.add_metric((change.cluster, change.group, change.kind), change.count)
    yield from (info, connected, objects, kinds, age, changes)


def _queue_gauges(found: Taken) -> Iterator[Metric]:
    depth, running, held = _gauge(DEPTH), _gauge(RUNNING), _gauge(HELD)
    for each in found.queues:
        depth.add_metric((each.name,), each.waiting)
        running.add_metric((each.name,), each.running)
        held.add_metric((each.name,), each.held)
    yield from (depth, running, held)


def _operations(found: Taken) -> Metric:
    phases = {phase: 0 for phase in OperationPhase if not phase.final}
    for unit in found.units:
        if unit.operation is not None:
            state = unit.status.operation_state
            # What was only just asked for stands beside the end of the one before.
            is_new = state is None or state.phase.final
            phases[OperationPhase.RUNNING if is_new or state is None else state.phase] += 1
    family = _gauge(OPERATIONS)
    for phase, count in phases.items():
        family.add_metric((phase.value,), count)
    return family


def _gauge(figure: Figure) -> GaugeMetricFamily:
    return GaugeMetricFamily(figure.name, figure.meaning, labels=figure.labels)

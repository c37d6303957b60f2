"""The metrics of a runner: those of its engines, each series with its shard, and those of the process itself.

`reading` takes down what changes, which is quick; what it answers with makes the text, which is not: half a
second of processor time for 5,000 apps. That is for a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from trimtab.app.running.events import AnyEvent, RunnerEvent
from trimtab.engine import Metrics
from trimtab.engine.metrics import Figure
from trimtab.kube.transport import Exchange
from trimtab.sources.repositories.revisions import GitRequest

_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32)
REQUESTS = Figure(
    "trimtab_kube_requests_total",
    "counter",
    "Requests sent to a cluster; a code of `error` is no answer, WATCH a watch that was opened",
    ("server", "method", "code"),
    "argocd_kubectl_requests_total, argocd_app_k8s_request_total",
)
REQUEST_SECONDS = Figure(
    "trimtab_kube_request_duration_seconds",
    "histogram",
    "Seconds until a cluster began to answer",
    ("server", "method"),
    "argocd_kubectl_request_duration_seconds",
)
GIT_REQUESTS = Figure(
    "trimtab_git_requests_total",
    "counter",
    "Talks of git with servers: ls-remote asks what there is, fetch brings it",
    ("request_type", "outcome"),
    "argocd_git_request_total, argocd_git_fetch_fail_total, argocd_git_lsremote_fail_total",
)
GIT_SECONDS = Figure(
    "trimtab_git_request_duration_seconds",
    "histogram",
    "Seconds that talks of git with servers took",
    ("request_type",),
    "argocd_git_request_duration_seconds",
)
RENDERS = Figure(
    "trimtab_renders_total", "counter", "Renders asked for, answers that were known included", ("outcome",)
)
RENDER_SECONDS = Figure("trimtab_render_duration_seconds", "histogram", "Seconds until manifests were there")
SHARDS = Figure("trimtab_shards", "gauge", "Shards that this runner keeps")
HAPPENED = Figure(
    "trimtab_runner_events_total", "counter", "Events of the runner itself, by their names", ("event",)
)
PROCESS: Final = (
    Figure("process_cpu_seconds_total", "counter", "Seconds of processor time of this process"),
    Figure("process_virtual_memory_bytes", "gauge", "Virtual memory of this process"),
    Figure("process_resident_memory_bytes", "gauge", "Memory of this process"),
    Figure("process_start_time_seconds", "gauge", "When this process started, since 1970"),
    Figure("process_open_fds", "gauge", "Open files and sockets of this process"),
    Figure("process_max_fds", "gauge", "Files and sockets that this process may open"),
)
RUNNER_FIGURES: Final = (
    REQUESTS, REQUEST_SECONDS, GIT_REQUESTS, GIT_SECONDS, RENDERS, RENDER_SECONDS, SHARDS, HAPPENED, *PROCESS,
)  # fmt: skip


class RunnerFigures:
    """Counts what a runner does beside its engines, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests, self._git = self._counter(REQUESTS), self._counter(GIT_REQUESTS)
        self._renders, self._happened = self._counter(RENDERS), self._counter(HAPPENED)
        self._request_seconds = self._histogram(REQUEST_SECONDS)
        self._git_seconds = self._histogram(GIT_SECONDS)
        self._render_seconds = self._histogram(RENDER_SECONDS)
        self._shards = Gauge(SHARDS.name, SHARDS.meaning, registry=self.registry)
        ProcessCollector(registry=self.registry)

    def _counter(self, figure: Figure) -> Counter:
        return Counter(figure.name, figure.meaning, figure.labels, registry=self.registry)

    def _histogram(self, figure: Figure) -> Histogram:
        return Histogram(figure.name, figure.meaning, figure.labels, buckets=_BUCKETS, registry=self.registry)

    def exchanged(self, server: str) -> Callable[[Exchange], None]:
        """Who is told of every request to one cluster."""

        def told(exchange: Exchange) -> None:
            self._requests.labels(server, exchange.method, exchange.code).inc()
            self._request_seconds.labels(server, exchange.method).observe(exchange.seconds)

        return told

    def git(self, request: GitRequest) -> None:
        """Take into account that git talked with a server."""
        self._git.labels(request.type, _outcome(failed=request.failed)).inc()
        self._git_seconds.labels(request.type).observe(request.seconds)

    def rendered(self, seconds: float, *, failed: bool) -> None:
        """Take into account that manifests were asked for."""
        self._renders.labels(_outcome(failed=failed)).inc()
        self._render_seconds.observe(seconds)

    def tell(self, event: AnyEvent) -> None:
        """Take an event of the runner into account; engines count their own."""
        if isinstance(event, RunnerEvent):
            self._happened.labels(type(event).__name__).inc()

    def reading(self, by_shard: Mapping[str, Metrics]) -> Callable[[], bytes]:
        """Read now; the answer makes the text that Prometheus reads, and is meant for a thread."""
        self._shards.set(len(by_shard))
        scrapes = {shard: metrics.scrape() for shard, metrics in by_shard.items()}
        return lambda: _text(self.registry, scrapes)


def _outcome(*, failed: bool) -> str:
    return "failed" if failed else "done"


def _text(own: CollectorRegistry, scrapes: Mapping[str, Callable[[], Iterable[Metric]]]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Merged(own, scrapes))
    return generate_latest(registry)


class _Merged(Collector):
    def __init__(self, own: CollectorRegistry, scrapes: Mapping[str, Callable[[], Iterable[Metric]]]) -> None:
        self._own, self._scrapes = own, scrapes

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for family in self._own.collect():
            _add(families, family, {})
        for shard, scrape in sorted(self._scrapes.items()):
            for family in scrape():
                _add(families, family, {"shard": shard})
        yield from families.values()


def _add(families: dict[str, Metric], family: Metric, more: Mapping[str, str]) -> None:
    """Add what a family holds, but for when each series began: a third of the text, which no one reads."""
    merged = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
    merged.samples.extend(
        sample._replace(labels={**sample.labels, **more})
        for sample in family.samples
        if not sample.name.endswith("_created")
    )

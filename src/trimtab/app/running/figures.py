"""The metrics of several engines in one answer: every series says of which shard it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from trimtab.engine import Metrics


class _Merged(Collector):
    def __init__(self, by_shard: Mapping[str, Metrics]) -> None:
        self._by_shard = by_shard

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for shard, metrics in sorted(self._by_shard.items()):
            for family in metrics.registry.collect():
                merged = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                merged.samples.extend(
                    sample._replace(labels={**sample.labels, "shard": shard}) for sample in family.samples
                )
        yield from families.values()


def exposition(by_shard: Mapping[str, Metrics]) -> bytes:
    """The text that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Merged(by_shard))
    return generate_latest(registry)

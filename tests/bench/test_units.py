"""Our side of the engine's benchmark, on a cluster in memory: what it counts is what it should cost."""

from __future__ import annotations

from typing import cast

from bench.engine import MEASURES, SIZES, figures
from bench.filling import add_namespaces
from bench.units import measure
from trimtab.apiserver import MemoryCluster
from trimtab.kube.cluster import Cluster

COUNT = 12


async def test_the_benchmark_measures_work_that_costs_what_it_must_and_no_more() -> None:
    cluster = cast(Cluster, MemoryCluster())
    await add_namespaces(cluster, ("raw", "one", "many"))
    report = await measure(cluster, COUNT)
    assert (report.first.writes, report.units_first.writes) == (COUNT, COUNT)
    assert (report.no_op.requests, report.units_no_op.requests) == (0, 0)
    assert (report.changed.writes, report.drifted.writes) == (1, 2)  # the drift itself is a write, too
    shown = figures([report], SIZES["small"])
    assert [figure.what for figure in shown] == [measure.what for measure in MEASURES]
    assert all(figure.met is None for figure in shown)

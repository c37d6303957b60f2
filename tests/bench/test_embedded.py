"""The bench of the embedded cluster, at its smallest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import embedded
from bench.filling import fill_with_config_maps, newest_version
from bench.inprocess import measured
from bench.running import with_cluster
from testbed.fixtures import Parts


def test_a_server_tells_where_its_time_goes() -> None:
    with embedded.Watched() as server:
        costs = server.costs_of(
            lambda: with_cluster(server, lambda cluster: fill_with_config_maps(cluster, "default", 150))
        )
    assert 0 < len(costs) <= 3
    assert 0 < sum(cost.share for cost in costs) <= 1.0001


def test_the_newest_version_moves_with_every_change() -> None:
    with embedded.Watched() as server:
        first = with_cluster(server, lambda cluster: newest_version(cluster, "default"))
        with_cluster(server, lambda cluster: fill_with_config_maps(cluster, "default", 2))
        assert int(with_cluster(server, lambda cluster: newest_version(cluster, "default"))) == int(first) + 2


async def test_applies_in_process_are_counted() -> None:
    sample = await measured(3)
    assert (sample.items, sample.seconds > 0, sample.peak_bytes > 0) == (3, True, True)


@pytest.mark.real
@pytest.mark.timeout(300)
def test_both_servers_are_measured_in_one_run(
    parts: Parts, go_tool: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("etcd", "kube-apiserver"):
        parts.program(name)
    go_tool("kubepeer")
    assert embedded.main(["--size", "small"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert "| what | real | embedded | ratio | aim | met |" in rows
    told = ("Get", "List", "Apply", "until the first answer", "idle after it", "kubectl has used", "watchers")
    assert [word for word in told if word not in "".join(rows)] == []
    assert [
        name for name in ("over HTTP, 8 at once", "in process") if f"{name}" not in "".join(rows[-9:])
    ] == []

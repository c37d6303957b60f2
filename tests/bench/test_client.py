"""Both sides do the same work on a real API server, and count the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from bench.filling import fill_with_config_maps, fill_with_pods, write_manifests
from bench.measures import Sample
from bench.sampling import Cost
from tests.kube.world import connect_to

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane

ROOT = Path(__file__).parents[2]
OBJECTS = 7
OURS = [sys.executable, "-m", "bench.client"]


@pytest.fixture
def run(control_plane: ControlPlane, namespace: str) -> Callable[..., bytes]:
    """Runs one side on a namespace of its own."""

    def running(program: list[str], *arguments: str) -> bytes:
        reached = ("--kubeconfig", str(control_plane.kubeconfig), "--namespace", namespace)
        return subprocess.run(
            [*program, *arguments, *reached], cwd=ROOT, check=True, capture_output=True, timeout=90
        ).stdout

    return running


@pytest.fixture
def sides(go_tool: Callable[[str], Path]) -> list[list[str]]:
    return [OURS, [str(go_tool("kubepeer"))]]


async def test_both_sides_list_watch_and_apply_the_same_objects(
    run: Callable[..., bytes],
    sides: list[list[str]],
    control_plane: ControlPlane,
    namespace: str,
    tmp_path: Path,
) -> None:
    async with connect_to(control_plane) as cluster:
        since = await fill_with_config_maps(cluster, namespace, OBJECTS)
    watch = ["watch", "--since", since, "--count", str(OBJECTS)]
    manifests = write_manifests(tmp_path / "manifests", OBJECTS, state=1)
    apply = ["apply", "--manifests", str(manifests), "--workers", "3"]
    for arguments in (watch, [*watch, "--kept"], apply):
        for side in sides:
            sample = msgspec.json.decode(run(side, *arguments), type=Sample)
            assert sample.items == OBJECTS, (side, arguments)
            assert min(sample.seconds, sample.cpu_seconds, sample.peak_bytes) > 0, (side, arguments)


async def test_both_sides_find_as_many_objects_by_pages_as_by_following(
    run: Callable[..., bytes], sides: list[list[str]], control_plane: ControlPlane, namespace: str
) -> None:
    async with connect_to(control_plane) as cluster:
        await fill_with_pods(cluster, namespace, OBJECTS)
    _, go = sides
    ways: list[tuple[list[str], list[str]]] = [
        (side, way) for side in sides for way in (["--page-size", "2"], ["--uncompressed"], ["--kept"])
    ]
    for side, way in [*ways, (go, ["--unstreamed"])]:
        said = run(side, "list", "--resource", "pods", *way)
        assert msgspec.json.decode(said, type=Sample).items == OBJECTS, (side, way)


def test_a_profile_names_the_biggest_costs(run: Callable[..., bytes]) -> None:
    costs = msgspec.json.decode(run(OURS, "list", "--profile"), type=list[Cost])
    assert 0 < len(costs) <= 3
    assert all(0 < cost.share <= 1 for cost in costs)

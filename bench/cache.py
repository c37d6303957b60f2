"""Measures the engine's cache beside Argo CD's GitOps engine on one real API server; writes bench/RESULTS.md.

Each run is a process of its own, so its processor time and its memory are nobody else's, and the two sides
take turns. Only the full size writes the page: a small run shows that everything works, not how fast.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from bench import report
from bench.caches import MILLION_AIM, QUESTION_AIM, SIZES, Size, fills, marks, storm
from bench.caching import Synthetic
from bench.chapters import (
    ROOT,
    Chapter,
    built_versions,
    leave,
    our_versions,
    peer_versions,
    run,
    tell,
)
from bench.client import AS_BENCH, CONFIG_MAPS, PODS, at_once
from bench.filling import WORKERS, add_namespaces, patch_status
from bench.measures import Figure, Round, Row, Sample, row_of
from bench.running import FLAGS, RUN_LIMIT, environment_in, printed, with_cluster
from bench.sampling import Cost
from bench.scenarios import Scenario
from bench.shapes import config_map, deployment, owned_by, pod, pod_status, replica_set, workload_status
from bench.synthetic import DEPLOYMENTS
from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from testbed.processes import leashed
from trimtab.kube import Cluster
from trimtab.kube.discovery import Resource

CHAPTER = Chapter(
    name="cache",
    heading="The engine's cache beside Argo CD's GitOps engine",
    command="make bench-cache",
    about=__doc__,
)
REPLICA_SETS = Resource(group="apps", version="v1", kind="ReplicaSet", plural="replicasets", namespaced=True)
SPACES = [f"bench-{number:02}" for number in range(20)]
#: both sides see a few objects more than were made, and not quite the same ones
SLACK = 500


# --- what there is to read ----------------------------------------------------------------------------


def space(number: int) -> str:
    """The namespace of an object."""
    return SPACES[number % len(SPACES)]


async def fill(cluster: Cluster, size: Size) -> None:
    """Make everything; nobody else makes or changes anything, since no controllers run."""
    await add_namespaces(cluster, SPACES)

    async def make_config_map(number: int) -> None:
        whole = config_map(number)
        whole["metadata"]["annotations"] = marks(number)
        await cluster.create(CONFIG_MAPS, whole, namespace=space(number), write=AS_BENCH)

    async def make_rollout(number: int) -> None:
        await _make_rollout(cluster, number)

    await at_once(make_config_map, range(size.config_maps), WORKERS)
    await at_once(make_rollout, range(size.rollouts), WORKERS)


async def _make_rollout(cluster: Cluster, number: int) -> None:
    where, web = space(number), deployment(number)
    web["metadata"]["annotations"] = marks(number)
    made = (await cluster.create(DEPLOYMENTS, web, namespace=where, write=AS_BENCH)).object.metadata
    await patch_status(cluster, DEPLOYMENTS, made.name, where, workload_status())
    below = replica_set(number, made.uid)
    pods = (await cluster.create(REPLICA_SETS, below, namespace=where, write=AS_BENCH)).object.metadata
    for each in (2 * number, 2 * number + 1):
        whole = pod(each)
        whole["metadata"]["ownerReferences"] = [owned_by("ReplicaSet", "apps/v1", pods.name, pods.uid)]
        named = (await cluster.create(PODS, whole, namespace=where, write=AS_BENCH)).object.metadata
        await patch_status(cluster, PODS, named.name, where, pod_status(each))


async def make_storm(cluster: Cluster, size: Size, state: int) -> None:
    """Change the status of Deployments, so many a second; every change is one event."""
    loop = asyncio.get_running_loop()
    begin = loop.time()

    async def change(number: int) -> None:
        await asyncio.sleep(max(begin + number / size.rate - loop.time(), 0))
        which = number % size.rollouts
        body = workload_status(message=f"storm {state}, event {number}")
        await patch_status(cluster, DEPLOYMENTS, f"web-{which:05}", space(which), body)

    await at_once(change, range(size.events), WORKERS)


# --- both sides ---------------------------------------------------------------------------------------


class Sides:
    """Both programs, ready to be run against one control plane."""

    def __init__(self, plane: ControlPlane, go: Path, size: Size) -> None:
        self._plane = plane
        self._size = size
        self._go = [str(go)]
        self._ours = [sys.executable, "-m", "bench.caching"]
        self._storms = 0

    def rounds(self, scenario: Scenario) -> list[Round]:
        """Run both sides so often; who goes first takes turns, too."""
        return [self._round(scenario, ours_first=bool(number % 2)) for number in range(self._size.rounds)]

    def _round(self, scenario: Scenario, *, ours_first: bool) -> Round:
        order = [self._ours, self._go] if ours_first else [self._go, self._ours]
        samples = {program[-1]: self._sample(program, scenario) for program in order}
        return Round(go=samples[self._go[-1]], ours=samples[self._ours[-1]])

    def _sample(self, program: Sequence[str], scenario: Scenario) -> Sample:
        sample = msgspec.json.decode(self._run(program, scenario, ()), type=Sample)
        if not scenario.items <= sample.items <= scenario.items + SLACK:
            raise SystemExit(f"{scenario.name}: {program[0]} counted {sample.items:,}: not comparable")
        return sample

    def costs(self, scenario: Scenario) -> tuple[Cost, ...]:
        """Where our side's processor time goes."""
        said = self._run(self._ours, scenario, ("--profile",))
        return msgspec.json.decode(said, type=tuple[Cost, ...])

    def _run(self, program: Sequence[str], scenario: Scenario, more: Iterable[str]) -> bytes:
        """What a run printed."""
        command = [*program, *scenario.arguments, "--kubeconfig", str(self._plane.kubeconfig), *more]
        with subprocess.Popen(
            leashed(command),
            cwd=ROOT,
            env=environment_in(self._plane.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running:
            try:
                first = self._make_storm(running) if scenario.arguments[0] == "storm" else b""
                said, complaint = running.communicate(timeout=RUN_LIMIT)
            except BaseException:
                running.kill()
                raise
        if running.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{(first + complaint).decode()}")
        return said

    def _make_storm(self, running: subprocess.Popen[bytes]) -> bytes:
        """Make the changes once the other side is ready to hear them; the answer is what it said before."""
        said: list[bytes] = []
        for line in running.stderr or ():
            if line.strip() == b"ready":
                self._storms += 1
                with_cluster(self._plane, partial(make_storm, size=self._size, state=self._storms))
                break
            said.append(line)
        return b"".join(said)


# --- ours alone ---------------------------------------------------------------------------------------


def alone(size: Size, home: Path) -> list[Figure]:
    """Keep made-up objects by the million, and ask for one unit's."""
    tell(f"keeping {size.synthetic:,} made-up objects")
    command = [sys.executable, "-m", "bench.caching", "synthetic", "--count", str(size.synthetic)]
    found = msgspec.json.decode(printed(command, home=home), type=Synthetic)
    name, held = f"Keep {found.objects:,} made-up objects", found.held_bytes / (1 << 20)
    each, accounted = found.held_bytes / found.objects, found.accounted_bytes / (1 << 20)
    return [
        Figure(
            what=f"{name}: MiB held",
            shown=f"{held:,.0f}",
            found=held,
            aim=MILLION_AIM if size.judged else None,
        ),
        Figure(what=f"{name}: bytes per object", shown=f"{each:,.0f}", found=each),
        Figure(what=f"{name}: MiB by its own account", shown=f"{accounted:,.0f}", found=accounted),
        Figure(
            what=f"All {found.answered:,} objects of one unit among them: milliseconds",
            shown=f"{found.milliseconds:.3f}",
            found=found.milliseconds,
            aim=QUESTION_AIM if size.judged else None,
        ),
    ]


# --- the whole ----------------------------------------------------------------------------------------


def measure_all(sides: Sides, size: Size) -> tuple[list[Row], dict[str, tuple[Cost, ...]]]:
    """Run every scenario on both sides."""
    rows: list[Row] = []
    costs: dict[str, tuple[Cost, ...]] = {}
    for scenario in (*fills(size), storm(size)):
        tell(scenario.name)
        rounds = sides.rounds(scenario)
        for quantity, aim in scenario.aims.items():
            judged = aim if size.judged else None
            rows.append(row_of(rounds, quantity, scenario=scenario.name, item=scenario.item, aim=judged))
        if scenario.profiled:
            costs[scenario.name] = sides.costs(scenario)
    return rows, costs


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    go = builder.tool("enginepeer")
    with ControlPlane(builder=builder, controllers=False, apiserver_flags=FLAGS) as plane:
        tell(f"creating {size.objects:,} objects")
        with_cluster(plane, lambda cluster: fill(cluster, size))
        rows, costs = measure_all(Sides(plane, go, size), size)
    with tempfile.TemporaryDirectory() as home:
        figures = alone(size, Path(home))
    setting = CHAPTER.setting(
        load,
        how=f"medians of {size.rounds} rounds, both sides in turn",
        versions={
            **our_versions("aiohttp", "msgspec", "zstandard"),
            **peer_versions(go, "gitops-engine"),
            **built_versions(builder, "kube-apiserver", "etcd"),
        },
        shared_by="Clients, API server and etcd",
    )
    return "\n\n".join([report.part(setting, rows, costs), report.figures_table(figures)])


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

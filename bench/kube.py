"""Measures `trimtab.kube` beside Go's client library on one real API server, and writes bench/RESULTS.md.

Each run is a process of its own, so its processor time and its memory are nobody else's, and the two sides
take turns. Only the full size writes the page: a small run shows that everything works, not how fast.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Coroutine, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from bench import filling, report
from bench.chapters import ROOT, Chapter, leave, run, tell
from bench.measures import Round, Row, Sample, row_of
from bench.sampling import Cost
from bench.scenarios import SIZES, Scenario, Size, applies, lists, watches
from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from testbed.processes import leashed
from trimtab.kube import Cluster, connect, from_kubeconfig
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import SystemClock
from trimtab.tasks.loops import run_main

CHAPTER = Chapter(
    name="kube",
    heading="`trimtab.kube` beside client-go",
    command="make bench",
    about=__doc__,
)
READ, APPLIED = "bench-read", "bench-applied"  # namespaces: what is applied changes no list
RUN_LIMIT = 600.0
#: Pods need no service account here: nobody runs the controller that would make one.
FLAGS = ("--disable-admission-plugins=ServiceAccount",)
_T = TypeVar("_T")


class Sides:
    """Both programs, ready to be run against one control plane."""

    def __init__(self, plane: ControlPlane, go: Path) -> None:
        self._plane = plane
        self._go = [str(go)]
        self._ours = [sys.executable, "-m", "bench.client"]
        self._state = 0

    def rounds(self, scenario: Scenario, count: int) -> list[Round]:
        """Run both sides so often; who goes first takes turns, too."""
        return [self._round(scenario, ours_first=bool(number % 2)) for number in range(count)]

    def _round(self, scenario: Scenario, *, ours_first: bool) -> Round:
        if ours_first:
            ours = self._sample(self._ours, scenario)
            return Round(go=self._sample(self._go, scenario), ours=ours)
        go = self._sample(self._go, scenario)
        return Round(go=go, ours=self._sample(self._ours, scenario))

    def _sample(self, program: Sequence[str], scenario: Scenario) -> Sample:
        more = scenario.for_go if program is self._go else ()
        sample = msgspec.json.decode(self._run(program, [*self._arguments(scenario), *more]), type=Sample)
        if sample.items != scenario.items:
            raise SystemExit(f"{scenario.name}: {program[0]} counted {sample.items:,}: not comparable")
        return sample

    def costs(self, scenario: Scenario) -> tuple[Cost, ...]:
        """Where our side's processor time goes."""
        said = self._run(self._ours, [*self._arguments(scenario), "--profile"])
        return msgspec.json.decode(said, type=tuple[Cost, ...])

    def prepare(self, scenario: Scenario) -> None:
        """Apply once without measuring, so that every measured apply changes an object that is there."""
        self._run(self._ours, self._arguments(scenario))

    def _arguments(self, scenario: Scenario) -> list[str]:
        is_apply = scenario.arguments[0] == "apply"
        namespace = APPLIED if is_apply else READ
        common = ["--kubeconfig", str(self._plane.kubeconfig), "--namespace", namespace]
        manifests = ["--manifests", str(self._manifests(scenario.items))] if is_apply else []
        return [*scenario.arguments, *common, *manifests]

    def _manifests(self, count: int) -> Path:
        """Manifests in a state that no run before has applied."""
        self._state += 1
        return filling.write_manifests(self._plane.folder / "manifests.jsonl", count, state=self._state)

    def _run(self, program: Sequence[str], arguments: Sequence[str]) -> bytes:
        """What a run printed; its environment is empty, so that nobody's GOGC or PYTHON… counts."""
        done = subprocess.run(
            leashed([*program, *arguments]),
            cwd=ROOT,
            env={"HOME": str(self._plane.folder), "PATH": ""},
            capture_output=True,
            check=False,
            timeout=RUN_LIMIT,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join([*program, *arguments])} failed:\n{done.stderr.decode()}")
        return done.stdout


class Bench:
    """Collects the rows of every scenario, and our costs where they are asked for."""

    def __init__(self, sides: Sides, size: Size) -> None:
        self._sides = sides
        self._size = size
        self.rows: list[Row] = []
        self.costs: dict[str, tuple[Cost, ...]] = {}

    def measure(self, scenarios: Sequence[Scenario]) -> None:
        """Run both sides of each scenario."""
        for scenario in scenarios:
            tell(scenario.name)
            rounds = self._sides.rounds(scenario, self._size.rounds * scenario.often)
            self.rows += [
                row_of(
                    rounds,
                    quantity,
                    scenario=scenario.name,
                    item=scenario.item,
                    aim=aim if self._size.judged else None,
                )
                for quantity, aim in scenario.aims.items()
            ]
            if scenario.profiled:
                self.costs[scenario.name] = self._sides.costs(scenario)


def measure_all(plane: ControlPlane, sides: Sides, size: Size) -> Bench:
    """Fill and measure; watches come first, while the API server remembers how the ConfigMaps were made."""
    bench = Bench(sides, size)
    tell(f"creating {size.config_maps:,} ConfigMaps")
    since = with_cluster(plane, lambda it: filling.fill_with_config_maps(it, READ, size.config_maps))
    bench.measure(watches(size.config_maps, since=since))
    bench.measure(lists("configmaps", "ConfigMaps", size.config_maps))
    tell(f"creating {size.pods:,} Pods")
    with_cluster(plane, lambda it: filling.fill_with_pods(it, READ, size.pods))
    bench.measure(lists("pods", "Pods", size.pods))
    changes = applies(size.applies)
    sides.prepare(max(changes, key=lambda scenario: scenario.items))
    bench.measure(changes)
    return bench


class Reachable(Protocol):
    """Something with a kubeconfig."""

    kubeconfig: Path


def with_cluster(plane: Reachable, work: Callable[[Cluster], Coroutine[Any, Any, _T]]) -> _T:
    """Do something to a server with a client of this process."""
    settings = ClusterSettings()

    async def doing() -> _T:
        access = from_kubeconfig([plane.kubeconfig], settings=settings, clock=SystemClock(), environment={})
        async with connect(access, settings) as cluster:
            return await work(cluster)

    return run_main(doing())


def machine() -> str:
    """The machine in a few words."""
    described = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in described if "model name" in line), "processor")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB, Linux {platform.release()}"


def versions(builder: Builder, go: Path) -> dict[str, str]:
    """What was compared, and on what."""
    peer = msgspec.json.decode(
        subprocess.run([go, "version"], check=True, capture_output=True).stdout, type=dict[str, str]
    )
    return {
        "Python": platform.python_version(),
        **{name: version(name) for name in ("aiohttp", "msgspec")},
        "Go": peer["go"].removeprefix("go"),
        "client-go": peer["client-go"].removeprefix("v"),
        **{name: builder.version(name).removeprefix("v") for name in ("kube-apiserver", "etcd")},
    }


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    go = builder.tool("kubepeer")
    with ControlPlane(builder=builder, controllers=False, apiserver_flags=FLAGS) as plane:
        for namespace in (READ, APPLIED):
            plane.add_namespace(namespace)
        bench = measure_all(plane, Sides(plane, go), size)
    setting = report.Setting(
        command=CHAPTER.command,
        machine=machine(),
        load=load,
        versions=versions(builder, go),
        rounds=size.rounds,
    )
    return report.part(setting, bench.rows, bench.costs)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

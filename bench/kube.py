"""Measures `trimtab.kube` beside Go's client library on one real API server, and writes bench/RESULTS.md.

Each run is a process of its own, so its processor time and its memory are nobody else's, and the two sides
take turns. Only the full size writes the page: a small run shows that everything works, not how fast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench import filling, report
from bench.chapters import (
    Chapter,
    built_versions,
    leave,
    our_versions,
    peer_versions,
    run,
    tell,
)
from bench.measures import Round, Row, Sample, row_of
from bench.running import FLAGS, printed, with_cluster
from bench.sampling import Cost
from bench.scenarios import SIZES, Scenario, Size, applies, lists, watches
from testbed.builds import Builder
from testbed.controlplane import ControlPlane

CHAPTER = Chapter(
    name="kube",
    heading="`trimtab.kube` beside client-go",
    command="make bench",
    about=__doc__,
)
READ, APPLIED = "bench-read", "bench-applied"  # namespaces: what is applied changes no list


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
        return printed([*program, *arguments], home=self._plane.folder)


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


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    go = builder.tool("kubepeer")
    with ControlPlane(builder=builder, controllers=False, apiserver_flags=FLAGS) as plane:
        for namespace in (READ, APPLIED):
            plane.add_namespace(namespace)
        bench = measure_all(plane, Sides(plane, go), size)
    setting = CHAPTER.setting(
        load,
        how=f"medians of {size.rounds} rounds, both sides in turn",
        versions={
            **our_versions("aiohttp", "msgspec"),
            **peer_versions(go, "client-go"),
            **built_versions(builder, "kube-apiserver", "etcd"),
        },
        shared_by="Clients, API server and etcd",
    )
    return report.part(setting, bench.rows, bench.costs)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

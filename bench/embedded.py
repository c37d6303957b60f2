"""Measures the embedded cluster beside a real etcd and kube-apiserver, and writes bench/RESULTS.md.

The client is the same Go program for both, so the servers are what differs, and they take turns. Only the
full size writes the page: a small run shows that everything works, not how fast.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from bench import filling, loads, report
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
from bench.loads import Size
from bench.measures import Aim, Quantity, Round, Row, Sample, row_of
from bench.peers import ran, written
from bench.running import printed, with_cluster
from bench.sampling import Cost
from bench.scenarios import Scenario
from bench.serving import COSTS
from bench.shapes import config_map
from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from testbed.part import Part
from testbed.processes import Process, resident_bytes
from trimtab.apiserver import background

CHAPTER = Chapter(
    name="embedded",
    heading="The embedded cluster beside etcd and kube-apiserver",
    command="make bench-embedded",
    about=__doc__,
)
NAMES = ("real", "embedded")
#: either side
Server: TypeAlias = Embedded | ControlPlane
READ, APPLIED, MANY = "bench-read", "bench-applied", "bench-many"


class Watched(Embedded):
    """An embedded cluster whose costs can be asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Process(
            "embedded",
            [sys.executable, "-m", "bench.serving", str(self.folder)],
            folder=self.folder,
            env={"PYTHONPATH": str(ROOT)},
        )

    def costs_of(self, work: Callable[[], object]) -> tuple[Cost, ...]:
        """Where the server's processor time goes while something is done to it."""
        path = self.folder / COSTS
        path.unlink(missing_ok=True)
        self.server.signal(signal.SIGUSR1)
        work()
        self.server.signal(signal.SIGUSR2)
        self.server.wait_until(path.exists, what="writing its costs")
        return msgspec.json.decode(path.read_bytes(), type=tuple[Cost, ...])


class Commanded(Part):
    """The cluster that `trimtab cluster up` starts in the background, with all that it comes with."""

    def __init__(self) -> None:
        super().__init__("up")
        self._state = self.folder / ".local" / "state" / "trimtab" / "cluster"
        self.kubeconfig = self._state / background.KUBECONFIG

    @property
    def processes(self) -> tuple[Process, ...]:
        """None of the testbed's: the command sees to its own."""
        return ()

    def _bring_up(self) -> None:
        self._command("up")

    def _release(self) -> None:
        if background.running(self._state) is not None:
            self._command("down")
        super()._release()

    def _command(self, verb: str) -> None:
        program = Path(sys.executable).with_name("trimtab")
        ran((program, "cluster", verb), environment={"HOME": str(self.folder)}, folder=self.folder)

    def resident_bytes(self) -> int:
        """How much memory the process in the background holds now."""
        state = background.running(self._state)
        if state is None:
            raise SystemExit("the cluster that was started is not running any more")
        return resident_bytes(state.pid)


class Load:
    """The Go client, and what it applies next."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._state = 0

    def sample(self, server: Server, scenario: Scenario, namespace: str) -> Sample:
        """One run against one server."""
        command = [str(self._program), *self._arguments(server, scenario, namespace)]
        sample = msgspec.json.decode(printed(command, home=server.folder), type=Sample)
        if sample.items != scenario.items:
            raise SystemExit(f"{scenario.name}: {sample.items:,} counted: not comparable")
        return sample

    def _arguments(self, server: Server, scenario: Scenario, namespace: str) -> list[str]:
        common = ["-kubeconfig", str(server.kubeconfig), "-namespace", namespace]
        match scenario.arguments:
            case ("apply", *_):
                common += ["-manifests", str(self._manifests(server, scenario.items))]
            case ("fan", _, _, _, count, "-workers", _):
                common += ["-since", _newest(server, namespace)]
                common += ["-manifests", str(self._manifests(server, int(count)))]
            case ("fan", _, _, _, count):
                common += ["-since", self._before_changes(server, namespace, int(count))]
        return [*scenario.arguments, *common]

    def _before_changes(self, server: Server, namespace: str, count: int) -> str:
        """Change so many objects now; the answer is the version before."""
        since = _newest(server, namespace)
        self.sample(server, loads.applies({8: count})[0], namespace)
        return since

    def _manifests(self, server: Server, count: int) -> Path:
        """Manifests in a state that no run before has applied."""
        self._state += 1
        return filling.write_manifests(server.folder / "manifests.jsonl", count, state=self._state)


def _newest(server: Server, namespace: str) -> str:
    """The version of a collection now; its objects differ from what is applied next."""
    return with_cluster(server, lambda cluster: filling.newest_version(cluster, namespace))


class Bench:
    """Both servers, and the rows and costs that come of them."""

    def __init__(self, real: Server, ours: Watched, load: Load, size: Size) -> None:
        self._real, self._ours, self._load, self._size = real, ours, load, size
        self.rows: list[Row] = []
        self.costs: dict[str, tuple[Cost, ...]] = {}

    def measure(self, scenario: Scenario, namespace: str) -> None:
        """Run a scenario on both servers in turn; who goes first takes turns, too."""
        tell(scenario.name)
        rounds = [self._round(scenario, namespace, number) for number in range(self._size.rounds)]
        for quantity, aim in scenario.aims.items():
            self._add(rounds, quantity, scenario.name, scenario.item, aim)
        if scenario.profiled:
            work = lambda: self._load.sample(self._ours, scenario, namespace)  # noqa: E731 - it is one call
            self.costs[scenario.name] = self._ours.costs_of(work)

    def _round(self, scenario: Scenario, namespace: str, number: int) -> Round:
        order = [self._real, self._ours] if number % 2 else [self._ours, self._real]
        samples = {id(server): self._load.sample(server, scenario, namespace) for server in order}
        return Round(go=samples[id(self._real)], ours=samples[id(self._ours)])

    def _add(
        self, rounds: Sequence[Round], quantity: Quantity, name: str, item: str, aim: Aim | None
    ) -> None:
        judged = aim if self._size.judged else None
        self.rows.append(row_of(rounds, quantity, scenario=name, item=item, aim=judged))

    def fill(self, namespace: str, count: int) -> tuple[Sample, Sample]:
        """Create so many ConfigMaps on both; what the servers grew by is told as memory."""
        tell(f"creating {count:,} ConfigMaps on both")
        return self._filled(self._real, namespace, count), self._filled(self._ours, namespace, count)

    def _filled(self, server: Server, namespace: str, count: int) -> Sample:
        before, start = server.resident_bytes(), time.monotonic()
        with_cluster(server, lambda cluster: filling.fill_with_config_maps(cluster, namespace, count))
        grown, seconds = server.resident_bytes() - before, time.monotonic() - start
        return Sample(items=count, seconds=seconds, cpu_seconds=0.0, peak_bytes=0, held_bytes=max(grown, 1))

    def remember(
        self, name: str, item: str, quantities: Sequence[tuple[Quantity, Aim | None]], rounds: Sequence[Round]
    ) -> None:
        """Add rows for what was measured outside of a scenario."""
        for quantity, aim in quantities:
            self._add(rounds, quantity, name, item, aim)


class Start(Struct, frozen=True, kw_only=True):
    """A fresh server: at its first answer, and after it was worked with."""

    first: Sample
    used: Sample


def started(make: Callable[[], Commanded | ControlPlane], kubectl: Path) -> Start:
    """Start a server, and say how long the first answer takes and how much memory it then holds.

    Some of what a server knows it reads when it is first asked: kubectl asks for all of that.
    """
    server = make()
    begun = time.monotonic()
    with server:
        with_cluster(server, lambda cluster: cluster.version())
        seconds, held = time.monotonic() - begun, server.resident_bytes()
        manifest = written(server.folder / "map.yaml", [config_map(0)])
        for words in (("apply", "-f", manifest), ("explain", "deployments.spec"), ("get", "all", "-A")):
            command = (kubectl, *words, "--kubeconfig", server.kubeconfig)
            ran(command, environment={"HOME": str(server.folder)})
        return Start(first=_stood(seconds, held), used=_stood(seconds, server.resident_bytes()))


def _stood(seconds: float, held: int) -> Sample:
    return Sample(items=1, seconds=seconds, cpu_seconds=0.0, peak_bytes=0, held_bytes=held)


def in_process(count: int, home: Path, *words: str) -> bytes:
    """What is said of applies without HTTP, in a process of their own."""
    return printed([sys.executable, "-m", "bench.inprocess", "--count", str(count), *words], home=home)


def measure_in_process(bench: Bench, load: Load, real: Server, scenario: Scenario, rounds: int) -> None:
    """Apply without HTTP on our side, and over it on the other; and where our time goes."""
    tell(f"applying {scenario.items:,} ConfigMaps in process")
    name = f"Apply {scenario.items:,} ConfigMaps in process, the real one over HTTP"
    pairs = [
        Round(
            go=load.sample(real, scenario, APPLIED),
            ours=msgspec.json.decode(in_process(scenario.items, real.folder), type=Sample),
        )
        for _ in range(rounds)
    ]
    bench.remember(name, "apply", [(Quantity.RATE, None)], pairs)
    costs = in_process(scenario.items, real.folder, "--profile")
    bench.costs[name] = msgspec.json.decode(costs, type=tuple[Cost, ...])


def measure_all(bench: Bench, load: Load, real: Server, size: Size) -> None:
    """Fill and measure; the many objects come last, since they stay."""
    bench.fill(READ, size.objects)
    for scenario in (*loads.reads(size), *loads.fan_outs(size, among=size.objects)):
        bench.measure(scenario, READ)
    changes = loads.applies(size.applies)
    bench.fill(APPLIED, max(size.applies.values()))
    for scenario in changes:
        bench.measure(scenario, APPLIED)
    measure_in_process(bench, load, real, changes[-1], size.rounds)
    go, ours = bench.fill(MANY, size.many)
    kept = f"{size.many:,} ConfigMaps of 2 KB"
    bench.remember(kept, "object", [(Quantity.MEMORY, None)], [Round(go=go, ours=ours)])
    for scenario in (loads.listing(size.many), *loads.fan_outs(size, among=size.many)):
        bench.measure(scenario, MANY)


def starts(builder: Builder, rounds: int) -> list[tuple[Start, Start]]:
    """A fresh server of each side, so many times: the real one without controllers, ours with all it has."""
    tell("starting both, again and again")
    kubectl = builder.program("kubectl")
    return [
        (
            started(lambda: ControlPlane(builder=builder, controllers=False), kubectl),
            started(Commanded, kubectl),
        )
        for _ in range(rounds)
    ]


def remember_starts(bench: Bench, pairs: Sequence[tuple[Start, Start]]) -> None:
    """Add the rows of the starts."""
    first = [Round(go=real.first, ours=ours.first) for real, ours in pairs]
    used = [Round(go=real.used, ours=ours.used) for real, ours in pairs]
    name = "`trimtab cluster up`"
    bench.remember(f"{name}, until the first answer", "start", [(Quantity.SECONDS, loads.START_AIM)], first)
    bench.remember(f"{name}, idle after it", "start", [(Quantity.HELD, loads.IDLE_AIM)], first)
    bench.remember(f"{name}, after kubectl has used it", "start", [(Quantity.HELD, None)], used)


def measured_chapter(size: Size, builder: Builder, before: float) -> str:
    """What the page tells of what was measured."""
    go = builder.tool("kubepeer")
    load = Load(go)
    # First of all: a machine that has just let go of a hundred thousand objects is slow to begin anything.
    pairs = starts(builder, size.rounds)
    with ControlPlane(builder=builder, controllers=False) as real, Watched() as ours:
        for server in (real, ours):
            with_cluster(server, lambda cluster: filling.add_namespaces(cluster, (READ, APPLIED, MANY)))
        bench = Bench(real, ours, load, size)
        measure_all(bench, load, real, size)
    remember_starts(bench, pairs)
    setting = CHAPTER.setting(
        before,
        how=f"medians of {size.rounds} rounds, both sides in turn",
        versions={
            **our_versions("aiohttp", "msgspec"),
            **peer_versions(go, "client-go"),
            **built_versions(builder, "kube-apiserver", "etcd"),
        },
        shared_by="Clients, API server and etcd",
    )
    return report.part(setting, bench.rows, bench.costs, NAMES)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, loads.SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

"""Measures the engine on one real API server: whole syncs, looks that find nothing to do, a change, a drift.

Our side alone; what peers take for the same work is behind each aim. Each round is a process of its own on a
control plane of its own; medians are shown. Only the full size writes the page.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from statistics import median

import msgspec
from msgspec import Struct

from bench.cache import Figure, alone_table
from bench.filling import add_namespaces
from bench.kube import FLAGS, ROOT, machine, tell, with_cluster, write
from bench.measures import Aim
from bench.report import costs_table
from bench.units import Report
from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from testbed.processes import leashed
from trimtab.errors import TrimtabError

COMMAND = "make bench-engine"
HEADING = "The engine: syncs and looks"
RUN_LIMIT = 900.0
NAMESPACES = ("raw", "one", "many")


class Size(Struct, frozen=True, kw_only=True):
    """How many objects, and units; how often."""

    objects: int
    rounds: int
    judged: bool


SIZES = {
    "full": Size(objects=1_000, rounds=5, judged=True),
    "small": Size(objects=50, rounds=1, judged=False),
}


class Measure(Struct, frozen=True):
    """One figure: what it is, how it is read off a report, and what it shall be."""

    what: str
    read: Callable[[Report], float]
    aim: Aim | None = None
    digits: int = 2


NONE, ONE = Aim(at_most=0, itself=True), Aim(at_most=1, itself=True)
MEASURES = (
    Measure("Raw applies by 32 at once: per second", lambda it: it.objects / it.raw.seconds, digits=0),
    Measure("First sync in one unit: seconds", lambda it: it.first.seconds),
    Measure(
        "First sync in one unit: rate as a part of the raw rate",
        lambda it: it.raw.seconds / it.first.seconds,
        Aim(at_least=0.8, itself=True),
    ),
    Measure(
        "First sync in one unit: CPU µs per object", lambda it: it.first.cpu / it.objects * 1e6, digits=0
    ),
    Measure("No-op look at it: requests", lambda it: it.no_op.requests, Aim(at_most=0, itself=True), 0),
    Measure(
        "No-op look at that unit: CPU ms", lambda it: it.no_op.cpu * 1e3, Aim(at_most=46, itself=True), 1
    ),
    Measure(
        "One object changed in Git: writes", lambda it: it.changed.writes, Aim(at_most=1, itself=True), 0
    ),
    Measure("One object changed in Git: seconds", lambda it: it.changed.seconds, digits=3),
    Measure(
        "One object drifted: writes of ours", lambda it: it.drifted.writes - 1, Aim(at_most=1, itself=True), 0
    ),
    Measure("One object drifted: seconds until healed", lambda it: it.drifted.seconds, digits=3),
    Measure(
        "As many units of one object, first sync: rate as a part of the raw rate",
        lambda it: it.raw.seconds / it.units_first.seconds,
        Aim(at_least=0.7, itself=True),
    ),
    Measure(
        "As many units of one object, no-op look: units per CPU second",
        lambda it: it.objects / it.units_no_op.cpu,
        Aim(at_least=5_000, itself=True),
        0,
    ),
    Measure(
        "As many units of one object, no-op look: requests", lambda it: it.units_no_op.requests, digits=0
    ),
)


def reported(plane: ControlPlane, size: Size) -> Report:
    """One round, in a process of its own."""
    done = subprocess.run(
        leashed(
            [
                sys.executable,
                "-m",
                "bench.units",
                "--kubeconfig",
                str(plane.kubeconfig),
                "--count",
                str(size.objects),
            ]
        ),
        cwd=ROOT,
        env={"HOME": str(plane.folder), "PATH": ""},
        capture_output=True,
        check=False,
        timeout=RUN_LIMIT,
    )
    if done.returncode:
        raise SystemExit(f"bench.units failed:\n{done.stderr.decode()}")
    return msgspec.json.decode(done.stdout, type=Report)


def figures(reports: Sequence[Report], size: Size) -> list[Figure]:
    """The medians of all rounds."""
    found = []
    for measure in MEASURES:
        value = median(measure.read(report) for report in reports)
        aim = measure.aim if size.judged else None
        found.append(
            Figure(
                what=measure.what,
                value=f"{value:,.{measure.digits}f}",
                aim=aim,
                met=aim.is_met(value) if aim else None,
            )
        )
    return found


def measure_all(builder: Builder, size: Size) -> list[Report]:
    """Every round, each on a control plane of its own: what one leaves must not be read by the next."""
    reports = []
    for number in range(size.rounds):
        with ControlPlane(builder=builder, controllers=False, apiserver_flags=FLAGS) as plane:
            with_cluster(plane, lambda cluster: add_namespaces(cluster, NAMESPACES))
            tell(f"round {number + 1} of {size.rounds}: {size.objects:,} objects, {size.objects:,} units")
            reports.append(reported(plane, size))
    return reports


def told(builder: Builder, reports: Sequence[Report], size: Size, load: float) -> str:
    """The part of the page."""
    versions = {
        "Python": platform.python_version(),
        **{name: version(name) for name in ("aiohttp", "msgspec")},
        **{name: builder.version(name).removeprefix("v") for name in ("kube-apiserver", "etcd")},
    }
    lines = [
        f"- Command: `{COMMAND}`; medians of {size.rounds} rounds of {size.objects:,} ConfigMaps of 2 KB.",
        f"- Machine: {machine()}; load average at the start {load:.1f}.",
        "  Client, API server and etcd share it.",
        f"- Versions: {', '.join(f'{name} {number}' for name, number in versions.items())}.",
        "",
        alone_table(figures(reports, size)),
        "",
        "Where the processor time of looking at unchanged units goes:",
        "",
        costs_table({"No-op looks at units of one object": reports[-1].costs}),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine", description=__doc__)
    parser.add_argument("--size", choices=tuple(SIZES), default="full")
    chosen = parser.parse_args(arguments).size
    size, builder, load = SIZES[chosen], Builder(), os.getloadavg()[0]
    text = told(builder, measure_all(builder, size), size, load)
    print(text)
    if chosen == "full":
        write(text, name="engine", heading=HEADING, command=COMMAND)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except TrimtabError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)

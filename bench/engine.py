"""Measures the engine on one real API server: whole syncs, looks that find nothing to do, a change, a drift.

Each round is a control plane of its own, on which our process goes first and then, for the syncs of many
objects, kubectl and Argo CD's GitOps engine; medians are shown. With its default settings the Go engine takes
a minute for a thousand objects, so that is run in the first round alone. Only the full size writes the page.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from bench.cache import Figure, alone_table
from bench.chapters import ROOT, Chapter, leave, run, tell
from bench.client import CONFIG_MAPS
from bench.filling import add_namespaces
from bench.kube import FLAGS, machine, with_cluster
from bench.measures import Aim
from bench.peers import GoEngine, Peers, kubectl_apply, marked, written
from bench.report import costs_table
from bench.shapes import config_map
from bench.units import Report
from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from testbed.processes import leashed

CHAPTER = Chapter(
    name="engine",
    heading="The engine: syncs and looks",
    command="make bench-engine",
    about=__doc__,
)
RUN_LIMIT = 900.0
NAMESPACES = ("raw", "one", "many", "kubectl", "go")


class Size(Struct, frozen=True, kw_only=True):
    """How many objects, and units; how often."""

    objects: int
    rounds: int
    judged: bool


SIZES = {
    "full": Size(objects=1_000, rounds=3, judged=True),
    "small": Size(objects=50, rounds=1, judged=False),
}


class Round(Struct, frozen=True, kw_only=True):
    """What one control plane saw of us and of others."""

    ours: Report
    peers: Peers


class Measure(Struct, frozen=True):
    """One figure: what it is, how it is read off a report, and what it shall be."""

    what: str
    read: Callable[[Report], float]
    aim: Aim | None = None
    digits: int = 2


class Beside(Struct, frozen=True):
    """One figure that others have, too: theirs, and ours as a part of it; None where they were not run."""

    what: str
    theirs: Callable[[Peers], float | None]
    ours: Callable[[Report], float]
    aim: Aim | None = None


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


def _default_seconds(peers: Peers) -> float | None:
    return peers.go_default.seconds if peers.go_default is not None else None


PEERS = (
    Beside(
        "First sync, `kubectl apply --server-side`: seconds",
        lambda it: it.kubectl.seconds,
        lambda it: it.first.seconds,
        Aim(at_most=0.4),
    ),
    Beside(
        "First sync, the Go engine without validation: seconds",
        lambda it: it.go_best.seconds,
        lambda it: it.first.seconds,
        Aim(at_most=0.35),
    ),
    Beside(
        "First sync, the Go engine by default: seconds",
        _default_seconds,
        lambda it: it.first.seconds,
        Aim(at_most=0.02),
    ),
    Beside(
        "No-op, the Go engine without validation: CPU seconds",
        lambda it: it.go_best_again.cpu_seconds,
        lambda it: it.no_op.cpu,
        Aim(at_most=0.02),
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


def others(plane: ControlPlane, builder: Builder, size: Size, *, default: bool) -> Peers:
    """What kubectl and the Go engine take for the same objects.

    The Go engine prunes what carries its mark anywhere, so its first syncs take turns in one namespace.
    """
    go = GoEngine(builder.tool("enginepeer"), plane)
    with tempfile.TemporaryDirectory() as name:
        plain = written(Path(name) / "all.yaml", map(config_map, range(size.objects)))
        lines = written(Path(name) / "all.jsonl", marked(size.objects))
        by_default = go.sync(lines, "go", "-validate") if default else None
        if by_default is not None:
            with_cluster(plane, lambda cluster: cluster.delete_all(CONFIG_MAPS, namespace="go"))
        return Peers(
            kubectl=kubectl_apply(builder.program("kubectl"), plane, plain, "kubectl"),
            go_best=go.sync(lines, "go"),
            go_best_again=go.sync(lines, "go", "-again"),
            go_default=by_default,
        )


def besides(rounds: Sequence[Round], size: Size) -> str:
    """Their medians beside the medians of ours in the same rounds."""
    lines = ["| what | theirs | ours | ours / theirs | aim | met |", "|---|--:|--:|--:|--:|---|"]
    for each in PEERS:
        pairs = [
            (theirs, each.ours(one.ours)) for one in rounds if (theirs := each.theirs(one.peers)) is not None
        ]
        ratio = median(ours / theirs for theirs, ours in pairs)
        aim = each.aim if size.judged else None
        met = "" if aim is None else "yes" if aim.is_met(ratio) else "**no**"
        theirs, ours = (median(side) for side in zip(*pairs, strict=True))
        shown = f"{theirs:,.3f} | {ours:,.3f} | {ratio:.3f} | {aim or ''} | {met}"
        lines.append(f"| {each.what} | {shown} |")
    return "\n".join(lines)


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


def measure_all(builder: Builder, size: Size) -> list[Round]:
    """Every round, each on a control plane of its own: what one leaves must not be read by the next."""
    rounds = []
    for number in range(size.rounds):
        with ControlPlane(builder=builder, controllers=False, apiserver_flags=FLAGS) as plane:
            with_cluster(plane, lambda cluster: add_namespaces(cluster, NAMESPACES))
            tell(f"round {number + 1} of {size.rounds}: {size.objects:,} objects, {size.objects:,} units")
            ours = reported(plane, size)
            tell("the same objects by kubectl and by the Go engine")
            peers = others(plane, builder, size, default=number == 0)
            rounds.append(Round(ours=ours, peers=peers))
    return rounds


def told(builder: Builder, rounds: Sequence[Round], size: Size, load: float) -> str:
    """The part of the page."""
    reports = [each.ours for each in rounds]
    versions = {
        "Python": platform.python_version(),
        **{name: version(name) for name in ("aiohttp", "msgspec")},
        **{name: builder.version(name).removeprefix("v") for name in ("kubectl", "kube-apiserver", "etcd")},
    }
    command = CHAPTER.command
    lines = [
        f"- Command: `{command}`; medians of {size.rounds} rounds of {size.objects:,} ConfigMaps of 2 KB.",
        f"- Machine: {machine()}; load average at the start {load:.1f}.",
        "  Client, API server and etcd share it.",
        f"- Versions: {', '.join(f'{name} {number}' for name, number in versions.items())}.",
        "",
        alone_table(figures(reports, size)),
        "",
        "Beside others on the same control planes; the Go engine's cache is filled before its clock starts,",
        "as ours is, while kubectl's whole process counts. By default, with validation, it was run once:",
        "",
        besides(rounds, size),
        "",
        "Where the processor time of looking at unchanged units goes:",
        "",
        costs_table({"No-op looks at units of one object": reports[-1].costs}),
    ]
    return "\n".join(lines)


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    return told(builder, measure_all(builder, size), size, load)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

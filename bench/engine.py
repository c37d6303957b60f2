"""Measures the engine on one real API server: whole syncs, looks that find nothing to do, a change, a drift.

Each round is a control plane of its own, on which our process goes first and then, for the syncs of many
objects, kubectl and Argo CD's GitOps engine; medians are shown. With its default settings the Go engine takes
a minute for a thousand objects, so that is run in the first round alone. Only the full size writes the page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from bench import report
from bench.chapters import Chapter, built_versions, leave, our_versions, run, tell
from bench.client import CONFIG_MAPS
from bench.filling import add_namespaces
from bench.measures import Aim, Figure, Measure
from bench.peers import GoEngine, Peers, kubectl_apply, marked, written
from bench.running import FLAGS, printed, with_cluster
from bench.shapes import config_map
from bench.units import Report
from testbed.builds import Builder
from testbed.controlplane import ControlPlane

CHAPTER = Chapter(
    name="engine",
    heading="The engine: syncs and looks",
    command="make bench-engine",
    about=__doc__,
)
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


class Beside(Struct, frozen=True):
    """One figure that others have, too: theirs, and ours as a part of it; None where they were not run."""

    what: str
    theirs: Callable[[Peers], float | None]
    ours: Callable[[Report], float]
    aim: Aim | None = None


NONE, ONE = Aim(at_most=0, itself=True), Aim(at_most=1, itself=True)
MEASURES: tuple[Measure[Report], ...] = (
    Measure("Raw applies by 32 at once: per second", lambda it: it.objects / it.raw.seconds, digits=0),
    Measure("First sync in one unit: seconds", lambda it: it.first.seconds, digits=2),
    Measure(
        "First sync in one unit: rate as a part of the raw rate",
        lambda it: it.raw.seconds / it.first.seconds,
        Aim(at_least=0.8, itself=True),
        digits=2,
    ),
    Measure(
        "First sync in one unit: CPU µs per object", lambda it: it.first.cpu / it.objects * 1e6, digits=0
    ),
    Measure("No-op look at it: requests", lambda it: it.no_op.requests, NONE, digits=0),
    Measure(
        "No-op look at that unit: CPU ms",
        lambda it: it.no_op.cpu * 1e3,
        Aim(at_most=46, itself=True),
        digits=1,
    ),
    Measure("One object changed in Git: writes", lambda it: it.changed.writes, ONE, digits=0),
    Measure("One object changed in Git: seconds", lambda it: it.changed.seconds),
    Measure("One object drifted: writes of ours", lambda it: it.drifted.writes - 1, ONE, digits=0),
    Measure("One object drifted: seconds until healed", lambda it: it.drifted.seconds),
    Measure(
        "As many units of one object, first sync: rate as a part of the raw rate",
        lambda it: it.raw.seconds / it.units_first.seconds,
        Aim(at_least=0.7, itself=True),
        digits=2,
    ),
    Measure(
        "As many units of one object, no-op look: units per CPU second",
        lambda it: it.objects / it.units_no_op.cpu,
        Aim(at_least=5_000, itself=True),
        digits=0,
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
    words = ["--kubeconfig", str(plane.kubeconfig), "--count", str(size.objects)]
    said = printed([sys.executable, "-m", "bench.units", *words], home=plane.folder)
    return msgspec.json.decode(said, type=Report)


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
    lines = [_beside(each, rounds, judged=size.judged) for each in PEERS]
    return report.grid(["what", "theirs", "ours", "ours / theirs", "aim", "met"], lines)


def _beside(each: Beside, rounds: Sequence[Round], *, judged: bool) -> list[str]:
    pairs = [
        (theirs, each.ours(one.ours)) for one in rounds if (theirs := each.theirs(one.peers)) is not None
    ]
    ratio = median(ours / theirs for theirs, ours in pairs)
    theirs, ours = (median(side) for side in zip(*pairs, strict=True))
    aim = each.aim if judged else None
    met = report.answered(aim.is_met(ratio) if aim else None)
    return [each.what, f"{theirs:,.3f}", f"{ours:,.3f}", f"{ratio:.3f}", str(aim or ""), met]


def figures(reports: Sequence[Report], size: Size) -> list[Figure]:
    """The medians of all rounds."""
    return [measure.figure(reports, judged=size.judged) for measure in MEASURES]


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


def told(setting: report.Setting, rounds: Sequence[Round], size: Size) -> str:
    """The part of the page."""
    reports = [each.ours for each in rounds]
    return "\n".join(
        [
            str(setting),
            "",
            report.figures_table(figures(reports, size)),
            "",
            "Beside others on the same control planes; the Go engine's cache is filled before its clock",
            "starts, as ours is, while kubectl's whole process counts. By default, with validation, it was",
            "run once:",
            "",
            besides(rounds, size),
            "",
            "Where the processor time of looking at unchanged units goes:",
            "",
            report.costs_table({"No-op looks at units of one object": reports[-1].costs}),
        ]
    )


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    rounds = measure_all(builder, size)
    setting = CHAPTER.setting(
        load,
        how=f"medians of {size.rounds} rounds of {size.objects:,} ConfigMaps of 2 KB",
        versions={
            **our_versions("aiohttp", "msgspec"),
            **built_versions(builder, "kubectl", "kube-apiserver", "etcd"),
        },
        shared_by="Client, API server and etcd",
    )
    return told(setting, rounds, size)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

"""Measures whole commands beside kubectl on one real API server: from the start of the process to its end.

`trimtab sync` renders, reads the cluster, plans, records the app, applies and waits for health; kubectl only
applies. Each round syncs into a namespace of its own; medians are shown. Only the full size writes the page.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from bench import report
from bench.chapters import Chapter, built_versions, leave, our_versions, run, tell
from bench.filling import add_namespaces
from bench.measures import Aim, Figure, Measure
from bench.peers import Run, kubectl_apply, trimtab, written
from bench.running import FLAGS, with_cluster
from bench.shapes import config_map
from testbed.builds import Builder
from testbed.controlplane import ControlPlane

CHAPTER = Chapter(
    name="cli",
    heading="Whole commands beside kubectl",
    command="make bench-cli",
    about=__doc__,
)


class Size(Struct, frozen=True, kw_only=True):
    """How many objects, and how often."""

    few: int
    many: int
    rounds: int
    judged: bool


SIZES = {
    "full": Size(few=100, many=1_000, rounds=5, judged=True),
    "small": Size(few=5, many=20, rounds=1, judged=False),
}


class Taken(Struct, frozen=True, kw_only=True):
    """What one round took."""

    few: Run
    few_kubectl: Run
    many: Run
    many_kubectl: Run
    #: once more, with nothing to do
    again: Run
    again_kubectl: Run
    help: Run
    version: Run


def measures(size: Size) -> tuple[Measure[Taken], ...]:
    """What is shown."""
    few, many = f"{size.few:,} ConfigMaps", f"{size.many:,} ConfigMaps"
    return (
        Measure(f"`trimtab sync`, {few}: seconds", lambda it: it.few.seconds),
        Measure(
            f"`trimtab sync`, {few}: times kubectl's seconds",
            lambda it: it.few.seconds / it.few_kubectl.seconds,
        ),
        Measure(f"`trimtab sync`, {many}: seconds", lambda it: it.many.seconds),
        Measure(f"`kubectl apply --server-side`, {many}: seconds", lambda it: it.many_kubectl.seconds),
        Measure(
            f"`trimtab sync`, {many}: times kubectl's seconds",
            lambda it: it.many.seconds / it.many_kubectl.seconds,
            Aim(at_most=0.5),
        ),
        Measure(f"`trimtab sync`, {many}: CPU seconds", lambda it: it.many.cpu),
        Measure(f"`kubectl apply --server-side`, {many}: CPU seconds", lambda it: it.many_kubectl.cpu),
        Measure(f"`trimtab sync` once more, nothing to do, {many}: seconds", lambda it: it.again.seconds),
        Measure(
            f"`trimtab sync` once more, nothing to do, {many}: times kubectl's seconds",
            lambda it: it.again.seconds / it.again_kubectl.seconds,
        ),
        Measure(f"`trimtab sync` once more, nothing to do, {many}: CPU seconds", lambda it: it.again.cpu),
        Measure("`trimtab --help`: seconds", lambda it: it.help.seconds, Aim(at_most=0.15, itself=True)),
        Measure("`trimtab version`: seconds", lambda it: it.version.seconds, Aim(at_most=0.12, itself=True)),
    )


def figures(rounds: Sequence[Taken], size: Size) -> list[Figure]:
    """The medians of all rounds."""
    return [measure.figure(rounds, judged=size.judged) for measure in measures(size)]


def spaces(number: int) -> dict[str, str]:
    """The namespaces of one round, one for each command that writes."""
    return {which: f"{which}-{number}" for which in ("few", "many", "kubectl-few", "kubectl-many")}


def round_of(plane: ControlPlane, kubectl: Path, folder: Path, number: int) -> Taken:
    """One round: every command once, theirs between ours."""
    names = spaces(number)

    def ours(which: str, *words: str) -> Run:
        asked = ("sync", f"./{which}", "--app", names[which], "-n", names[which], "--yes", *words)
        return trimtab(plane, folder, *asked)

    def theirs(which: str) -> Run:
        return kubectl_apply(kubectl, plane, folder / which / "all.yaml", names[f"kubectl-{which}"])

    return Taken(
        few=ours("few"),
        few_kubectl=theirs("few"),
        many=ours("many"),
        many_kubectl=theirs("many"),
        again=ours("many"),
        again_kubectl=theirs("many"),
        help=trimtab(plane, folder, "--help"),
        version=trimtab(plane, folder, "version"),
    )


def measure_all(builder: Builder, size: Size) -> list[Taken]:
    """Every round, on one control plane."""
    kubectl = builder.program("kubectl")
    with (
        ControlPlane(builder=builder, controllers=False, apiserver_flags=FLAGS) as plane,
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        for which, count in (("few", size.few), ("many", size.many)):
            (folder / which).mkdir()
            written(folder / which / "all.yaml", map(config_map, range(count)))
        every = [space for number in range(size.rounds) for space in spaces(number).values()]
        with_cluster(plane, lambda cluster: add_namespaces(cluster, every))
        rounds = []
        for number in range(size.rounds):
            tell(f"round {number + 1} of {size.rounds}: {size.few:,} and {size.many:,} objects")
            rounds.append(round_of(plane, kubectl, folder, number))
    return rounds


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    rounds = measure_all(builder, size)
    setting = CHAPTER.setting(
        load,
        how=f"medians of {size.rounds} rounds, ConfigMaps of 2 KB, whole processes",
        versions={
            **our_versions("aiohttp", "msgspec"),
            **built_versions(builder, "kubectl", "kube-apiserver", "etcd"),
        },
        shared_by="Commands, API server and etcd",
    )
    return "\n\n".join([str(setting), report.figures_table(figures(rounds, size))])


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

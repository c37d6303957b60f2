"""Measures rendering beside running helm and kustomize by hand, and writes bench/RESULTS.md.

One repository of many small apps, committed. By hand, `xargs -P 2` runs the tools over a checkout, two at a
time, and throws their output away. Ours renders the commit from its object store to parsed, named and stored
manifests: with our own builds of the tools beside them, which run many times within one process, and without.
All do everything anew in every round, and take turns. Only the full size writes the page.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench import apps, polling, report
from bench.chapters import ROOT, Chapter, built_versions, leave, our_versions, run, tell
from bench.measures import Aim, Figure, Quantity, Round, Row, Sample, row_of
from bench.rendering import CORES, Ours
from testbed.builds import Builder
from trimtab.tasks.loops import run_main

CHAPTER = Chapter(
    name="sources",
    heading="Rendering beside running the tools by hand",
    command="make bench-sources",
    about=__doc__,
)
NAMES = ("by hand", "Trimtab")
#: the parent keeps what it was asked for and moves the answers, so it must not grow with the number of apps
PARENT_MIB = 256


class Size(Struct, frozen=True, kw_only=True):
    """How many apps, and how often."""

    apps: int
    rounds: int
    judged: bool


SIZES = {
    "full": Size(apps=1_500, rounds=2, judged=True),
    "small": Size(apps=60, rounds=1, judged=False),
    "tiny": Size(apps=6, rounds=1, judged=False),
}


class Sides(Struct, frozen=True, kw_only=True):
    """What was measured in every round."""

    by_hand: tuple[Sample, ...]
    #: with our own builds of the tools
    ours: tuple[Ours, ...]
    #: with the tools alone, each render in a process of its own
    apart: tuple[Ours, ...]


class Place:
    """The repository, its checkout, and the tools."""

    def __init__(self, folder: Path, count: int, builder: Builder) -> None:
        self.folder = folder
        self.count = count
        self.tools = [builder.program(name).parent for name in ("helm", "kustomize")]
        self.own_builds = [builder.program(f"trimtab-{name}").parent for name in ("helm", "kustomize")]
        self.checkout = folder / "checkout"
        self.commits: list[str] = []

    def make(self) -> None:
        """Commit the apps; then one app's change; then a change of a base that several share."""
        for path, text in apps.repository(self.count):
            place = self.checkout / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self._git("init", "-q", "-b", "main")
        self._commit()
        with (self.checkout / "apps" / apps.name_of(4) / "service.yaml").open("a") as file:
            file.write("  type: ClusterIP\n")
        self._commit()
        with (self.checkout / "bases" / apps.base_of(4) / "network.yaml").open("a") as file:
            file.write("  ingress: []\n")
        self._commit()
        self._git("checkout", "-q", self.commits[0])
        self._git("clone", "-q", "--bare", ".", str(self.folder / "mirror"))

    def _commit(self) -> None:
        self._git("add", "-A")
        self._git("-c", "user.name=bench", "-c", "user.email=bench@example", "commit", "-qm", "apps")
        self.commits.append(self._git("rev-parse", "HEAD").strip())

    def _git(self, *arguments: str) -> str:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            ["git", *arguments],
            cwd=self.checkout,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def by_hand(self) -> Sample:
        """Run the tools as a person with a shell would, two at a time."""
        path = ":".join(map(str, self.tools))
        environment = {"PATH": f"{path}:/usr/bin:/bin", "HOME": str(self.folder / "home")}
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        for kind, command in (
            ("plain", "find apps/% -type f -exec cat {} +"),
            ("kustomize", "kustomize build apps/%"),
            ("helm", "helm template % apps/% --namespace shop --include-crds"),
        ):
            names = [apps.name_of(n) for n in range(self.count) if apps.kind_of(n) == kind]
            subprocess.run(
                ["xargs", "-P", str(CORES), "-I%", *command.split()],
                input="\n".join(names).encode(),
                cwd=self.checkout,
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Sample(items=self.count, seconds=time.perf_counter() - begin, cpu_seconds=cpu, peak_bytes=0)

    def ours(self, programs: Sequence[Path]) -> Ours:
        """Our side with these programs, in a process of its own, with nothing kept from before."""
        shutil.rmtree(self.folder / "own", ignore_errors=True)
        words = [str(self.folder), ":".join(map(str, programs)), str(self.count), *self.commits]
        done = subprocess.run(
            [sys.executable, "-m", "bench.rendering", *words],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
            check=True,
            stdout=subprocess.PIPE,
        )
        return msgspec.json.decode(done.stdout, type=Ours)


# --- the report ------------------------------------------------------------------------------------------


def rows_of(sides: Sides, *, judged: bool) -> list[Row]:
    """The first render of all, both sides; ours with our own builds of the tools, and without."""
    aims = {Quantity.SECONDS: Aim(at_most=0.6), Quantity.CPU: None, Quantity.RATE: None}
    scenarios = {
        "first render of all": (sides.ours, aims),
        "the same, each in a process of its own": (sides.apart, dict.fromkeys(aims)),
    }
    return [
        row_of(
            [Round(go=hand, ours=own.first) for hand, own in zip(sides.by_hand, ours, strict=True)],
            quantity,
            scenario=scenario,
            item="app",
            aim=aim if judged else None,
        )
        for scenario, (ours, wanted) in scenarios.items()
        for quantity, aim in wanted.items()
    ]


def expected(count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who is concerned by the two changes that the repository has seen."""
    base = apps.base_of(4)
    users = (n for n in range(count) if apps.kind_of(n) == "kustomize" and apps.base_of(n) == base)
    return (apps.name_of(4),), tuple(sorted(map(apps.name_of, users)))


def figures_of(ours: Sequence[Ours], count: int, listings: float, *, judged: bool) -> list[Figure]:
    """All that our side alone is measured by: the best and the worst of the rounds."""
    found = [own.later for own in ours]
    if any((later.concerned, later.sharing) != expected(count) for later in found):
        raise SystemExit("a change concerned others than it should")

    def ranging(what: str, values: Iterable[float], at_most: float | None = None) -> Figure:
        each = sorted(values)
        least, most = each[0], each[-1]
        aim = Aim(at_most=at_most) if judged and at_most is not None else None
        return Figure(what=what, shown=f"{least:.2f} to {most:.2f}", found=most, aim=aim)

    consumers = f"{polling.CONSUMERS} consumers of one repository"
    return [
        ranging(
            "CPU share of helm and kustomize in the first render",
            (own.programs / own.first.cpu_seconds for own in ours),
        ),
        ranging("renders of the first that shared a process", (own.shared for own in ours)),
        ranging("no-op pass: ms per app", (later.no_op / count * 1e3 for later in found), 1),
        ranging("all asked for again: ms per app", (later.again / count * 1e3 for later in found)),
        ranging("one app changed: renders", (len(later.concerned) for later in found), 1),
        ranging("one app changed: ms until it is known which", (later.found * 1e3 for later in found), 100),
        ranging("one app changed: ms until it is rendered", (later.rendered * 1e3 for later in found)),
        ranging(f"{consumers}: ls-remotes per interval", [listings], 1),
        ranging(
            "peak MiB of the parent while rendering",
            (own.first.peak_bytes / (1 << 20) for own in ours),
            PARENT_MIB,
        ),
    ]


def text_of(setting: report.Setting, rows: Sequence[Row], figures: Sequence[Figure], size: Size) -> str:
    """The part of the page."""
    return "\n".join(
        [
            str(setting),
            f"- {size.apps:,} apps, a third each plain files, kustomizations and charts.",
            "- Ours has trimtab-helm and trimtab-kustomize on its PATH, unless a row says otherwise.",
            "",
            report.table(rows, NAMES),
            "",
            report.verdict(rows),
            "",
            report.figures_table(figures, what="then"),
        ]
    )


def setting_of(size: Size, builder: Builder, load: float) -> report.Setting:
    """On what, with what and how it was measured."""
    return CHAPTER.setting(
        load,
        how=f"medians of {size.rounds} rounds, both sides in turn",
        versions={**our_versions(), **built_versions(builder, "helm", "kustomize")},
    )


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    with tempfile.TemporaryDirectory(prefix="trimtab-bench-") as folder:
        place = Place(Path(folder), size.apps, builder)
        tell(f"committing {size.apps:,} apps")
        place.make()
        by_hand, ours, apart = [], [], []
        for number in range(1, size.rounds + 1):
            tell(f"round {number} of {size.rounds}")
            by_hand.append(place.by_hand())
            ours.append(place.ours([*place.tools, *place.own_builds]))
            apart.append(place.ours(place.tools))
        tell(f"{polling.CONSUMERS} consumers follow one repository")
        listings = run_main(
            polling.listings_per_interval(place.folder, place.folder / "mirror", place.commits)
        )
    figures = figures_of(ours, size.apps, listings, judged=size.judged)
    sides = Sides(by_hand=tuple(by_hand), ours=tuple(ours), apart=tuple(apart))
    return text_of(setting_of(size, builder, load), rows_of(sides, judged=size.judged), figures, size)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

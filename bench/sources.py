"""Measures rendering beside running helm and kustomize by hand, and writes bench/RESULTS.md.

One repository of many small apps, committed. By hand, `xargs -P 2` runs the tools over a checkout, two at a
time, and throws their output away. Ours renders the commit from its object store to parsed, named and stored
manifests: with our own builds of the tools beside them, which run many times within one process, and without.
All do everything anew in every round, and take turns. Only the full size writes the page.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench import apps, polling, report
from bench.chapters import ROOT, Chapter, leave, run, tell
from bench.kube import machine
from bench.measures import Aim, Quantity, Round, Row, Sample, row_of
from testbed.builds import Builder
from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources import Renderer, Request, RevisionOrigin
from trimtab.sources.rendering.affected import Readers
from trimtab.sources.rendering.looking import MAIN
from trimtab.sources.rendering.specs import SourceSpec
from trimtab.sources.repositories.revisions import Revision
from trimtab.tasks.loops import run_main

CHAPTER = Chapter(
    name="sources",
    heading="Rendering beside running the tools by hand",
    command="make bench-sources",
    about=__doc__,
)
NAMES = ("by hand", "Trimtab")
CORES = 2
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


class Later(Struct, frozen=True, kw_only=True):
    """What comes after the first render: seconds of each, and who was found."""

    #: all keys looked up, nothing changed
    no_op: float
    #: all asked for again, one by one, and handed over from the store
    again: float
    #: one app changed: until it was known whom that concerns, and until it was rendered
    found: float
    rendered: float
    concerned: tuple[str, ...]
    #: a shared base changed: who was found
    sharing: tuple[str, ...]


class Ours(Struct, frozen=True, kw_only=True):
    """One run of our side."""

    first: Sample
    #: CPU seconds of the first render that helm and kustomize took, with their launchers
    programs: float
    #: renders that shared a process with others
    shared: int
    later: Later


class Sides(Struct, frozen=True, kw_only=True):
    """What was measured in every round."""

    by_hand: tuple[Sample, ...]
    #: with our own builds of the tools
    ours: tuple[Ours, ...]
    #: with the tools alone, each render in a process of its own
    apart: tuple[Ours, ...]


class Figure(Struct, frozen=True, kw_only=True):
    """What is measured on our side alone, in every round, and what it should be at most."""

    what: str
    found: tuple[float, ...]
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the worst round keeps to the aim; None if there is none."""
        return None if self.at_most is None else max(self.found) <= self.at_most


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
        return Sample(items=self.count, seconds=time.perf_counter() - begin, cpu_seconds=cpu, peak_bytes=1)

    def ours(self, programs: Sequence[Path]) -> Ours:
        """Our side with these programs, in a process of its own, with nothing kept from before."""
        shutil.rmtree(self.folder / "own", ignore_errors=True)
        words = [str(self.folder), ":".join(map(str, programs)), str(self.count), *self.commits]
        done = subprocess.run(
            [sys.executable, "-m", "bench.sources", "--ours", *words],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
            check=True,
            stdout=subprocess.PIPE,
        )
        return msgspec.json.decode(done.stdout, type=Ours)


# --- our side, in its own process ------------------------------------------------------------------------


class Side:
    """Renders everything, then nothing, then what has changed."""

    def __init__(self, renderer: Renderer, folder: Path, count: int) -> None:
        self._renderer = renderer
        self._folder = folder
        self._count = count
        self._readers = Readers()

    def origin(self, commit: str) -> RevisionOrigin:
        """One commit of the mirror."""
        return RevisionOrigin(
            revision=Revision(url="bench", commit=commit, mirror=str(self._folder / "mirror"))
        )

    def requests(self, commit: str) -> list[Request]:
        """All apps at one commit."""
        return [self._request(apps.name_of(number), commit) for number in range(self._count)]

    def _request(self, name: str, commit: str) -> Request:
        spec = SourceSpec(path=f"apps/{name}")
        return Request(name=name, namespace="shop", spec=spec, tree=self.origin(commit))

    async def all_of(self, requests: Sequence[Request]) -> float:
        """Render them all; the seconds it took."""
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for request in requests:
                group.create_task(self._one(request))
        return time.perf_counter() - begin

    async def _one(self, request: Request) -> None:
        rendered = await self._renderer.render(request)
        self._readers.note(request.name, rendered.read, {MAIN: "bench"})

    async def concerned(self, old: str, new: str) -> tuple[str, ...]:
        """Whom the way from one commit to another concerns."""
        paths = await self._renderer.changed(self.origin(old), self.origin(new))
        return tuple(sorted(self._readers.affected("bench", paths)))

    async def measured(self, commits: Sequence[str]) -> Ours:
        """Everything that is measured, in order."""
        first_commit, app_changed, base_changed = commits
        seconds = await self.all_of(self.requests(first_commit))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        programs, shared = self._renderer.spent, self._renderer.shared
        cpu = time.process_time() + cpu_of_children() + programs
        first = Sample(items=self._count, seconds=seconds, cpu_seconds=cpu, peak_bytes=peak)
        begin = time.perf_counter()
        keys = await self._renderer.keys(self.requests(first_commit))
        no_op = time.perf_counter() - begin
        if not all(keys):
            raise SystemExit("a render that was made is not known")
        again = await self.all_of(self.requests(first_commit))
        begin = time.perf_counter()
        concerned = await self.concerned(first_commit, app_changed)
        found = time.perf_counter() - begin
        await self.all_of([self._request(name, app_changed) for name in concerned])
        rendered = time.perf_counter() - begin
        sharing = await self.concerned(app_changed, base_changed)
        later = Later(
            no_op=no_op, again=again, found=found, rendered=rendered, concerned=concerned, sharing=sharing
        )
        return Ours(first=first, programs=programs, shared=shared, later=later)


def cpu_of_children() -> float:
    """CPU seconds of the workers and of the launch server so far; they live on, so nobody counts them yet."""
    ticks = 0
    for thread in Path("/proc/self/task").iterdir():
        for child in (thread / "children").read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def our_side(folder: Path, path: str, count: int, commits: Sequence[str]) -> Ours:
    """Render with a renderer that has kept nothing yet."""
    own = folder / "own"
    settings = RenderingSettings(cache=str(own / "cache"), key=str(own / "key"), concurrency=CORES + 1)
    async with Renderer(settings, ProgramsSettings(fetch=False), path=path) as renderer:
        return await Side(renderer, folder, count).measured(commits)


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


def figures_of(ours: Sequence[Ours], count: int, listings: float) -> tuple[Figure, ...]:
    """All that our side alone is measured by."""
    found = [own.later for own in ours]
    if any((later.concerned, later.sharing) != expected(count) for later in found):
        raise SystemExit("a change concerned others than it should")
    return (
        Figure(
            what="CPU share of helm and kustomize in the first render",
            found=tuple(own.programs / own.first.cpu_seconds for own in ours),
        ),
        Figure(
            what="renders of the first that shared a process",
            found=tuple(float(own.shared) for own in ours),
        ),
        Figure(
            what="no-op pass: ms per app",
            found=tuple(later.no_op / count * 1e3 for later in found),
            at_most=1.0,
        ),
        Figure(
            what="all asked for again: ms per app", found=tuple(later.again / count * 1e3 for later in found)
        ),
        Figure(
            what="one app changed: renders",
            found=tuple(float(len(later.concerned)) for later in found),
            at_most=1,
        ),
        Figure(
            what="one app changed: ms until it is known which",
            found=tuple(later.found * 1e3 for later in found),
            at_most=100.0,
        ),
        Figure(
            what="one app changed: ms until it is rendered",
            found=tuple(later.rendered * 1e3 for later in found),
        ),
        Figure(
            what=f"{polling.CONSUMERS} consumers of one repository: ls-remotes per interval",
            found=(listings,),
            at_most=1.0,
        ),
        Figure(
            what="peak MiB of the parent while rendering",
            found=tuple(own.first.peak_bytes / (1 << 20) for own in ours),
            at_most=PARENT_MIB,
        ),
    )


def figures_table(figures: Sequence[Figure], *, judged: bool) -> str:
    """One line per figure, the best and the worst of the rounds."""
    return "\n".join(
        [
            "| then | Trimtab | aim | met |",
            "|---|--:|--:|---|",
            *(_line(each, judged=judged) for each in figures),
        ]
    )


def _line(figure: Figure, *, judged: bool) -> str:
    aim = "" if figure.at_most is None else f"≤ {figure.at_most:g}"
    met = {True: "yes", False: "**no**", None: ""}[figure.met] if judged else ""
    return f"| {figure.what} | {min(figure.found):.2f} to {max(figure.found):.2f} | {aim} | {met} |"


def text_of(rows: Sequence[Row], later: str, size: Size, load: float, builder: Builder) -> str:
    """The part of the page."""
    versions = ", ".join(
        f"{name} {builder.version(name).removeprefix('v')}" for name in ("helm", "kustomize")
    )
    return "\n".join(
        [
            f"- Command: `{CHAPTER.command}`; medians of {size.rounds} rounds, both sides in turn.",
            f"- Machine: {machine()}; load average at the start {load:.1f}.",
            f"- {size.apps:,} apps, a third each plain files, kustomizations and charts; {versions}.",
            "- Ours has trimtab-helm and trimtab-kustomize on its PATH, unless a row says otherwise.",
            "",
            report.table(rows, NAMES),
            "",
            report.verdict(rows),
            "",
            later,
        ]
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
    figures = figures_table(figures_of(ours, size.apps, listings), judged=size.judged)
    sides = Sides(by_hand=tuple(by_hand), ours=tuple(ours), apart=tuple(apart))
    return text_of(rows_of(sides, judged=size.judged), figures, size, load, builder)


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    if arguments[:1] == ["--ours"]:
        folder, path, count, *commits = arguments[1:]
        told = run_main(our_side(Path(folder), path, int(count), commits))
        sys.stdout.buffer.write(msgspec.json.encode(told))
        return 0
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

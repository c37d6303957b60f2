"""Measures the first minutes of a newcomer: a fresh checkout is set up with empty caches, and plays the demo.

Each round clones the last commit and runs `make demo` there twice: first from nothing, which fetches uv, all
packages, helm and kustomize, then with everything at hand. Medians are shown. Only the full size writes the
page. It needs a network, and measures that as well.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bench import report
from bench.chapters import ROOT, Chapter, leave, our_versions, run, tell
from bench.measures import Aim, Figure, Measure
from bench.peers import Run, ran
from scripts.demo_times import Told, told
from testbed.builds import Builder

CHAPTER = Chapter(
    name="demo",
    heading="The demo, and its set-up",
    command="make bench-demo",
    about=__doc__,
)
#: how variables begin that would lead to what this machine has already, or change what is run
LEFT_OUT = ("MAKE", "MFLAGS", "PYTHON", "TRIMTAB_", "UV_CACHE", "UV_PROJECT", "VIRTUAL_ENV", "XDG_")
PROGRAMS = ("helm", "kustomize")


class Size(Struct, frozen=True, kw_only=True):
    """How often."""

    rounds: int
    judged: bool


SIZES = {"full": Size(rounds=3, judged=True), "small": Size(rounds=1, judged=False)}


class Taken(Struct, frozen=True, kw_only=True):
    """What one round took."""

    #: by its own account
    set_up: float
    first: Run
    again: Run


MEASURES: tuple[Measure[Taken], ...] = (
    Measure("Set-up of a fresh checkout, empty caches: seconds", lambda it: it.set_up, digits=1),
    Measure("`make demo` of a fresh checkout, empty caches: seconds", lambda it: it.first.seconds, digits=1),
    Measure(
        "`make demo`, set up before: seconds",
        lambda it: it.again.seconds,
        Aim(at_most=60, itself=True),
        digits=1,
    ),
    Measure("`make demo`, set up before: CPU seconds", lambda it: it.again.cpu, digits=1),
)


def figures(rounds: Sequence[Taken], size: Size) -> list[Figure]:
    """The medians of all rounds."""
    return [measure.figure(rounds, judged=size.judged) for measure in MEASURES]


def newcomer(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """The environment of somebody with an empty home, who has neither helm nor kustomize."""
    kept = {name: value for name, value in environment.items() if not name.startswith(LEFT_OUT)}
    folders = [Path(each) for each in environment.get("PATH", "").split(os.pathsep) if each]
    bare = [
        str(each)
        for each in folders
        if each != ROOT / ".venv" / "bin" and not any((each / name).exists() for name in PROGRAMS)
    ]
    return {**kept, "HOME": str(home), "PATH": os.pathsep.join(bare)}


def played(checkout: Path, environment: Mapping[str, str]) -> tuple[Run, Told]:
    """One `make demo`, from start to end."""
    printed, run_of_it = ran(["make", "demo"], environment=environment, folder=checkout)
    account = told(printed.decode())
    if account is None:
        raise SystemExit(f"the demo did not come to its end:\n{printed.decode()}")
    return run_of_it, account


def round_of(environment: Mapping[str, str]) -> Taken:
    """One newcomer, who plays the demo twice."""
    with tempfile.TemporaryDirectory(prefix="trimtab-bench-") as folder:
        home, checkout = Path(folder, "home"), Path(folder, "checkout")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, checkout], check=True)
        bare = newcomer(environment, home)
        first, account = played(checkout, bare)
        again, _ = played(checkout, bare)
        return Taken(set_up=account.set_up, first=first, again=again)


def measured_chapter(size: Size, _builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    rounds = []
    for number in range(size.rounds):
        tell(f"round {number + 1} of {size.rounds}: a fresh checkout, set up from nothing")
        rounds.append(round_of(os.environ))  # noqa: TID251 - this is the edge
    setting = CHAPTER.setting(
        load,
        how=f"medians of {size.rounds} rounds, whole processes, packages and programs over the network",
        versions=our_versions("uv"),
        shared_by="Demo and cluster",
    )
    return "\n\n".join([str(setting), report.figures_table(figures(rounds, size))])


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

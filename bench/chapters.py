"""What every measurement shares: its size from the command line, its chapter of the page, and how it ends.

A chapter also says on which machine and with which versions its figures came about.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Struct

from bench import report
from testbed.builds import Builder
from trimtab.errors import TrimtabError

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "RESULTS.md"
_told = msgspec.json.Decoder(dict[str, str])
_S = TypeVar("_S")


class Chapter(Struct, frozen=True, kw_only=True):
    """One chapter of the page, and the command that writes it."""

    name: str
    heading: str
    command: str
    #: what it measures, and how
    about: str | None

    def setting(
        self, load: float, *, how: str, versions: Mapping[str, str], shared_by: str = ""
    ) -> report.Setting:
        """On what, with what and how it was measured, for the head of the chapter."""
        return report.Setting(
            command=self.command,
            how=how,
            machine=machine(),
            load=load,
            versions=versions,
            shared_by=shared_by,
        )


def run(
    chapter: Chapter,
    arguments: Sequence[str],
    sizes: Mapping[str, _S],
    measured: Callable[[_S, Builder, float], str],
) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page.

    `measured` is given the size, what builds programs, and the load average from before.
    """
    parser = argparse.ArgumentParser(prog=f"python -m bench.{chapter.name}", description=chapter.about)
    parser.add_argument("--size", choices=tuple(sizes), default="full")
    chosen = parser.parse_args(arguments).size
    text = measured(sizes[chosen], Builder(), os.getloadavg()[0])
    print(text)
    if chosen == "full":
        _write(chapter, text)
    return 0


def machine() -> str:
    """The machine in a few words."""
    described = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in described if "model name" in line), "processor")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB, Linux {platform.release()}"


def our_versions(*packages: str) -> dict[str, str]:
    """Of Python, and of packages that ours is made with."""
    return {"Python": platform.python_version(), **{name: version(name) for name in packages}}


def built_versions(builder: Builder, *programs: str) -> dict[str, str]:
    """Of programs that were built for this."""
    return {name: builder.version(name).removeprefix("v") for name in programs}


def peer_versions(peer: Path, library: str) -> dict[str, str]:
    """Of Go, and of the library that one of our Go programs measures."""
    said = subprocess.run([peer, "version"], check=True, capture_output=True).stdout
    told = _told.decode(said)
    return {"Go": told["go"].removeprefix("go"), library: told[library].removeprefix("v")}


def leave(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """End this process with what `main` answers, or with one sentence."""
    try:
        sys.exit(main(sys.argv[1:]))
    except TrimtabError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def tell(line: str) -> None:
    """Say one line of progress."""
    print(f"bench: {line}", file=sys.stderr, flush=True)


def _write(chapter: Chapter, text: str) -> None:
    """Put the chapter on its page, making the page if there is none."""
    page = RESULTS.read_text() if RESULTS.exists() else report.NEW_PAGE
    RESULTS.write_text(
        report.renewed(page, name=chapter.name, heading=chapter.heading, command=chapter.command, text=text)
    )
    tell(f"wrote {RESULTS.relative_to(ROOT)}")

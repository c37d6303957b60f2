"""Our side of rendering: one process that renders all apps, then what has changed, and says what that took.

    python -m bench.rendering FOLDER PATH COUNT COMMIT COMMIT COMMIT

The folder holds the mirror; the commits are the first, one app's change, and a shared base's. Prints JSON.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench import apps
from bench.measures import Sample
from bench.memory import peak_bytes
from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources import Renderer, Request, RevisionOrigin
from trimtab.sources.rendering.affected import Readers
from trimtab.sources.rendering.looking import MAIN
from trimtab.sources.rendering.specs import SourceSpec
from trimtab.sources.repositories.revisions import Revision
from trimtab.tasks.loops import run_main

#: renders at once by hand, and processors that ours counts on
CORES = 2


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
        peak = peak_bytes()
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


def main(folder: str, path: str, count: str, *commits: str) -> None:
    """Measure and print the report."""
    told = run_main(our_side(Path(folder), path, int(count), commits))
    sys.stdout.buffer.write(msgspec.json.encode(told))


if __name__ == "__main__":
    main(*sys.argv[1:])

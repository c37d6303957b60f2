"""Counts how often a remote is asked when many follow one repository: once per interval is the aim.

The git that is run is the machine's own behind a script that notes every `ls-remote`, so what is counted is
what a server would see. Time is moved by hand: an interval takes as long as the look at its end.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from trimtab.settings import RepositoriesSettings
from trimtab.sources import Repositories
from trimtab.sources.repositories.revisions import Standing, Wanted
from trimtab.tasks import ManualClock

CONSUMERS = 100
INTERVALS = 5
#: seconds that all of it may take; much more than it does
PATIENCE = 60.0

_SCRIPT = """#!/bin/sh
for word; do [ "$word" = ls-remote ] && echo asked >> {log}; done
exec {git} "$@"
"""


def _counting_git(folder: Path) -> tuple[Path, Path]:
    """A folder for PATH with a git that notes what it is asked, and the notes."""
    tools, log = folder / "tools", folder / "asked"
    tools.mkdir()
    log.touch()
    script = tools / "git"
    script.write_text(_SCRIPT.format(log=log, git=shutil.which("git")))
    script.chmod(0o755)
    return tools, log


class _Audience:
    """Hears where everybody stands."""

    def __init__(self) -> None:
        self._at: dict[str, str] = {}
        self._news = asyncio.Event()

    def tell(self, consumer: str, standing: Standing) -> None:
        """Note where a consumer stands now."""
        self._at[consumer] = standing.revision.commit if standing.revision else standing.message
        self._news.set()

    async def all_at(self, commit: str) -> None:
        """Return when everybody stands at a commit."""
        while len(self._at) < CONSUMERS or {*self._at.values()} != {commit}:
            self._news.clear()
            await self._news.wait()


async def listings_per_interval(folder: Path, repository: Path, commits: Sequence[str]) -> float:
    """How often the remote is asked in each interval by a hundred consumers who always get news."""
    tools, log = _counting_git(folder)
    clock, audience = ManualClock(), _Audience()
    settings = RepositoriesSettings(folder=str(folder / "mirrors"), allow_schemes=("file",))
    path = f"{tools}:{os.environ['PATH']}"  # noqa: TID251 - a benchmark is an edge
    async with (
        asyncio.timeout(PATIENCE),
        Repositories(settings, path=path, clock=clock, chance=lambda: 0.0) as repositories,
    ):
        for number in range(CONSUMERS):
            wanted = Wanted(url=f"file://{repository}", target=("main", "refs/heads/main")[number % 2])
            repositories.follow(f"app-{number}", wanted, tell=audience.tell)
        for turn in range(INTERVALS):
            commit = commits[turn % 2]
            await _move_branch(repository, commit)
            await clock.advance(settings.poll_every.total_seconds() if turn else 0.0)
            await audience.all_at(commit)
    return _lines(log) / INTERVALS


async def _move_branch(repository: Path, commit: str) -> None:
    command = ("git", f"--git-dir={repository}", "update-ref", "refs/heads/main", commit)
    await (await asyncio.create_subprocess_exec(*command)).wait()


def _lines(log: Path) -> int:
    return len(log.read_text().splitlines())

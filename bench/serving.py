"""The embedded cluster as benchmarks serve it: `python -m bench.serving FOLDER`.

As `testbed.embedded`, and on SIGUSR1 it begins to watch where its processor time goes, on SIGUSR2 it writes
the biggest costs to the folder.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec

from bench.sampling import Profile, biggest_costs, profiled
from testbed.embedded import serve_forever
from trimtab.tasks.loops import run_main

COSTS = "costs.json"
COUNT = 3


class Watcher:
    """Begins and ends profiles when told."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._profile: Profile | None = None

    def begin(self) -> None:
        """Count from now on."""
        self._profile = self._open.enter_context(profiled())

    def end(self) -> None:
        """Stop counting and write what was found; whoever waits sees a whole file."""
        self._open.close()
        if self._profile is not None:
            made = self._folder / f".{COSTS}"
            made.write_bytes(msgspec.json.encode(biggest_costs(self._profile.seconds, COUNT)))
            made.rename(self._folder / COSTS)


async def serve_watched(folder: Path) -> None:
    """Serve a fresh cluster until killed."""
    watcher, loop = Watcher(folder), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, watcher.begin)
    loop.add_signal_handler(signal.SIGUSR2, watcher.end)
    await serve_forever(folder, controllers=False)


if __name__ == "__main__":
    run_main(serve_watched(Path(sys.argv[1])))

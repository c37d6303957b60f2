"""Where the testbed keeps things: built programs in the user's cache, runs in the temporary folder.

A run folder belongs to the process that made it and holds a lock as long as that process lives. Leftovers
of owners that were killed are kept for a day, for whoever wants to read their logs, then swept.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

KEEP_LEFTOVERS_SECONDS = 24 * 3600
_LOCK = ".owner"


def cache_folder() -> Path:
    """The testbed's share of the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "trimtab" / "testbed"


class RunFolder:
    """A private folder for one run, removed by `remove` or, after its owner's death, by a later run."""

    def __init__(self, purpose: str) -> None:
        prefix = f"trimtab-{os.getuid()}-"
        _sweep(Path(tempfile.gettempdir()), prefix)
        # The path stays short: PostgreSQL's socket must fit into 107 characters.
        self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}{purpose}-"))
        self._lock = (self.path / _LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Delete the folder and everything in it."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


def _sweep(parent: Path, prefix: str) -> None:
    """Remove the run folders whose owners died long ago."""
    oldest = time.time() - KEEP_LEFTOVERS_SECONDS
    for lock in parent.glob(f"{prefix}*/{_LOCK}"):
        try:
            with lock.open() as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if lock.stat().st_mtime < oldest:
                    shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            continue  # its owner lives, or another run sweeps the same folder

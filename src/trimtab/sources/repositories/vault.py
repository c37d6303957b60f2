"""Private folders: where git and ssh find what is secret, for as long as one command runs.

They lie in memory where the machine has such a place, only their owner can open them, and they go away with
the command. What a killed process left is found by the next: whoever uses a folder holds a lock on it, and
the lock goes with the process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

PREFIX: Final = "trimtab-private-"
_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - never shared: what is made there is private from the start
#: seconds that a folder is left alone, since its owner may not hold it yet
_YOUNGEST: Final = 60.0


def private_parent(fallback: Path) -> Path:
    """The folder for private folders: in memory if possible."""
    return _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK | os.X_OK) else fallback


@contextmanager
def private_folder(parent: Path, files_of: Callable[[str], Mapping[str, str]]) -> Iterator[Path]:
    """A folder that only we can open, with these files, for the length of the block."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        for name, text in files_of(str(folder)).items():
            _write(folder / name, text)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def sweep(parent: Path, *, now: datetime) -> int:
    """Remove the private folders of processes that are gone; how many there were."""
    return sum(_swept(folder, now.timestamp() - _YOUNGEST) for folder in parent.glob(f"{PREFIX}*"))


def _swept(folder: Path, before: float) -> bool:
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        if os.fstat(held).st_uid != os.getuid() or os.fstat(held).st_ctime > before:
            return False
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(held)


def _write(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "wb") as open_file:
        open_file.write(text.encode("utf-8", "surrogatepass"))

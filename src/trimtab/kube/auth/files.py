"""Credential files: read with bounds, read again when they may have been rotated.

The files are small, local and regular, so they are read in place. What they hold is judged elsewhere.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, Protocol

from trimtab.errors import InvalidSpec, Missing, NotAllowed, TrimtabError
from trimtab.kube.auth.redaction import printable
from trimtab.tasks.clock import Clock

#: a rotated file is noticed after this many seconds at the latest, or when the server says 401
REREAD_AFTER: Final = 10.0
LARGEST_CREDENTIAL: Final = 1024 * 1024


class Content(Protocol):
    """Bytes that may change."""

    def current(self) -> bytes:
        """What it holds, at most a few seconds old."""

    def reread(self) -> bool:
        """Look again now; has it changed?"""


class FixedContent:
    """Bytes that were given once and for all."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def current(self) -> bytes:
        """What was given."""
        return self._content

    def reread(self) -> bool:
        """Nothing to look at."""
        return False


class WatchedFile:
    """A file that is read again from time to time; while it cannot be read, what it last held stands."""

    def __init__(self, path: Path, *, subject: str, field: str, clock: Clock) -> None:
        self._path = path
        self._subject = subject
        self._field = field
        self._clock = clock
        self._content = self._read()

    def current(self) -> bytes:
        """What the file holds, at most `REREAD_AFTER` seconds old."""
        if self._clock.monotonic() - self._read_at >= REREAD_AFTER:
            self.reread()
        return self._content

    def reread(self) -> bool:
        """Read it now; has it changed?"""
        before = self._content
        try:
            self._content = self._read()
        except TrimtabError:  # a rotation in progress; the old content may still be good
            return False
        return self._content != before

    def _read(self) -> bytes:
        self._read_at = self._clock.monotonic()
        which = f"its {self._field} ({printable(str(self._path))})"
        return read_file(self._path, subject=self._subject, which=which)


def read_file(path: Path, *, subject: str, which: str = "it", limit: int = LARGEST_CREDENTIAL) -> bytes:
    """The content of a regular file of at most `limit` bytes; `which` names it in messages."""
    try:
        # Not blocking, so that a pipe in its place cannot hold everything up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidSpec(subject, f"{which} is not a regular file", "Name a file")
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(limit + 1)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise Missing(subject, f"{which} does not exist", "Create the file or correct its path") from exc
    except PermissionError as exc:
        raise NotAllowed(subject, f"{which} may not be read", "Give this user the right to read it") from exc
    except OSError as exc:
        problem = (exc.strerror or "no reason given").lower()
        raise InvalidSpec(subject, f"{which} cannot be read ({problem})", "Name another file") from exc
    except ValueError as exc:  # a NUL character in the path
        raise InvalidSpec(subject, f"{which} is not a path", "Correct the path") from exc
    if len(content) > limit:
        raise InvalidSpec(subject, f"{which} is larger than {limit // 1024} KiB", "Name another file")
    return content

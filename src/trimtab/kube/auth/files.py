"""Credentials that a file or an entry holds; a file is read again when it may have been rotated.

The files are small, local and regular, so they are read in place. What they hold is judged elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

from trimtab.errors import TrimtabError
from trimtab.files import read_file
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
        return read_file(self._path, subject=self._subject, which=which, limit=LARGEST_CREDENTIAL)

"""Archives of charts on disk: by the repository that they came from, and there by their digest; and notes.

Shelves are never shared between repositories: an index may name any digest, and only who may read the
repository that an archive came from may read the archive. Whoever reads one proves it by its digest.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from trimtab.errors import Unavailable

#: the folder beside the mirrors
FOLDER: Final = "charts"
_ENDING: Final = ".tgz"
_NOTE: Final = ".note"


class Shelf:
    """The archives of all repositories of one process."""

    def __init__(self, root: Path, *, keep: timedelta, most: int) -> None:
        """Name the folder, and the bytes that one repository may fill; nothing is made yet."""
        self._root = root / FOLDER
        self._keep = keep
        self._most = most

    def find(self, repository: str, digest: str, *, now: datetime) -> Path | None:
        """The archive, if it is here; it is then known to be wanted."""
        place = self._place(repository, f"{digest}{_ENDING}")
        return place if self.keeps(place, now=now) else None

    def keeps(self, place: Path, *, now: datetime) -> bool:
        """Whether an archive is here; it is then known to be wanted."""
        try:
            os.utime(place, (now.timestamp(), now.timestamp()))
        except OSError:
            return False
        return True

    def put(self, repository: str, content: bytes, *, now: datetime) -> Path:
        """Keep an archive; whoever reads sees all of it or nothing."""
        place = self._place(repository, f"{hashlib.sha256(content).hexdigest()}{_ENDING}")
        self._write(place, content)
        self.keeps(place, now=now)
        self._tidy(now)
        self._make_room(place)
        return place

    def note(self, repository: str, name: str) -> bytes | None:
        """What was noted under a name; None if nothing was."""
        try:
            return self._place(repository, f"{name}{_NOTE}").read_bytes()
        except OSError:
            return None

    def put_note(self, repository: str, name: str, content: bytes) -> None:
        """Note something; it is kept as long as it is noted anew now and then."""
        self._write(self._place(repository, f"{name}{_NOTE}"), content)

    def _write(self, place: Path, content: bytes) -> None:
        aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            aside.write_bytes(content)
            aside.replace(place)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            reason = f"archives cannot be kept in {self._root}: {error.strerror}"
            raise Unavailable("the shelf of charts", reason, "Make room there, or mend its rights") from error

    def _tidy(self, now: datetime) -> None:
        """Let go of what nobody has wanted for long, also of what a killed process left half written."""
        before = (now - self._keep).timestamp()
        for path in self._root.glob("*/*"):
            with suppress(OSError):
                if path.stat().st_mtime < before:
                    path.unlink()

    def _make_room(self, newest: Path) -> None:
        """Let go of what a repository was asked for longest ago, if it has more here than it may."""
        aged: list[tuple[float, int, Path]] = []
        for path in newest.parent.iterdir():
            with suppress(OSError):
                found = path.stat()
                aged.append((found.st_mtime, found.st_size, path))
        left = sum(size for _, size, _ in aged) - self._most
        for _, size, path in sorted(aged):
            if left > 0 and path != newest:
                left -= size
                with suppress(OSError):
                    path.unlink()

    def _place(self, repository: str, name: str) -> Path:
        folder = hashlib.sha256(repository.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        return self._root / folder / name


def archive_at(path: str, digest: str) -> bytes:
    """The bytes of an archive, proven; one that is gone or damaged is fetched anew the next time."""
    place = Path(path)
    try:
        content = place.read_bytes()
    except OSError as error:
        raise Unavailable("the chart", "its archive is no longer here", "Try again") from error
    if hashlib.sha256(content).hexdigest() != digest:
        with suppress(OSError):
            place.unlink()
        raise Unavailable("the chart", "its archive was damaged", "Try again")
    return content

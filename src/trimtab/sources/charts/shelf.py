"""Archives of charts on disk: by the repository that they came from, and there by their digest.

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


class Shelf:
    """The archives of all repositories of one process."""

    def __init__(self, root: Path, *, keep: timedelta) -> None:
        """Name the folder; nothing is made before something is kept."""
        self._root = root / FOLDER
        self._keep = keep

    def find(self, repository: str, digest: str, *, now: datetime) -> Path | None:
        """The archive, if it is here; it is then known to be wanted."""
        place = self._place(repository, digest)
        try:
            os.utime(place, (now.timestamp(), now.timestamp()))
        except OSError:
            return None
        return place

    def put(self, repository: str, content: bytes, *, now: datetime) -> Path:
        """Keep an archive; whoever reads sees all of it or nothing."""
        place = self._place(repository, hashlib.sha256(content).hexdigest())
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
        self._tidy(now)
        return place

    def _tidy(self, now: datetime) -> None:
        """Let go of what nobody has wanted for long, also of what a killed process left half written."""
        before = (now - self._keep).timestamp()
        for path in self._root.glob("*/*"):
            with suppress(OSError):
                if path.stat().st_mtime < before:
                    path.unlink()

    def _place(self, repository: str, digest: str) -> Path:
        folder = hashlib.sha256(repository.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        return self._root / folder / f"{digest}{_ENDING}"


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

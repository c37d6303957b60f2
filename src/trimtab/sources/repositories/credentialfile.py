"""Reads the credentials file of whoever runs us, and reads it again when it has changed.

What may stand there is decided in `entries`. Its credentials are the operator's own: they are handed to
consumers that the operator speaks for, never to everybody.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final, TypeAlias

from trimtab.errors import InvalidSpec, NotAllowed
from trimtab.files import read_file
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import RepositoriesSettings
from trimtab.settings.places import Usual
from trimtab.sources.repositories.credentials import Belonging
from trimtab.sources.repositories.entries import belongings_of, entries_in

_LARGEST: Final = 1 << 20
#: tells whether a file is still the one that was read
_State: TypeAlias = tuple[int, int, int]


class CredentialFile:
    """The credentials that one file holds."""

    def __init__(self, settings: RepositoriesSettings) -> None:
        """Name the file; it is read when somebody asks."""
        self._path = Path(settings.credentials_file).expanduser()
        self._subject = f"credentials file {self._path}"
        self._may_be_absent = isinstance(settings.credentials_file, Usual)
        self._states: dict[Path, _State | None] = {}
        self._known: tuple[Belonging, ...] = ()

    def belongings(self) -> tuple[Belonging, ...]:
        """The credentials as the file, and those that it names, hold them now."""
        if not self._states or any(_state(path) != state for path, state in self._states.items()):
            self._states = {}  # what cannot be read now is complained about the next time, too
            self._known = self._read_all()
        return self._known

    def _read_all(self) -> tuple[Belonging, ...]:
        if self._may_be_absent and not self._path.exists():
            self._states = {self._path: None}
            return ()
        reading = _Reading(self._path, self._subject)
        entries = entries_in(reading.text(self._path.name), self._subject)
        if any(entry.holds_secrets for entry in entries):
            reading.check_private(self._path)
        known = belongings_of(entries, reading, self._subject)
        self._states = reading.states
        return known


class _Reading:
    """One reading of the file and of those that it names, noting what was read."""

    def __init__(self, main: Path, subject: str) -> None:
        self._main = main
        self._subject = subject
        self.states: dict[Path, _State | None] = {}

    def text(self, path: str) -> str:
        """The content of a file; its path counts from the folder of the credentials file."""
        place = self._place(path)
        which = "it" if place == self._main else str(place)
        self.states[place] = _state(place)
        try:
            return read_file(place, subject=self._subject, which=which, limit=_LARGEST).decode()
        except UnicodeDecodeError as exc:
            raise InvalidSpec(self._subject, f"{which} is not text", "Mend the path") from exc

    def secret(self, path: str) -> Secret:
        """The same of a file that holds a secret."""
        text = self.text(path)
        self.check_private(self._place(path))
        return Secret(text)

    def check_private(self, place: Path) -> None:
        """Return for a file that not everybody on the machine can read."""
        if place.stat().st_mode & stat.S_IROTH:
            reason = f"everybody on this machine may read {place}, and it holds a secret"
            raise NotAllowed(self._subject, reason, f"Run `chmod 600 {place}`")

    def _place(self, path: str) -> Path:
        return self._main.parent / Path(path).expanduser()


def _state(path: Path) -> _State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

"""The files of Git LFS that lie beside a mirror, and notes of which revision needs which.

Every file is named by its SHA-256 and proven whenever it is read; a damaged one is as good as none. Stores
are never shared between mirrors: who may read a mirror may read what lies beside it, and nothing else.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Final

from trimtab.sources.repositories.pointers import Pointer

#: the folder in a mirror
FOLDER: Final = "lfs"


class LargeStore:
    """The files beside one mirror."""

    def __init__(self, mirror: Path) -> None:
        """Name the store; nothing is made before something is kept."""
        self._files = mirror / FOLDER / "objects"
        self._notes = mirror / FOLDER / "revisions"

    def place(self, pointer: Pointer) -> Path:
        """Where a file lies, or would lie."""
        return self._files / pointer.oid[:2] / pointer.oid[2:4] / pointer.oid

    def has(self, pointer: Pointer) -> bool:
        """Whether a file is here, by its size; whoever reads it proves the rest."""
        try:
            return self.place(pointer).stat().st_size == pointer.size
        except OSError:
            return False

    def read(self, pointer: Pointer) -> bytes | None:
        """The bytes of a file; None if it is not here, or is damaged: then the next fetch brings it anew."""
        place = self.place(pointer)
        try:
            content = place.read_bytes()
        except OSError:
            return None
        if _is_meant(pointer, content):
            return content
        place.unlink(missing_ok=True)
        return None

    def keep(self, pointer: Pointer, content: bytes) -> bool:
        """Keep a file, if it is the one that the pointer means; whether it is."""
        if not _is_meant(pointer, content):
            return False
        place = self.place(pointer)
        aside = place.with_name(f".{pointer.oid}.{secrets.token_hex(4)}")
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            aside.write_bytes(content)
            aside.replace(place)  # whoever reads sees the whole file or none
        finally:
            aside.unlink(missing_ok=True)
        return True

    def size(self) -> int:
        """The bytes of all files."""
        return sum(each.stat().st_size for each in self._files.glob("*/*/*"))

    def note(self, commit: str, paths: Iterable[str], pointers: Iterable[Pointer]) -> None:
        """Write down which files a revision needs at and below some paths."""
        self._notes.mkdir(parents=True, exist_ok=True, mode=0o700)
        place = self._note(commit, paths)
        aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        aside.write_text("".join(f"{each.oid} {each.size}\n" for each in pointers))
        aside.replace(place)

    def is_complete(self, commit: str, paths: Iterable[str]) -> bool:
        """Whether all files that a revision needs are known and here."""
        try:
            return all(self.has(each) for each in _noted(self._note(commit, paths)))
        except OSError:
            return False

    def tidy(self, kept: Container[str]) -> None:
        """Let go of the notes of other revisions, and of files that no note names."""
        notes = [note for note in self._notes.glob("*") if not note.name.startswith(".")]
        stale = [note for note in notes if note.name.partition("-")[0] not in kept]
        wanted = {each.oid for note in notes if note not in stale for each in _noted(note)}
        for note in stale:
            note.unlink(missing_ok=True)
        for file in self._files.glob("*/*/*"):
            if file.name not in wanted:
                file.unlink(missing_ok=True)

    def _note(self, commit: str, paths: Iterable[str]) -> Path:
        words = "\0".join(sorted(paths)).encode("utf-8", "surrogatepass")
        return self._notes / f"{commit}-{hashlib.sha256(words).hexdigest()[:16]}"


def _is_meant(pointer: Pointer, content: bytes) -> bool:
    return len(content) == pointer.size and hashlib.sha256(content).hexdigest() == pointer.oid


def _noted(note: Path) -> Iterator[Pointer]:
    for line in note.read_text().splitlines():
        oid, _, size = line.partition(" ")
        yield Pointer(oid, int(size))

"""A plain folder as a tree, for local use: nothing has to be committed.

Ids are Git's own, so a folder and a commit with the same files have the same ids. They are computed once and
kept: one `FolderTree` stands for one moment, and a file that changes later is refused rather than mixed in.
Whatever lies there besides, and is read by nobody, may be of any size.
Not here: checkouts, ignore files, anything that writes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from trimtab.errors import Missing, NotAllowed, Unavailable
from trimtab.files import Unfit, content_of, opened, pieces_of
from trimtab.sources.gitids import blob_id, blob_id_of, tree_id
from trimtab.sources.trees import Entry, EntryKind

#: Git's own folder is no part of the files
_HIDDEN: Final = frozenset({".git"})
#: no render is made of a file of more; and nobody waits for the id of one
_LARGEST: Final = 512 << 20


class FolderTree:
    """The files below a folder; links are entries of their own, devices and pipes are none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: dict[str, tuple[Entry, ...]] = {}

    def entry(self, path: str) -> Entry | None:
        """What lies at this path; None if nothing does."""
        if not path:
            return Entry(name="", kind=EntryKind.FOLDER, id=tree_id(self.entries("")))
        folder, _, name = path.rpartition("/")
        if folder and self._kind(folder) is not EntryKind.FOLDER:
            return None
        return next((entry for entry in self._listed(folder) if entry.name == name), None)

    def entries(self, path: str) -> tuple[Entry, ...]:
        """What lies in this folder, by name; a `Missing` error if it is none."""
        if self._kind(path) is not EntryKind.FOLDER:
            raise Missing(f"folder {path!r}", "it is not in the source", "Mend the path")
        return self._listed(path)

    def read(self, path: str) -> bytes:
        """The bytes of a file, or where a link points; a `Missing` error if it is neither."""
        entry = self.entry(path)
        if entry is None or entry.kind not in {EntryKind.FILE, EntryKind.LINK}:
            raise Missing(f"file {path!r}", "it is not in the source", "Mend the path")
        content = self._content(path, entry.kind)
        if blob_id(content) != entry.id:
            raise Unavailable(f"file {path!r}", "it was changed while it was being read", "Try again")
        return content

    def _kind(self, path: str) -> EntryKind | None:
        """What lies there; no part of the way may be a link."""
        place = self._folder
        kind: EntryKind | None = EntryKind.FOLDER
        for word in path.split("/") if path else ():
            if kind is not EntryKind.FOLDER or word in {"", ".", "..", *_HIDDEN}:
                return None
            place /= word
            kind = _kind_of(place)
        return kind

    def _listed(self, path: str) -> tuple[Entry, ...]:
        if path not in self._entries:
            try:
                names = sorted(each.name for each in (self._folder / path).iterdir())
            except FileNotFoundError as error:
                if not path:
                    remedy = "Put it back, or name the folder that is to be read instead"
                    raise Missing(f"folder {self._folder}", "it is not there", remedy) from error
                raise Missing(f"folder {path!r}", "it is not in the source", "Mend the path") from error
            except OSError as error:
                raise NotAllowed(f"folder {path!r}", f"it cannot be read: {error.strerror}") from error
            found = (self._made(path, name) for name in names if name not in _HIDDEN)
            self._entries[path] = tuple(entry for entry in found if entry is not None)
        return self._entries[path]

    def _made(self, folder: str, name: str) -> Entry | None:
        path = f"{folder}/{name}" if folder else name
        kind = _kind_of(self._folder / path)
        if kind is None:
            return None
        if kind is EntryKind.FOLDER:
            below = self._listed(path)
            # Git knows no empty folders, so they have no part in what a folder is.
            return Entry(name=name, kind=kind, id=tree_id(below)) if below else None
        executable = kind is EntryKind.FILE and os.access(self._folder / path, os.X_OK)
        return Entry(name=name, kind=kind, id=self._id(path, kind), executable=executable)

    def _id(self, path: str, kind: EntryKind) -> str:
        if kind is EntryKind.LINK:
            return blob_id(self._content(path, kind))
        with _complaining(path), opened(self._folder / path, links=False) as file:
            return _file_id(file)

    def _content(self, path: str, kind: EntryKind) -> bytes:
        place = self._folder / path
        with _complaining(path):
            if kind is EntryKind.LINK:
                return os.fsencode(place.readlink())
            return content_of(place, _LARGEST, links=False)  # it may have become one meanwhile


@contextmanager
def _complaining(path: str) -> Iterator[None]:
    """Say which file cannot be read, and why."""
    try:
        yield
    except Unfit as unfit:
        raise NotAllowed(f"file {path!r}", f"it {unfit}", "Move it out of the folder") from unfit
    except OSError as error:
        raise NotAllowed(f"file {path!r}", f"it cannot be read: {error.strerror}") from error


def _file_id(file: BinaryIO) -> str:
    """Git's own id of a file; of one that is too large to be read, one that says when it was written."""
    found = os.fstat(file.fileno())
    if found.st_size <= _LARGEST:
        return blob_id_of(found.st_size, pieces_of(file, found.st_size))
    facts = f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
    return hashlib.sha1(facts.encode(), usedforsecurity=False).hexdigest()


def _kind_of(place: Path) -> EntryKind | None:
    try:
        mode = place.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return EntryKind.FOLDER
    if stat.S_ISLNK(mode):
        return EntryKind.LINK
    return EntryKind.FILE if stat.S_ISREG(mode) else None

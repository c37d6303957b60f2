"""Trees: the files of one revision, read without a checkout. Pure but for the reading of implementations.

Paths are relative to the tree's root, written with `/`, never beginning with one and never holding `.` or
`..`; the root itself is the empty path. Links are entries of their own and are never followed here.
"""

from __future__ import annotations

import enum
from typing import Protocol

from msgspec import Struct, structs


class EntryKind(enum.Enum):
    """What a name in a folder stands for."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SUBMODULE = "submodule"


class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """One name in a folder; `id` changes whenever what lies there changes, however deep."""

    name: str
    kind: EntryKind
    id: str
    executable: bool = False


class Tree(Protocol):
    """The files of one revision. Reading happens in worker processes, hence nothing here awaits."""

    def entry(self, path: str) -> Entry | None:
        """What lies at this path; None if nothing does."""

    def entries(self, path: str) -> tuple[Entry, ...]:
        """What lies in this folder, by name; a `Missing` error if it is none."""

    def read(self, path: str) -> bytes:
        """The bytes of a file, or where a link points; a `Missing` error if it is neither."""


class Subtree:
    """One folder of a tree, as a tree of its own."""

    def __init__(self, tree: Tree, folder: str) -> None:
        self._tree = tree
        self._folder = folder

    def entry(self, path: str) -> Entry | None:
        """What lies at this path; None if nothing does."""
        found = self._tree.entry(self._place(path))
        return found if path or found is None else structs.replace(found, name="")

    def entries(self, path: str) -> tuple[Entry, ...]:
        """What lies in this folder, by name; a `Missing` error if it is none."""
        return self._tree.entries(self._place(path))

    def read(self, path: str) -> bytes:
        """The bytes of a file, or where a link points; a `Missing` error if it is neither."""
        return self._tree.read(self._place(path))

    def _place(self, path: str) -> str:
        return f"{self._folder}/{path}" if path else self._folder

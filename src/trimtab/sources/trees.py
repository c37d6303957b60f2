"""Trees: the files of one revision, read without a checkout. Pure but for the reading of implementations.

Paths are relative to the tree's root, written with `/`, never beginning with one and never holding `.` or
`..`; the root itself is the empty path. Links are entries of their own and are never followed here.
"""

from __future__ import annotations

import enum
from typing import Protocol

from msgspec import Struct


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

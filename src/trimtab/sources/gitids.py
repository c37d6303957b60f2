"""Git's own ids of files and folders, so that the same files have the same ids wherever they lie. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from trimtab.sources.trees import Entry, EntryKind

_MODES: Final = {EntryKind.FOLDER: b"40000", EntryKind.LINK: b"120000", EntryKind.FILE: b"100644"}


def blob_id(content: bytes) -> str:
    """The id of a file's bytes."""
    return blob_id_of(len(content), (content,))


def blob_id_of(size: int, pieces: Iterable[bytes]) -> str:
    """The id of a file of this size that is read piece by piece."""
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def tree_id(entries: Iterable[Entry]) -> str:
    """The id of a folder; Git sorts folders as if their names ended in a slash."""
    ordered = sorted(entries, key=lambda it: _raw(it.name) + b"/" * (it.kind is EntryKind.FOLDER))
    lines = (_mode(entry) + b" " + _raw(entry.name) + b"\0" + bytes.fromhex(entry.id) for entry in ordered)
    content = b"".join(lines)
    return hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _raw(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _mode(entry: Entry) -> bytes:
    return b"100755" if entry.executable else _MODES[entry.kind]

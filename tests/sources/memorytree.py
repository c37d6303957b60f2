"""A tree in memory, with ids made of its content, for tests that need no disk."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from trimtab.errors import Missing
from trimtab.sources.trees import Entry, EntryKind


class MemoryTree:
    """Files by path; a text that begins with `-> ` is a link."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self.files = {path: it.encode() if isinstance(it, str) else it for path, it in files.items()}

    def entry(self, path: str) -> Entry | None:
        name = path.rpartition("/")[2]
        if path in self.files:
            text = self.files[path]
            kind = EntryKind.LINK if text.startswith(b"-> ") else EntryKind.FILE
            return Entry(name=name, kind=kind, id=_digest(text))
        inside = {
            place: text for place, text in self.files.items() if not path or place.startswith(f"{path}/")
        }
        if not inside and path:
            return None
        return Entry(name=name, kind=EntryKind.FOLDER, id=_digest(repr(sorted(inside.items())).encode()))

    def entries(self, path: str) -> tuple[Entry, ...]:
        found = self.entry(path)
        if found is None or found.kind is not EntryKind.FOLDER:
            raise Missing(path, "there is no such folder")
        prefix = f"{path}/" if path else ""
        names = {place[len(prefix) :].split("/")[0] for place in self.files if place.startswith(prefix)}
        entries = (self.entry(prefix + name) for name in sorted(names))
        return tuple(entry for entry in entries if entry is not None)

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise Missing(path, "there is no such file")
        return self.files[path].removeprefix(b"-> ")


def _digest(text: bytes) -> str:
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()

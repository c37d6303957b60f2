"""A chart's archive as a tree: the files that were packed, with the ids that Git would give them. Pure.

The folder that helm packs everything into is left out, so `Chart.yaml` lies at the root.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.errors import Missing
from trimtab.sources.gitids import blob_id, tree_id
from trimtab.sources.rendering.archives import Packed
from trimtab.sources.trees import Entry, EntryKind


class ChartTree:
    """The files of one chart."""

    def __init__(self, files: Mapping[str, Packed]) -> None:
        self._files = files
        self._folders: dict[str, tuple[Entry, ...]] = {}
        self._root = Entry(name="", kind=EntryKind.FOLDER, id=self._measure())

    def entry(self, path: str) -> Entry | None:
        """What lies at this path; None if nothing does."""
        if not path:
            return self._root
        folder, _, name = path.rpartition("/")
        return next((entry for entry in self._folders.get(folder, ()) if entry.name == name), None)

    def entries(self, path: str) -> tuple[Entry, ...]:
        """What lies in this folder, by name; a `Missing` error if it is none."""
        if path not in self._folders:
            raise Missing(f"folder {path!r}", "it is not in the chart", "Mend the path")
        return self._folders[path]

    def read(self, path: str) -> bytes:
        """The bytes of a file; a `Missing` error if it is none."""
        if path not in self._files:
            raise Missing(f"file {path!r}", "it is not in the chart", "Mend the path")
        return self._files[path].content

    def _measure(self) -> str:
        """Fill the folders, the deepest first, for the id of each follows from what lies in it."""
        waiting: dict[str, list[Entry]] = {"": []}
        for path, file in self._files.items():
            folder, _, name = path.rpartition("/")
            entry = Entry(
                name=name, kind=EntryKind.FILE, id=blob_id(file.content), executable=file.executable
            )
            waiting.setdefault(folder, []).append(entry)
            while folder and (folder := folder.rpartition("/")[0]) not in waiting:
                waiting[folder] = []
        for folder in sorted(waiting, key=lambda it: it.count("/") + bool(it), reverse=True):
            entries = tuple(sorted(waiting[folder], key=lambda it: it.name))
            self._folders[folder] = entries
            above, _, name = folder.rpartition("/")
            if folder:
                waiting[above].append(Entry(name=name, kind=EntryKind.FOLDER, id=tree_id(entries)))
        return tree_id(self._folders[""])

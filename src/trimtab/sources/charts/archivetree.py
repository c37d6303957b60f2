"""A chart as it was packed, as a tree of one file: its id is the digest that the archive is proven by."""

from __future__ import annotations

from trimtab.errors import Missing
from trimtab.sources.charts.shelf import archive_at
from trimtab.sources.charts.wishes import ChartRevision
from trimtab.sources.trees import Entry, EntryKind


class ArchiveTree:
    """The archive of one chart; it is opened when it is read, and not before."""

    def __init__(self, chart: ChartRevision) -> None:
        self._chart = chart
        self._file = Entry(name=f"{chart.name}-{chart.version}.tgz", kind=EntryKind.FILE, id=chart.digest)
        self._root = Entry(name="", kind=EntryKind.FOLDER, id=chart.digest)

    def entry(self, path: str) -> Entry | None:
        """What lies at this path; None if nothing does."""
        if not path:
            return self._root
        return self._file if path == self._file.name else None

    def entries(self, path: str) -> tuple[Entry, ...]:
        """The one file, of the one folder."""
        if path:
            raise Missing(f"folder {path!r}", "it is not beside the chart", "Mend the path")
        return (self._file,)

    def read(self, path: str) -> bytes:
        """The bytes of the archive, proven."""
        if path != self._file.name:
            raise Missing(f"file {path!r}", "it is not beside the chart", "Mend the path")
        return archive_at(self._chart.archive, self._chart.digest)

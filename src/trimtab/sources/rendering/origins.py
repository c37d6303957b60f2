"""Where a tree comes from, as a value that travels to a worker process, which opens it there.

Whoever sends one opens none, and most workers open one sort: what reads it is imported when it is opened.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, assert_never

from msgspec import Struct

from trimtab.errors import Damaged
from trimtab.sources.charts.wishes import ChartRevision
from trimtab.sources.folders import FolderTree
from trimtab.sources.repositories.revisions import Revision
from trimtab.sources.trees import Subtree, Tree


class FolderOrigin(Struct, frozen=True, kw_only=True, tag="folder"):
    """A plain folder as it is when it is looked at."""

    path: str


class RevisionOrigin(Struct, frozen=True, kw_only=True, tag="revision"):
    """A revision of a repository; whoever has one may read it."""

    revision: Revision
    #: this folder of it is the tree; all of it, if none is named
    below: str = ""


class ChartOrigin(Struct, frozen=True, kw_only=True, tag="chart"):
    """A version of a chart; whoever has one may read it."""

    revision: ChartRevision


class ArchiveOrigin(Struct, frozen=True, kw_only=True, tag="archive"):
    """A version of a chart as it was packed, one file; whoever has one may read it."""

    revision: ChartRevision


Origin: TypeAlias = FolderOrigin | RevisionOrigin | ChartOrigin
#: what manifests come from, and what charts bring along
AnyOrigin: TypeAlias = Origin | ArchiveOrigin


def opened(origin: AnyOrigin) -> Tree:
    """The tree, for as long as one answer takes: a folder may be another one the next time."""
    match origin:
        case FolderOrigin(path=path):
            return FolderTree(Path(path))
        case RevisionOrigin(revision=revision, below=below):
            tree = _revision(revision)
            return Subtree(tree, below) if below else tree
        case ChartOrigin(revision=chart):
            return _chart(chart)
        case ArchiveOrigin(revision=chart):
            from trimtab.sources.charts.archivetree import ArchiveTree

            return ArchiveTree(chart)
        case _:
            assert_never(origin)


@contextmanager
def let_go_if_damaged() -> Iterator[None]:
    """Open mirrors anew after one was found damaged: what is open stays so when it has been mended."""
    try:
        yield
    except Damaged:
        _revision.cache_clear()
        raise


def reads_large_files(origin: Origin) -> bool:
    """Whether files that are kept in Git LFS are read as what they are."""
    return isinstance(origin, RevisionOrigin) and origin.revision.lfs


@functools.lru_cache(maxsize=8)
def _revision(revision: Revision) -> Tree:
    """The last few stay open, for one revision usually serves many renders."""
    from trimtab.sources.repositories.gittree import tree_of

    return tree_of(revision)


@functools.lru_cache(maxsize=8)
def _chart(chart: ChartRevision) -> Tree:
    """Unpacked into memory: an archive was looked through before it came to the shelf."""
    from trimtab.sources.charts.charttree import ChartTree
    from trimtab.sources.charts.jobs import MOST_FILES
    from trimtab.sources.charts.shelf import archive_at
    from trimtab.sources.rendering.archives import files_in

    files = files_in(
        archive_at(chart.archive, chart.digest),
        subject=f"chart {chart.name}",
        path=f"{chart.name}-{chart.version}.tgz",
        most_files=MOST_FILES,
        most_bytes=chart.largest,
    )
    return ChartTree(files)

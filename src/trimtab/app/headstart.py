"""A head start for whoever is about to have something rendered: a worker process that is at it already.

This module is light: while the worker starts, and reads a folder, all that it takes to speak to a cluster is
imported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from trimtab.errors import TrimtabError
from trimtab.sources import reading_ahead, workers_for

if TYPE_CHECKING:
    from trimtab.settings import RenderingSettings
    from trimtab.tasks import WorkerProcesses


class FolderAhead(NamedTuple):
    """A folder that is about to be rendered."""

    root: str
    #: below it
    path: str = ""


@asynccontextmanager
async def head_start(
    settings: RenderingSettings, folder: FolderAhead | None = None
) -> AsyncIterator[WorkerProcesses]:
    """Workers of which the first has been started, and reads this folder."""
    async with workers_for(settings) as workers:
        with suppress(TrimtabError):  # whoever renders meets the same trouble, and says so
            await workers.hire(None if folder is None else reading_ahead(folder.root, folder.path))
        yield workers

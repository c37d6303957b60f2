"""The worker processes of a renderer, and what they can do before it is there.

This module is light: a command has its worker started, and at work, before it imports what a renderer needs.
"""

from __future__ import annotations

from typing import Final

import msgspec

from trimtab.settings import RenderingSettings
from trimtab.tasks import Hint, PoolPolicy, WorkerProcesses

_WORK: Final = "trimtab.sources.rendering.work"


def workers_for(settings: RenderingSettings) -> WorkerProcesses:
    """The processes that are to render; none of them is started yet."""
    return WorkerProcesses(PoolPolicy(size=settings.concurrency, module=_WORK))


def reading_ahead(root: str, path: str) -> Hint:
    """Has plain files of a source read in a worker, for the render of this path that is asked for next."""
    return Hint(f"{_WORK}:read_ahead", msgspec.msgpack.encode((root, path)))

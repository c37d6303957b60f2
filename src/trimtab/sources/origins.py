"""Where a tree comes from, as a value that travels to a worker process, which opens it there."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from trimtab.sources.folders import FolderTree
from trimtab.sources.trees import Tree


class FolderOrigin(Struct, frozen=True, kw_only=True, tag="folder"):
    """A plain folder as it is at one `moment`: another moment makes the worker look again."""

    path: str
    moment: int = 0


Origin: TypeAlias = FolderOrigin


@functools.lru_cache(maxsize=4)
def opened(origin: Origin) -> Tree:
    """The tree; the last few stay open, for one revision usually serves many renders."""
    return FolderTree(Path(origin.path))

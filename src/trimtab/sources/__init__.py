"""Sources: from a Git address to manifests.

Doers come from here; values and pure functions from their own modules.
"""

from trimtab.sources.folders import FolderTree
from trimtab.sources.origins import FolderOrigin
from trimtab.sources.render import Renderer, Request

__all__ = ["FolderOrigin", "FolderTree", "Renderer", "Request"]

"""Sources: from a Git address to manifests.

    async with Repositories(settings.repositories, path=path) as repositories:
        revision = await repositories.fetch(Wanted(url="https://git.example/team/app.git", target="main"))

Doers come from here; values and pure functions from their own modules.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trimtab.sources.folders import FolderTree
    from trimtab.sources.rendering.origins import FolderOrigin, RevisionOrigin
    from trimtab.sources.rendering.render import Renderer, Request
    from trimtab.sources.repositories.credentialfile import CredentialFile
    from trimtab.sources.repositories.gittree import GitTree, MountedTree, tree_of
    from trimtab.sources.repositories.lookout import Repositories
    from trimtab.sources.repositories.reaching import Gate

__all__ = [
    "CredentialFile",
    "FolderOrigin",
    "FolderTree",
    "Gate",
    "GitTree",
    "MountedTree",
    "Renderer",
    "Repositories",
    "Request",
    "RevisionOrigin",
    "tree_of",
]

#: where each name is at home
_HOMES: Final = {
    "CredentialFile": "trimtab.sources.repositories.credentialfile",
    "FolderOrigin": "trimtab.sources.rendering.origins",
    "FolderTree": "trimtab.sources.folders",
    "Gate": "trimtab.sources.repositories.reaching",
    "GitTree": "trimtab.sources.repositories.gittree",
    "MountedTree": "trimtab.sources.repositories.gittree",
    "Renderer": "trimtab.sources.rendering.render",
    "Repositories": "trimtab.sources.repositories.lookout",
    "Request": "trimtab.sources.rendering.render",
    "RevisionOrigin": "trimtab.sources.rendering.origins",
    "tree_of": "trimtab.sources.repositories.gittree",
}

if not TYPE_CHECKING:  # so that the imports above stay what the names are checked against

    def __getattr__(name: str) -> object:
        """A name of the door, loaded when it is first asked for: worker processes need little of it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_HOMES[name]), name)

"""Sources: from a Git address to manifests.

    async with Repositories(settings.repositories, path=path) as repositories:
        revision = await repositories.fetch(Wanted(url="https://git.example/team/app.git", target="main"))

Doers come from here; values and pure functions from their own modules.
"""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.sources.charts.shop import Charts
    from trimtab.sources.folders import FolderTree
    from trimtab.sources.rendering.origins import ChartOrigin, FolderOrigin, RevisionOrigin
    from trimtab.sources.rendering.render import Renderer, Request
    from trimtab.sources.rendering.store import key_in
    from trimtab.sources.rendering.workers import reading_ahead, workers_for
    from trimtab.sources.repositories.credentialfile import CredentialFile
    from trimtab.sources.repositories.gittree import GitTree, MountedTree, tree_of
    from trimtab.sources.repositories.lookout import Repositories
    from trimtab.sources.repositories.reaching import Gate
else:
    __getattr__ = opened_when_asked(
        __name__,
        {
            "charts.shop": ("Charts",),
            "folders": ("FolderTree",),
            "rendering.origins": ("ChartOrigin", "FolderOrigin", "RevisionOrigin"),
            "rendering.render": ("Renderer", "Request"),
            "rendering.store": ("key_in",),
            "rendering.workers": ("reading_ahead", "workers_for"),
            "repositories.credentialfile": ("CredentialFile",),
            "repositories.gittree": ("GitTree", "MountedTree", "tree_of"),
            "repositories.lookout": ("Repositories",),
            "repositories.reaching": ("Gate",),
        },
    )

__all__ = [
    "ChartOrigin",
    "Charts",
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
    "key_in",
    "reading_ahead",
    "tree_of",
    "workers_for",
]

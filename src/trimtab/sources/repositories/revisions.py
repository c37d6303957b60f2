"""What a consumer wants of a repository, and how it stands with it. Pure values.

A `Revision` is handed only to those whose own credential has opened the repository; it says all that a worker
needs to read the files.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.sources.repositories.credentials import Belonging


class Wanted(Struct, frozen=True, kw_only=True):
    """A repository and what of it a consumer wants."""

    url: str
    #: a branch, tag, range of versions, commit, shortened commit, or HEAD
    target: str = "HEAD"
    #: for a range of versions: what the tags begin with, such as `web-`
    tag_prefix: str = ""
    #: the credentials that this consumer may use; the one for the address is chosen among them
    credentials: tuple[Belonging, ...] = ()
    #: whether submodules are fetched, too; they must lie on the same server
    submodules: bool = False
    #: whether files that are kept in Git LFS are fetched, too
    lfs: bool = False
    #: folders and files that matter to this consumer, so that a webhook about others is no news; all if empty
    paths: tuple[str, ...] = ()
    #: whether only the files at and below these paths are fetched: for very large repositories
    partial: bool = False


class GitRequest(Struct, frozen=True, kw_only=True):
    """One talk of git with a server, whatever came of it."""

    #: `ls-remote` asks what there is, `fetch` brings it
    type: str
    seconds: float
    failed: bool


class Mount(Struct, frozen=True, kw_only=True):
    """A submodule: where it hangs, and which revision of which repository it is."""

    path: str
    revision: Revision


class Revision(Struct, frozen=True, kw_only=True):
    """One commit that lies complete in a mirror."""

    url: str
    commit: str
    #: the full name of the branch or tag by which it was found; empty for a commit that was named itself
    ref: str = ""
    #: the mirror's folder: `GitTree(mirror, commit)` reads it, in any process
    mirror: str
    #: whether files that are kept in Git LFS are read; and why some of them could not be fetched
    lfs: bool = False
    lfs_problem: str = ""
    submodules: tuple[Mount, ...] = ()


class Standing(Struct, frozen=True, kw_only=True):
    """How it stands with one consumer: what is in force, and what is wrong."""

    #: the last good revision: it stays in force whatever goes wrong later
    revision: Revision | None = None
    #: what went wrong when news were last looked for; None if nothing did
    error: TrimtabError | None = None
    #: when news were last looked for
    looked_at: datetime | None = None
    #: since when something has been wrong
    failing_since: datetime | None = None

    @property
    def message(self) -> str:
        """One sentence for the consumer's status; empty if all is well."""
        if self.error is None:
            return ""
        if self.revision is None:
            return str(self.error)
        return f"{self.error} Revision {self.revision.commit[:8]} stays in force."

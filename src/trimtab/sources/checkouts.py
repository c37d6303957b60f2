"""A checkout on this machine: which commit a revision of it is, and where its objects lie. Only reads.

Whoever names a folder of theirs may read its repository, so nobody is asked and nothing is copied: the files
of a commit are read from the checkout's own store.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import InvalidSpec
from trimtab.sources.repositories.complaints import RevisionMissing
from trimtab.sources.repositories.revisions import Revision

if TYPE_CHECKING:
    import pygit2


def revision_in(folder: Path, target: str) -> tuple[Revision, str]:
    """The revision of the checkout that a folder lies in, and the path of the folder there."""
    repository = _repository(folder)
    top = Path(repository.workdir)
    revision = Revision(url=str(top), commit=_commit(repository, target), mirror=str(_store(repository)))
    return revision, folder.resolve().relative_to(top.resolve()).as_posix().removeprefix(".")


def _repository(folder: Path) -> pygit2.Repository:
    import pygit2  # here, because renders of plain folders never need it

    try:
        found = pygit2.discover_repository(str(folder))
        repository = pygit2.Repository(found) if found else None
    except pygit2.GitError as exc:
        raise InvalidSpec(f"folder {folder}", f"its repository cannot be read: {exc}", "Mend it") from exc
    if repository is None or repository.is_bare:
        remedy = "Name a Git checkout or the address of a repository"
        raise InvalidSpec(f"folder {folder}", "it is no Git checkout, so it has no revisions", remedy)
    return repository


def _commit(repository: pygit2.Repository, target: str) -> str:
    import pygit2

    try:
        return str(repository.revparse_single(target).peel(pygit2.Commit).id)
    except (KeyError, ValueError, pygit2.GitError) as exc:
        subject, reason = f"checkout {repository.workdir}", f"it has no revision {target!r}"
        remedy = "Fetch it with git fetch, and name it like origin/main"
        raise RevisionMissing(subject, reason, remedy) from exc


def _store(repository: pygit2.Repository) -> Path:
    """The folder with the objects; a second worktree names the one of the first."""
    own = Path(repository.path)
    shared = own / "commondir"
    return (own / shared.read_text().strip()).resolve() if shared.exists() else own

"""What SOURCE on a command line means: a folder, a repository, or an app that is known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import InvalidSpec

if TYPE_CHECKING:
    from trimtab.app.sources import AppSource

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|[^/\s]+@[^/\s]+:")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.-]+")


def source_named(text: str, *, path: str, revision: str) -> AppSource | None:
    """The folder or repository that is meant; None for the name of an app."""
    from trimtab.app.sources import AppSource
    from trimtab.sources.rendering.specs import SourceSpec

    spec = SourceSpec(path=path.strip("/"))
    if _ADDRESS.match(text):
        return AppSource(repo_url=text, target_revision=revision or "HEAD", spec=spec)
    folder = Path(text)
    if not folder.is_dir():
        if "/" in text or text in {".", ".."} or folder.exists():
            reason = "it is not a folder" if folder.exists() else "there is no such folder"
            raise InvalidSpec(f"source {text}", reason, "Name a folder, a Git address, or an app")
        return None
    if revision:
        raise InvalidSpec(f"source {text}", "a folder has no revisions", "Leave out --revision")
    return AppSource(folder=str(folder.resolve()), spec=spec)


def name_for(source: AppSource) -> str:
    """The name of an app whose user gave none: the last part of its path."""
    place = source.spec.path or source.folder or source.repo_url
    last = place.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    name = _NOT_IN_NAMES.sub("-", last).strip("-.").lower()
    if not name:
        raise InvalidSpec(f"source {source}", "no name follows from it", "Give one with --app")
    return name

"""What SOURCE on a command line means: a folder, a repository, a chart, a unit file, or a known app."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import InvalidSpec, UserError
from trimtab.files import read_file

if TYPE_CHECKING:
    from trimtab.app.appsources import AppSource
    from trimtab.engine.units import SyncUnit

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|[^/\s]+@[^/\s]+:")
_REGISTRY = "oci://"
_UNIT_FILES = (".yaml", ".yml")
#: what manifests hold at their outermost, in whatever style of YAML
_MANIFEST = re.compile(rb"^\W*apiVersion\W", re.MULTILINE)
#: how only folders begin; apps may have slashes in their names, too
_OF_FOLDERS = (".", "/", "~")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.-]+")


def source_named(text: str, *, path: str, revision: str, chart: str = "") -> AppSource | None:
    """The folder, repository or chart that is meant; None for the name of an app."""
    from trimtab.app.appsources import AppSource
    from trimtab.sources.rendering.specs import SourceSpec

    if chart or text.startswith(_REGISTRY):
        return _chart_named(text, path=path, revision=revision, chart=chart)
    spec = SourceSpec(path=path.strip("/"))
    if _ADDRESS.match(text):
        return AppSource(repo_url=text, target_revision=revision or "HEAD", spec=spec)
    folder = Path(text)
    if not folder.is_dir():
        if _is_only_a_folder(text) or folder.exists():
            what = "file" if folder.suffix in _UNIT_FILES else "folder"
            reason = "it is not a folder" if folder.exists() else f"there is no such {what}"
            remedy = "Name a folder or a unit file that is there, a Git address, or a chart"
            raise InvalidSpec(f"source {text}", reason, remedy)
        return None
    if revision:
        app = "" if _is_only_a_folder(text) else f"; if the app of this name is meant, write app/{text}"
        raise InvalidSpec(f"source {text}", "a folder has no revisions", f"Leave out --revision{app}")
    return AppSource(folder=str(folder.resolve()), spec=spec)


def _is_only_a_folder(text: str) -> bool:
    """Whether no app can be meant."""
    return text.startswith(_OF_FOLDERS) or text.endswith("/")


def nothing_called(text: str) -> str:
    """What to say of a SOURCE that is nothing at all."""
    what = "file or folder" if Path(text).suffix in _UNIT_FILES else "folder"
    return f"there is no such app, nor a {what} of this name"


def unit_file(text: str, *, app: str) -> SyncUnit | None:
    """The unit that a file describes, for the cluster at hand; None for whatever is no unit file."""
    from msgspec.structs import replace

    file, where = Path(text), f"unit file {text}"
    if file.suffix not in _UNIT_FILES or not file.is_file():
        return None
    from trimtab.app.appsources import HERE
    from trimtab.app.unitfiles import LARGEST_FILE, Origin, unit_in

    content = read_file(file, subject=where, limit=LARGEST_FILE)
    folder = file.resolve().parent
    try:
        unit = unit_in(content, app or file.stem, where, Origin(folder=str(folder)))
    except UserError as error:
        if _MANIFEST.search(content) is None:
            raise
        reason, remedy = (
            "it holds manifests, and describes no unit",
            f"Name the folder that holds it: {folder}",
        )
        raise InvalidSpec(f"source {text}", reason, remedy) from error
    if unit.destination.cluster != HERE:
        reason = f"it is for the cluster {unit.destination.cluster}, and a command works on the one at hand"
        raise InvalidSpec(where, reason, "Have a runner keep it, or leave out the cluster")
    return replace(unit, declared_in="")


def _chart_named(text: str, *, path: str, revision: str, chart: str) -> AppSource:
    """The chart that is meant: of a registry by its whole address, of a repository by its name."""
    from trimtab.app.appsources import AppSource
    from trimtab.sources.rendering.specs import SourceSpec

    if path:
        raise InvalidSpec(f"source {text}", "a chart has no path", "Leave out --path, or name a repository")
    if not _ADDRESS.match(text):
        reason = "charts of this name come from a repository, https://… or oci://…"
        raise InvalidSpec(f"source {text}", reason, "Name the repository, or leave out --chart")
    repository = text.rstrip("/")
    if not chart:
        repository, _, chart = repository.rpartition("/")
        if len(repository) <= len(_REGISTRY):
            raise InvalidSpec(f"source {text}", "it names no chart", "Write it like oci://host/team/chart")
        chart, _, tag = chart.partition(":")
        revision = revision or tag.replace("_", "+")
    return AppSource(repo_url=repository, target_revision=revision or "HEAD", spec=SourceSpec(chart=chart))


def name_for(source: AppSource) -> str:
    """The name of an app whose user gave none: the last part of its path."""
    place = source.spec.path or source.spec.chart or source.folder or source.repo_url
    last = place.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    name = _NOT_IN_NAMES.sub("-", last).strip("-.").lower()
    if not name:
        raise InvalidSpec(f"source {source}", "no name follows from it", "Give one with --app")
    return name

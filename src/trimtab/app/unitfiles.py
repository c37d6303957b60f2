"""One unit as somebody wrote it down in a YAML file: what it says, and what is wrong with it. Pure.

A file has one `source`, or a list of `sources`. What is said of charts and overlays is spelled as in an
Application of Argo CD (`valueFiles`), or as records spell it (`value_files`); a field that nobody knows is
refused.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.appsources import HERE, AppSource, AppSources, check_sources, recorded
from trimtab.engine.units import Destination, OnRemoval, Policy, SyncUnit
from trimtab.errors import InvalidSpec
from trimtab.resources import yaml
from trimtab.resources.names import is_namespace_name
from trimtab.shapes import Shape
from trimtab.sources.rendering.specs import (
    Directory,
    FileParameter,
    Helm,
    Kustomize,
    Parameter,
    Patch,
    Replicas,
    SourceSpec,
)

#: bytes of the largest file that is read
LARGEST_FILE: Final = 256 << 10
ENDINGS: Final = (".yaml", ".yml")
_MEND: Final = "Mend the file"
_CAPITAL: Final = re.compile(r"(?<=[a-z])[A-Z]")
_SOURCE_FIELDS: Final = frozenset({"folder", "repoURL", "targetRevision", "ref", "spec"})
#: the values below a spec that have fields of their own
_INNER: Final[Mapping[str, type[Struct]]] = {
    "directory": Directory,
    "kustomize": Kustomize,
    "helm": Helm,
    "replicas": Replicas,
    "patches": Patch,
    "parameters": Parameter,
    "file_parameters": FileParameter,
}
_DESTINATION: Final = Shape(Destination)
_SOURCE: Final = Shape(AppSource)


class Origin(Struct, frozen=True, kw_only=True):
    """Where unit files are kept: a folder of this machine, or a repository; and where in it."""

    folder: str = ""
    url: str = ""
    target: str = "HEAD"
    path: str = ""

    def __str__(self) -> str:
        place = self.folder or self.url
        return f"{place}, {self.path}" if self.path else place


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: dict[str, Any] | None = None
    sources: list[dict[str, Any]] | None = None
    destination: dict[str, Any] = {}
    id: str = ""
    policy: Policy = Policy()
    tenant: str = ""
    on_removal: OnRemoval = msgspec.field(default=OnRemoval.KEEP, name="onRemoval")


_FILE: Final = Shape(_File)


def unit_in(content: bytes, unit_id: str, where: str, origin: Origin) -> SyncUnit:
    """The unit that a file describes."""
    if len(content) > LARGEST_FILE:
        raise InvalidSpec(where, f"it has more than {LARGEST_FILE >> 10} KiB", "A unit is a few lines")
    try:
        file = _FILE.of(yaml.load(content.decode(), source=where))
        destination = _DESTINATION.of({"cluster": HERE, **file.destination})
        sources = _sources(file, where, origin)
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InvalidSpec(where, f"it does not describe a unit: {error}", _MEND) from error
    if file.id not in {"", unit_id}:
        raise InvalidSpec(where, f"it is named for unit {unit_id} and says {file.id}", "Rename it")
    if destination.namespace and not is_namespace_name(destination.namespace):
        raise InvalidSpec(where, f"{destination.namespace!r} is not the name of a namespace", _MEND)
    check_sources(sources, where)
    return SyncUnit(
        id=unit_id,
        source=recorded(sources),
        destination=destination,
        policy=file.policy,
        tenant=file.tenant,
        on_removal=file.on_removal,
        declared_in=str(origin),
    )


def _sources(file: _File, where: str, origin: Origin) -> AppSources:
    if file.source is not None and file.sources is not None:
        raise InvalidSpec(where, "it has both source and sources", "Leave one out")
    if file.source is not None:
        if "ref" in file.source:
            raise InvalidSpec(where, "a ref is for others to find, and its source is the only one", _MEND)
        return AppSources((_source(file.source, where, origin),))
    if not file.sources:
        reason = "its list of sources is empty" if file.sources is not None else "it names no source"
        raise InvalidSpec(where, reason, "Name where it comes from with source or sources")
    numbered = enumerate(file.sources, 1)
    return AppSources(tuple(_source(each, f"{where}, source {number}", origin) for number, each in numbered))


def _source(written: Mapping[str, Any], where: str, origin: Origin) -> AppSource:
    """One source, with what the file leaves out."""
    unknown = sorted(set(written) - _SOURCE_FIELDS)
    if unknown:
        reason = f"a source has no field {unknown[0]}; it has {', '.join(sorted(_SOURCE_FIELDS))}"
        raise InvalidSpec(where, reason, _MEND)
    spec = _spelled(written.get("spec", {}), SourceSpec, where)
    return _settled(_SOURCE.of({**written, "spec": spec}), written, where, origin)


def _spelled(written: Any, kind: type[Struct], where: str) -> Any:
    """What is said of a source in the spelling of records; a field that nobody knows is an error."""
    if not isinstance(written, Mapping):
        return written  # which is for whoever knows its type to complain about
    found: dict[Any, Any] = {}
    for key, value in written.items():
        name = _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", str(key))
        if name not in kind.__struct_fields__:
            raise InvalidSpec(where, f"{kind.__name__} has no field {key}", _MEND)
        if name in found:
            raise InvalidSpec(where, f"{key} is said twice, in two spellings", "Leave one out")
        found[name] = _spelled_inside(value, _INNER.get(name), where)
    return found


def _spelled_inside(value: Any, kind: type[Struct] | None, where: str) -> Any:
    if kind is None:
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_spelled(each, kind, where) for each in value]
    return _spelled(value, kind, where)


def _settled(source: AppSource, written: Mapping[str, Any], where: str, origin: Origin) -> AppSource:
    """The source with what a file leaves out: its own repository."""
    if source.folder and source.repo_url:
        raise InvalidSpec(where, "its source is a folder and a repository", "Leave one out")
    if source.folder and origin.url:
        reason = "its source is a folder of the runner's machine, which a repository cannot name"
        raise InvalidSpec(where, reason, "Name a repository with repoURL, or none for the file's own")
    if source.folder:
        place = source.folder if source.folder.startswith("/") else f"{origin.folder}/{source.folder}"
        return replace(source, folder=posixpath.normpath(place))
    if source.repo_url:
        return source
    if not origin.url:
        raise InvalidSpec(where, "its source names neither folder nor repoURL", "Name one")
    target = source.target_revision if "targetRevision" in written else origin.target
    return replace(source, repo_url=origin.url, target_revision=target)

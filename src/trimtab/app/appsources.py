"""Where an app comes from: one source, or several that make it up together, as records name them. Pure.

A source with a `ref` lends its files to the others, whose values files name them `$ref/path`. If it names
neither path nor chart, it does nothing else.

The revision of an app with several sources is the revisions of all of them, in their order, with commas
between: whoever keeps, compares or shows one text keeps, compares or shows all of them.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.shapes import Shape
from trimtab.sources.rendering.specs import SourceSpec

if TYPE_CHECKING:
    from trimtab.engine.units import SyncUnit

#: the cluster at hand, as records name it
HERE: Final = "here"
#: sources that one app may have
MOST_SOURCES: Final = 32
#: stands between revisions: no commit, no version of a chart and no digest of a folder has one in it
_COMMA: Final = ","
#: digits of a commit that people read
_DIGITS: Final = 10
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
#: a password where an address has room for one
_PASSWORD: Final = re.compile(r"//[^/@:]*:[^/]*@")
_REF: Final = re.compile(r"[A-Za-z0-9_-]+")
#: stands between a unit and the number of its source; no id has one in it
_BREAK: Final = "\n"


class AppSource(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A folder of the machine at hand, or a repository and what of it; and how manifests are made of it.

    With a chart in its spec, the repository is one of charts: https://… or oci://….
    """

    folder: str = ""
    repo_url: str = msgspec.field(default="", name="repoURL")
    target_revision: str = "HEAD"
    #: the name under which the other sources of the app find its files
    ref: str = ""
    spec: SourceSpec = SourceSpec()

    @property
    def renders(self) -> bool:
        """Whether manifests are made of it; else it only lends its files."""
        return not self.ref or bool(self.spec.path or self.spec.chart)

    def __str__(self) -> str:
        chart = f"chart {self.spec.chart} of " if self.spec.chart else ""
        address = _PASSWORD.sub("//", self.repo_url)  # which is refused, and shown to nobody all the same
        place = self.folder or f"{chart}{address} at {self.target_revision}"
        whole = f"{place}, {self.spec.path}" if self.spec.path else place
        return f"{whole}, as ${self.ref}" if self.ref else whole


_ONE: Final = Shape(AppSource)


class AppSources(Struct, frozen=True):
    """All sources of an app, in the order in which their objects come; most apps have one."""

    entries: tuple[AppSource, ...]

    @property
    def first(self) -> int:
        """The number of the first source that is rendered: it is meant where a command speaks of one."""
        return next((number for number, each in enumerate(self.entries) if each.renders), 0)

    @property
    def main(self) -> AppSource:
        """The first source that is rendered."""
        return self.entries[self.first]

    @property
    def is_local(self) -> bool:
        """Whether some of it lies on the machine at hand."""
        return not all(each.repo_url for each in self.entries)

    def with_main(self, source: AppSource) -> AppSources:
        """The same with another first source."""
        others = list(self.entries)
        others[self.first] = source
        return AppSources(tuple(others))

    def __str__(self) -> str:
        return "; ".join(map(str, self.entries))


class _Several(Struct, frozen=True):
    """How the record of an app with several sources looks."""

    sources: tuple[AppSource, ...]


_SEVERAL: Final = Shape(_Several)


def sources_of(unit: SyncUnit) -> AppSources:
    """The sources that a unit's record names."""
    return sources_in(unit.source, f"app {unit.id}")


def sources_in(record: Any, subject: str = "history") -> AppSources:
    """The sources that a record holds."""
    try:
        if isinstance(record, dict) and "sources" in record:
            found = _SEVERAL.of(record).sources
        else:
            found = (_ONE.of(record),)
    except msgspec.ValidationError as error:
        raise InvalidSpec(subject, f"its source cannot be read: {error}", "Sync it anew") from error
    if not found:
        raise InvalidSpec(subject, "its list of sources is empty", "Name one")
    return AppSources(found)


def recorded(source: AppSource | AppSources) -> dict[str, Any]:
    """The source or sources as a unit's record holds them; one alone is recorded without a list."""
    entries = source.entries if isinstance(source, AppSources) else (source,)
    value = entries[0] if len(entries) == 1 else _Several(entries)
    built: dict[str, Any] = msgspec.to_builtins(value)
    return built


# -- revisions -------------------------------------------------------------------------------------------


def joined(revisions: Iterable[str]) -> str:
    """The revision of an app whose sources have these."""
    return _COMMA.join(revisions)


def revisions_in(revision: str, sources: AppSources, subject: str) -> tuple[str, ...]:
    """The revision that is meant of each source; empty where it is what the source itself names.

    One alone is meant for the first source that is rendered; so is a range with a comma and a space in it.
    """
    count = len(sources.entries)
    parts = tuple(revision.split(_COMMA)) if count > 1 and f"{_COMMA} " not in revision else (revision,)
    if len(parts) == count:
        return parts
    if len(parts) > 1:
        reason = f"{revision} names {len(parts)} revisions, and it has {count} sources"
        raise InvalidSpec(subject, reason, "Name one for each, or one for the first that is rendered")
    return tuple(revision if number == sources.first else "" for number in range(count))


def short(revision: str) -> str:
    """A revision as people read it: commits by their first digits, all others as they are."""
    parts = revision.split(_COMMA)
    return _COMMA.join(each[:_DIGITS] if _COMMIT.fullmatch(each) else each for each in parts)


def is_commit(revision: str) -> bool:
    """Whether a revision means one commit and no other."""
    return _COMMIT.fullmatch(revision) is not None


def source_reports(sources: AppSources, revision: str) -> list[dict[str, str]]:
    """Each source with the revision it stands at, which is empty where that is not known."""
    parts = revision.split(_COMMA) if len(sources.entries) > 1 else [revision]
    known = parts if len(parts) == len(sources.entries) else [""] * len(sources.entries)
    return [
        {"source": str(each), "ref": each.ref, "revision": found}
        for each, found in zip(sources.entries, known, strict=True)
    ]


# -- who follows -----------------------------------------------------------------------------------------


def follower_of(unit_id: str, number: int) -> str:
    """The name under which the source of this number is followed for a unit."""
    return f"{unit_id}{_BREAK}{number}" if number else unit_id


def unit_behind(follower: str) -> str:
    """The unit that something is followed for."""
    return follower.partition(_BREAK)[0]


# -- what cannot be meant --------------------------------------------------------------------------------


def check_sources(sources: AppSources, subject: str) -> None:
    """Return if these sources can be meant together; else an error that names the one to mend."""
    entries = sources.entries
    if len(entries) > MOST_SOURCES:
        raise InvalidSpec(subject, f"it has more than {MOST_SOURCES} sources", "Divide it into several apps")
    if not any(each.renders for each in entries):
        reason = "nothing would be rendered: each of its sources has a ref and neither path nor chart"
        raise InvalidSpec(subject, reason, "Give one a path; `.` is all of it")
    refs = Counter(each.ref for each in entries if each.ref)
    for number, each in enumerate(entries, 1):
        called = f"source {number}" if len(entries) > 1 else "its source"
        complaint = _complaint(each, refs)
        if complaint:
            raise InvalidSpec(subject, f"{called} {complaint[0]}", complaint[1])


def _complaint(source: AppSource, refs: Counter[str]) -> tuple[str, str] | None:
    """What is wrong with one source, and the remedy; None if nothing is."""
    spec = source.spec
    if _PASSWORD.search(source.repo_url):
        return "has a password in its address", "Leave it out: it belongs into the file of credentials"
    if source.ref and not _REF.fullmatch(source.ref):
        return f"has the ref {source.ref!r}", "Use letters, digits, - and _"
    if refs[source.ref] > 1:
        return f"has the ref {source.ref}, and so has another", "Call one of them otherwise"
    if not source.renders and (spec.helm or spec.kustomize or spec.directory):
        reason = "has a ref and neither path nor chart, so it is not rendered and cannot be told how"
        return reason, "Give it a path, or leave out how it is rendered"
    unknown = [each for each in lent_to(spec) if each not in refs]
    if unknown:
        return f"names a file of ${unknown[0]}, and no source has this ref", "Add it, or mend the name"
    leaving = [each for each in _files_in(spec) if each.startswith("$") and _leaves(each)]
    if leaving:
        return f"names {leaving[0]}, which leads out of the source that it lies in", "Mend the path"
    return None


def _leaves(file: str) -> bool:
    path = posixpath.normpath(file.partition("/")[2])
    return path == ".." or path.startswith("../")


def lent_to(spec: SourceSpec) -> Sequence[str]:
    """The refs of the sources that files are taken from."""
    lent = (each[1:].partition("/")[0] for each in _files_in(spec) if each.startswith("$"))
    return tuple(dict.fromkeys(lent))


def _files_in(spec: SourceSpec) -> Iterator[str]:
    if spec.helm is not None:
        yield from spec.helm.value_files
        yield from (each.path for each in spec.helm.file_parameters)

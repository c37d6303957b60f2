"""Kustomizations: what they are made of is found by reading them, then kustomize builds a private copy. Pure.

Every file that kustomize will read is named by a field known here, or lies in a folder that is copied whole.
Addresses are refused before anything runs, unless they name folders of repositories that the operator allows:
these are read from the trees of the repositories. Nothing is left to kustomize to fetch: it would go wherever
a server sends it. Charts, plugins, and functions in containers stay switched off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from posixpath import relpath
from typing import Any, Final, NoReturn

from trimtab.errors import InvalidSpec, RenderFailed, SourceRefused
from trimtab.resources.yaml import documents, load
from trimtab.sources.rendering import remotes
from trimtab.sources.rendering.cleaning import secret_texts
from trimtab.sources.rendering.copies import Copies, place_of
from trimtab.sources.rendering.detection import KUSTOMIZATIONS
from trimtab.sources.rendering.jobs import Call, Job
from trimtab.sources.rendering.looking import Trees, Watched
from trimtab.sources.rendering.overrides import edited, with_components
from trimtab.sources.rendering.paths import below, joined, shown
from trimtab.sources.rendering.specs import Kustomize
from trimtab.sources.trees import EntryKind

#: fields that hold paths of files or of folders with a kustomization
_ROOTS: Final = ("resources", "bases", "components")
#: fields that hold such paths or configuration in place; what that configuration reads is not known
_PLUGINS: Final = ("generators", "transformers", "validators")
#: fields that hold paths of files
_FILES: Final = ("crds", "configurations")
#: fields of generators that hold `[key=]path`
_SOURCES: Final = ("files", "envs")
_CHARTS: Final = ("helmCharts", "helmGlobals", "helmChartInflationGenerator")
#: names under which the configuration of a plug-in may name a file or an address
_PATH_WORDS: Final = frozenset({"path", "paths", "file", "files", "env", "envs", "repo", "valuesFile"})
_MOST_ROOTS: Final = 1000
_MOST_LEARNT: Final = 64 * 1024


def gathered(job: Job, trees: Trees, folder: str) -> Call:
    """Everything that the build of the folder reads, and the call that builds it."""
    options = job.spec.kustomize or Kustomize()
    _check_version(options, job)
    walk = _Walk(job, trees, options)
    walk.whole_build(folder)
    return Call(
        program="kustomize",
        arguments=(f"./{place_of(trees.main, folder)}",),
        taken=walk.copies.taken,
        made=walk.copies.made,
        secrets=tuple(walk.secrets),
    )


def _check_version(options: Kustomize, job: Job) -> None:
    found = job.programs.get("kustomize", "")
    if options.version and options.version.removeprefix("v") != found:
        reason = f"it asks for kustomize {shown(options.version)}, but {found} is the one in use"
        raise InvalidSpec(job.subject, reason, "Leave the version out, or install that one")


class _Walk:
    """One way through all kustomizations that a build reaches."""

    def __init__(self, job: Job, trees: Trees, options: Kustomize) -> None:
        self._job = job
        self._trees = trees
        #: the tree of the kustomization that is being read
        self._tree = trees.main
        self._options = options
        self._seen: set[tuple[str, str]] = set()
        self._waiting: list[tuple[Watched, str]] = []
        #: where the bases lie that the kustomization names by their addresses
        self._moved: dict[str, str] = {}
        self.copies = Copies(most_files=job.bounds.files, subject=job.subject)
        self.secrets: list[str] = []

    def whole_build(self, folder: str) -> None:
        """Walk from the folder that is built to everything it reaches."""
        self._root(folder, top=True)
        while self._waiting:
            self._tree, folder = self._waiting.pop()
            self._root(folder, top=False)

    def _root(self, folder: str, *, top: bool) -> None:
        if (self._tree.source, folder) in self._seen:
            return
        self._seen.add((self._tree.source, folder))
        self._moved.clear()
        if len(self._seen) > _MOST_ROOTS:
            raise SourceRefused(
                self._job.subject, f"it reaches more than {_MOST_ROOTS} kustomizations", "Split it"
            )
        self._tree.root(folder)
        path = self._kustomization_in(folder)
        content = self._content(path)
        if top:
            content = self._overridden(content, folder, path)
        self._fields(content, folder, path)
        if self._moved:
            self._write(path, _with_moved(content, self._moved))

    def _write(self, path: str, content: dict[str, Any]) -> None:
        """Have a kustomization of ours stand instead of the tenant's."""
        from trimtab.resources.yaml import dump  # which few renders need

        self.copies.write(place_of(self._tree, path), dump(content).encode())

    def _kustomization_in(self, folder: str) -> str:
        found = [path for path in (below(folder, name) for name in KUSTOMIZATIONS) if self._tree.kind(path)]
        if len(found) != 1:
            reason = "has no kustomization.yaml" if not found else "has more than one kustomization"
            raise InvalidSpec(self._job.subject, f"{shown(folder or '.')} {reason}", "Keep exactly one there")
        return found[0]

    def _content(self, path: str) -> dict[str, Any]:
        self.copies.file(self._tree, path)
        content = load(self._tree.read(self._tree.real(path)), path)
        if not isinstance(content, dict):
            raise InvalidSpec(path, "a kustomization is a map", "Write `key: value` lines")
        return content

    def _overridden(self, content: dict[str, Any], folder: str, path: str) -> dict[str, Any]:
        changed = edited(content, self._options, self._job.subject)
        changed = with_components(changed, self._components(folder), self._job.subject)
        if changed is not content and changed != content:
            self._write(path, changed)
        return changed

    def _components(self, folder: str) -> Iterator[str]:
        for component in self._options.components:
            place = self._tree.real(joined(folder, component, self._job.subject))
            if self._tree.kind(place) or not self._options.ignore_missing_components:
                yield component

    def _fields(self, content: dict[str, Any], folder: str, path: str) -> None:
        for field in _CHARTS:
            if content.get(field):
                reason = f"{path} asks for charts, which kustomize would have to fetch and run helm for"
                raise SourceRefused(self._job.subject, reason, "Use a source of helm")
        for field in _ROOTS:
            for reference in _texts(content, field, path):
                self._reach(reference, folder, path)
        for field in _PLUGINS:
            for reference in _texts(content, field, path):
                self._plugin(reference, folder, path)
        for reference in _file_references(content, path):
            self._file(reference, folder, path)
        self.secrets += secret_texts(content.get("secretGenerator"), everything=True)
        for entry in _items(content, "secretGenerator", path):
            for reference in _generator_sources(entry, path) if isinstance(entry, dict) else ():
                self._learn(reference, folder)

    def _learn(self, reference: str, folder: str) -> None:
        """What a file says that becomes a Secret must not appear in messages."""
        place = self._existing(reference, folder)
        if place is not None:
            text = self._tree.read(self._tree.real(place))[:_MOST_LEARNT].decode("utf-8", "replace")
            self.secrets += secret_texts(text, everything=True)

    def _reach(self, reference: str, folder: str, path: str) -> None:
        """A file, or a folder with a kustomization of its own."""
        base = remotes.base_in(reference) if self._existing(reference, folder) is None else None
        if base is not None and remotes.is_remote(reference):
            self._take(reference, base, folder, path)
            return
        place = self._place(reference, folder, path)
        if self._tree.kind(self._tree.real(place)) is EntryKind.FOLDER:
            self._enter(place)
        else:
            self.copies.file(self._tree, place)

    def _take(self, reference: str, base: remotes.Base, folder: str, path: str) -> None:
        """Go on in the repository that an allowed address names; it is fetched before it is read."""
        remotes.check(reference, self._job.remotes, subject=self._job.subject, where=path)
        if base.tree not in self._trees:
            raise remotes.BaseWanted(base)
        tree = self._trees.named(base.tree)
        place = tree.real(joined("", base.path, self._job.subject))
        if tree.kind(place) is not EntryKind.FOLDER:
            reason = f"{path} names {shown(reference)}, and there is no such folder in that repository"
            raise RenderFailed(self._job.subject, reason, "Mend the address")
        self._waiting.append((tree, place))
        self._moved[reference] = relpath(place_of(tree, place), place_of(self._tree, folder))

    def _enter(self, place: str) -> None:
        """Go on with another root, whose way may lead through links."""
        real = self._tree.real(place)
        if real != place:
            self.copies.file(self._tree, place)
        self._waiting.append((self._tree, real))

    def _plugin(self, reference: str, folder: str, path: str) -> None:
        """Configuration in place, in a file or in a folder; what it reads lies in this root: take it all."""
        self._whole(folder)
        if "\n" in reference or reference.lstrip().startswith("{"):
            self._check_configuration(reference.encode(), path, folder)
            return
        place = self._place(reference, folder, path)
        real = self._tree.real(place)
        if self._tree.kind(real) is EntryKind.FOLDER:
            self._enter(place)
            self._whole(real)
        else:
            self.copies.file(self._tree, place)
            self._check_configuration(self._tree.read(real), place, folder)

    def _whole(self, folder: str) -> None:
        """Copy a root whole. A root at the top of a large repository is more than anybody means."""
        self.copies.folder(self._tree, folder)

    def _check_configuration(self, text: bytes, where: str, folder: str) -> None:
        for document in documents(text, where):
            for reference in _named_paths(document.value):
                if remotes.is_remote(reference) and self._existing(reference, folder) is None:
                    self._refuse(reference, where)

    def _file(self, reference: str, folder: str, path: str) -> None:
        place = self._place(reference, folder, path)
        if self._tree.kind(self._tree.real(place)) is EntryKind.FOLDER:
            raise InvalidSpec(self._job.subject, f"{path} names {shown(reference)}, a folder", "Name a file")
        self.copies.file(self._tree, place)

    def _place(self, reference: str, folder: str, path: str) -> str:
        """Where a reference leads in the tree."""
        place = self._existing(reference, folder)
        if place is None:
            self._refuse(reference, path)
        return place

    def _existing(self, reference: str, folder: str) -> str | None:
        if remotes.is_cloned(reference):
            return None
        place = joined(folder, reference, self._job.subject)
        return place if self._tree.kind(self._tree.real(place)) else None

    def _refuse(self, reference: str, path: str) -> NoReturn:
        """Say what is wrong with a reference that leads nowhere in the tree."""
        remotes.check(reference, self._job.remotes, subject=self._job.subject, where=path)
        reason = f"{path} names {shown(reference)}, and single files are not fetched from other servers"
        remedy = "Keep it in the repository, or name a folder as https://host/team/repo//folder?ref=v1"
        raise SourceRefused(self._job.subject, reason, remedy)


def _with_moved(content: dict[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    """The kustomization with the places of bases instead of their addresses."""
    fields = {
        field: [moved.get(each, each) for each in content[field]] for field in _ROOTS if content.get(field)
    }
    return content | fields


def _file_references(content: dict[str, Any], path: str) -> Iterator[str]:
    """Every path of a plain file that a kustomization holds."""
    for field in _FILES:
        yield from _texts(content, field, path)
    for field in ("patches", "patchesJson6902", "replacements"):
        for entry in _items(content, field, path):
            yield from _path_of(entry)
    for patch in _texts(content, "patchesStrategicMerge", path):
        if not _is_text_of_patch(patch):
            yield patch
    openapi = content.get("openapi")
    yield from _path_of(openapi)
    for field in ("configMapGenerator", "secretGenerator"):
        for entry in _items(content, field, path):
            if isinstance(entry, dict):
                yield from _generator_sources(entry, path)


def _is_text_of_patch(text: str) -> bool:
    return "\n" in text or ":" in text.rsplit("/", maxsplit=1)[-1]


def _generator_sources(entry: dict[str, Any], path: str) -> Iterator[str]:
    if isinstance(entry.get("env"), str):
        yield entry["env"]
    for field in _SOURCES:
        for text in _texts(entry, field, path):
            yield text.partition("=")[2] if "=" in text and field == "files" else text


def _path_of(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict) and isinstance(entry.get("path"), str) and entry["path"]:
        yield entry["path"]


def _items(content: dict[str, Any], field: str, path: str) -> list[Any]:
    value = content.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidSpec(path, f"{field} is not a list", "Write it as `- item` lines")
    return value


def _texts(content: dict[str, Any], field: str, path: str) -> Iterable[str]:
    items = _items(content, field, path)
    for item in items:
        if not isinstance(item, str):
            raise InvalidSpec(path, f"an entry of {field} is no text", "Write it as a path")
    return items


def _named_paths(value: Any) -> Iterator[str]:
    """Texts under names that stand for paths, however deep."""
    waiting: list[tuple[Any, bool]] = [(value, False)]
    while waiting:
        item, is_path = waiting.pop()
        if isinstance(item, dict):
            waiting.extend((each, name in _PATH_WORDS) for name, each in item.items())
        elif isinstance(item, list):
            waiting.extend((each, is_path) for each in item)
        elif isinstance(item, str) and is_path:
            yield item

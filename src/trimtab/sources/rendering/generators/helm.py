"""Charts: what belongs to one is gathered, then helm renders a private copy without cluster or network. Pure.

Values files may come from other sources by their `ref`. Dependencies are vendored in `charts/`, lie in the
same repository, or are fetched for the render: then they are trees of their own, which are asked for if they
are missing. Hooks and CRDs stay in the output: the engine knows them by their marks.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, Final

from trimtab.errors import InvalidSpec, Missing, RenderFailed, SourceRefused
from trimtab.resources.yaml import load
from trimtab.sources.rendering import archives, remotes
from trimtab.sources.rendering.cleaning import is_telling, secret_texts
from trimtab.sources.rendering.copies import Copies, place_of
from trimtab.sources.rendering.dependencies import (
    ALIASES,
    LOCAL,
    Declared,
    DependenciesWanted,
    Dependency,
    Needed,
    declared_in,
    lock_in,
)
from trimtab.sources.rendering.detection import CHART
from trimtab.sources.rendering.helmignore import FILE, Ignored, ignored_in
from trimtab.sources.rendering.jobs import Call, Job
from trimtab.sources.rendering.looking import Trees, Watched
from trimtab.sources.rendering.paths import below, joined, shown
from trimtab.sources.rendering.specs import Helm
from trimtab.sources.repositories.versions import range_of, version_of
from trimtab.sources.trees import EntryKind

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
_RELEASE: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VERSION: Final = re.compile(r"v?\d+\.\d+(\.\d+)?[-+.A-Za-z0-9]{0,60}")
_API: Final = re.compile(r"[A-Za-z0-9./-]{1,300}")
_UNESCAPED_COMMA: Final = re.compile(r"(?<!\\),")
_OUTSIDE_REF: Final = re.compile(rb'"\$ref"\s*:\s*"(?!#)([^"]*)"')
#: dependencies that one chart may have fetched
_MOST_FETCHED: Final = 64
_VENDOR: Final = "Vendor it with `helm dependency build`"
#: our own values come after the tenant's files
_OWN_VALUES: Final = "values/own.yaml"


def gathered(job: Job, trees: Trees, folder: str) -> Call:
    """The chart with everything that rendering it reads, and the call that renders it."""
    options = job.spec.helm or Helm()
    chart = _Chart(job, trees, folder, options)
    chart.take()
    arguments = (
        "template",
        _release(job, options),
        f"./{place_of(trees.main, folder)}",
        *_destination(job, options),
        *chart.values(),
        *_parameters(options),
        *chart.file_parameters(),
        *_switches(options),
    )
    return Call(
        program="helm",
        arguments=arguments,
        taken=chart.copies.taken,
        made=chart.copies.made,
        secrets=tuple(chart.secrets),
    )


def _release(job: Job, options: Helm) -> str:
    name = options.release_name or job.name
    if not _RELEASE.fullmatch(name):
        reason = f"{shown(name)} is no name for a release: small letters, digits, `-` and `.`, at most 53"
        raise InvalidSpec(job.subject, reason, "Set releaseName")
    if options.version not in {"", "v3"}:
        raise InvalidSpec(
            job.subject, f"charts are not rendered by helm {shown(options.version)}", "Leave it out"
        )
    return name


def _destination(job: Job, options: Helm) -> Iterator[str]:
    """Where the release goes and what that cluster can do."""
    namespace = options.namespace or job.namespace
    if namespace:
        _expect(_NAMESPACE, namespace, "namespace", job)
        yield f"--namespace={namespace}"
    kube_version = options.kube_version or job.capabilities.kube_version
    if kube_version:
        _expect(_VERSION, kube_version, "version of Kubernetes", job)
        yield f"--kube-version={kube_version}"
    for api in options.api_versions or job.capabilities.api_versions:
        _expect(_API, api, "API version", job)
        yield f"--api-versions={api}"


def _expect(pattern: re.Pattern[str], text: str, what: str, job: Job) -> None:
    if not pattern.fullmatch(text):
        raise InvalidSpec(job.subject, f"{shown(text)} is no {what}", "Mend it")


def _parameters(options: Helm) -> Iterator[str]:
    for parameter in options.parameters:
        option = "--set-string" if parameter.force_string else "--set"
        yield f"{option}={parameter.name}={_escaped(parameter.value)}"


def _escaped(value: str) -> str:
    """A value in which commas are commas, unless it is written as a list."""
    if value.startswith("{") and value.endswith("}"):
        return value
    return _UNESCAPED_COMMA.sub(r"\\,", value)


def _values_option(path: str) -> str:
    """Helm reads this option as a line of CSV, so a comma or a quote in a path needs quotes around it."""
    quoted = f"./{path}".replace('"', '""')
    return f'--values="{quoted}"'


def _switches(options: Helm) -> Iterator[str]:
    if not options.skip_crds:
        yield "--include-crds"
    if options.skip_tests:
        yield "--skip-tests"
    if options.skip_schema_validation:
        yield "--skip-schema-validation"


def _fits(found: str, wanted: str) -> bool:
    """Is it a version that is asked for?"""
    if not wanted:
        return True
    version, spans = version_of(found), range_of(wanted)
    return version is not None and spans is not None and spans.holds(version)


class _Chart:
    """One chart and what belongs to it."""

    def __init__(self, job: Job, trees: Trees, folder: str, options: Helm) -> None:
        self._job = job
        self._trees = trees
        self._tree = trees.main
        self._folder = folder
        self._options = options
        self.copies = Copies(most_files=job.bounds.files, subject=job.subject)
        self.secrets: list[str] = []

    def take(self) -> None:
        """Copy the chart with its dependencies, and look at what helm would open by itself."""
        self._tree.root(self._folder)
        if self._tree.kind(below(self._folder, CHART)) is None:
            raise RenderFailed(
                self._job.subject, f"{shown(self._folder or '.')} holds no {CHART}", "Mend the path"
            )
        self.copies.folder(self._tree, self._folder)
        self._dependencies()
        for taken in self.copies.taken:
            if taken.source == self._tree.source:  # what was fetched has been looked through
                self._check(taken.path, link=taken.link)
        for path in (below(self._folder, "values.yaml"),):
            if self._tree.kind(path) is EntryKind.FILE:
                self._learn(self._tree.read(path), path)

    def _check(self, path: str, *, link: bool) -> None:
        if link:
            return
        if path.endswith((".tgz", ".tar.gz")) and "/charts/" in f"/{path}":
            archives.check(
                self._tree.covered_bytes(path),
                subject=self._job.subject,
                path=path,
                most_files=self._job.bounds.files,
                most_bytes=self._job.bounds.bytes,
            )
        elif path.endswith("values.schema.json") and not self._options.skip_schema_validation:
            outside = _OUTSIDE_REF.search(self._tree.covered_bytes(path))
            if outside:
                named = shown(outside[1].decode("utf-8", "replace"))
                reason = f"{shown(path)} refers to another document, {named}"
                raise SourceRefused(
                    self._job.subject, reason, "Copy it into the schema, or skip the validation"
                )

    # --- dependencies ------------------------------------------------------------------------------------

    def _dependencies(self) -> None:
        """Put those that are not vendored where helm looks for them, or ask for them."""
        declared = self._declared()
        for each in declared.needed:
            self._check_name(each)
        if all(map(self._is_vendored, declared.needed)):
            return
        wanted: list[Dependency] = []
        for needed in self._resolved(declared):
            self._check_name(needed)
            if self._is_vendored(needed):
                continue
            if needed.repository.startswith(LOCAL):
                self._vendor(needed)
                continue
            dependency = self._allowed(needed)
            if dependency.tree in self._trees:
                self._place(self._trees.named(dependency.tree))
            else:
                wanted.append(dependency)
        if len(wanted) > _MOST_FETCHED:
            reason = f"more than {_MOST_FETCHED} of its dependencies are not in charts/"
            raise SourceRefused(self._job.subject, reason, _VENDOR)
        if wanted:
            raise DependenciesWanted(tuple(dict.fromkeys(wanted)))

    def _check_name(self, needed: Needed) -> None:
        """Return for a name that a file or a folder may have: that is what becomes of it."""
        if not _NAME.fullmatch(needed.name):
            reason = f"{shown(needed.name)} is no name of a chart to depend on"
            raise SourceRefused(self._job.subject, reason, "Mend it in the chart's dependencies")

    def _resolved(self, declared: Declared) -> tuple[Needed, ...]:
        """What is needed, in the versions of the lock if there is one, which has to be up to date."""
        for name, beside in (("requirements.lock", "requirements.yaml"), ("Chart.lock", CHART)):
            content = self._content(name)
            if content is None:
                continue
            lock = lock_in(content)
            if not lock.is_for(declared):
                reason = f"the lock file ({name}) is out of sync with the dependencies file ({beside})"
                raise RenderFailed(self._job.subject, reason, "Run `helm dependency update` and commit it")
            return lock.needed
        return declared.needed

    def _allowed(self, needed: Needed) -> Dependency:
        """A dependency that the operator allows to be fetched."""
        subject, name = self._job.subject, shown(needed.name)
        if not needed.repository:
            raise RenderFailed(subject, f"its dependency {name} is not in charts/", _VENDOR)
        if needed.repository.startswith(ALIASES):
            reason = (
                f"its dependency {name} is to come from {shown(needed.repository)}, a name that only the helm"
                " of whoever gave it can look up"
            )
            raise SourceRefused(subject, reason, "Write the address of the repository, or vendor the chart")
        if not remotes.is_allowed(needed.repository, self._job.remotes):
            raise SourceRefused(
                subject, f"its dependency {name} is not in charts/ and may not be fetched", _VENDOR
            )
        if range_of(needed.version) is None:
            reason = f"its dependency {name} has {shown(needed.version)} for a version, which is none"
            raise RenderFailed(subject, reason, "Write it like 1.2.3 or ^1.2")
        return Dependency(
            repository=needed.repository,
            name=needed.name,
            target=needed.version,
            pass_credentials=self._options.pass_credentials,
        )

    def _place(self, tree: Watched) -> None:
        """Put an archive where helm looks for it."""
        for entry in tree.entries(""):
            self.copies.file_at(tree, entry.name, f"{self._charts()}/{entry.name}")

    def _charts(self) -> str:
        """Where helm looks for dependencies, in the private folder; the tenant may have a link there."""
        return place_of(self._tree, self._tree.real(below(self._folder, "charts")))

    def _declared(self) -> Declared:
        return declared_in(self._content(CHART), self._content("requirements.yaml"))

    def _content(self, name: str) -> Any:
        """What a file of the chart says; None if there is none."""
        path = self._tree.real(below(self._folder, name))
        return load(self._tree.read(path), path) if self._tree.kind(path) is EntryKind.FILE else None

    def _is_vendored(self, needed: Needed) -> bool:
        """Whether helm finds it in charts/: a folder by the name of its chart, an archive by its own."""
        packed = re.compile(rf"{re.escape(needed.name)}(-v?\d.*)?\.(tgz|tar\.gz)")
        return any(name == needed.name or packed.fullmatch(name) for name in self._vendored)

    @functools.cached_property
    def _vendored(self) -> tuple[str, ...]:
        """The names of files in charts/, and of the charts in its folders."""
        real = self._tree.real(below(self._folder, "charts"))
        if self._tree.kind(real) is not EntryKind.FOLDER:
            return ()
        seen = [entry.name for entry in self._tree.covered(real) if not entry.name.startswith(("_", "."))]
        return tuple(self._chart_at(below(real, name)) or name for name in seen)

    def _chart_at(self, place: str) -> str:
        """The name of the chart in a folder; that of the folder if the chart does not say it."""
        path = self._tree.real(below(place, CHART))
        if self._tree.kind(path) is not EntryKind.FILE:
            return ""
        try:
            content = load(self._tree.read(path), path)
        except InvalidSpec:  # helm's to complain about
            content = None
        name = content.get("name") if isinstance(content, dict) else None
        return name if isinstance(name, str) else place.rpartition("/")[2]

    def _vendor(self, needed: Needed) -> None:
        """Copy a chart of the same tree to where helm looks for it."""
        name, reference = needed.name, needed.repository.removeprefix(LOCAL)
        place = self._tree.real(joined(self._folder, reference, self._job.subject))
        if self._tree.kind(below(place, CHART)) is None:
            reason = f"its dependency {shown(name)} is not at {shown(reference)}"
            raise RenderFailed(self._job.subject, reason, "Mend its repository")
        self._check_version(name, place, needed.version)
        self._tree.root(place)
        self.copies.folder_at(self._tree, place, f"{self._charts()}/{name}", self._ignored_at(place))

    def _ignored_at(self, place: str) -> Ignored:
        """What helm leaves out of a chart when it packs it: in charts/ nobody would look at its rules."""
        path = self._tree.real(below(place, FILE))
        text = self._tree.read(path) if self._tree.kind(path) is EntryKind.FILE else b""
        return ignored_in(text, self._job.subject, path)

    def _check_version(self, name: str, place: str, wanted: str) -> None:
        """Return for a version that is asked for: `helm dependency build` refuses others, too."""
        found = self._version_at(place)
        if not _fits(found, wanted):
            reason = f"its dependency {shown(name)} has version {shown(found)}, not {shown(wanted)}"
            raise RenderFailed(self._job.subject, reason, "Make the two agree")

    def _version_at(self, place: str) -> str:
        path = self._tree.real(below(place, CHART))
        content = load(self._tree.read(path), path)
        return str(content.get("version") or "") if isinstance(content, dict) else ""

    # --- values ------------------------------------------------------------------------------------------

    def values(self) -> Iterator[str]:
        """The values files, those of the spec last."""
        for reference in self._options.value_files:
            found = self._located(reference)
            if found is None:
                continue
            tree, place = found
            self.copies.file(tree, place)
            self._learn(tree.read(tree.real(place)), place)
            yield _values_option(place_of(tree, place))
        own = self._own_values()
        if own is not None:
            self._learn(own, "the values of the spec")
            self.copies.write(_OWN_VALUES, own)
            yield _values_option(_OWN_VALUES)
        self.secrets += [
            text
            for parameter in self._options.parameters
            if is_telling(parameter.name)
            for text in secret_texts(parameter.value, everything=True)
        ]

    def file_parameters(self) -> Iterator[str]:
        """Values that are the content of files."""
        for parameter in self._options.file_parameters:
            found = self._located(parameter.path)
            if found is None:
                continue
            tree, place = found
            self.copies.file(tree, place)
            if is_telling(parameter.name):
                content = tree.read(tree.real(place)).decode("utf-8", "replace")
                self.secrets += secret_texts(content, everything=True)
            path = place_of(tree, place).replace("\\", "\\\\").replace(",", "\\,")
            yield f"--set-file={parameter.name}=./{path}"

    def _own_values(self) -> bytes | None:
        if self._options.values_object is not None:
            from trimtab.resources.yaml import dump  # which few renders need

            return dump(dict(self._options.values_object)).encode()
        return self._options.values.encode() if self._options.values else None

    def _located(self, reference: str) -> tuple[Watched, str] | None:
        """The tree and the path of a file that a spec names; None if it may be missing, and is."""
        tree, place = self._meant(reference)
        kind = tree.kind(tree.real(place))
        if kind is EntryKind.FILE:
            return tree, place
        if kind is None and self._options.ignore_missing_value_files:
            return None
        if kind is None:
            raise Missing(
                self._job.subject, f"the file {shown(reference)} is not in its source", "Mend the path"
            )
        raise InvalidSpec(self._job.subject, f"{shown(reference)} is no file", "Name a file")

    def _meant(self, reference: str) -> tuple[Watched, str]:
        subject = self._job.subject
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", reference):
            raise SourceRefused(subject, f"values may not be fetched from {shown(reference)}", "Use a file")
        if reference.startswith("$"):
            name, _, path = reference[1:].partition("/")
            return self._trees.named(name), joined("", path, subject)
        if reference.startswith("/"):
            return self._tree, joined("", reference[1:], subject)
        return self._tree, joined(self._folder, reference, subject)

    def _learn(self, text: bytes, path: str) -> None:
        """Which texts are secret; a file that cannot be read is helm's to complain about."""
        try:
            content = load(text, path)
        except InvalidSpec:
            return
        self.secrets += secret_texts(content)

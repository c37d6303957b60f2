"""Charts: what belongs to one is gathered, then helm renders a private copy without cluster or network. Pure.

Values files may come from other sources by their `ref`. Dependencies are vendored in `charts/`, lie in the
same repository, or are fetched for the render: then they are trees of their own, which are asked for if they
are missing. Hooks and CRDs stay in the output: the engine knows them by their marks.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct, structs

from trimtab.errors import InvalidSpec, Missing, RenderFailed, SourceRefused
from trimtab.resources.names import is_namespace_name
from trimtab.resources.yaml import load
from trimtab.sources.rendering import archives, remotes, schemas
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
_VERSION: Final = re.compile(r"v?\d+\.\d+(\.\d+)?[-+.A-Za-z0-9]{0,60}")
_API: Final = re.compile(r"[A-Za-z0-9./-]{1,300}")
_UNESCAPED_COMMA: Final = re.compile(r"(?<!\\),")
_PACKED: Final = (".tgz", ".tar.gz")
#: charts that are packed in each other
_DEEPEST: Final = 8
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
        _expect(is_namespace_name, namespace, "namespace", job)
        yield f"--namespace={namespace}"
    kube_version = options.kube_version or job.capabilities.kube_version
    if kube_version:
        _expect(_VERSION.fullmatch, kube_version, "version of Kubernetes", job)
        yield f"--kube-version={kube_version}"
    for api in options.api_versions or job.capabilities.api_versions:
        _expect(_API.fullmatch, api, "API version", job)
        yield f"--api-versions={api}"


def _expect(fits: Callable[[str], object], text: str, what: str, job: Job) -> None:
    if not fits(text):
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


class _Vendored(Struct, frozen=True, kw_only=True):
    """A chart in charts/."""

    path: str
    #: that of its file if it is packed, else that of the chart
    name: str
    #: empty before anybody asked
    version: str = ""


def _is_meant(needed: Needed, vendored: _Vendored) -> bool:
    """Whether helm takes it for what is needed: a folder by the name of its chart, an archive by its own."""
    packed = re.compile(rf"{re.escape(needed.name)}(-v?\d.*)?\.(tgz|tar\.gz)")
    return vendored.name == needed.name or packed.fullmatch(vendored.name) is not None


def _suits(needed: Needed, vendored: _Vendored) -> bool:
    """Whether it has the version that is needed; what comes from nowhere else is taken as it is."""
    return not needed.repository or _fits(vendored.version, needed.version)


def _is_chart_file(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return file == CHART and "/" not in folder


def _version_in(chart: Any) -> str:
    return str(chart.get("version") or "") if isinstance(chart, dict) else ""


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
        self._check_files()
        for path in (below(self._folder, "values.yaml"),):
            if self._tree.kind(path) is EntryKind.FILE:
                self._learn(self._tree.read(path), path)

    def _check_files(self) -> None:
        """Look at what helm would open by itself, whatever links it finds it by."""
        taken = [each for each in self.copies.taken if each.source == self._tree.source]
        is_linked = any(each.link for each in taken)  # then anything may be found in charts/
        for each in taken:
            real = self._tree.real(each.path) if each.link else each.path
            if self._tree.kind(real) is not EntryKind.FILE:
                continue
            if each.path.endswith(_PACKED) and (is_linked or "/charts/" in f"/{each.path}"):
                self._look_through(self._tree.covered_bytes(real), each.path)
            elif each.path.endswith(schemas.FILE):
                self._check_schema(self._tree.covered_bytes(real), each.path)

    def _look_through(self, archive: bytes, path: str, left: int | None = None, depth: int = 0) -> int:
        """Return for an honest archive, with nothing in it that would have helm open something else.

        All that is packed in it has to fit into one bound; the answer is what is left of it.
        """
        left = self._job.bounds.bytes if left is None else left
        found = archives.contents(
            archive,
            subject=self._job.subject,
            path=path,
            most_files=self._job.bounds.files,
            most_bytes=left,
        )
        for name, content in found:
            left -= len(content)
            place = f"{path}/{name}"
            if name.endswith(schemas.FILE):
                self._check_schema(content, place)
            elif name.endswith(_PACKED) and "/charts/" in name:
                self._check_depth(depth, place)
                left = self._look_through(content, place, left, depth + 1)
        return left

    def _check_depth(self, depth: int, path: str) -> None:
        if depth >= _DEEPEST:
            reason = f"{shown(path)} is packed in more than {_DEEPEST} others"
            raise SourceRefused(self._job.subject, reason, "Pack fewer charts into each other")

    def _check_schema(self, schema: bytes, path: str) -> None:
        objection = "" if self._options.skip_schema_validation else schemas.objection_to(schema)
        if objection:
            remedy = "Copy it into the schema, or skip the validation"
            raise SourceRefused(self._job.subject, f"{shown(path)} {objection}", remedy)

    # --- dependencies ------------------------------------------------------------------------------------

    def _dependencies(self) -> None:
        """Put those that are not vendored where helm looks for them, or ask for them."""
        declared = self._declared()
        for each in declared.needed:
            self._check_name(each)
        if all(map(self._is_vendored, declared.needed)):
            return
        wanted: list[Dependency] = []
        resolved = self._resolved(declared)
        for needed in resolved:
            self._check_name(needed)
        kept = self._kept(resolved)
        for needed in resolved:
            if any(_is_meant(needed, each) and _suits(needed, each) for each in kept):
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
            self._look_through(tree.covered_bytes(entry.name), entry.name)
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
        """Whether helm finds it in charts/, in whatever version."""
        return any(_is_meant(needed, each) for each in self._vendored)

    def _kept(self, resolved: tuple[Needed, ...]) -> list[_Vendored]:
        """What is vendored in a version that is needed; other versions of the same charts are left out."""
        kept = []
        for each in self._vendored:
            meant = [needed for needed in resolved if _is_meant(needed, each)]
            known = structs.replace(each, version=self._version_of(each)) if meant else each
            if not meant or any(_suits(needed, known) for needed in meant):
                kept.append(known)
            else:
                self.copies.leave_out(place_of(self._tree, each.path))
        return kept

    @functools.cached_property
    def _vendored(self) -> tuple[_Vendored, ...]:
        """The files in charts/, and the charts in its folders."""
        real = self._tree.real(below(self._folder, "charts"))
        if self._tree.kind(real) is not EntryKind.FOLDER:
            return ()
        seen = [entry.name for entry in self._tree.covered(real) if not entry.name.startswith(("_", "."))]
        places = [below(real, name) for name in seen]
        return tuple(
            _Vendored(path=place, name=self._chart_at(place) or name)
            for place, name in zip(places, seen, strict=True)
        )

    def _version_of(self, vendored: _Vendored) -> str:
        """The version of a chart that is vendored, packed or not; empty if it does not say."""
        real = self._tree.real(vendored.path)
        if self._tree.kind(real) is EntryKind.FOLDER:
            return self._version_at(real)
        packed = archives.contents(
            self._tree.read(real),
            subject=self._job.subject,
            path=vendored.path,
            most_files=self._job.bounds.files,
            most_bytes=self._job.bounds.bytes,
        )
        text = next((content for name, content in packed if _is_chart_file(name)), b"")
        return _version_in(load(text, vendored.path))

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
        """Pack a chart of the same tree to where helm looks for it."""
        name, reference = needed.name, needed.repository.removeprefix(LOCAL)
        place = self._tree.real(joined(self._folder, reference, self._job.subject))
        if self._tree.kind(below(place, CHART)) is None:
            reason = f"its dependency {shown(name)} is not at {shown(reference)}"
            raise RenderFailed(self._job.subject, reason, "Mend its repository")
        version = self._check_version(name, place, needed.version)
        self._tree.root(place)
        files = self.copies.contents(self._tree, place, self._ignored_at(place))
        if sum(map(len, files.values())) > self._job.bounds.bytes:
            reason = f"its dependency {shown(name)} has more than {self._job.bounds.bytes:,} bytes"
            raise SourceRefused(self._job.subject, reason, "Keep what does not belong to it elsewhere")
        archive = archives.packed(files, name)
        self._look_through(archive, reference)
        # Packed, as helm does it: rules of the chart that needs it say nothing about what lies inside.
        self.copies.write(f"{self._charts()}/{name}-{version}.tgz", archive)

    def _ignored_at(self, place: str) -> Ignored:
        """What helm leaves out of a chart when it packs it: in charts/ nobody would look at its rules."""
        path = self._tree.real(below(place, FILE))
        text = self._tree.read(path) if self._tree.kind(path) is EntryKind.FILE else b""
        return ignored_in(text, self._job.subject, path)

    def _check_version(self, name: str, place: str, wanted: str) -> str:
        """The version of a chart if it is asked for: `helm dependency build` refuses others, too."""
        found = self._version_at(place)
        if not _fits(found, wanted):
            reason = f"its dependency {shown(name)} has version {shown(found)}, not {shown(wanted)}"
            raise RenderFailed(self._job.subject, reason, "Make the two agree")
        if not _NAME.fullmatch(found.replace("+", "-")):
            reason = f"its dependency {shown(name)} has {shown(found)} for a version, which is none"
            raise RenderFailed(self._job.subject, reason, "Write it like 1.2.3")
        return found

    def _version_at(self, place: str) -> str:
        path = self._tree.real(below(place, CHART))
        return _version_in(load(self._tree.read(path), path)) if self._tree.kind(path) else ""

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

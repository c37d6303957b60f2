"""Charts: what belongs to one is gathered, then helm renders a private copy without cluster or network. Pure.

Values files may come from other sources by their `ref`. Dependencies are those that are vendored in `charts/`
or lie in the same repository. Hooks and CRDs stay in the output: the engine knows them by their marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from trimtab.errors import InvalidSpec, Missing, RenderFailed, SourceRefused
from trimtab.resources.yaml import load
from trimtab.sources.rendering import archives, remotes
from trimtab.sources.rendering.cleaning import is_telling, secret_texts
from trimtab.sources.rendering.copies import Copies, place_of
from trimtab.sources.rendering.detection import CHART
from trimtab.sources.rendering.jobs import Call, Fetch, Job
from trimtab.sources.rendering.looking import Trees, Watched
from trimtab.sources.rendering.paths import below, joined, shown
from trimtab.sources.rendering.specs import Helm
from trimtab.sources.repositories.versions import range_of, version_of
from trimtab.sources.trees import EntryKind

LOCAL: Final = "file://"
_CHART_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,100}")
#: a version that means one chart and no other
_EXACT: Final = re.compile(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")
_RELEASE: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VERSION: Final = re.compile(r"v?\d+\.\d+(\.\d+)?[-+.A-Za-z0-9]{0,60}")
_API: Final = re.compile(r"[A-Za-z0-9./-]{1,300}")
_UNESCAPED_COMMA: Final = re.compile(r"(?<!\\),")
_OUTSIDE_REF: Final = re.compile(rb'"\$ref"\s*:\s*"(?!#)([^"]*)"')
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
        fetches=tuple(chart.fetches),
        volatile=chart.volatile,
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
        self.fetches: list[Fetch] = []
        self.volatile = False

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
        """Put those that are not vendored where helm looks for them, or have them put there."""
        for dependency in self._declared():
            if self._is_vendored(dependency):
                continue
            name, repository = str(dependency["name"]), str(dependency.get("repository") or "")
            version = str(dependency.get("version") or "")
            if repository.startswith(LOCAL):
                self._vendor(name, repository.removeprefix(LOCAL), version)
            else:
                self._fetch(name, repository, version)

    def _fetch(self, name: str, repository: str, version: str) -> None:
        """Have a dependency fetched that the operator allows, at the version of the lock if there is one."""
        if not repository:
            reason = f"its dependency {shown(name)} is not in charts/"
            raise RenderFailed(self._job.subject, reason, "Vendor it with `helm dependency build`")
        if not remotes.is_allowed(repository, self._job.remotes) or not _CHART_NAME.fullmatch(name):
            reason = f"its dependency {shown(name)} is not in charts/ and may not be fetched"
            raise SourceRefused(self._job.subject, reason, "Vendor it with `helm dependency build`")
        version = self._locked().get(name, version)
        self.volatile |= _EXACT.fullmatch(version) is None
        charts = f"./{place_of(self._tree, self._folder)}/charts"
        self.copies.write(f"{charts[2:]}/.keep", b"")
        self.fetches.append(
            Fetch(
                name=name,
                repository=repository,
                version=version,
                destination=charts,
                pass_credentials=self._options.pass_credentials,
            )
        )

    def _locked(self) -> dict[str, str]:
        """The exact versions that were once chosen."""
        for name in ("Chart.lock", "requirements.lock"):
            path = self._tree.real(below(self._folder, name))
            if self._tree.kind(path) is EntryKind.FILE:
                content = load(self._tree.read(path), path)
                found = content.get("dependencies") if isinstance(content, dict) else None
                return {
                    str(each.get("name")): str(each.get("version"))
                    for each in (found if isinstance(found, list) else ())
                    if isinstance(each, dict)
                }
        return {}

    def _declared(self) -> Iterator[dict[str, Any]]:
        for name in (CHART, "requirements.yaml"):
            path = self._tree.real(below(self._folder, name))
            if self._tree.kind(path) is not EntryKind.FILE:
                continue
            content = load(self._tree.read(path), path)
            found = content.get("dependencies") if isinstance(content, dict) else None
            for dependency in found if isinstance(found, list) else ():
                if isinstance(dependency, dict) and isinstance(dependency.get("name"), str):
                    yield dependency

    def _is_vendored(self, dependency: dict[str, Any]) -> bool:
        folder = below(self._folder, "charts")
        real = self._tree.real(folder)
        if self._tree.kind(real) is not EntryKind.FOLDER:
            return False
        name = dependency["name"]
        return any(
            entry.name == name
            or (entry.name.startswith(f"{name}-") and entry.name.endswith((".tgz", ".tar.gz")))
            for entry in self._tree.covered(real)
        )

    def _vendor(self, name: str, reference: str, wanted: str) -> None:
        place = self._tree.real(joined(self._folder, reference, self._job.subject))
        if self._tree.kind(below(place, CHART)) is None:
            reason = f"its dependency {shown(name)} is not at {shown(reference)}"
            raise RenderFailed(self._job.subject, reason, "Mend its repository")
        self._check_version(name, place, wanted)
        self._tree.root(place)
        self.copies.folder_at(self._tree, place, f"{place_of(self._tree, self._folder)}/charts/{name}")

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

"""What worker processes do for the renderer: look up, gather, copy, parse and keep. Bytes in, bytes out.

A render is at most two jobs with a program between them: `prepare` answers with what is known already, or
with the program to run, and `finish` makes manifests of what the program said.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec, Missing, RenderFailed, SourceRefused, TrimtabError, Unavailable
from trimtab.resources import manifests
from trimtab.resources.manifests import Found
from trimtab.resources.yaml import Document, documents
from trimtab.sources.rendering import identity
from trimtab.sources.rendering.affected import changed
from trimtab.sources.rendering.cleaning import cleaned
from trimtab.sources.rendering.dependencies import DependenciesWanted, Dependency
from trimtab.sources.rendering.detection import tool_for
from trimtab.sources.rendering.generators import GENERATORS, plain
from trimtab.sources.rendering.identity import Record, Trace
from trimtab.sources.rendering.jobs import Call, Job, ProgramName, Ready
from trimtab.sources.rendering.looking import MAIN, Trees
from trimtab.sources.rendering.origins import AnyOrigin, FolderOrigin, Origin, let_go_if_damaged, opened
from trimtab.sources.rendering.paths import joined, shown
from trimtab.sources.rendering.remotes import BaseWanted
from trimtab.sources.rendering.rendered import NAMELESS, Made, Rendered, Tool, name_of
from trimtab.sources.rendering.sandbox import fill
from trimtab.sources.rendering.sealing import Seal
from trimtab.sources.rendering.specs import SourceSpec
from trimtab.sources.rendering.store import RenderStore
from trimtab.sources.trees import EntryKind, Tree

_ORIGINS: Final = msgspec.msgpack.Decoder(tuple[Origin, Origin])
_RECORD: Final = msgspec.msgpack.Decoder(Record)
_PLACE: Final = msgspec.msgpack.Decoder(tuple[str, str])


class Keeping(Struct, frozen=True, kw_only=True):
    """Where renders are kept, and under which key."""

    folder: str
    key: bytes
    budget: int


class Task(Struct, frozen=True, kw_only=True):
    """One render as a worker is told of it."""

    job: Job
    trees: Mapping[str, AnyOrigin]
    keeping: Keeping


_TASKS: Final = msgspec.msgpack.Decoder(tuple[Task, ...])


class Preparation(Struct, frozen=True, kw_only=True):
    """A render to begin, and the private folder that a program would get."""

    task: Task
    folder: str


_PREPARATION: Final = msgspec.msgpack.Decoder(Preparation)


class Failure(Struct, frozen=True, kw_only=True):
    """A render that cannot succeed until somebody edits what it read."""

    error: str
    subject: str
    reason: str
    remedy: str


class Answer(Struct, frozen=True, kw_only=True, tag="answer"):
    """What a render amounts to."""

    rendered: Rendered | None = None
    failure: Failure | None = None


class Wanted(Struct, frozen=True, kw_only=True, tag="wanted"):
    """A program whose version has to be known first."""

    program: ProgramName


class WantedBase(Struct, frozen=True, kw_only=True, tag="base"):
    """A repository whose tree has to be there first, under the name that it has in the render."""

    tree: str
    url: str
    target: str
    submodules: bool


class Started(Struct, frozen=True, kw_only=True, tag="started"):
    """A program to run in the folder that was filled."""

    program: ProgramName
    arguments: tuple[str, ...]
    secrets: tuple[str, ...]
    warnings: tuple[str, ...]
    trace: Trace
    #: bytes in the folder
    size: int


class WantedCharts(Struct, frozen=True, kw_only=True, tag="charts"):
    """Charts that have to be there first, each as a tree of its own."""

    dependencies: tuple[Dependency, ...]


Prepared: TypeAlias = Answer | Wanted | WantedBase | WantedCharts | Started


class Said(Struct, frozen=True, kw_only=True):
    """What a program said, and what it was run for."""

    task: Task
    started: Started
    folder: str
    code: int
    stdout: bytes
    stderr: bytes


_SAID: Final = msgspec.msgpack.Decoder(Said)


_ERRORS: Final[Mapping[str, type[TrimtabError]]] = {
    each.__name__: each for each in (InvalidSpec, RenderFailed, SourceRefused, Missing)
}
_ENCODER: Final = msgspec.msgpack.Encoder()
#: what helm says last: of a flag of its own, which whoever reads it here does not have
_OWN_ADVICE: Final = "\nUse --debug flag to render out invalid YAML"
#: what programs say first; whoever shows their words says so already
_ERROR: Final = re.compile("^error: ", re.IGNORECASE)


@let_go_if_damaged()
def prepare(payload: bytes) -> bytes:
    """The answer that is known or needs no program; or the program that has to be run."""
    preparation = _PREPARATION.decode(payload)
    task = preparation.task
    store, trees = _store(task.keeping), _trees(task)
    name = identity.question(task.job, store.seal)
    record = _record(store, name)
    known = identity.known_answer(record, task.job, trees, store.seal)
    content = None if known is None else store.get("results", known.key)
    if content is not None:
        return content
    return _ENCODER.encode(_gathered(task, trees, store, Path(preparation.folder)))


def read_ahead(payload: bytes) -> bytes:
    """Read the plain files of a folder, for the render that is about to be asked for; the answer is empty."""
    root, path = _PLACE.decode(payload)
    tree = Trees({MAIN: opened(FolderOrigin(path=root))}, root).main
    folder = tree.real(joined("", path, root))
    if tool_for(SourceSpec(), tree, folder) is Tool.DIRECTORY:
        plain.read_ahead(tree, folder)
    return b""


def finish(payload: bytes) -> bytes:
    """The answer that a program's words amount to."""
    said = _SAID.decode(payload)
    store = _store(said.task.keeping)
    trace = said.started.trace
    try:
        _check_end(said)
        found = _documents(said)
        answer = Answer(rendered=_rendered(found, trace, said.started.warnings, store.seal))
    except tuple(_ERRORS.values()) as error:
        answer = Answer(failure=_failure(error))
    content = _ENCODER.encode(answer)
    _keep(store, identity.question(said.task.job, store.seal), trace, content)
    return content


@let_go_if_damaged()
def known_keys(payload: bytes) -> bytes:
    """For each task the key of the answer that is known, or an empty text."""
    tasks = _TASKS.decode(payload)
    trees = {origin: opened(origin) for origin in {each for task in tasks for each in task.trees.values()}}
    return _ENCODER.encode([_known_key(task, trees) for task in tasks])


@let_go_if_damaged()
def changed_paths(payload: bytes) -> bytes:
    """What differs between two trees."""
    old, new = _ORIGINS.decode(payload)
    return _ENCODER.encode(list(changed(opened(old), opened(new))))


def _known_key(task: Task, opened_trees: Mapping[AnyOrigin, Tree]) -> str:
    store = _store(task.keeping)
    record = _record(store, identity.question(task.job, store.seal))
    trees = {name: opened_trees[origin] for name, origin in task.trees.items()}
    known = identity.known_answer(record, task.job, trees, store.seal)
    return known.key if known else ""


@functools.lru_cache(maxsize=2)
def _store(keeping: Keeping) -> RenderStore:
    return RenderStore(Path(keeping.folder), keeping.key, keeping.budget)


def _trees(task: Task) -> dict[str, Tree]:
    return {name: opened(origin) for name, origin in task.trees.items()}


def _record(store: RenderStore, name: str) -> Record:
    content = store.get("records", name)
    return Record() if content is None else _RECORD.decode(content)


def _keep(store: RenderStore, name: str, trace: Trace, content: bytes) -> None:
    """The result first, so that no record speaks of one that never was.

    A disk that is full costs another render the next time; it must not cost this one.
    """
    with suppress(Unavailable):
        store.put("results", trace.key, content)
        record = identity.remembered(_record(store, name), trace)
        store.put("records", name, _ENCODER.encode(record))


def _gathered(task: Task, trees: Mapping[str, Tree], store: RenderStore, folder: Path) -> Prepared:
    """Gather what the render needs; a render that cannot succeed is remembered like one that did."""
    job = task.job
    watched = Trees(trees, job.subject)
    tool = Tool.DIRECTORY
    try:
        path = _folder(job, watched)
        tool = tool_for(job.spec, watched.main, path)
        if tool is not Tool.DIRECTORY and tool.value not in job.programs:
            return Wanted(program="helm" if tool is Tool.HELM else "kustomize")
        found = GENERATORS[tool](job, watched, path)
        trace = identity.trace_of(job, tool, watched.looks(), watched.roots(), store.seal)
        if isinstance(found, Call):
            return _started(found, trace, folder, trees, job)
        answer = Answer(rendered=_made(found, trace, store.seal))
    except DependenciesWanted as wanted:
        return WantedCharts(dependencies=wanted.dependencies)
    except BaseWanted as wanted:
        base = wanted.base
        return WantedBase(tree=base.tree, url=base.url, target=base.target, submodules=base.submodules)
    except tuple(_ERRORS.values()) as error:
        trace = identity.trace_of(job, tool, watched.looks(), watched.roots(), store.seal)
        answer = Answer(failure=_failure(error))
    _keep(store, identity.question(job, store.seal), trace, _ENCODER.encode(answer))
    return answer


def _folder(job: Job, trees: Trees) -> str:
    """The folder that the spec names, links on the way followed."""
    path = trees.main.real(joined("", job.spec.path, job.subject))
    kind = trees.main.kind(path)
    if kind is EntryKind.FOLDER:
        return path
    if kind is EntryKind.FILE:
        raise InvalidSpec(job.subject, f"the path {shown(job.spec.path)} is a file", "Name its folder")
    raise Missing(job.subject, f"the path {shown(job.spec.path)} is not in the repository", "Mend the path")


def _started(call: Call, trace: Trace, folder: Path, trees: Mapping[str, Tree], job: Job) -> Started:
    size = fill(folder, call, trees, job)
    return Started(
        program=call.program,
        arguments=call.arguments,
        secrets=call.secrets,
        warnings=call.warnings,
        trace=trace,
        size=size,
    )


def _made(ready: Ready, trace: Trace, seal: Seal) -> Rendered:
    return _rendered(_found_in(ready.documents), trace, ready.warnings, seal)


def _rendered(found: tuple[Found, ...], trace: Trace, warnings: tuple[str, ...], seal: Seal) -> Rendered:
    made = tuple(_one(each) for each in found)
    return Rendered(
        manifests=made,
        tool=trace.tool,
        tool_version=trace.version,
        key=trace.key,
        digest=seal.name_of_bytes(b"\0".join(each.json for each in made)),
        read=trace.looks,
        warnings=warnings,
    )


def _one(found: Found) -> Made:
    manifest, where = found.manifest, found.where
    try:
        key, version = name_of(manifest, where), manifests.api_version(manifest, where)
    except InvalidSpec:
        key, version = NAMELESS, ""
    return Made(key=key, api_version=version, json=msgspec.json.encode(manifest), where=where)


def _found_in(found: Iterable[Document]) -> tuple[Found, ...]:
    """The manifests of some documents, lists taken apart.

    What lacks a kind or a name goes along as it is. Whoever compares says what is wrong with it, goes on with
    the others, and deletes nothing, for nobody knows what it was meant to be.
    """
    return tuple(each for one in found for each in _taken_apart(one))


def _taken_apart(one: Document) -> tuple[Found, ...]:
    try:
        return manifests.flattened(one.value, one.where)
    except InvalidSpec:
        if not isinstance(one.value, dict):
            raise
        return (Found(manifest=one.value, where=one.where),)


def _check_end(said: Said) -> None:
    """Return for a program that ended well; otherwise its last words are the reason."""
    if said.code == 0:
        return
    subject, program = said.task.job.subject, said.started.program
    if said.code < 0:
        raise Unavailable(subject, f"{program} was ended by signal {-said.code}", "Try again")
    text = said.stderr.decode("utf-8", "replace")
    words = cleaned(text, said.started.secrets, _private(said.folder)).removesuffix(_OWN_ADVICE)
    line = _ERROR.sub("", " ".join(words.split())) or "it gave no reason"
    raise RenderFailed(subject, f"{program} could not render it: {line}", "Correct what it names")


def _private(folder: str) -> tuple[str, ...]:
    """The private folder, also as a program sees it that resolves links."""
    return (folder, str(Path(folder).resolve()))


def _documents(said: Said) -> tuple[Found, ...]:
    program = said.started.program
    found = documents(said.stdout, f"the output of {program}")
    return _found_in(_named(found, said.stdout) if program == "helm" else found)


def _named(found: tuple[Document, ...], output: bytes) -> tuple[Document, ...]:
    """Helm's documents, named by the template that each came from."""
    sources = [
        (number, line[len(b"# Source: ") :].decode("utf-8", "replace"))
        for number, line in enumerate(output.splitlines(), 1)
        if line.startswith(b"# Source: ")
    ]
    return tuple(msgspec.structs.replace(each, source=_source(sources, each)) for each in found)


def _source(sources: list[tuple[int, str]], document: Document) -> str:
    place = bisect.bisect(sources, document.line, key=lambda each: each[0])
    return sources[place - 1][1] if place else document.source


def _failure(error: TrimtabError) -> Failure:
    known = next(name for name, kind in _ERRORS.items() if isinstance(error, kind))
    return Failure(error=known, subject=error.subject, reason=error.reason, remedy=error.remedy)


def error_of(failure: Failure) -> TrimtabError:
    """The error that a failure stands for."""
    return _ERRORS[failure.error](failure.subject, failure.reason, failure.remedy)

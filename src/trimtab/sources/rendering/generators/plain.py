"""Plain folders: every YAML and JSON file is a manifest, or several. No program is needed. Pure.

A file that cannot be read is an error, never an absence: what is missing would be deleted. Only a text that
mentions neither `apiVersion` nor `kind` may be something else; it is left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.resources.yaml import Document, documents
from trimtab.sources.rendering import foreknown
from trimtab.sources.rendering.globs import matches
from trimtab.sources.rendering.jobs import Bounds, Job, Ready
from trimtab.sources.rendering.looking import Trees, Watched
from trimtab.sources.rendering.paths import below, shown
from trimtab.sources.rendering.specs import Directory
from trimtab.sources.trees import EntryKind

EXTENSIONS: Final = (".yaml", ".yml", ".json")
#: a file with this word is none of our business
SKIPPED: Final = b"+argocd:skip-file-rendering"
DEEPEST: Final = 64
#: bytes that are read before anybody has asked for them
_MOST_AHEAD: Final = 16 << 20


def gathered(job: Job, trees: Trees, folder: str) -> Ready:
    """All manifests of the folder, file by file in the order of their paths."""
    tree, options = trees.main, job.spec.directory or Directory()
    tree.root(folder)
    found: list[Document] = []
    warnings: list[str] = []
    left = job.bounds.bytes
    for number, path in enumerate(_files(tree, folder, options, job.bounds.files)):
        if number >= job.bounds.files:
            raise SourceRefused(job.subject, f"it holds more than {job.bounds.files:,} files", "Split it up")
        text = tree.read(path)
        left -= len(text)
        if left < 0:
            raise SourceRefused(
                job.subject, f"its files have more than {job.bounds.bytes:,} bytes", "Split it up"
            )
        read = foreknown.given(path, text) or _read(text, path)
        if read is None:
            warnings.append(f"{path} holds no manifest and was left out")
        else:
            found += read
    if not found:
        warnings.append(_nothing(tree, folder, options))
    return Ready(documents=tuple(found), warnings=tuple(warnings))


def read_ahead(tree: Watched, folder: str) -> None:
    """Read the first files of a folder, for whoever asks for all of them next."""
    left = _MOST_AHEAD
    for path in _files(tree, folder, Directory(), Bounds().files):
        text = tree.read(path)
        left -= len(text)
        if left < 0:
            return
        foreknown.keep(path, text, _read(text, path) or ())


def _nothing(tree: Watched, folder: str, options: Directory) -> str:
    """What to say of a folder that declares nothing: somebody may have meant one below it."""
    folders = [each.name for each in tree.entries(folder) if each.kind is EntryKind.FOLDER]
    below_it = [each for each in folders if not each.startswith(".")]
    where = f"the folder {shown(folder)}" if folder else "the source"
    if options.recurse or not below_it:
        return f"{where} declares nothing"
    meant = f"a folder below it, such as {shown(below_it[0])}, is read if --path names it"
    return f"{where} declares nothing; {meant}"


def _files(tree: Watched, folder: str, options: Directory, most: int) -> Iterator[str]:
    """The files that count, by path, with links to files followed; links to folders are not."""
    for relative in sorted(_names(tree, folder, recurse=options.recurse, most=most)):
        if not options.disable_extension_filter and not relative.endswith(EXTENSIONS):
            continue
        if options.exclude and matches(options.exclude, relative):
            continue
        if options.include and not matches(options.include, relative):
            continue
        real = tree.real(below(folder, relative))
        if tree.kind(real) is EntryKind.FILE:
            yield real
        elif tree.kind(real) is None:
            raise InvalidSpec(below(folder, relative), "it is a link to nothing", "Mend or remove it")


def _names(tree: Watched, folder: str, *, recurse: bool, most: int) -> Iterator[str]:
    waiting, folders = [""], 0
    while waiting:
        inside = waiting.pop()
        folders += 1
        if folders > most:
            raise SourceRefused(tree.subject, f"it holds more than {most:,} folders", "Split it up")
        for entry in tree.entries(below(folder, inside) if inside else folder):
            relative = below(inside, entry.name)
            if entry.kind in {EntryKind.FILE, EntryKind.LINK}:
                yield relative
            elif entry.kind is EntryKind.FOLDER and recurse:
                if relative.count("/") >= DEEPEST:
                    raise SourceRefused(shown(relative), "folders are nested too deep", "Flatten them")
                waiting.append(relative)


def _read(text: bytes, path: str) -> tuple[Document, ...] | None:
    """The manifests of one file; None if it is something else."""
    if SKIPPED in text:
        return ()
    try:
        found = documents(text, path)
    except InvalidSpec:
        if b"apiVersion" in text or b"kind" in text:
            raise
        return None
    # Beside manifests, a document that is none is a manifest that somebody broke.
    return None if found and not any(_may_be_manifest(one.value) for one in found) else found


def _may_be_manifest(value: object) -> bool:
    return not isinstance(value, dict) or bool(value.keys() & {"apiVersion", "kind"})

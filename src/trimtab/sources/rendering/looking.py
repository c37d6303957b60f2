"""Trees that note what was asked of them, so that a render knows exactly what it follows from. Pure.

The same questions with the same answers give the same render. Hence the notes are kept with the result, and
as long as another revision answers them alike, nothing has to be rendered again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from trimtab.errors import InvalidSpec, Missing
from trimtab.sources.rendering.paths import checked_name, folder_of, followed, shown
from trimtab.sources.rendering.rendered import Look, Question
from trimtab.sources.trees import Entry, EntryKind, Tree

NOTHING = "nothing"
#: the name of the tree that the manifests come from; others are named by their `ref`
MAIN = ""


class Watched:
    """One tree that notes every question."""

    def __init__(self, tree: Tree, source: str, subject: str) -> None:
        self._tree = tree
        self.source = source
        self.subject = subject
        self._looks: dict[tuple[str, Question], str] = {}
        self._roots: dict[str, str] = {}

    def kind(self, path: str) -> EntryKind | None:
        """What lies at this path, links unfollowed."""
        entry = self._tree.entry(path)
        self._note(path, "kind", _kind_answer(entry))
        return entry.kind if entry else None

    def entry(self, path: str) -> Entry | None:
        """What lies at this path, with all that is in it."""
        entry = self._tree.entry(path)
        self._note(path, "below", _below_answer(entry))
        return entry

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        self._note(path, "bytes", _bytes_answer(self._tree.entry(path)))
        return self._tree.read(path)

    def link(self, path: str) -> str:
        """Where a link points."""
        target = self.read(path)
        try:
            return target.decode()
        except UnicodeDecodeError as error:
            raise InvalidSpec(self.subject, f"the link {shown(path)} is no text", "Mend it") from error

    def entries(self, path: str) -> tuple[Entry, ...]:
        """The names that a folder holds and what they are; their contents do not count as seen."""
        entries = self._tree.entries(path)
        for entry in entries:
            checked_name(entry.name, self.subject)
        self._note(path, "names", _names_answer(entries))
        return entries

    def covered(self, path: str) -> tuple[Entry, ...]:
        """The same for a folder that has been seen whole; nothing new is noted."""
        entries = self._tree.entries(path)
        for entry in entries:
            checked_name(entry.name, self.subject)
        return entries

    def covered_bytes(self, path: str) -> bytes:
        """The bytes of a file that has been seen already."""
        return self._tree.read(path)

    def real(self, path: str) -> str:
        """The path without links that a path means."""
        return followed(self, path, self.subject)

    def root(self, folder: str) -> None:
        """Say that much is asked about this folder, so that it can be compared as a whole first."""
        self._roots[folder] = _below_answer(self._tree.entry(folder))

    def roots(self) -> Iterator[Look]:
        """The folders that were called roots, as they are now; not part of what was asked."""
        for path, found in self._roots.items():
            yield Look(self.source, path, "below", found)

    def looks(self) -> Iterator[Look]:
        """Everything that was asked, and the answers."""
        for (path, question), answer in self._looks.items():
            yield Look(self.source, path, question, answer)

    def _note(self, path: str, question: Question, answer: str) -> None:
        self._looks[path, question] = answer


class Trees:
    """The trees of one render by name; a name that nobody gave is refused."""

    def __init__(self, trees: Mapping[str, Tree], subject: str) -> None:
        self._watched = {name: Watched(tree, name, subject) for name, tree in trees.items()}
        self._subject = subject

    @property
    def main(self) -> Watched:
        """The tree that the manifests come from."""
        return self._watched[MAIN]

    def __contains__(self, name: str) -> bool:
        return name in self._watched

    def named(self, name: str) -> Watched:
        """The tree of a `ref` source."""
        if name not in self._watched or name == MAIN:
            raise InvalidSpec(
                self._subject, f"there is no source with the ref {shown(name)}", "Add it, or mend the name"
            )
        return self._watched[name]

    def looks(self) -> tuple[Look, ...]:
        """All that was read, in a fixed order."""
        return tuple(sorted(look for tree in self._watched.values() for look in tree.looks()))

    def roots(self) -> tuple[Look, ...]:
        """The folders to compare as a whole first."""
        return tuple(sorted(look for tree in self._watched.values() for look in tree.roots()))


def answer(tree: Tree, path: str, question: Question) -> str:
    """What a tree answers today."""
    if question == "names":
        try:
            return _names_answer(tree.entries(path))
        except Missing:
            return NOTHING
    return _ANSWERS[question](tree.entry(path))


def still_true(looks: Iterable[Look], trees: Mapping[str, Tree], roots: Iterable[Look] = ()) -> bool:
    """Would a render that asked all this be told the same?

    A root that is as it was answers for all that lies below it, which is one question instead of many.
    """
    same = {(root.source, root.path) for root in roots if _is_true(root, trees)}
    return all(_lies_below(look, same) or _is_true(look, trees) for look in looks)


def _is_true(look: Look, trees: Mapping[str, Tree]) -> bool:
    return look.source in trees and answer(trees[look.source], look.path, look.question) == look.answer


def _lies_below(look: Look, folders: AbstractSet[tuple[str, str]]) -> bool:
    if not folders:
        return False
    path = look.path
    while (look.source, path) not in folders:
        if not path:
            return False
        path = folder_of(path)
    return True


def _kind_answer(entry: Entry | None) -> str:
    return entry.kind.value if entry else NOTHING


def _bytes_answer(entry: Entry | None) -> str:
    return f"{entry.kind.value} {entry.id}" if entry else NOTHING


def _below_answer(entry: Entry | None) -> str:
    return _bytes_answer(entry)


def _names_answer(entries: Iterable[Entry]) -> str:
    text = "\0".join(f"{entry.name}\0{entry.kind.value}" for entry in sorted(entries, key=lambda it: it.name))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40]


_ANSWERS = {"kind": _kind_answer, "bytes": _bytes_answer, "below": _below_answer}

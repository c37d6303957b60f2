"""Which renders a commit concerns: what differs between two trees, and who has looked there. Pure.

Both cost as much as has changed: the comparison goes down only where ids differ, and who looked at a path is
found by that path. The answer may name one too many, never one too few; a render that finds every answer as
it was costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trimtab.sources.rendering.paths import below, folder_of
from trimtab.sources.rendering.rendered import Look
from trimtab.sources.trees import Entry, EntryKind, Tree


def changed(old: Tree, new: Tree) -> Iterator[str]:
    """Every path where something was added, removed or changed; of a folder that came or went, all of it."""
    before, after = old.entry(""), new.entry("")
    waiting = [""] if _id(before) != _id(after) else []
    while waiting:
        folder = waiting.pop()
        was, now = _held(old, folder), _held(new, folder)
        for name in sorted(was.keys() | now.keys()):
            left, right = was.get(name), now.get(name)
            if left == right:
                continue
            path = below(folder, name)
            if not (_is_folder(left) and _is_folder(right)):
                yield path
            if _is_folder(left) or _is_folder(right):
                waiting.append(path)


def _held(tree: Tree, folder: str) -> Mapping[str, Entry]:
    entry = tree.entry(folder)
    return {each.name: each for each in tree.entries(folder)} if _is_folder(entry) else {}


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind is EntryKind.FOLDER


def _id(entry: Entry | None) -> str:
    return entry.id if entry else ""


class Readers:
    """Who has looked at which path of which tree."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str], set[str]] = {}
        self._by_folder: dict[tuple[str, str], set[str]] = {}
        self._looks: dict[str, tuple[tuple[str, str, bool], ...]] = {}

    def note(self, reader: str, looks: Iterable[Look], trees: Mapping[str, str]) -> None:
        """Remember what somebody's last render has read; `trees` names the tree behind each source."""
        self.forget(reader)
        seen = {(trees[look.source], look.path, look.question in {"names", "below"}) for look in looks}
        self._looks[reader] = tuple(seen)
        for tree, path, is_folder in seen:
            index = self._by_folder if is_folder else self._by_path
            index.setdefault((tree, path), set()).add(reader)

    def forget(self, reader: str) -> None:
        """Remember nothing of somebody."""
        for tree, path, is_folder in self._looks.pop(reader, ()):
            index = self._by_folder if is_folder else self._by_path
            readers = index[tree, path]
            readers.discard(reader)
            if not readers:
                del index[tree, path]

    def knows(self, reader: str) -> bool:
        """Whether somebody's last render is remembered."""
        return reader in self._looks

    def affected(self, tree: str, paths: Iterable[str]) -> frozenset[str]:
        """Whoever has looked at one of these paths, or into a folder above one."""
        found: set[str] = set()
        seen: set[str] = set()
        for path in paths:
            found |= self._by_path.get((tree, path), set())
            place = path
            while place not in seen:
                seen.add(place)
                found |= self._by_folder.get((tree, place), set())
                place = folder_of(place)
        return frozenset(found)

"""Which files a program gets to see: gathered from trees, links proven to stay inside. Pure.

What is gathered here is also what the render's key is made of, and the program finds nothing else in its
folder: a file that is missing in the key is missing in the copy, too, and the program says so.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.sources.rendering.helmignore import Ignored
from trimtab.sources.rendering.looking import MAIN, Watched
from trimtab.sources.rendering.paths import below, shown
from trimtab.sources.trees import EntryKind

#: where the trees lie in the private folder
MAIN_FOLDER: Final = "repository"
REF_FOLDER: Final = "ref"


class Taken(Struct, frozen=True, kw_only=True, gc=False):
    """One file or link to be copied: whence, and whereto in the private folder."""

    source: str
    path: str
    to: str
    link: bool = False


class Copies:
    """Collects what goes into the private folder, and checks it on the way."""

    def __init__(self, *, most_files: int, subject: str) -> None:
        self._taken: dict[str, Taken] = {}
        self._made: dict[str, bytes] = {}
        self._most = most_files
        self._subject = subject
        self._whole: set[tuple[str, str]] = set()
        self._folders = 0

    def file(self, tree: Watched, path: str) -> None:
        """One file; a link to it is copied with what it leads to."""
        kind = tree.kind(path)
        if kind is EntryKind.FILE:
            tree.read(path)
            self._add(tree, path, link=False)
        else:
            self._way(tree, path)

    def file_at(self, tree: Watched, path: str, to: str) -> None:
        """One file, put somewhere else."""
        tree.entry(path)
        self._add(tree, path, link=False, to=to)

    def folder(self, tree: Watched, path: str) -> None:
        """A whole folder with everything below it."""
        if (tree.source, path) in self._whole:
            return
        self._whole.add((tree.source, path))
        tree.entry(path)
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            self._count_folder()
            for entry in tree.covered(folder):
                place = below(folder, entry.name)
                match entry.kind:
                    case EntryKind.FOLDER:
                        waiting.append(place)
                    case EntryKind.FILE:
                        self._add(tree, place, link=False)
                    case EntryKind.LINK:
                        self._link(tree, place)
                    case EntryKind.SUBMODULE:
                        reason = f"{shown(place)} is a submodule that is not there"
                        raise InvalidSpec(self._subject, reason, "Switch submodules on, or remove it")

    def contents(self, tree: Watched, path: str, ignored: Ignored) -> dict[str, bytes]:
        """The files of a whole folder but for what is ignored; links are what they lead to."""
        tree.entry(path)
        found: dict[str, bytes] = {}
        waiting = [(path, "")]
        while waiting:
            folder, there = waiting.pop()
            self._count_folder()
            for entry in tree.covered(folder):
                place, name = tree.real(below(folder, entry.name)), below(there, entry.name)
                kind = tree.kind(place)
                if ignored(name, is_folder=kind is EntryKind.FOLDER):
                    continue
                if kind is EntryKind.FOLDER:
                    waiting.append((place, name))
                    tree.entry(place)
                elif kind is EntryKind.FILE:
                    found[name] = tree.read(place)
                    self._check_count(len(self._taken) + len(found))
        return found

    def leave_out(self, to: str) -> None:
        """Leave out a file or a whole folder of the private folder after all."""
        inside = f"{to}/"
        self._taken = {
            place: each for place, each in self._taken.items() if place != to and not place.startswith(inside)
        }

    def _count_folder(self) -> None:
        """Folders may hold nothing but folders, and links may lead round: both are without end."""
        self._folders += 1
        if self._folders > self._most:
            reason = f"it is made of more than {self._most:,} folders"
            raise SourceRefused(self._subject, reason, "Remove circles of links")

    def write(self, to: str, content: bytes) -> None:
        """A file of our own making; it stands instead of a tenant's at the same place."""
        self._made[to] = content

    @property
    def taken(self) -> tuple[Taken, ...]:
        """What is copied from trees."""
        return tuple(each for to, each in self._taken.items() if to not in self._made)

    @property
    def made(self) -> tuple[tuple[str, bytes], ...]:
        """What is written besides."""
        return tuple(self._made.items())

    def _way(self, tree: Watched, path: str) -> None:
        """Every link on the way to a file, and the file."""
        words, done = path.split("/"), ""
        for place, word in enumerate(words):
            done = below(done, word)
            if tree.kind(done) is EntryKind.LINK:
                self._link(tree, done)
                self._reached(tree, "/".join((tree.real(done), *words[place + 1 :])))
                return

    def _link(self, tree: Watched, path: str) -> None:
        """A link, and what it leads to, if anything."""
        if place_of(tree, path) in self._taken:
            return
        tree.read(path)
        self._add(tree, path, link=True)
        # Links on the way of this one have to be there as well, or it would lead nowhere in the copy.
        self._stations(tree, path)
        self._reached(tree, tree.real(path))

    def _stations(self, tree: Watched, path: str) -> None:
        folder = path.rpartition("/")[0]
        done = folder.split("/") if folder else []
        for word in tree.link(path).split("/"):
            if word == "..":
                done = done[:-1]
            elif word not in {"", "."}:
                done = [*done, word]
            place = "/".join(done)
            if place != path and tree.kind(place) is EntryKind.LINK:
                self._link(tree, place)
                done = tree.real(place).split("/")

    def _reached(self, tree: Watched, real: str) -> None:
        kind = tree.kind(real)
        if kind is EntryKind.FOLDER:
            self.folder(tree, real)
        elif kind is not None:
            self.file(tree, real)

    def _add(self, tree: Watched, path: str, *, link: bool, to: str = "") -> None:
        to = to or place_of(tree, path)
        self._taken[to] = Taken(source=tree.source, path=path, to=to, link=link)
        self._check_count(len(self._taken))

    def _check_count(self, files: int) -> None:
        if files > self._most:
            reason = f"it is made of more than {self._most:,} files"
            raise SourceRefused(self._subject, reason, "Keep what does not belong to it elsewhere")


def place_of(tree: Watched, path: str) -> str:
    """Where a file of a tree lies in the private folder."""
    folder = MAIN_FOLDER if tree.source == MAIN else f"{REF_FOLDER}/{tree.source}"
    return below(folder, path) if path else folder

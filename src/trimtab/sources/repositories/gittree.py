"""The files of one commit, read from the object store of a mirror: no checkout, no configuration, no process.

Only objects are read, so nothing that a repository says about itself (attributes, filters, hooks, settings)
can have an effect. A `GitTree` is cheap and lives inside one process; a worker makes its own from the path of
the mirror and the commit's id. Who may read a mirror was decided before; here nobody is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from trimtab.errors import Damaged, InvalidSpec, Missing, SourceRefused, Unavailable
from trimtab.sources.repositories.largestore import LargeStore
from trimtab.sources.repositories.pointers import ATTRIBUTE, LONGEST, Pointer, pointer_in
from trimtab.sources.repositories.revisions import Revision
from trimtab.sources.trees import Entry, EntryKind, Tree

if TYPE_CHECKING:
    import pygit2

#: a file larger than this is no manifest; a small pack can hold a very large one
LARGEST_FILE: Final = 32 * 1024 * 1024
#: a folder's listing larger than this is an attack on whoever lists it
_LARGEST_FOLDER: Final = 16 * 1024 * 1024
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_ID_BYTES: Final = 20
_KINDS: Final = {
    0o040000: EntryKind.FOLDER,
    0o100000: EntryKind.FILE,
    0o120000: EntryKind.LINK,
    0o160000: EntryKind.SUBMODULE,
}
#: names that would mean another place than the folder they stand in, or that git itself never checks out
_BAD_NAMES: Final = frozenset({"", ".", ".."})
#: names of files that somebody would try to understand
_MANIFESTS: Final = (".yaml", ".yml", ".json", ".tpl", ".jsonnet", ".libsonnet")


class ObjectMissing(Damaged):
    """A mirror lacks an object that it should have, or holds it damaged; the next fetch mends it."""


class LargeFileMissing(Unavailable):
    """A file is kept in Git LFS and could not be fetched; it is tried again with the next fetch."""


class LargeFilesOf(Struct, frozen=True, kw_only=True):
    """How it stands with the files that a revision keeps in Git LFS."""

    #: why some of them could not be fetched; empty if nothing was in the way
    problem: str = ""


class GitTree:
    """The files of one commit of a bare repository."""

    def __init__(
        self,
        mirror: str | Path,
        commit: str,
        *,
        largest: int = LARGEST_FILE,
        large_files: LargeFilesOf | None = None,
    ) -> None:
        """Open a commit; files larger than `largest` are refused, also those that are kept in Git LFS."""
        if not _COMMIT.fullmatch(commit):
            raise InvalidSpec(f"commit {commit[:80]!r}", "is not a full commit id", "Give all 40 digits")
        self._objects = _opened(Path(mirror))
        self._commit = commit
        self._largest = largest
        self._large_files = large_files
        self._store = LargeStore(Path(mirror))
        self._folders: dict[str, dict[str, Entry]] = {}
        self._root = Entry(name="", kind=EntryKind.FOLDER, id=self._tree_of(commit))

    @property
    def id(self) -> str:
        """The id of the root folder: equal for commits that hold the same files."""
        return self._root.id

    def entry(self, path: str) -> Entry | None:
        """What lies at this path; None if nothing does."""
        found = self._root
        for name in path.split("/") if path else ():
            if found.kind is not EntryKind.FOLDER:
                return None
            below = self._folder(found.id).get(name)
            if below is None:
                return None
            found = below
        return found

    def entries(self, path: str) -> tuple[Entry, ...]:
        """What lies in this folder, by name; a `Missing` error if it is none."""
        found = self.entry(path)
        if found is None or found.kind is not EntryKind.FOLDER:
            raise Missing(self._subject(path), "there is no such folder", "Mend the path")
        return tuple(self._folder(found.id).values())

    def read(self, path: str) -> bytes:
        """The bytes of a file, or where a link points; a `Missing` error if it is neither."""
        found = self.entry(path)
        if found is None or found.kind not in {EntryKind.FILE, EntryKind.LINK}:
            raise Missing(self._subject(path), "there is no such file", "Mend the path")
        content = self._object(found.id, "BLOB", self._largest, path)
        pointer = pointer_in(content) if found.kind is EntryKind.FILE else None
        return content if pointer is None else self._pointed_at(pointer, path, content)

    def _pointed_at(self, pointer: Pointer, path: str, content: bytes) -> bytes:
        """The file that a pointer stands for; where LFS is off, a pointer is a file like any other."""
        if self._large_files is None:
            if path.endswith(_MANIFESTS):
                reason = "is kept in Git LFS, and only a pointer to it is in the repository"
                remedy = "Switch repositories.lfs on, or commit the file itself"
                raise SourceRefused(self._subject(path), reason, remedy)
            return content
        self._check_size(pointer.size, self._largest, path)
        found = self._store.read(pointer)
        if found is None:
            reason = f"is kept in Git LFS: {self._large_files.problem or 'its server does not have it'}"
            raise LargeFileMissing(self._subject(path), reason, "Mend that, or set repositories.lfs to false")
        return found

    def pointers(self, paths: Iterable[str] = ("",)) -> tuple[Pointer, ...]:
        """The files at and below these paths that are kept in Git LFS, and that are not too large to read."""
        if not any(self._marks_large_files(self._root)):
            return ()
        entries = (entry for path in paths if (entry := self.entry(path)))
        ids = {file.id for entry in entries for file in self._files(entry) if file.kind is EntryKind.FILE}
        found = {pointer for id_ in ids if (pointer := self._pointer(id_))}
        return tuple(sorted(pointer for pointer in found if pointer.size <= self._largest))

    def _marks_large_files(self, folder: Entry) -> Iterator[bool]:
        """For each .gitattributes whether it mentions LFS; most repositories have none that does."""
        for entry in self._folder(folder.id).values():
            if entry.kind is EntryKind.FOLDER:
                yield from self._marks_large_files(entry)
            elif entry.name == ".gitattributes" and entry.kind is EntryKind.FILE:
                yield ATTRIBUTE in self._object(entry.id, "BLOB", self._largest, entry.name)

    def _pointer(self, id_: str) -> Pointer | None:
        import pygit2

        oid = pygit2.Oid(hex=id_)
        # A partial mirror lacks files; those that are wanted were brought before.
        if oid not in self._objects or self._objects.read_header(oid)[1] > LONGEST:
            return None
        return pointer_in(self._objects.read(oid)[1])

    def missing(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The ids of files at and below these paths that a partial mirror does not hold."""
        import pygit2

        entries = (entry for path in paths if (entry := self.entry(path)))
        found = {file.id for entry in entries for file in self._files(entry)}
        return tuple(sorted(id_ for id_ in found if pygit2.Oid(hex=id_) not in self._objects))

    def _files(self, entry: Entry) -> Iterator[Entry]:
        if entry.kind is EntryKind.FOLDER:
            for below in self._folder(entry.id).values():
                yield from self._files(below)
        elif entry.kind is not EntryKind.SUBMODULE:
            yield entry

    def _subject(self, path: str) -> str:
        return f"{path or 'the root'} at {self._commit[:8]}"

    def _tree_of(self, commit: str) -> str:
        text = self._object(commit, "COMMIT", _LARGEST_FOLDER, "the commit")
        first = re.match(rb"tree ([0-9a-f]{40})\n", text)
        if first is None:
            raise SourceRefused(f"commit {commit[:8]}", "names no tree", "Choose another commit")
        return first[1].decode()

    def _folder(self, tree: str) -> dict[str, Entry]:
        """A folder's entries by name, read once."""
        known = self._folders.get(tree)
        if known is None:
            text = self._object(tree, "TREE", _LARGEST_FOLDER, "a folder")
            known = self._folders[tree] = entries_in(text, subject=f"a folder at {self._commit[:8]}")
        return known

    def _check_size(self, size: int, largest: int, path: str) -> None:
        if size > largest:
            reason = f"has {size} bytes; at most {largest} are read"
            raise SourceRefused(self._subject(path), reason, "Take it out of the folder that is rendered")

    def _object(self, id_: str, kind: str, largest: int, path: str) -> bytes:
        import pygit2

        oid = pygit2.Oid(hex=id_)
        try:
            found, size = self._objects.read_header(oid)
            if found.name != kind:
                raise SourceRefused(self._subject(path), f"is a {found.name.lower()}", "Choose a commit")
            self._check_size(size, largest, path)
            return self._objects.read(oid)[1]
        except (KeyError, ValueError, OSError, pygit2.GitError) as exc:
            reason = "the mirror lacks it, or holds it damaged"
            remedy = "It is mended with the next fetch"
            raise ObjectMissing(self._subject(path), reason, remedy) from exc


class MountedTree:
    """A tree with other trees hung into it: a repository with its submodules."""

    def __init__(self, tree: Tree, mounts: Mapping[str, Tree]) -> None:
        """Hang trees at the paths of submodules."""
        self._tree = tree
        self._mounts = dict(mounts)

    def entry(self, path: str) -> Entry | None:
        """What lies at this path; a submodule that was hung in is a folder."""
        tree, below, mount = self._place(path)
        found = tree.entry(below)
        if found is None or below or not mount:
            return found if found is None else self._shown(path, found)
        return Entry(name=mount.rpartition("/")[2], kind=EntryKind.FOLDER, id=found.id)

    def entries(self, path: str) -> tuple[Entry, ...]:
        """What lies in this folder, by name."""
        tree, below, _ = self._place(path)
        prefix = f"{path}/" if path else ""
        return tuple(self._shown(f"{prefix}{entry.name}", entry) for entry in tree.entries(below))

    def read(self, path: str) -> bytes:
        """The bytes of a file, or where a link points."""
        tree, below, _ = self._place(path)
        return tree.read(below)

    def _shown(self, path: str, entry: Entry) -> Entry:
        if entry.kind is not EntryKind.SUBMODULE or path not in self._mounts:
            return entry
        root = self._mounts[path].entry("")
        return entry if root is None else Entry(name=entry.name, kind=EntryKind.FOLDER, id=root.id)

    def _place(self, path: str) -> tuple[Tree, str, str]:
        """The tree that a path lies in, the path there, and where that tree hangs."""
        names = path.split("/")
        for length in range(len(names), 0, -1):
            mount = "/".join(names[:length])
            if mount in self._mounts and self._is_submodule(mount):
                return self._mounts[mount], "/".join(names[length:]), mount
        return self._tree, path, ""

    def _is_submodule(self, mount: str) -> bool:
        found = self._tree.entry(mount)
        return found is not None and found.kind is EntryKind.SUBMODULE


def tree_of(revision: Revision) -> Tree:
    """The files of a revision, with its submodules where they hang."""
    large = LargeFilesOf(problem=revision.lfs_problem) if revision.lfs else None
    tree = GitTree(revision.mirror, revision.commit, large_files=large)
    mounts = {mount.path: tree_of(mount.revision) for mount in revision.submodules}
    return MountedTree(tree, mounts) if mounts else tree


def entries_in(tree: bytes, *, subject: str) -> dict[str, Entry]:
    """The entries of a tree object by name; `SourceRefused` for one that no honest git has made."""
    found: dict[str, Entry] = {}
    at = 0
    while at < len(tree):
        space, null = tree.find(b" ", at), tree.find(b"\0", at)
        end = null + 1 + _ID_BYTES
        if not at < space < null or end > len(tree):
            raise SourceRefused(subject, "is not a folder that git can have written", "Choose another commit")
        entry = _entry(tree[at:space], tree[space + 1 : null], tree[null + 1 : end].hex(), subject)
        if entry.name in found:
            raise SourceRefused(subject, f"holds {entry.name!r} twice", "Choose another commit")
        found[entry.name] = entry
        at = end
    return dict(sorted(found.items()))


def _entry(mode: bytes, raw: bytes, id_: str, subject: str) -> Entry:
    name = raw.decode("utf-8", "backslashreplace")
    if name in _BAD_NAMES or "/" in name or name.lower() == ".git":
        raise SourceRefused(subject, f"holds the name {name!r}, which is not allowed", "Rename the file")
    bits = int(mode, 8) if mode.isdigit() and len(mode) <= 7 and not mode.strip(b"01234567") else 0
    kind = _KINDS.get(bits & 0o170000)
    if kind is None:
        raise SourceRefused(subject, f"{name!r} is neither file, folder nor link", "Remove it")
    executable = kind is EntryKind.FILE and bool(bits & 0o111)
    return Entry(name=name, kind=kind, id=id_, executable=executable)


def _opened(mirror: Path) -> pygit2.Odb:
    objects = mirror / "objects"
    if not objects.is_dir():
        raise ObjectMissing(f"mirror {mirror.name}", "is not there", "It is made with the next fetch")
    import pygit2  # here, because renders of plain folders never need it

    return pygit2.Odb(str(objects))

"""Private folders for programs: filled with copies of files and of links proven to stay inside, then removed.

One folder per run, readable by nobody else, below one folder per process. What a killed process leaves behind
is swept by the next. What a program may do besides reading its folder is bounded by `trimtab.programs`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from trimtab.errors import NotAllowed, SourceRefused, Unavailable
from trimtab.settings import RenderingSettings
from trimtab.sources.rendering.jobs import Call, Job
from trimtab.sources.trees import Tree

#: a file system in memory: files that live for a second need no disk
_MEMORY = "/dev/shm"  # noqa: S108 - what is made there belongs to us alone, which is checked
#: where a program may look for settings, and finds none
HOME = "home"


def folder_for(settings: RenderingSettings) -> Path:
    """Where private folders are made: as it was said, else in memory if that has room, else on the disk."""
    if settings.folders is not None:
        return Path(settings.folders).expanduser()
    room = 2 * settings.concurrency * settings.source_size
    try:
        status = os.statvfs(_MEMORY)
    except OSError:
        status = None
    if status is not None and status.f_bavail * status.f_frsize > room and os.access(_MEMORY, os.W_OK):
        return Path(_MEMORY) / f"trimtab-{os.geteuid()}"
    return Path(settings.cache).expanduser().with_name("private")


class PrivateFolders:
    """The folders of one process."""

    def __init__(self, parent: Path) -> None:
        self._own = parent / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._parent = parent
        self._count = 0

    def open(self) -> None:
        """Make our place, and remove those of processes that are gone."""
        try:
            self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_owner()
            self._own.mkdir(mode=0o700)
        except OSError as error:
            reason = f"programs cannot be given folders in {self._parent}: {error.strerror}"
            raise Unavailable("rendering", reason, "Mend its rights, or choose another folder") from error
        for abandoned in _abandoned(self._parent):
            shutil.rmtree(abandoned, ignore_errors=True)

    def _check_owner(self) -> None:
        """Whoever owns the folder above could swap what lies in ours."""
        status = self._parent.lstat()
        if status.st_uid != os.geteuid() or status.st_mode & 0o022 or not stat.S_ISDIR(status.st_mode):
            reason = f"{self._parent} could be written to by others"
            raise NotAllowed("rendering", reason, "Remove it, or choose another folder")

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self._own, ignore_errors=True)

    def next(self) -> Path:
        """A path for one more folder; whoever fills it makes it."""
        self._count += 1
        return self._own / str(self._count)


def _abandoned(parent: Path) -> Iterator[Path]:
    for folder in parent.iterdir():
        owner = folder.name.partition("-")[0]
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            yield folder


def fill(folder: Path, call: Call, trees: Mapping[str, Tree], job: Job) -> int:
    """Write the private copy that a call needs; the number of bytes in it."""
    left = job.bounds.bytes
    try:
        writer = _Writer(folder)
        for each in call.taken:
            content = trees[each.source].read(each.path)
            left -= len(content)
            if left < 0:
                reason = f"it is made of more than {job.bounds.bytes:,} bytes"
                raise SourceRefused(job.subject, reason, "Keep what does not belong to it elsewhere")
            writer.link(each.to, content) if each.link else writer.file(each.to, content)
        for to, content in call.made:
            writer.file(to, content)
    except OSError as error:
        reason = f"its private copy could not be written: {error.strerror}"
        raise Unavailable(job.subject, reason, "Make room on the disk") from error
    return job.bounds.bytes - left + sum(len(content) for _, content in call.made)


def under_one_roof(roof: Path, folders: Sequence[Path]) -> list[Path]:
    """Move private folders into one, which is made; where each of them is now."""
    places = [roof / str(number) for number in range(len(folders))]
    try:
        roof.mkdir(mode=0o700)
    except OSError as error:
        reason = f"programs cannot be given folders: {error.strerror}"
        raise Unavailable("rendering", reason, "Make room on the disk") from error
    for folder, place in zip(folders, places, strict=True):
        move(folder, place)
    return places


def move(folder: Path, to: Path) -> None:
    """Give a private folder another place; one that has gone meanwhile is missed by nobody."""
    with suppress(OSError):
        folder.rename(to)


class _Writer:
    """Writes below one folder that nobody else writes to."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._made: set[str] = set()
        self._make("")

    def file(self, to: str, content: bytes) -> None:
        """A regular file."""
        # O_EXCL opens no link: nothing is ever written through one.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self._place(to), flags, 0o600)
        try:
            os.write(file, content) if len(content) < 1 << 20 else _write_all(file, content)
        finally:
            os.close(file)

    def link(self, to: str, target: bytes) -> None:
        """A link that was proven to stay inside."""
        os.symlink(target, os.fsencode(self._place(to)))  # noqa: PTH211 - the target may be no text

    def _place(self, to: str) -> str:
        # Whoever gathers proves his paths; this is the last gate before the disk.
        if to.startswith("/") or (".." in to and ".." in to.split("/")):
            raise SourceRefused("the source", "a file of it leads out of its private copy", "Mend its path")
        self._make(to.rpartition("/")[0])
        return f"{self._folder}/{to}"

    def _make(self, folder: str) -> None:
        if folder not in self._made:
            os.makedirs(f"{self._folder}/{folder}", mode=0o700, exist_ok=True)  # noqa: PTH103 - quicker by half
            self._made.add(folder)


def _write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def remove(folder: Path) -> None:
    """Take a private folder away, whatever a program left in it."""
    with suppress(OSError):
        shutil.rmtree(folder, ignore_errors=True)

"""Renders kept on disk: sealed entries in a folder, within a budget, shared by any number of processes.

Two kinds of entries: `records` say for a question what was read when it was answered last, `results` hold
the answers. An entry appears whole or not at all, and one that does not open is removed. Nobody waits for
anybody: the worst that two processes can do to each other is to render the same thing twice.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from trimtab.errors import TrimtabError, Unavailable
from trimtab.files import read_file
from trimtab.resources.sealing import KEY_SIZE, NONCE_SIZE
from trimtab.sources.rendering.sealing import Seal

Shelf: TypeAlias = Literal["records", "results"]

LARGEST: Final = 512 << 20
_LARGEST_KEY: Final = 1 << 10
#: after a sweep the store is this full, so that not every write sweeps
_SWEPT: Final = 0.8
#: a sweep looks at every entry, so it is made only once in so many written bytes
_SWEEP_EVERY: Final = 0.1


class RenderStore:
    """The entries below one folder."""

    def __init__(self, folder: Path, key: bytes, budget: int) -> None:
        self._folder = folder
        self.seal = Seal(key)
        self._budget = budget
        self._unswept = 0

    def get(self, shelf: Shelf, name: str) -> bytes | None:
        """The content of an entry; None if there is none that opens."""
        path = self._path(shelf, name)
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        content = self.seal.opened(f"{shelf}/{name}", entry, LARGEST)
        with suppress(OSError):
            if content is None:
                path.unlink()
            else:
                os.utime(path)  # whoever is used stays
        return content

    def put(self, shelf: Shelf, name: str, content: bytes) -> None:
        """Keep an entry; a store that cannot be written keeps nothing and says so."""
        path = self._path(shelf, name)
        entry = self.seal.sealed(f"{shelf}/{name}", content, secrets.token_bytes(NONCE_SIZE))
        aside = path.with_name(f".{name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            self._place(aside, path, entry)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            reason = f"renders cannot be kept in {self._folder}: {error.strerror}"
            raise Unavailable(
                "the render store", reason, "Make room there, or choose another folder"
            ) from error
        self._unswept += len(entry)
        if self._unswept > self._budget * _SWEEP_EVERY:
            self.sweep()

    def _place(self, aside: Path, path: Path, entry: bytes) -> None:
        """Write aside, then move: whoever reads sees all of it or nothing."""
        try:
            _write_private(aside, entry)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_private(aside, entry)
        aside.replace(path)

    def sweep(self) -> None:
        """Remove what was not used for longest, until the budget is kept."""
        self._unswept = 0
        entries = sorted(self._entries())
        size = sum(each[1] for each in entries)
        for _, bytes_, path in entries if size > self._budget else ():
            if size <= self._budget * _SWEPT:
                return
            with suppress(OSError):
                path.unlink()
            size -= bytes_

    def _entries(self) -> Iterator[tuple[int, int, Path]]:
        """When each entry was used last, its size and its place; what is left of a killed writer, too."""
        for path in self._folder.glob("*/*/*"):
            with suppress(OSError):
                status = path.stat()
                yield status.st_mtime_ns, status.st_size, path

    def _path(self, shelf: Shelf, name: str) -> Path:
        return self._folder / shelf / name[:2] / name


def _write_private(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as opened:
        opened.write(content)


def _make_key(path: Path) -> None:
    """Have a file with a key, unless there is one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        return
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        _write_private(aside, secrets.token_bytes(KEY_SIZE))
        with suppress(FileExistsError):
            path.hardlink_to(aside)
    finally:
        aside.unlink(missing_ok=True)


def key_in(path: Path) -> bytes:
    """The key that a file holds; one is made if there is none. Processes that race get the same.

    Where no file can be made, the key is this process's own, and no other can use what it keeps.
    """
    try:
        _make_key(path)
    except OSError:
        return secrets.token_bytes(KEY_SIZE)
    try:
        key = read_file(path, subject="the render store", which=f"its key {path}", limit=_LARGEST_KEY)
    except TrimtabError as error:
        raise Unavailable(error.subject, error.reason, error.remedy) from error
    if len(key) != KEY_SIZE:
        raise Unavailable("the render store", f"{path} does not hold {KEY_SIZE} bytes", "Remove the file")
    return key

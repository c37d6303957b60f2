"""Reads a file that somebody named, within a bound.

A path may lead to a pipe that nobody fills, to a device without end, or to a file of gigabytes: whoever named
it is told so in one sentence. What the file says is judged by those who asked for it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from trimtab.errors import InvalidSpec, Missing, NotAllowed

_CREATE: Final = "Create the file or correct its path"
_PIECE: Final = 64 << 10
_ONLY_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class Unfit(Exception):
    """What lies at a path is nothing to read; as text it says why, after the name of the file."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


def content_of(path: Path, limit: int, *, links: bool = True) -> bytes:
    """All of a regular file of at most `limit` bytes; anything else is `Unfit`, as for `opened`."""
    with opened(path, links=links) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise _too_large(limit)
        return _bounded(file, limit)


@contextmanager
def opened(path: Path, *, links: bool = True) -> Iterator[BinaryIO]:
    """A regular file, to be read within the block; anything else is `Unfit`, and not waited for.

    Errors of the system are raised as they are, for those who have words of their own for them. Without
    `links`, one at the end of the path is such an error.
    """
    try:
        descriptor = os.open(path, _ONLY_READ if links else _ONLY_READ | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise _no_file() from error  # a socket
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _no_file()
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def pieces_of(file: BinaryIO, most: int) -> Iterator[bytes]:
    """At most so many bytes of a file: one reading takes memory for as much as it may give."""
    while most and (piece := file.read(min(most, _PIECE))):
        yield piece
        most -= len(piece)


def read_file(
    path: Path, *, subject: str, limit: int, which: str = "it", absent: str = _CREATE, pipes: bool = False
) -> bytes:
    """The content of a file of at most `limit` bytes; `which` names it in messages.

    `absent` is the remedy where there is none. A pipe in its place is refused at once, and read to its end
    where `pipes` are allowed.
    """
    try:
        return _content_of_any(path, limit) if pipes else content_of(path, limit)
    except Unfit as unfit:
        raise InvalidSpec(subject, f"{which} {unfit}", unfit.remedy) from unfit
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise Missing(subject, f"{which} does not exist", absent) from exc
    except PermissionError as exc:
        raise NotAllowed(subject, f"{which} may not be read", "Give this user the right to read it") from exc
    except OSError as exc:
        reason = f"{which} cannot be read: {exc.strerror or 'no reason given'}"
        raise InvalidSpec(subject, reason, "Name another file") from exc
    except ValueError as exc:  # a NUL character in the path
        raise InvalidSpec(subject, f"{which} is not a path", "Correct the path") from exc


def _content_of_any(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return _bounded(file, limit)


def _bounded(file: BinaryIO, limit: int) -> bytes:
    """All of a file, unless there is more of it than may be."""
    pieces = list(pieces_of(file, limit + 1))
    if sum(map(len, pieces)) > limit:
        raise _too_large(limit)
    return b"".join(pieces)


def _too_large(limit: int) -> Unfit:
    return Unfit(f"is larger than {_amount(limit)}", "Name another file")


def _no_file() -> Unfit:
    return Unfit("is not a regular file", "Name a file")


def _amount(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"

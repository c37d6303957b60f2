"""Reads a file that somebody named, within a bound.

A path may lead to a pipe that nobody fills, to a device without end, or to a file of gigabytes: whoever named
it is told so in one sentence. What the file says is judged by those who asked for it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from trimtab.errors import InvalidSpec, Missing, NotAllowed

_CREATE: Final = "Create the file or correct its path"


def read_file(
    path: Path, *, subject: str, limit: int, which: str = "it", absent: str = _CREATE, pipes: bool = False
) -> bytes:
    """The content of a file of at most `limit` bytes; `which` names it in messages.

    `absent` is the remedy where there is none. A pipe in its place is refused at once, and read to its end
    where `pipes` are allowed.
    """
    try:
        content = _content(path, limit + 1) if pipes else _regular_content(path, limit + 1)
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise Missing(subject, f"{which} does not exist", absent) from exc
    except PermissionError as exc:
        raise NotAllowed(subject, f"{which} may not be read", "Give this user the right to read it") from exc
    except OSError as exc:
        reason = f"{which} cannot be read: {exc.strerror or 'no reason given'}"
        raise InvalidSpec(subject, reason, "Name another file") from exc
    except ValueError as exc:  # a NUL character in the path
        raise InvalidSpec(subject, f"{which} is not a path", "Correct the path") from exc
    if content is None:
        raise InvalidSpec(subject, f"{which} is not a regular file", "Name a file")
    if len(content) > limit:
        raise InvalidSpec(subject, f"{which} is larger than {_amount(limit)}", "Name another file")
    return content


def _content(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _regular_content(path: Path, most: int) -> bytes | None:
    """The beginning of a regular file; None for anything else, which is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)


def _amount(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"

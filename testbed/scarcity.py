"""A machine that is short of something, for tests of what is left behind when nothing can be had."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import Unavailable

#: until then, `subprocess` itself left pipes open when it could not make all that it wanted
PIPES_ARE_CLOSED = sys.version_info >= (3, 11, 4)


def open_files() -> set[int]:
    """The numbers of the files that this process holds open."""
    listed = [int(each.name) for each in Path("/proc/self/fd").iterdir()]
    return {number for number in listed if _is_open(number)}  # all but the one that the looking took


@contextmanager
def files_left(count: int) -> Iterator[None]:
    """Let this process open so many files more."""
    held = open_files()
    free = (number for number in itertools.count() if number not in held)
    with _no_more(resource.RLIMIT_NOFILE, next(itertools.islice(free, count, None))):
        yield


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Have the machine refuse to write more, as a full disk does."""
    with _no_more(resource.RLIMIT_FSIZE, size):
        yield


@contextmanager
def _no_more(what: int, limit: int) -> Iterator[None]:
    """Let this process have so much of something, and as much as before afterwards."""
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))


async def failures_without_files(act: Callable[[], Awaitable[object]]) -> int:
    """Act with no file to open, with one, and so on until it works; how often it failed, leaving nothing."""
    for count in itertools.count():
        before = open_files()
        try:
            with files_left(count):
                await act()
        except Unavailable:
            await asyncio.sleep(0)  # what is closed by the loop is closed in its next turn
            await asyncio.sleep(0)
            if left := open_files() - before:
                raise AssertionError(f"{len(left)} files were left open") from None
        else:
            break
    return count


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True

"""The frames of a watch: one JSON document a line, cut anywhere by the network. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from trimtab.errors import TrimtabError
from trimtab.kube.cluster import EventType, WatchEvent
from trimtab.kube.failures import failure, status_in
from trimtab.kube.objects import object_from
from trimtab.kube.shallow import DEEPEST, shallow


class _Frame(Struct, frozen=True, gc=False):
    type: str
    object: Raw


_frame = msgspec.json.Decoder(_Frame)
_TYPES = {each.value: each for each in EventType}


class Lines:
    """Whole lines out of chunks that end anywhere; `rest` is what no newline has closed yet."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def rest(self) -> int:
        """How many bytes wait for their newline."""
        return self._size

    @property
    def overlong(self) -> bool:
        """Whether the line under way has passed the limit."""
        return self._size > self._limit

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes."""
        first, newline, following = chunk.partition(b"\n")
        if not newline:
            self._keep(first)
            return
        *whole, last = following.split(b"\n")
        yield b"".join((*self._parts, first))
        self._parts, self._size = [], 0
        yield from whole
        self._keep(last)

    def _keep(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._size += len(part)


def event_from(line: bytes, *, api_version: str, kind: str, subject: str) -> WatchEvent | TrimtabError:
    """The event in one line, or the error that the server reported in its place."""
    try:
        frame = _frame.decode(line)
    except RecursionError:
        frame = _frame.decode(shallow(line, DEEPEST + 1))
    if frame.type == "ERROR":
        return failure(subject, status_in(frame.object))
    return WatchEvent(_TYPES[frame.type], object_from(frame.object, api_version=api_version, kind=kind))

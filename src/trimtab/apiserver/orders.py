"""What is said on the socket between whoever starts a cluster and the process that serves it.

One line each way: what to serve, with the files that belong to it; then that it is served, or why not.
"""

from __future__ import annotations

import socket
from typing import Final

import msgspec
from msgspec import Struct

from trimtab import errors
from trimtab.apiserver.credentials import Credentials
from trimtab.errors import TrimtabError

_MOST_FILES: Final = 3
_A_PIECE: Final = 1 << 16


class Orders(Struct, frozen=True, kw_only=True):
    """What to serve, and where to say so."""

    folder: str
    kubeconfig: str
    port: int
    brisk: bool
    credentials: Credentials


class Files(Struct, frozen=True, kw_only=True):
    """What a process is handed: its log, the lock of whoever starts it, and its leash if it is on one."""

    log: int
    lock: int
    leash: int | None = None

    def listed(self) -> list[int]:
        """Their numbers, in the order they are sent in."""
        return [each for each in (self.log, self.lock, self.leash) if each is not None]


class Failure(Struct, frozen=True, kw_only=True):
    """Why nothing is served: an error of ours, or what the machine refused."""

    kind: str
    words: tuple[str | int | None, ...]


_ORDERS: Final = msgspec.json.Decoder(Orders)
_OUTCOME: Final = msgspec.json.Decoder(Failure | None)


def give(line: socket.socket, orders: Orders, files: Files) -> None:
    """Tell a process what to do."""
    socket.send_fds(line, [b" "], files.listed())
    _write(line, orders)


def take(line: socket.socket) -> tuple[Orders, Files] | None:
    """What this process is to do; None if nobody is left who wants anything."""
    _, numbers, _, _ = socket.recv_fds(line, 1, _MOST_FILES)
    content = _read(line)
    if not content:
        return None
    log, lock, *leash = numbers
    return _ORDERS.decode(content), Files(log=log, lock=lock, leash=leash[0] if leash else None)


def report(line: socket.socket, problem: TrimtabError | OSError | None) -> None:
    """Say that it is served, or why not; fails if whoever started this has been killed."""
    match problem:
        case None:
            _write(line, None)
        case TrimtabError():
            known = next(each for each in type(problem).mro() if each.__module__ == errors.__name__)
            _write(line, Failure(kind=known.__name__, words=problem.args))
        case OSError():
            words = (problem.errno, problem.strerror, problem.filename and str(problem.filename))
            _write(line, Failure(kind=OSError.__name__, words=words))


def await_report(line: socket.socket, limit: float) -> bool:
    """Wait until it is served, and raise what prevents it; whether anything was said at all."""
    line.settimeout(limit)
    try:
        content = _read(line)
    except (TimeoutError, ConnectionResetError):  # it has ended with something unread
        content = b""
    if not content:
        return False
    failure = _OUTCOME.decode(content)
    if failure is not None:
        kind = OSError if failure.kind == OSError.__name__ else getattr(errors, failure.kind)
        raise kind(*failure.words)
    return True


def _write(line: socket.socket, content: Struct | None) -> None:
    line.sendall(msgspec.json.encode(content) + b"\n")


def _read(line: socket.socket) -> bytes:
    """The next line; nothing if the other side has ended before the end of it."""
    pieces = bytearray()
    while not pieces.endswith(b"\n"):
        piece = line.recv(_A_PIECE)
        if not piece:
            return b""
        pieces += piece
    return bytes(pieces)

"""The inside of a worker process: take a function's name and a payload, answer with bytes, repeat.

It is started by `WorkerProcesses` and by nobody else. It speaks over a socket of its own; its standard
streams lead nowhere, so nothing that a function prints can reach the protocol or the owner's log. It dies
with its owner, and so does whatever its functions start, unless that leaves the process group. It leaves no
core dump, which could hold secrets.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import importlib
import io
import operator
import os
import resource
import select
import signal
import socket
import traceback
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from trimtab.tasks.wire import CHUNK, EXIT_OUT_OF_MEMORY, HEADER_SIZE, Tag, header, raised, read_header

_EXIT_ORPHANED: Final = 87
_PR_SET_PDEATHSIG: Final = 1

Function = Callable[[bytes], bytes]


def main(
    channel_fd: int, line_fd: int, other_line_fd: int, owner: int, memory_limit: int, module: str = ""
) -> NoReturn:
    """Serve the owner over the inherited socket until it hangs up; 0 means no limit on memory.

    The first job finds its functions sooner if their `module` is named.
    """
    _die_with(owner, (line_fd, other_line_fd))
    _limit(memory_limit)
    channel = socket.socket(fileno=channel_fd)
    # Functions may start programs, or fork; those must not hold the channel open, nor speak on it.
    channel.set_inheritable(False)
    os.register_at_fork(after_in_child=channel.close)
    if module:
        importlib.import_module(module)
    _silence()
    try:
        _serve(channel)
    except MemoryError:
        os._exit(EXIT_OUT_OF_MEMORY)
    os._exit(0)


def _die_with(owner: int, lifeline: tuple[int, int]) -> None:
    """Have the kernel kill this process and its group when its owner ends, however that happens.

    Two ways, for each has its gap. The signal at a parent's death reaches this process alone, not what it
    forks. The lifeline reaches the whole group, but not as long as a fork of the owner holds its other end.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for line in lifeline:
        fcntl.fcntl(line, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(line, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(line, fcntl.F_SETFL, fcntl.fcntl(line, fcntl.F_GETFL) | os.O_ASYNC)
        os.set_inheritable(line, False)
    cut = bool(select.select(lifeline, [], [], 0)[0])
    if cut or os.getppid() != owner:  # it ended before we asked
        os._exit(_EXIT_ORPHANED)


def _limit(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _silence() -> None:
    """Lead the standard streams nowhere; up to here, the owner could read what went wrong."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _serve(channel: socket.socket) -> None:
    _send(channel, Tag.READY, b"")
    while (call := _receive_call(channel)) is not None:
        tag, name, payload = call
        if tag is Tag.HINT:
            _heed(name, payload)
        else:
            _answer(channel, name, payload)


def _heed(name: str, payload: bytes) -> None:
    """Do what may be of use to later jobs; should it fail, the job that needed it meets the same trouble."""
    try:
        _called(name, payload)
    except MemoryError:
        raise
    except BaseException:  # noqa: BLE001, S110 - nobody hears of it
        pass


def _answer(channel: socket.socket, name: str, payload: bytes) -> None:
    try:
        result = _called(name, payload)
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a function raises is its answer, SystemExit too
        told = raised(error, traceback.format_exc())
        _send(channel, Tag.RAISED, msgspec.json.encode(told))
    else:
        _send(channel, Tag.RETURNED, result)


def _called(name: str, payload: bytes) -> bytes:
    result = _function(name)(payload)
    if not isinstance(result, bytes):
        raise TypeError(f"it returned {type(result).__name__}, not bytes")
    return result


@functools.cache
def _function(name: str) -> Function:
    module, _, attribute = name.partition(":")
    found: Function = operator.attrgetter(attribute)(importlib.import_module(module))
    return found


def _receive_call(channel: socket.socket) -> tuple[Tag, str, bytes] | None:
    """What is asked, the function's name and its payload; None when the owner has hung up."""
    asked = _receive(channel)
    argument = None if asked is None else _receive(channel)
    return None if asked is None or argument is None else (asked[0], asked[1].decode(), argument[1])


def _receive(channel: socket.socket) -> tuple[Tag, bytes] | None:
    packed = _receive_exactly(channel, HEADER_SIZE)
    if packed is None:
        return None
    tag, length = read_header(packed)
    body = _receive_exactly(channel, length)
    return None if body is None else (tag, body)


def _receive_exactly(channel: socket.socket, length: int) -> bytes | None:
    """So many bytes; None when the owner hangs up before."""
    received = io.BytesIO()  # gives its bytes away without copying them
    while received.tell() < length:
        chunk = channel.recv(min(length - received.tell(), CHUNK))
        if not chunk:
            return None
        received.write(chunk)
    return received.getvalue()


def _send(channel: socket.socket, tag: Tag, body: bytes) -> None:
    view = memoryview(body)
    # All that is small goes at once: the owner is woken by every piece.
    channel.sendall(header(tag, len(body)) + view[:CHUNK])
    if len(body) > CHUNK:
        channel.sendall(view[CHUNK:])

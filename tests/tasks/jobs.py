"""Functions for worker processes to run: some well behaved, most not."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

from trimtab.errors import RenderFailed


def shout(payload: bytes) -> bytes:
    return payload.upper()


def pid(_: bytes) -> bytes:
    return str(os.getpid()).encode()


_REMEMBERED: list[bytes] = []


def remember(payload: bytes) -> bytes:
    _REMEMBERED.append(payload)
    return b""


def recall(_: bytes) -> bytes:
    return b"".join(_REMEMBERED)


def reverse(payload: bytes) -> bytes:
    return payload[::-1]


def zeros(payload: bytes) -> bytes:
    return bytes(int(payload))


def fill_memory(_: bytes) -> bytes:
    kept = []
    while True:
        kept.append(bytes(50_000_000))


def leave(_: bytes) -> bytes:
    os._exit(3)


def segfault(_: bytes) -> bytes:
    ctypes.string_at(0)
    return b"unreachable"


def be_killed(_: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b"unreachable"


def close_everything(_: bytes) -> bytes:
    os.closerange(0, 1000)
    signal.pause()
    return b"unreachable"


def stumble(payload: bytes) -> bytes:
    raise KeyError(payload.decode())


def exit_politely(_: bytes) -> bytes:
    sys.exit("bye")


def refuse(_: bytes) -> bytes:
    raise RenderFailed("chart web", "it has no name", "Name it")


def wrong_type(_: bytes) -> bytes:
    words: object = "text"
    return words  # type: ignore[return-value]  # the mistake that the worker must notice


def chatter(payload: bytes) -> bytes:
    print("hello" * 10_000)  # noqa: T201 - the noise is the point
    print("hello", file=sys.stderr)  # noqa: T201 - the noise is the point
    os.write(1, b"\x04" * 100_000)
    subprocess.run(["/bin/echo", "hello"], check=True)
    return sys.stdin.buffer.read() + payload


def environment(_: bytes) -> bytes:
    return "\n".join(f"{name}={value}" for name, value in os.environ.items()).encode()  # noqa: TID251 - asked


def tell_and_hang(payload: bytes) -> bytes:
    """Write our pid into the named FIFO, then stay busy for ever."""
    Path(payload.decode()).write_text(str(os.getpid()))
    while True:
        pass


def tell_with_child_and_hang(payload: bytes) -> bytes:
    """Start a program, write its pid into the named FIFO, then wait for ever."""
    with subprocess.Popen(["/bin/sleep", "1000"]) as child:
        Path(payload.decode()).write_text(str(child.pid))
        signal.pause()
    return b"unreachable"


def tell_with_child_and_leave(payload: bytes) -> bytes:
    """Start a program, write its pid into the named FIFO, then crash."""
    child = subprocess.Popen(["/bin/sleep", "1000"])
    Path(payload.decode()).write_text(str(child.pid))
    os._exit(3)


def tell_with_fork_and_hang(payload: bytes) -> bytes:
    """Fork a process that spins, write its pid into the named FIFO, then wait for ever."""
    Path(payload.decode()).write_text(str(_spinning()))
    signal.pause()
    return b"unreachable"


def _spinning() -> int:
    """The pid of a fork of ours that stays busy for ever."""
    child = os.fork()
    while child == 0:
        pass
    return child


def tell_with_fork_and_leave(payload: bytes) -> bytes:
    """Fork a process that spins, write its pid into the named FIFO, then crash."""
    Path(payload.decode()).write_text(str(_spinning()))
    os._exit(3)


def tell_and_wait(payload: bytes) -> bytes:
    """Write our pid into one FIFO, answer when somebody writes into the other."""
    told, awaited = payload.decode().split("\n")
    Path(told).write_text(str(os.getpid()))
    return Path(awaited).read_bytes()

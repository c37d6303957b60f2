"""Calls of the command, each in a fork of one process that has imported everything.

A call is as much a process of its own as any: its environment, its limits, its terminal, its end. It only
saves what a hundred calls would spend on starting an interpreter. Run as a program, this answers one question
a line, as JSON, until its standard input ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import io
import os
import pkgutil
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec
from msgspec import Struct

ROOT = Path(__file__).parents[2]


class Call(Struct, frozen=True, kw_only=True):
    """One call of the command, and what its surroundings are like."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    #: a disk of its own for the home: one without any room, or one that cannot be written to
    disk: Literal["", "full", "read-only"] = ""
    #: the width of the terminal that it runs in; none: it runs in a pipe
    columns: int | None = None
    #: what its output is written in
    encoding: str = "utf-8"
    #: where its output goes instead
    output: str = ""
    #: somebody presses Ctrl-C when it has said this
    until: str = ""
    #: so many seconds are waited for that: then it is killed, and what was not said is told
    patience: float = 90
    #: the file that says which process it is, for whoever wants to kill it
    pid: str = ""
    #: kill -9 takes it, and all that it started, before the n-th thing that it asks of the machine
    dies_before: int = 0
    #: the file that counts what it asked of the machine
    asked: str = ""


class Heard(Struct, frozen=True, kw_only=True):
    """How a call ended, and what it said; in a terminal all of it is `out`."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed for programs."""
        return msgspec.json.decode(self.out)


class Caller:
    """Asks for calls, one at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.features.calling"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def call(self, call: Call) -> Heard:
        """Make a call and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(call) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Heard)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


# --- the other side -------------------------------------------------------------------------------------


def answer_for_ever() -> None:
    """Answer calls until nobody asks any more."""
    _import_everything()
    for line in sys.stdin.buffer:
        heard = _made(msgspec.json.decode(line, type=Call))
        sys.stdout.buffer.write(msgspec.json.encode(heard) + b"\n")
        sys.stdout.buffer.flush()


def _import_everything() -> None:
    import trimtab

    for module in pkgutil.walk_packages(trimtab.__path__, "trimtab."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _made(call: Call) -> Heard:
    (out, its_out), (err, its_err) = _ways(call), os.pipe()
    child = os.fork()
    if child == 0:
        _live(call, its_out, its_err)
    os.close(its_out)
    os.close(its_err)
    said = _read_both(out, err, child, call)
    _, status = os.waitpid(child, 0)
    return Heard(code=os.waitstatus_to_exitcode(status), out=said[out], err=said[err])


def _ways(call: Call) -> tuple[int, int]:
    """Where the call's output is read, and where it is written."""
    if call.columns is None:
        return os.pipe()
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, call.columns, 0, 0))
    return ours, its


def _read_both(out: int, err: int, child: int, call: Call) -> dict[int, str]:
    said = {out: b"", err: b""}
    left, until, deadline = [out, err], call.until.encode(), time.monotonic() + call.patience
    while left:
        ready = select.select(left, [], [], max(0, deadline - time.monotonic()) if until else None)[0]
        if until and time.monotonic() >= deadline:
            os.kill(child, signal.SIGKILL)
            said[err] += f"\nKilled: it did not say {call.until!r} within {call.patience:g} s.\n".encode()
            break
        for file in ready:
            read = b""
            with suppress(OSError):  # a terminal whose last writer is gone
                read = os.read(file, 65536)
            said[file] += read
            if not read:
                left.remove(file)
            if until and until in said[file]:
                os.kill(child, signal.SIGINT)
                until = b""
    for file in said:
        os.close(file)
    return {file: text.decode("utf-8", "backslashreplace") for file, text in said.items()}


def _live(call: Call, out: int, err: int) -> NoReturn:
    """Be the process that was called."""
    code = 1
    try:
        _settle(call, out, err)
        from trimtab.interfaces.cli.entry import run_process

        code = run_process()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - whatever it is, the fork ends here
        traceback.print_exc(file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def _settle(call: Call, out: int, err: int) -> None:
    if call.pid:
        os.setpgid(0, 0)  # what it starts dies with it
        Path(call.pid).write_text(str(os.getpid()))
    target = os.open(call.output, os.O_WRONLY) if call.output else out
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(target, 1)
    os.dup2(out if call.columns is not None else err, 2)
    hear = _mortal(call) if call.asked else None
    said = io.FileIO(1, "w") if hear is None else Telling(hear)
    sys.stdout = io.TextIOWrapper(said, encoding=call.encoding, errors="strict")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding=call.encoding, errors="backslashreplace")
    sys.argv = ["trimtab", *call.arguments]
    os.environ.clear()  # noqa: TID251 - the process that is called begins here
    os.environ.update(call.environment)  # noqa: TID251 - likewise
    os.chdir(call.folder)
    if call.disk:
        mount(Path(call.environment["HOME"]), call.disk)
    if hear is not None:
        sys.addaudithook(hear)


#: what Python tells of before it does it: files, processes, signals and connections; and what is said
_ASKING = frozenset({"say", "open", "socket.connect", "subprocess.Popen", "os.posix_spawn", "os.kill"})
_ASKING_BY = ("os.mkdir", "os.re", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate", "fcntl.")


class Telling(io.FileIO):
    """Standard output, of which somebody hears."""

    def __init__(self, hear: Callable[[str, tuple[Any, ...]], None]) -> None:
        super().__init__(1, "w")
        self._hear = hear

    def write(self, text: Any) -> int:
        """Say something."""
        self._hear("say", ())
        return super().write(text)


def _mortal(call: Call) -> Callable[[str, tuple[Any, ...]], None]:
    """A hook that counts, and kills when it is time."""
    counter = os.open(call.asked, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    asked = 0

    def hear(event: str, _values: tuple[Any, ...]) -> None:
        nonlocal asked
        if event in _ASKING or event.startswith(_ASKING_BY):
            asked += 1
            os.pwrite(counter, str(asked).encode(), 0)
            if asked == call.dies_before:
                signal.raise_signal(signal.SIGKILL)

    return hear


# --- disks ----------------------------------------------------------------------------------------------

_NEW_MOUNTS, _NEW_USER = 0x0002_0000, 0x1000_0000
_READ_ONLY, _REMOUNT, _RECURSIVE, _PRIVATE = 1, 32, 0x4000, 0x4_0000
_LIBRARY = ctypes.CDLL(None, use_errno=True)


def mount(folder: Path, disk: str) -> None:
    """Have this process see a small disk of that kind in place of a folder, and nobody else."""
    user, group = os.getuid(), os.getgid()
    if user == 0:
        _checked(_LIBRARY.unshare(_NEW_MOUNTS))
    else:
        _checked(_LIBRARY.unshare(_NEW_MOUNTS | _NEW_USER))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _checked(_LIBRARY.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    place = os.fsencode(folder)
    _checked(_LIBRARY.mount(b"tmpfs", place, b"tmpfs", 0, b"size=64k,mode=700"))
    if disk == "read-only":
        _checked(_LIBRARY.mount(b"tmpfs", place, b"tmpfs", _REMOUNT | _READ_ONLY, None))
    else:
        with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
            while filler.write(b"-" * 4096):
                continue


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "no disk can be mounted here")


def disks_can_be_mounted() -> bool:
    """Whether this machine lets us have disks of our own: as root, or with namespaces of users."""
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            mount(Path("/tmp"), "read-only")
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    answer_for_ever()

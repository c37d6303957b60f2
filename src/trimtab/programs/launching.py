"""Starting launchers: each an interpreter of its own, or forked from one that waits for orders.

Whoever runs many programs keeps a `Launches` open: an interpreter that has loaded the launcher once and forks
it for each order, which costs far less. It holds nothing of ours, sees no environment, ends with its owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from trimtab.errors import Unavailable
from trimtab.programs import handover
from trimtab.programs.handover import Order

LAUNCHER = Path(__file__).with_name("launch.py")
_MOMENT = 5.0


class Launcher(Protocol):
    """A launcher at work, as its owner sees it."""

    @property
    def pid(self) -> int:
        """Its process, which leads a group of its own."""

    @property
    def stdin(self) -> asyncio.StreamWriter | None:
        """What the program reads."""

    @property
    def stdout(self) -> asyncio.StreamReader | None:
        """What the program says."""

    @property
    def stderr(self) -> asyncio.StreamReader | None:
        """What the program says beside."""

    async def wait(self) -> int:
        """Return when it has ended."""

    def close(self) -> None:
        """Let go of the streams; it has ended."""


class Spawned:
    """A launcher that is an interpreter of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.pid = process.pid
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = process.stderr
        self.wait = process.wait

    def close(self) -> None:
        """Nothing: asyncio has let go of the streams."""


async def spawned(order: Order, files: tuple[int, int, int], *, with_stdin: bool) -> Launcher:
    """Start an interpreter that carries out one order."""
    os.pwrite(files[1], handover.written(order, os.getpid()), 0)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", str(LAUNCHER)),
        *map(str, files),
        stdin=asyncio.subprocess.PIPE if with_stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={},
        start_new_session=True,
        pass_fds=files,
    )
    return Spawned(process)


class Start(Protocol):
    """Starts a launcher; the files are control, order and report."""

    async def __call__(self, order: Order, files: tuple[int, int, int], *, with_stdin: bool) -> Launcher:
        """Write the order, and start a launcher for it."""


class Launches:
    """Forks launchers; entered or not, it is opened when the first is started; leave it to end it."""

    def __init__(self) -> None:
        self._channel: socket.socket | None = None
        self._server: asyncio.subprocess.Process | None = None
        self._opening: asyncio.Event | None = None

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    @property
    def pid(self) -> int:
        """The process that forks; 0 if there is none."""
        return self._server.pid if self._server is not None else 0

    async def start(self, order: Order, files: tuple[int, int, int], *, with_stdin: bool) -> Launcher:
        """Have a launcher forked; one that died in the meantime is replaced first."""
        while self._opening is not None:
            await self._opening.wait()
        if self._server is None or self._server.returncode is not None:
            await self._open_anew()
        assert self._channel is not None  # noqa: S101 - opened above
        assert self._server is not None  # noqa: S101 - opened above
        os.pwrite(files[1], handover.written(_at_home(order), self._server.pid), 0)
        return await _Forked.started(self._channel, files, with_stdin=with_stdin)

    async def _open_anew(self) -> None:
        """Open it for all who ask meanwhile, too."""
        self._opening = opened = asyncio.Event()
        try:
            await self._close()
            await self._open()
        finally:
            self._opening = None
            opened.set()

    async def _open(self) -> None:
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with contextlib.ExitStack() as undone, theirs:
                undone.callback(ours.close)
                self._server = await _serving(theirs.fileno())
                undone.pop_all()
        except OSError as error:
            raise _no_server(error) from error
        self._channel = ours

    async def _close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._server is not None:
            # It holds nothing, and launchers end by themselves without it. Not by its own `kill`: that looks
            # first whether the process has ended, and then asyncio's own look finds nobody.
            if self._server.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._server.pid, signal.SIGKILL)
            await self._server.wait()


async def _serving(channel: int) -> asyncio.subprocess.Process:
    """Start an interpreter that forks a launcher for each order on the channel."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", str(LAUNCHER), "serve", str(channel)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        start_new_session=True,
        pass_fds=(channel,),
    )


def _no_server(error: OSError) -> Unavailable:
    return Unavailable("the launch server", f"programs cannot be started: {error.strerror}", "Try again")


def _at_home(order: Order) -> Order:
    """The order with its folder spelled out: the server stands where its owner once stood."""
    if order.folder:
        return order
    return handover.with_folder(order, str(Path.cwd()))


async def _gone(pid: int) -> None:
    """Return when a process has ended; an error if it has ended already."""
    if not pid:
        return
    process, ended, loop = os.pidfd_open(pid), asyncio.Event(), asyncio.get_running_loop()
    try:
        loop.add_reader(process, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(process)
        os.close(process)


class _Forked:
    """A launcher that was forked; a pipe that it holds open says when it has ended."""

    def __init__(self, report: int) -> None:
        self._report = report
        self._ended = asyncio.StreamReader()
        self._transports: list[asyncio.BaseTransport] = []
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None

    @classmethod
    async def started(
        cls, channel: socket.socket, files: tuple[int, int, int], *, with_stdin: bool
    ) -> _Forked:
        """Hand the order over with the ends of new pipes."""
        self = cls(files[2])
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as undone:
            undone.callback(self.close)
            stdin = await self._input(theirs, with_stdin=with_stdin)
            self._ended, alive = await self._stream(theirs)
            self.stdout, stdout = await self._stream(theirs)
            self.stderr, stderr = await self._stream(theirs)
            try:
                socket.send_fds(channel, [b"o"], [*files, alive, stdin, stdout, stderr])
            except OSError as error:
                raise _no_server(error) from error
            undone.pop_all()
        return self

    async def _input(self, theirs: contextlib.ExitStack, *, with_stdin: bool) -> int:
        if not with_stdin:
            nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            theirs.callback(os.close, nothing)
            return nothing
        read, write = os.pipe()
        theirs.callback(os.close, read)
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(write, "wb", 0)
        )
        self._transports.append(transport)
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        return read

    async def _stream(self, theirs: contextlib.ExitStack) -> tuple[asyncio.StreamReader, int]:
        """What comes out of a new pipe, and the end to write into."""
        read, write = os.pipe()
        theirs.callback(os.close, write)
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", 0)
        )
        self._transports.append(transport)
        return reader, write

    @property
    def pid(self) -> int:
        """As the launcher itself says in its report; nobody, if it never came so far."""
        return handover.launcher_in(os.pread(self._report, 4096, 0))

    async def wait(self) -> int:
        """Return when the launcher has ended: nobody else holds that pipe open."""
        await self._ended.read()
        with contextlib.suppress(OSError, TimeoutError):
            # It lets go of its files a moment before it is gone. Nobody can be sure of a number for longer.
            async with asyncio.timeout(_MOMENT):
                await _gone(self.pid)
        return 0

    def close(self) -> None:
        """Close our ends of the pipes."""
        for transport in self._transports:
            transport.close()

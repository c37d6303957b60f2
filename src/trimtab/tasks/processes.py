"""Worker processes for pure functions that would keep the event loop busy: bytes in, bytes out.

A worker is a fresh interpreter that speaks length-prefixed frames over a socket pair. It is not a child of
`multiprocessing` or `concurrent.futures`: a forked child of a process with threads may hang, those pools
break as a whole when one worker dies, cannot kill one job, and unpickle what a worker sends. Here a worker
can be killed at any time and takes nothing with it but its own job.

Not here: fairness between tenants (callers are keyed workers, which are fair), and outside programs.
"""

from __future__ import annotations

import asyncio
import fcntl
import io
import operator
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.errors import Unavailable, UserError
from trimtab.resources.counting import counted
from trimtab.tasks.clock import Clock, SystemClock
from trimtab.tasks.deadlines import DeadlinePassed, time_limit
from trimtab.tasks.wire import (
    CHUNK,
    EXIT_OUT_OF_MEMORY,
    HEADER_SIZE,
    Raised,
    Tag,
    error_of,
    framed,
    header,
    read_header,
)

Function: TypeAlias = Callable[[bytes], bytes]

# The worker gets the owner's import path, so it finds what the owner finds, however the owner was started.
_BOOT: Final = (
    "import sys; sys.path[:] = sys.argv[7:]; "
    "from trimtab.tasks.worker import main; main(*map(int, sys.argv[1:6]), sys.argv[6])"
)
_RAISED: Final = msgspec.json.Decoder(Raised)


class WorkerCrashed(Unavailable):
    """A worker process ended in the middle of its job.

    Often that is the machine's doing (memory ran out, somebody killed it), and then the same job works later.
    When the job itself kills every worker, backoff bounds what that costs.
    """


class WorkersBusy(Unavailable):
    """No worker process became free in time; the same job may find one later."""


class ResultTooLarge(UserError):
    """A job's result is larger than allowed; the function is pure, so only another input changes that."""


class PoolPolicy(Struct, frozen=True, kw_only=True):
    """How many workers there are and what they may use."""

    #: jobs under way at once
    size: int
    #: give up waiting for a free worker after this long; the job's own deadline counts from its start
    patience: timedelta = timedelta(minutes=5)
    #: a worker that has not started by then is taken for dead
    start_limit: timedelta = timedelta(seconds=30)
    #: a worker is replaced after this many jobs, which bounds what leaks can add up to
    jobs_per_worker: int = 1000
    #: bytes of address space a worker may use; None is no limit
    memory_limit: int | None = None
    #: bytes a result may have
    largest_result: int = 256 * 1024 * 1024
    #: the whole environment of the workers: ours may hold secrets
    environment: Mapping[str, str] = {}
    #: the module that jobs come from, which a worker imports before it says that it is ready
    module: str = ""

    def __post_init__(self) -> None:
        if self.size < 1 or self.jobs_per_worker < 1:
            raise ValueError("size and jobs_per_worker must be at least 1")


class Hint(NamedTuple):
    """Something to do beforehand: a function by its reference, which need not be imported here."""

    function: str
    #: small enough to wait in a socket
    payload: bytes


class WorkerReport(Struct, frozen=True, kw_only=True):
    """One worker process: how many jobs it has done, and what it does now since when."""

    pid: int
    jobs_done: int
    job: str  # empty when idle
    since: datetime


class PoolSnapshot(Struct, frozen=True, kw_only=True):
    """The pool at one moment: jobs that wait for a worker, and the workers."""

    queued: int
    workers: tuple[WorkerReport, ...]


class WorkerProcesses:
    """A pool of worker processes; enter it to use it, leave it to end them all.

    Workers start when first needed and are replaced when needed again.
    """

    def __init__(self, policy: PoolPolicy, *, clock: Clock | None = None) -> None:
        self._policy = policy
        self._clock = clock or SystemClock()
        self._slots = [_Slot(self._clock.now()) for _ in range(policy.size)]
        # Last in, first out: the worker that is warm gets the job, and spare ones are not even started.
        self._free: asyncio.LifoQueue[_Slot] = asyncio.LifoQueue()
        for slot in self._slots:
            self._free.put_nowait(slot)
        self._leaving: list[_Worker] = []
        self._queued = 0
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def run(self, function: Function, payload: bytes, *, deadline: timedelta) -> bytes:
        """The function's result for the payload, from a worker process.

        Waiting for a free worker is bounded by the pool's patience (`WorkersBusy`), the run itself by the
        deadline (`DeadlinePassed`, and the worker is killed). A worker that dies is `WorkerCrashed`. A
        `TrimtabError` that the function raises comes back as its nearest class in `trimtab.errors`, any other
        exception as `JobRaised`. Cancelling the caller kills the worker.
        """
        name = reference_of(function)
        slot = await self._free_slot(name)
        try:
            answer = await self._answer(slot, name, payload, deadline)
        except BaseException:
            self._dismiss(slot)
            raise
        finally:
            slot.rest(self._clock.now())
            self._free.put_nowait(slot)
        if isinstance(answer, Raised):
            raise error_of(answer, name)
        return answer

    async def hire(self, hint: Hint | None = None) -> None:
        """Have a worker process start now, rather than when the first job comes; nobody waits for it here.

        What it is hinted at it does at once, for the sake of the first job; nobody hears how that ends.
        """
        slot = await self._free_slot("a worker process")
        try:
            if slot.worker is None:
                slot.worker = await _hire(self._policy, hint)
            if self._closed:  # while the worker started
                self._dismiss(slot)
        finally:
            self._free.put_nowait(slot)

    def snapshot(self) -> PoolSnapshot:
        """How many jobs wait, and what each worker does."""
        reports = (slot.report() for slot in self._slots)
        return PoolSnapshot(queued=self._queued, workers=tuple(filter(None, reports)))

    async def close(self) -> None:
        """Kill every worker and wait until all are gone; jobs under way and waiting fail as `Unavailable`."""
        self._closed = True
        for slot in self._slots:
            self._dismiss(slot)
        while self._leaving:
            await self._leaving.pop().gone()

    async def _free_slot(self, name: str) -> _Slot:
        slot: _Slot | None = None
        self._queued += 1
        try:
            async with time_limit(self._policy.patience, clock=self._clock, subject=name):
                slot = await self._free.get()
        except BaseException as error:
            if slot is not None:  # it came at the last moment
                self._free.put_nowait(slot)
            if isinstance(error, DeadlinePassed):
                raise _busy(name, self._policy) from error
            raise
        finally:
            self._queued -= 1
        if self._closed:
            self._free.put_nowait(slot)
            raise _closed(name)
        return slot

    async def _answer(self, slot: _Slot, name: str, payload: bytes, deadline: timedelta) -> bytes | Raised:
        try:
            worker = await self._worker_in(slot)
            if self._closed:  # while the worker started
                raise _closed(name)
            slot.begin(name, self._clock.now())
            async with time_limit(deadline, clock=self._clock, subject=f"job {name}"):
                answer = await worker.call(name, payload)
        except WorkerCrashed as crash:
            if self._closed:
                raise _closed(name) from crash
            raise
        if worker.jobs_done >= self._policy.jobs_per_worker:
            self._dismiss(slot)
        return answer

    async def _worker_in(self, slot: _Slot) -> _Worker:
        if slot.worker is None or not slot.worker.is_usable():
            self._dismiss(slot)
            slot.worker = await _hire(self._policy)
        if not slot.worker.is_ready:
            async with time_limit(self._policy.start_limit, clock=self._clock, subject="a worker process"):
                await slot.worker.greet()
        return slot.worker

    def _dismiss(self, slot: _Slot) -> None:
        """Kill the slot's worker, if there is one; the kernel and `close` see to the rest."""
        self._leaving = [worker for worker in self._leaving if worker.is_alive()]
        if slot.worker is not None:
            slot.worker.kill()
            self._leaving.append(slot.worker)
            slot.worker = None


class _Slot:
    """A place for one worker process, which may be empty."""

    def __init__(self, now: datetime) -> None:
        self.worker: _Worker | None = None
        self._job = ""
        self._since = now

    def begin(self, job: str, now: datetime) -> None:
        self._job, self._since = job, now

    def rest(self, now: datetime) -> None:
        self._job, self._since = "", now

    def report(self) -> WorkerReport | None:
        if self.worker is None:
            return None
        return WorkerReport(
            pid=self.worker.pid, jobs_done=self.worker.jobs_done, job=self._job, since=self._since
        )


class _Lifeline:
    """Pipes that nobody writes to. When a writing end closes, the kernel kills the group of the worker.

    That happens when the line is cut and when we die, in whatever way. It reaches everything that the worker
    has started and that did not leave its group, even after the worker itself: the worker asks the kernel for
    it on the reading ends, and we keep those open, too. Where a reading end is closed before the writing end,
    nothing happens. A process that ends closes its files by their numbers, up or down as the kernel likes:
    so one pipe has its writing end above the other end, and one below.
    """

    def __init__(self) -> None:
        with ExitStack() as undone:
            above, below = _pipe(undone), _pipe(undone)
            higher = fcntl.fcntl(below[0], fcntl.F_DUPFD_CLOEXEC, below[1] + 1)
            undone.pop_all()
        os.close(below[0])
        self.reading = above[0], higher
        self._ends = [above[1], below[1], *self.reading]

    def cut(self) -> None:
        """Kill the group, if it is still there."""
        while self._ends:
            os.close(self._ends.pop(0))


def _pipe(undone: ExitStack) -> tuple[int, int]:
    """A pipe that is closed should the rest not come about."""
    ends = os.pipe()
    for end in ends:
        undone.callback(os.close, end)
    return ends


class _Worker:
    """One worker process, the socket to it, and its life."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lifeline: _Lifeline,
        largest_result: int,
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        self._reader = reader
        self._writer = writer
        self._largest_result = largest_result
        self.pid = process.pid
        self.is_ready = False
        self.jobs_done = 0

    def is_alive(self) -> bool:
        return self._process.returncode is None

    def is_usable(self) -> bool:
        return self.is_alive() and not self._reader.at_eof()

    async def greet(self) -> None:
        """Wait until it has started; if it cannot, say what it said about that."""
        try:
            await self._receive("a worker process")
        except (ConnectionError, asyncio.IncompleteReadError) as gone:
            self.kill()
            crash = WorkerCrashed("a worker process", f"it {_end(await self.gone())} before it was ready")
            if self._process.stderr is not None:
                crash.add_note((await self._process.stderr.read()).decode(errors="replace"))
            raise crash from gone
        self.is_ready = True

    async def call(self, name: str, payload: bytes) -> bytes | Raised:
        """Have it run the function; ConnectionError and its like become WorkerCrashed."""
        try:
            await self._send(framed(Tag.FUNCTION, name.encode()), payload)
            tag, body = await self._receive(name)
        except (ConnectionError, asyncio.IncompleteReadError) as gone:
            raise await self._crash(name) from gone
        self.jobs_done += 1
        return body if tag is Tag.RETURNED else _RAISED.decode(body)

    def kill(self) -> None:
        """End it and whatever it started, now."""
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)  # it leads a process group of its own
        self._lifeline.cut()
        self._writer.transport.abort()

    async def gone(self) -> int:
        """Wait until it has ended; its exit status."""
        return await self._process.wait()

    async def _send(self, function: bytes, payload: bytes) -> None:
        """Send in pieces, with a look at the rest of the event loop after each.

        All that is small goes at once: a worker that is woken by a name alone only goes to sleep again.
        """
        view = memoryview(payload)
        self._writer.write(function + header(Tag.PAYLOAD, len(payload)) + view[:CHUNK])
        for start in range(CHUNK, len(payload), CHUNK):
            self._writer.write(view[start : start + CHUNK])
            await self._writer.drain()
            await asyncio.sleep(0)
        await self._writer.drain()

    async def _receive(self, name: str) -> tuple[Tag, bytes]:
        tag, length = read_header(await self._reader.readexactly(HEADER_SIZE))
        if length > self._largest_result:
            raise ResultTooLarge(
                f"job {name}",
                f"its result has {length} bytes and may have {self._largest_result}",
                "Split the input or allow larger results",
            )
        received = io.BytesIO()  # gives its bytes away without copying them
        while received.tell() < length:
            chunk = await self._reader.read(min(length - received.tell(), CHUNK))
            if not chunk:
                raise asyncio.IncompleteReadError(b"", length - received.tell())
            received.write(chunk)
        return tag, received.getvalue()

    async def _crash(self, name: str) -> WorkerCrashed:
        """The error that tells how it ended."""
        self.kill()  # it may have closed its end and live on
        return WorkerCrashed(
            f"job {name}",
            f"its worker process {_end(await self.gone())}",
            "It may work on another try; if it never does, look at what is special in its input",
        )


async def _hire(policy: PoolPolicy, hint: Hint | None = None) -> _Worker:
    """Start a worker process; it has yet to be greeted."""
    try:
        return await _started(policy, hint)
    except OSError as error:
        raise WorkerCrashed("a worker process", f"it could not be started: {error}") from error


def _close(channel: socket.socket) -> None:
    with suppress(OSError):  # uvloop has closed it, if it was cancelled while connecting
        channel.close()


async def _started(policy: PoolPolicy, hint: Hint | None) -> _Worker:
    with ExitStack() as undone:
        lifeline = _Lifeline()
        undone.callback(lifeline.cut)
        ours, theirs = socket.socketpair()
        undone.callback(_close, ours)
        if hint is not None:  # it waits in the socket: this process may be busy when the other is ready
            ours.sendall(framed(Tag.HINT, hint.function.encode()) + framed(Tag.PAYLOAD, hint.payload))
        with theirs:
            reader, writer = await asyncio.open_connection(sock=ours, limit=CHUNK)
            undone.callback(writer.transport.abort)
            numbers = (theirs.fileno(), *lifeline.reading, os.getpid(), policy.memory_limit or 0)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-X", "utf8", "-c", _BOOT),
                *map(str, numbers),
                policy.module,
                *sys.path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,  # until it is ready, then it closes it
                pass_fds=[theirs.fileno(), *lifeline.reading],
                env=dict(policy.environment),
                start_new_session=True,  # a terminal's Ctrl-C is for the owner alone
            )
        undone.pop_all()
    return _Worker(process, reader, writer, lifeline, policy.largest_result)


def reference_of(function: Function) -> str:
    """The name under which a fresh process finds the function; TypeError when there is none."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    if module is None or name is None or module == "__main__":
        raise TypeError(f"a job needs a function of an importable module, not {function!r}")
    try:
        found = operator.attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        found = None
    if found is not function:
        raise TypeError(f"a job needs a function that {module} holds under its own name, not {name}")
    return f"{module}:{name}"


def _end(status: int) -> str:
    """How a process ended, in words."""
    if status == EXIT_OUT_OF_MEMORY:
        return "ran out of memory"
    if status >= 0:
        return f"ended by itself with status {status}"
    return f"was killed by {signal.Signals(-status).name}"


def _busy(name: str, policy: PoolPolicy) -> WorkersBusy:
    return WorkersBusy(
        f"job {name}",
        f"no worker process was free for {counted(policy.patience.total_seconds(), 'second')}",
        "Allow more workers or send fewer jobs",
    )


def _closed(name: str) -> Unavailable:
    return Unavailable(f"job {name}", "its pool of worker processes is closed")

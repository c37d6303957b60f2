"""Runs one outside program under limits, behind the walls that the machine allows, and ends it whole.

The deciding is elsewhere: `limits` and `handover` say what is meant, `launch` does it beside the program.
Here are the owner's duties: hand over the order, feed and read the streams, keep the time, read the report.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import structs

from trimtab.errors import InvalidSpec, Missing, NotAllowed, TrimtabError, Unavailable
from trimtab.programs import handover
from trimtab.programs.handover import Namespaces, Order, Report
from trimtab.programs.launching import Launcher, Launches, Start, spawned
from trimtab.programs.limits import Finished, Limit, Limits, Walls, program_stopped
from trimtab.tasks.clock import Clock, SystemClock

#: seconds that a launcher which was told to stop may take before it is killed itself
GRACE = 10.0
BLOCK = 65536

_LIMITS = Limits()
_CLOCK = SystemClock()
_NOTHING: Mapping[str, str] = MappingProxyType({})


async def run(
    argv: Sequence[str],
    *,
    limits: Limits = _LIMITS,
    environment: Mapping[str, str] = _NOTHING,
    cwd: Path | None = None,
    stdin: bytes = b"",
    view: Path | None = None,
    launches: Launches | None = None,
    clock: Clock = _CLOCK,
    namespaces: Namespaces = "auto",
) -> Finished:
    """Run a program to its end and return what it said; any exit code is an answer, not an error.

    The program sees only the `environment` given (and GOMEMLIMIT, if memory is limited and the caller sets
    none). A bare name is looked up in the given environment's PATH. `cwd=None` is the caller's own folder.
    `view` is the only folder it sees, where the machine and the program allow: a program that needs files of
    its own, such as libraries, sees everything. `launches` makes starting cheap for who runs many.
    """
    if not argv:
        raise InvalidSpec("program", "no program is named", "Give at least its path.")
    path = _located(argv[0], environment)
    order = handover.order_of(
        argv,
        path=path,
        environment=environment,
        folder=str(cwd or ""),
        limits=limits,
        namespaces=namespaces,
        view=_seen(view, path),
    )
    return await _carried_out(order, stdin, clock, launches)


async def walls(*, namespaces: Namespaces = "auto") -> Walls:
    """Which walls this machine allows us, found out by raising them around nothing."""
    with tempfile.TemporaryDirectory(prefix="trimtab-view-") as view:
        order = _order_for_nothing(view, namespaces)
        return (await _carried_out(order, b"", _CLOCK, None)).walls


def _order_for_nothing(view: str, namespaces: Namespaces) -> Order:
    return handover.order_of(
        (),
        path="",
        environment=_NOTHING,
        folder="",
        limits=_LIMITS,
        namespaces=namespaces,
        view=os.path.realpath(view),
    )


async def _carried_out(order: Order, stdin: bytes, clock: Clock, launches: Launches | None) -> Finished:
    """The outcome of an order; where namespaces exist but cannot be used, it is tried again without."""
    started = clock.monotonic()
    attempt = await _attempt(order, stdin, clock, launches)
    if attempt.report.failed and attempt.report.failed[0] == "namespaces":
        attempt = await _attempt(structs.replace(order, namespaces="never"), stdin, clock, launches)
    return _conclusion(order, attempt, elapsed=clock.monotonic() - started)


def _located(name: str, environment: Mapping[str, str]) -> str:
    """The file that a name means: a path as it is, a bare name looked up in absolute folders of PATH."""
    if "/" in name:
        return name
    found = on_path(name, environment.get("PATH", ""))
    if found is None:
        remedy = "Give its full path, or a PATH that holds it." if name else "Give its path."
        raise Missing(f"program {name!r}", "is not in any folder of the PATH it was given", remedy)
    return str(found)


def on_path(name: str, path: str) -> Path | None:
    """The first executable of that name; folders that are relative to wherever we stand do not count."""
    folders = os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith("/"))
    found = shutil.which(name, path=folders) if name and folders else None
    return Path(found) if found else None


def _seen(view: Path | None, program: str) -> str:
    """The folder to which a program's view can be narrowed; empty for one that needs more than itself."""
    return os.path.realpath(view) if view is not None and _stands_alone(program) else ""


def _stands_alone(path: str) -> bool:
    """Whether a program needs no file but itself: a static one."""
    try:
        with Path(path).open("rb") as file:
            return handover.is_static(file.read(4096))
    except OSError:
        return False  # whoever cannot read it need not know


class _Attempt:
    """One launcher at work, what was read from it, and the owner's reason to stop it, if any."""

    def __init__(self, process: Launcher, control: int) -> None:
        self.process = process
        self.stopped: tuple[Limit, float] | None = None
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.report = Report()
        self._control = control
        self._told = asyncio.Event()

    def stop(self, limit: Limit, used: float) -> None:
        """Tell the launcher to end everything; the first reason counts."""
        self.stopped = self.stopped or (limit, used)
        self.tell()

    def tell(self) -> None:
        """Say the word on the control pipe; a launcher that has gone does not hear it."""
        if not self._told.is_set():
            self._told.set()
            with contextlib.suppress(OSError):
                os.write(self._control, b"x")

    async def insist(self, clock: Clock) -> None:
        """Kill a launcher that was told to stop and does not; the kernel then ends what is below it."""
        await self._told.wait()
        await clock.sleep(GRACE)
        with contextlib.suppress(ProcessLookupError):
            if self.process.pid > 1:
                os.killpg(self.process.pid, signal.SIGKILL)


async def _attempt(order: Order, stdin: bytes, clock: Clock, launches: Launches | None) -> _Attempt:
    """Start a launcher, see it to its end, and read its report."""
    with _starting(order):
        report = os.memfd_create("report")
    try:
        start = launches.start if launches is not None else spawned
        async with _launcher(order, report, clock, start, with_stdin=bool(stdin)) as attempt:
            await _attended(attempt, order.limits, stdin, clock)
        attempt.report = handover.report_of(os.pread(report, BLOCK, 0))
        return attempt
    finally:
        os.close(report)


@contextlib.asynccontextmanager
async def _launcher(
    order: Order, report: int, clock: Clock, start: Start, *, with_stdin: bool
) -> AsyncIterator[_Attempt]:
    """A running launcher; leaving the block, in whatever way, ends it and everything below it."""
    with contextlib.ExitStack() as files:
        with _starting(order), contextlib.ExitStack() as theirs:
            text = os.memfd_create("order")
            files.callback(os.close, text)
            listen, control = os.pipe()
            theirs.callback(os.close, listen)
            files.callback(os.close, control)
            process = await start(order, (listen, text, report), with_stdin=with_stdin)
        attempt = _Attempt(process, control)
        async with asyncio.TaskGroup() as group:
            insisting = group.create_task(attempt.insist(clock))
            try:
                yield attempt
            finally:
                attempt.tell()
                await process.wait()
                process.close()
                insisting.cancel()


@contextlib.contextmanager
def _starting(order: Order) -> Iterator[None]:
    """Tell what the machine refuses as a failure that may pass."""
    try:
        yield
    except OSError as error:
        reason = f"could not be started: {error.strerror}"
        raise Unavailable(_subject(order), reason, "Free processes, memory or open files.") from error


async def _attended(attempt: _Attempt, limits: Limits, stdin: bytes, clock: Clock) -> None:
    """Feed, read and time one run until its launcher has gone."""
    process = attempt.process
    async with asyncio.TaskGroup() as group:
        beside = [
            group.create_task(_time(attempt, limits, clock)),
            group.create_task(_feed(process.stdin, stdin)),
        ]
        readers = {
            group.create_task(_drain(process.stdout, attempt.stdout, attempt, limits.output)),
            group.create_task(_drain(process.stderr, attempt.stderr, attempt, limits.output)),
        }
        await process.wait()
        # Only something that outlived its killed launcher could still hold the streams open.
        await asyncio.wait(readers, timeout=GRACE)
        for task in (*beside, *readers):
            task.cancel()


async def _time(attempt: _Attempt, limits: Limits, clock: Clock) -> None:
    allowed = limits.wall.total_seconds()
    await clock.sleep(allowed)
    attempt.stop("wall", allowed)


async def _feed(stream: asyncio.StreamWriter | None, stdin: bytes) -> None:
    if stream is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(stdin)
        await stream.drain()
        # Not waited for: to be cancelled while waiting would cancel what asyncio itself still has to set.
        stream.close()


async def _drain(stream: asyncio.StreamReader | None, kept: bytearray, attempt: _Attempt, most: int) -> None:
    """Keep what the limit allows; more than that stops the program, and what still comes is dropped."""
    if stream is None:
        return
    seen = 0
    while block := await stream.read(BLOCK):
        kept += block[: most - len(kept)]
        seen += len(block)
        if seen > most:
            attempt.stop("output", seen)


def _subject(order: Order) -> str:
    """The program's name; its arguments may hold secrets."""
    return Path(order.path).name


def _conclusion(order: Order, attempt: _Attempt, *, elapsed: float) -> Finished:
    """The answer, or the error, that a finished attempt amounts to."""
    report, stderr = attempt.report, bytes(attempt.stderr)
    stopped = attempt.stopped or report.stopped or _stopped_by_signal(order.limits, report.code)
    if stopped is not None:
        raise program_stopped(_subject(order), order.limits, *stopped, stderr, bytes(attempt.stdout))
    if report.failed is not None:
        raise _not_started(order, *report.failed)
    if report.code is None:
        reason = "ended with its launcher, which was killed"
        raise Unavailable(_subject(order), reason, "Look whether the machine ran out of memory.")
    return Finished(
        code=report.code,
        stdout=bytes(attempt.stdout),
        stderr=stderr,
        walls=report.walls,
        elapsed=elapsed,
        cpu=report.cpu,
        memory=report.memory,
    )


def _stopped_by_signal(limits: Limits, code: int | None) -> tuple[Limit, float] | None:
    """The limits that the kernel enforces with a signal of their own."""
    if code == -signal.SIGXCPU and limits.cpu is not None:
        return "cpu", limits.cpu.total_seconds()
    if code == -signal.SIGXFSZ and limits.file_size is not None:
        return "file_size", limits.file_size
    return None


def _not_started(order: Order, stage: str, number: int) -> TrimtabError:
    """Why the program never ran its first instruction."""
    subject, words = _subject(order), os.strerror(number)
    if stage == "folder":
        return _no_folder(order, number, words)
    if stage != "program":
        return Unavailable(subject, f"its limits could not be set: {words}")
    if number in {errno.ENOENT, errno.ENOTDIR} and not Path(order.folder, order.path).exists():
        return Missing(subject, f"there is no program {order.path}", "Install it, or mend its path.")
    reason, remedy = _UNFIT.get(number, (f"is not a program for this machine: {words}", ""))
    return InvalidSpec(subject, f"{order.path} {reason}", remedy)


_UNFIT = {
    errno.ENOENT: ("names an interpreter that does not exist", "Install that interpreter."),
    errno.EACCES: ("is not executable", "Set its executable bit."),
    errno.E2BIG: ("was given more arguments and environment than fit", "Pass them in a file."),
}


def _no_folder(order: Order, number: int, words: str) -> TrimtabError:
    subject = f"folder {order.folder}"
    if number == errno.ENOENT:
        return Missing(subject, f"does not exist, so {_subject(order)} cannot run there", "Create it.")
    if number == errno.EACCES:
        return NotAllowed(subject, f"may not be entered to run {_subject(order)} there", "Allow it.")
    return InvalidSpec(subject, f"{_subject(order)} cannot run there: {words}")

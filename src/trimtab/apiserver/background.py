"""One embedded cluster that outlives the command that started it: started, found again, and stopped.

What is known of it lies in a folder of the user: a state file, a log, and a kubeconfig that nobody else can
read. A process counts as ours only if its number and the moment of its start are those that were written
down.

Whoever starts a cluster makes its certificate, and hands it over on standard input: there is time for that
while the process imports all that it serves with.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.apiserver.credentials import HOST, Credentials
from trimtab.apiserver.kubeconfigs import merged, without
from trimtab.errors import InvalidSpec, Missing, Unavailable
from trimtab.files import read_file

STATE, LOG, KUBECONFIG, LOCK = "state.json", "log.txt", "kubeconfig", "lock"
START_LIMIT = 30.0  # seconds; it takes less than one on an idle machine
STOP_LIMIT = 10.0
_A_LOG = 1 << 14
_LARGEST_CONFIG = 8 << 20
CONTEXT = "trimtab"


class State(Struct, frozen=True, kw_only=True):
    """A cluster that runs, as it was written down."""

    pid: int
    born: str  # the moment the process was started, as the kernel counts it
    url: str
    kubeconfig: str
    since: str


_STATE: Final = msgspec.json.Decoder(State)
_CREDENTIALS: Final = msgspec.json.Decoder(Credentials)


# -- the process itself -----------------------------------------------------------------------------------


async def run(
    folder: Path,
    config: Path,
    *,
    port: int = 0,
    ready: int | None = None,
    leash: int | None = None,
    brisk: bool = False,
) -> None:
    """Serve a fresh cluster until somebody asks this process to end, or until its leash is let go."""
    # Only the process that serves pays for these imports.
    import asyncio

    from trimtab.apiserver.behaviours import behaviours_of
    from trimtab.apiserver.behaviours.timing import BRISK, Timing
    from trimtab.apiserver.memory import MemoryCluster
    from trimtab.apiserver.serving import kubeconfig, serve

    cluster = MemoryCluster()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if leash is not None:
        loop.add_reader(leash, stopped.set)
    timing = BRISK if brisk else Timing()
    behaviours = behaviours_of(cluster, clock=cluster.api.clock, timing=timing)
    credentials = None if ready is None else _handed_over()
    async with serve(cluster.api, port=port, credentials=credentials) as server, behaviours:
        _write_config(config, kubeconfig(server, CONTEXT))
        state = State(
            pid=os.getpid(),
            born=_born(os.getpid()),
            url=server.url,
            kubeconfig=str(config),
            since=cluster.api.clock.now().isoformat(timespec="seconds"),
        )
        _write(folder / STATE, msgspec.json.encode(state))
        try:
            if ready is not None:
                os.write(ready, b"ready\n")  # fails if whoever started this has been killed
                os.close(ready)
            await stopped.wait()
        finally:
            _forget(folder, state)


def _handed_over() -> Credentials:
    """What whoever started this has made for it."""
    content = sys.stdin.buffer.read()
    if not content:
        raise BrokenPipeError("whoever started this has been killed")
    return _CREDENTIALS.decode(content)


def _forget(folder: Path, state: State) -> None:
    (folder / STATE).unlink(missing_ok=True)
    path = Path(state.kubeconfig)
    if path == folder / KUBECONFIG:
        path.unlink(missing_ok=True)
    elif path.exists():
        _write_yaml(path, without(_read_config(path), CONTEXT, state.url))


def _write_config(path: Path, own: dict[str, Any]) -> None:
    """Write a kubeconfig, or add ours to one that is there."""
    before = _read_config(path) if path.exists() else {}
    _write_yaml(path, merged(before, own))


def _write_yaml(path: Path, config: dict[str, Any]) -> None:
    from trimtab.resources.yaml import dump  # whoever only starts or stops a cluster needs none

    _write(path, dump(config).encode())


def _read_config(path: Path) -> dict[str, Any]:
    from trimtab.resources.yaml import load

    subject = f"kubeconfig {path}"
    value = load(read_file(path, subject=subject, limit=_LARGEST_CONFIG), str(path))
    if value is not None and not isinstance(value, dict):
        raise InvalidSpec(subject, "it is no kubeconfig", "Name another file with --kubeconfig")
    return value or {}


def _write(path: Path, content: bytes) -> None:
    """Replace a file at once; only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    beside.replace(path)


def _tidy(path: Path) -> None:
    """Take away what processes left beside a file that were killed while they wrote it."""
    for each in path.parent.glob(f".{path.name}.*"):
        writer = each.suffix[1:]
        if writer.isdecimal() and not _born(int(writer)):
            each.unlink(missing_ok=True)


# -- from outside -----------------------------------------------------------------------------------------


def running(folder: Path) -> State | None:
    """The cluster that runs, if one does; what is left of one that died is not counted."""
    try:
        state = _STATE.decode((folder / STATE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return state if _born(state.pid) == state.born else None


def start(
    folder: Path,
    config: Path,
    *,
    port: int = 0,
    environment: Mapping[str, str],
    leash: int | None = None,
    brisk: bool = False,
) -> State:
    """Start a cluster in the background, returning when it answers; if one has been started meanwhile, that.

    `leash` is the reading end of a pipe: the cluster ends when nobody holds the other end any more. `brisk`
    pods take less than a second.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder) as lock:
        if (already := running(folder)) is not None:
            return already
        for each in (folder / STATE, folder / KUBECONFIG, config):
            _tidy(each)
        options = [f"--port={port}", *["--brisk"] * brisk]
        options += [] if leash is None else [f"--leash={leash}"]
        kept = [lock] if leash is None else [lock, leash]
        return _started(folder, config, options, kept, environment)


@contextmanager
def _alone(folder: Path) -> Iterator[int]:
    """Start while nobody else does.

    The process that is started keeps the lock, too, until it is given back here. If we are killed it stays
    with that process, which ends as soon as it finds nobody to tell that it is ready.
    """
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)


def _started(
    folder: Path, config: Path, options: list[str], kept: list[int], environment: Mapping[str, str]
) -> State:
    _prove_room(folder)
    (told, tell), (taken, given) = os.pipe(), os.pipe()
    with os.fdopen(told, "rb") as answer:
        command = [*options, f"--ready={tell}"]
        pid = _spawned(folder, config, command, [*kept, tell], environment, taken)
        os.close(tell)
        os.close(taken)
        _hand_over(given)
        readable, _, _ = select.select([answer], [], [], START_LIMIT)
        word = answer.readline() if readable else b""
    state = running(folder)
    if word != b"ready\n" or state is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise Unavailable("cluster", _last_words(folder), f"The whole log is in {folder / LOG}")
    return state


def _prove_room(folder: Path) -> None:
    """Write as much as a log that says why nothing started: on a full disk the process could not say so."""
    log = folder / LOG
    try:
        log.write_bytes(b" " * _A_LOG)
    except OSError as exc:
        exc.filename = str(log)
        raise


def _hand_over(given: int) -> None:
    """Make the certificate of a cluster that is starting; one that has died already needs none."""
    from trimtab.apiserver.certificates import issue
    from trimtab.tasks.clock import SystemClock

    with suppress(BrokenPipeError), os.fdopen(given, "wb") as stream:
        stream.write(msgspec.json.encode(issue(HOST, now=SystemClock().now())))


def _spawned(
    folder: Path,
    config: Path,
    options: list[str],
    kept: list[int],
    environment: Mapping[str, str],
    stdin: int,
) -> int:
    """A process of its own session, which nobody waits for: it must not end with a terminal."""
    for each in kept:
        os.set_inheritable(each, True)
    command = [sys.executable, "-m", "trimtab", "cluster", "up", "--foreground", "--state", str(folder)]
    command += ["--kubeconfig", str(config), *options]
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [
        (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(folder / LOG), writing, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    # It connects to nobody: that it may read whom this machine trusts would only cost time.
    surroundings = {**environment, "SSL_CERT_FILE": os.devnull}
    return os.posix_spawn(sys.executable, command, surroundings, file_actions=files, setsid=True)


def _last_words(folder: Path) -> str:
    lines = (folder / LOG).read_text(errors="replace").strip().splitlines()
    return (
        f"it did not start: {lines[-1].removeprefix('Error: ')}"
        if lines
        else "it did not start, and could not say why"
    )


def stop(folder: Path) -> State:
    """Stop the cluster that runs, returning when it has ended."""
    state = running(folder)
    if state is None:
        raise Missing("cluster", "none is running", "Start one with: trimtab cluster up")
    handle = os.pidfd_open(state.pid)
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        ended, _, _ = select.select([handle], [], [], STOP_LIMIT)
        if not ended:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], STOP_LIMIT)
    finally:
        os.close(handle)
    with suppress(ChildProcessError):  # ours only if this very process started it
        os.waitpid(state.pid, 0)
    _forget(folder, state)
    return state


def _born(pid: int) -> str:
    """When a process was started, in the kernel's clock ticks; empty if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]

"""One embedded cluster that outlives the command that started it: started, found again, and stopped.

What is known of it lies in a folder of the user: a state file, a log, and a kubeconfig that nobody else can
read. A process counts as ours only if its number and the moment of its start are those that were written
down.

Whoever starts a cluster begins its process first of all, makes its certificate while that imports what it
serves with (`hosting`), and hands it over with all else that it needs (`orders`).
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.apiserver.credentials import HOST
from trimtab.apiserver.kubeconfigs import merged, without
from trimtab.apiserver.orders import Files, Orders, await_report, give
from trimtab.apiserver.spawning import Begun, begun
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


# -- what is known of it ------------------------------------------------------------------------------------


def remember(folder: Path, state: State, config: dict[str, Any]) -> None:
    """Write down that a cluster runs, and how it is reached, in a file of its own or in one that is there."""
    path = Path(state.kubeconfig)
    before = _read_config(path) if path.exists() else {}
    _write_yaml(path, merged(before, config))
    _write(folder / STATE, msgspec.json.encode(state))


def forget(folder: Path, state: State) -> None:
    """Take away what was written down of a cluster."""
    (folder / STATE).unlink(missing_ok=True)
    path = Path(state.kubeconfig)
    if path == folder / KUBECONFIG:
        path.unlink(missing_ok=True)
    elif path.exists():
        _write_yaml(path, without(_read_config(path), CONTEXT, state.url))


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
        if writer.isdecimal() and not born(int(writer)):
            each.unlink(missing_ok=True)


# -- from outside -----------------------------------------------------------------------------------------


def running(folder: Path) -> State | None:
    """The cluster that runs, if one does; what is left of one that died is not counted."""
    try:
        state = _STATE.decode((folder / STATE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return state if born(state.pid) == state.born else None


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
    with begun(environment) as process:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder) as lock:
            if (already := running(folder)) is not None:
                return already
            for each in (folder / STATE, folder / KUBECONFIG, config):
                _tidy(each)
            _prove_room(folder)
            with (folder / LOG).open("wb") as log:
                files = Files(log=log.fileno(), lock=lock, leash=leash)
                _tell(process, folder, config, files, port=port, brisk=brisk)
            return _served(process, folder)


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


def _tell(process: Begun, folder: Path, config: Path, files: Files, *, port: int, brisk: bool) -> None:
    """Tell a process what to serve; one that has died already says in its log why."""
    from trimtab.apiserver.certificates import issue  # only whoever starts a cluster pays for it

    credentials = issue(HOST, now=datetime.now(UTC))  # noqa: TID251 - of this machine, as whoever checks it
    orders = Orders(
        folder=str(folder), kubeconfig=str(config), port=port, brisk=brisk, credentials=credentials
    )
    process.is_told = True
    with suppress(BrokenPipeError):
        give(process.line, orders, files)


def _served(process: Begun, folder: Path) -> State:
    """The cluster of a process that was told to serve one, when it does."""
    if await_report(process.line, START_LIMIT) and (state := running(folder)) is not None:
        process.is_let_go = True
        return state
    process.kill()
    raise Unavailable("cluster", _last_words(folder), f"The whole log is in {folder / LOG}")


def _prove_room(folder: Path) -> None:
    """Write as much as a log that says why nothing started: on a full disk the process could not say so."""
    log = folder / LOG
    try:
        log.write_bytes(b" " * _A_LOG)
    except OSError as exc:
        exc.filename = str(log)
        raise


def _last_words(folder: Path) -> str:
    lines = (folder / LOG).read_text(errors="replace").strip().splitlines()
    return f"it did not start: {lines[-1]}" if lines else "it did not start, and could not say why"


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
    forget(folder, state)
    return state


def born(pid: int) -> str:
    """When a process was started, in the kernel's clock ticks; empty if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]

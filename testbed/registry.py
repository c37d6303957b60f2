"""Which testbeds this user has running from the command line, so that `status` and `down` find them.

Each writes a small record into the cache folder and keeps it locked while it lives; a record without its
lock was left by an owner that died, and is removed by whoever meets it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct


class Running(Struct, frozen=True, kw_only=True):
    """One running testbed: its owner's process id and what it offers, by name."""

    pid: int
    offers: dict[str, str]


@contextlib.contextmanager
def registered(folder: Path, offers: Mapping[str, str]) -> Iterator[None]:
    """Be listed for as long as the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{os.getpid()}.json"
    with path.open("wb") as record:
        fcntl.flock(record, fcntl.LOCK_EX)
        record.write(msgspec.json.encode(Running(pid=os.getpid(), offers=dict(offers))))
        record.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def running(folder: Path) -> tuple[Running, ...]:
    """All testbeds whose owners live."""
    return tuple(found for path in sorted(folder.glob("*.json")) if (found := _live(path)))


def _live(path: Path) -> Running | None:
    """What a record says, if its owner still holds it; otherwise the record goes."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as record:
        try:
            fcntl.flock(record, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return msgspec.json.decode(record.read(), type=Running)
        path.unlink(missing_ok=True)
    return None


def end(testbed: Running, *, limit: float = 60) -> bool:
    """Ask the owner of a testbed to stop and say whether it is gone within the limit."""
    try:
        owner = os.pidfd_open(testbed.pid)
    except ProcessLookupError:
        return True
    with os.fdopen(owner):
        signal.pidfd_send_signal(owner, signal.SIGTERM)
        return bool(select.select([owner], [], [], limit)[0])

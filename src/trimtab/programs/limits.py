"""How much a program may use, which walls stood around it, and the error when it wanted more.

Pure values. How they are enforced is the launcher's business; `trimtab.programs.running` starts it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from msgspec import Struct

from trimtab.errors import UserError
from trimtab.settings import ProgramsSettings

MIB = 1024 * 1024

Limit = Literal["wall", "cpu", "memory", "output", "file_size", "processes"]


class Limits(Struct, frozen=True, kw_only=True):
    """What one run may use; None means: not limited."""

    #: seconds on the clock, whatever the program does
    wall: timedelta = timedelta(seconds=60)
    #: processor time of the whole process tree
    cpu: timedelta | None = None
    #: resident bytes of the whole process tree; pages that its processes share count once
    memory: int | None = 1024 * MIB
    #: bytes of standard output, and as many again of standard error
    output: int = 64 * MIB
    #: bytes of any one file the program writes
    file_size: int | None = None
    #: files that each process may hold open
    open_files: int | None = 1024
    #: processes and threads of the whole tree at one time
    processes: int | None = 256
    #: whether the program may reach the network
    network: bool = False


class Walls(Struct, frozen=True, kw_only=True):
    """What held the program; a field is true only if that wall stood during the whole run."""

    #: no network but a loopback of its own
    network: bool = False
    #: the kernel ends the whole tree at once, and the program can neither see nor signal other processes
    pid_namespace: bool = False
    #: its /proc shows its own tree only
    own_proc: bool = False
    #: it sees no files but those of the folder it was given, and itself
    files: bool = False
    #: the kernel itself refuses processes far beyond the limit (otherwise they are only counted and stopped)
    process_limit: bool = False
    #: the namespaces were made without any privilege, inside a user namespace
    user_namespace: bool = False
    #: it holds no capability, not even as root
    no_capabilities: bool = False
    #: no set-user-id program can give it more rights
    no_new_privileges: bool = False
    #: memory, processor time and number of processes of the whole tree were watched
    watch: bool = False


class Finished(Struct, frozen=True, kw_only=True):
    """A program that came to its own end."""

    #: its exit code; a negative number is the signal that ended it
    code: int
    stdout: bytes
    stderr: bytes
    walls: Walls
    #: seconds from the order to the end
    elapsed: float
    #: seconds of processor time of the tree, about 0.01 of them the launcher's
    cpu: float
    #: largest resident size seen, in bytes; never less than the launcher's own, about 10 MiB
    memory: int


class ProgramStopped(UserError):
    """A program wanted more than it may use and was ended with all its children."""

    http_status = 422

    def __init__(
        self,
        subject: str,
        reason: str,
        remedy: str,
        limit: Limit,
        allowed: float,
        used: float,
        stderr_tail: str = "",
        stdout: bytes = b"",
    ) -> None:
        super().__init__(subject, reason, remedy)
        self.args = (subject, reason, remedy, limit, allowed, used, stderr_tail, stdout)
        #: the limit's name, as in `Limits`
        self.limit: Limit = limit
        #: what it was set to (seconds, bytes or a number)
        self.allowed = allowed
        #: how much was used when the program was stopped
        self.used = used
        #: its last words; not part of the message, since they may hold secrets
        self.stderr_tail = stderr_tail
        #: what it had said on standard output; as little part of the message
        self.stdout = stdout


def limits_of(settings: ProgramsSettings, *, network: bool = False) -> Limits:
    """The limits that the settings ask for."""
    return Limits(
        wall=settings.wall,
        cpu=settings.cpu,
        memory=settings.memory,
        output=settings.output,
        file_size=settings.file_size,
        open_files=settings.open_files,
        processes=settings.processes,
        network=network,
    )


def allowance(limits: Limits, limit: Limit) -> float:
    """What a limit is set to, as a number; infinite if it is not set."""
    value = getattr(limits, limit)
    if value is None:
        return float("inf")
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


def program_stopped(
    subject: str, limits: Limits, limit: Limit, used: float, stderr: bytes = b"", stdout: bytes = b""
) -> ProgramStopped:
    """The error for a program that went over one of its limits."""
    allowed = allowance(limits, limit)
    what, unit, remedy = _WORDS[limit]
    reason = f"was stopped: it used {_amount(used, unit)} of {what}; the limit is {_amount(allowed, unit)}"
    return ProgramStopped(subject, reason, remedy, limit, allowed, used, _tail(stderr), stdout)


_SMALLER = "or give it less to do."
_WORDS: dict[Limit, tuple[str, str, str]] = {
    "wall": ("time", "s", f"Raise the limit on wall time, {_SMALLER}"),
    "cpu": ("processor time", "s", f"Raise the limit on processor time, {_SMALLER}"),
    "memory": ("resident memory", "B", f"Raise the memory limit, {_SMALLER}"),
    "output": ("output", "B", "Raise the output limit, or make the program say less."),
    "file_size": ("one file", "B", "Raise the limit on file size, or make it write less."),
    "processes": ("processes and threads", "", f"Raise the limit on processes, {_SMALLER}"),
}


def _amount(value: float, unit: str) -> str:
    if unit == "s":
        return f"{value:.3g} s"
    if unit == "B":
        return f"{value / MIB:.1f} MiB" if value >= MIB else f"{value:.0f} bytes"
    return f"{value:.0f}"


def _tail(stderr: bytes, lines: int = 20, most: int = 4096) -> str:
    """The last lines, as text that can be shown."""
    return "\n".join(stderr[-most:].decode("utf-8", "replace").splitlines()[-lines:])

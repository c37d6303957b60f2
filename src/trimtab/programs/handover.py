"""What is said between Trimtab and the launcher: an order on the way in, a report on the way out.

Pure. The launcher is executed alone and imports nothing of Trimtab, so it spells the same two forms again;
`tests/programs/test_launch.py` holds the two together.

Order: fields ended by NUL: owner's pid, namespaces, network, cpu, memory, file size, open files, processes,
view, folder, path, number of arguments, the arguments, then NAME=VALUE for the environment. Empty means: not
set.
Report: lines of words: `wall NAME`, `failed STAGE ERRNO`, `stopped LIMIT USED`, `ended CODE`,
`used SECONDS BYTES`, `launcher PID`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.programs.limits import Limit, Limits, Walls

Namespaces = Literal["auto", "never"]
Stage = Literal["namespaces", "folder", "limits", "program"]

GO_SHARE = 0.9
#: the entry of a program's header that names what loads its libraries
_INTERPRETER = 3


class Order(Struct, frozen=True, kw_only=True):
    """One program to start, and how."""

    argv: tuple[str, ...]
    #: the file to execute: `argv[0]`, looked up
    path: str
    environment: Mapping[str, str]
    #: empty: the owner's own folder
    folder: str
    limits: Limits
    namespaces: Namespaces
    #: the only folder that the program shall see, besides itself; empty: all that its user may see
    view: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """What became of an order."""

    walls: Walls = Walls()
    #: a step before the program's first instruction that failed, with the error number
    failed: tuple[Stage, int] | None = None
    #: the limit that the launcher stopped the program for, and how much was used
    stopped: tuple[Limit, float] | None = None
    #: the exit code, negative for a signal; None if the program did not come to its own end
    code: int | None = None
    cpu: float = 0.0
    memory: int = 0


def order_of(
    argv: Sequence[str],
    *,
    path: str,
    environment: Mapping[str, str],
    folder: str,
    limits: Limits,
    namespaces: Namespaces,
    view: str = "",
) -> Order:
    """The order for one run; Go programs are told of the memory limit, so that they collect in time."""
    words = {**environment}
    if limits.memory is not None:
        words.setdefault("GOMEMLIMIT", str(int(limits.memory * GO_SHARE)))
    order = Order(
        argv=tuple(argv),
        path=path,
        environment=words,
        folder=folder,
        limits=limits,
        namespaces=namespaces,
        view=view,
    )
    _refuse_unspeakable(order)
    return order


def _refuse_unspeakable(order: Order) -> None:
    subject = order.path or "program"
    if any("\0" in word for word in (*order.argv, order.path, order.folder, order.view)):
        raise InvalidSpec(subject, "an argument holds a NUL character", "Remove it.")
    if not all(map(_is_writable, (*order.argv, order.path, order.folder, order.view))):
        raise InvalidSpec(subject, "an argument holds half a surrogate pair", "Remove it.")
    for name, value in order.environment.items():
        if not name or "=" in name or "\0" in name + value or not _is_writable(name + value):
            raise InvalidSpec(subject, f"the environment cannot hold a variable named {name!r}", "Rename it.")


def _is_writable(word: str) -> bool:
    """Can the word be handed to a program? Half a surrogate pair cannot; a stray byte can."""
    try:
        word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def written(order: Order, owner: int) -> bytes:
    """The order as the launcher reads it."""
    limits = order.limits
    cpu = None if limits.cpu is None else limits.cpu.total_seconds()
    numbers = (cpu, limits.memory, limits.file_size, limits.open_files, limits.processes)
    fields = [
        str(owner),
        "1" if order.namespaces == "auto" else "0",
        "1" if limits.network else "0",
        *("" if number is None else str(number) for number in numbers),
        order.view,
        order.folder,
        order.path,
        str(len(order.argv)),
        *order.argv,
        *(f"{name}={value}" for name, value in order.environment.items()),
    ]
    return "".join(f"{field}\0" for field in fields).encode("utf-8", "surrogateescape")


def with_folder(order: Order, folder: str) -> Order:
    """The order, to be carried out in another folder."""
    return msgspec.structs.replace(order, folder=folder)


def launcher_in(report: bytes) -> int:
    """The pid of the launcher that writes a report; 0 if it has not said it."""
    for line in report.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == b"launcher" and words[1].isdigit():
            return int(words[1])
    return 0


def report_of(text: bytes) -> Report:
    """The launcher's report; a line that makes no sense says nothing."""
    report = Report()
    for line in text.decode("ascii", "replace").splitlines():
        report = _with_line(report, line.split())
    return report


def _with_line(report: Report, words: list[str]) -> Report:
    match words:
        case ["wall", name] if name in Walls.__struct_fields__:
            walls = msgspec.structs.replace(report.walls, **{name: True})
            return msgspec.structs.replace(report, walls=walls)
        case ["failed", ("namespaces" | "folder" | "limits" | "program") as stage, number]:
            return msgspec.structs.replace(report, failed=(stage, int(_number(number))))
        case ["stopped", limit, used] if limit in get_args(Limit):
            return msgspec.structs.replace(report, stopped=(limit, _number(used)))
        case ["ended", code]:
            return msgspec.structs.replace(report, code=int(_number(code)))
        case ["used", cpu, memory]:
            return msgspec.structs.replace(report, cpu=_number(cpu), memory=int(_number(memory)))
        case _:
            return report


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def is_static(head: bytes) -> bool:
    """Does a program with this beginning load no libraries? Scripts do not count: their interpreter may."""
    if head[:6] != b"\x7fELF\x02\x01":  # 64 bits, little end first: the machines we know
        return False
    start, size, count = (_whole(head[at:to]) for at, to in ((32, 40), (54, 56), (56, 58)))
    end = start + size * count
    if not size or not count or end > len(head):
        return False
    return all(_whole(head[at : at + 4]) != _INTERPRETER for at in range(start, end, size))


def _whole(number: bytes) -> int:
    return int.from_bytes(number, "little")

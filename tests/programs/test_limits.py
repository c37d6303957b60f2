"""What a stopped program's error says, and where limits come from."""

from __future__ import annotations

import copy
import pickle
from datetime import timedelta

import pytest

from trimtab.errors import Retry
from trimtab.programs.limits import MIB, Limit, Limits, limits_of, program_stopped
from trimtab.settings import ProgramsSettings

TIGHT = Limits(
    wall=timedelta(seconds=2),
    cpu=timedelta(seconds=1),
    memory=256 * MIB,
    output=1000,
    file_size=10 * MIB,
    processes=8,
)


@pytest.mark.parametrize(
    ("limit", "used", "reason"),
    [
        ("wall", 2.0, "it used 2 s of time; the limit is 2 s"),
        ("cpu", 1.25, "it used 1.25 s of processor time; the limit is 1 s"),
        ("memory", 300.0 * MIB, "it used 300.0 MiB of resident memory; the limit is 256.0 MiB"),
        ("output", 1001.0, "it used 1001 bytes of output; the limit is 1000 bytes"),
        ("file_size", 11.0 * MIB, "it used 11.0 MiB of one file; the limit is 10.0 MiB"),
        ("processes", 9.0, "it used 9 of processes and threads; the limit is 8"),
    ],
)
def test_the_error_names_limit_and_use(limit: Limit, used: float, reason: str) -> None:
    error = program_stopped("helm", TIGHT, limit, used)
    assert error.reason == f"was stopped: {reason}"
    assert error.remedy
    assert (error.retry, error.exit_code) == (Retry.NEVER, 2)


def test_only_the_last_lines_of_what_it_said_are_kept() -> None:
    said = b"".join(b"line %d\n" % number for number in range(100)) + b"\xff"
    tail = program_stopped("helm", TIGHT, "wall", 2, said).stderr_tail.splitlines()
    assert (len(tail), tail[0], tail[-1]) == (20, "line 81", "\N{REPLACEMENT CHARACTER}")


def test_the_error_survives_copying_and_travel() -> None:
    error = program_stopped("helm", TIGHT, "memory", 300 * MIB, b"oops")
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own bytes
        assert (twin.limit, twin.used, twin.stderr_tail, str(twin)) == (
            "memory",
            300 * MIB,
            "oops",
            str(error),
        )


def test_the_settings_defaults_are_the_limits_defaults() -> None:
    assert limits_of(ProgramsSettings()) == Limits()
    assert limits_of(ProgramsSettings(memory=None), network=True) == Limits(memory=None, network=True)

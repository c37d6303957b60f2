"""The launcher reads what is handed over, says what is understood, and finds every process of a tree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.programs import handover, launch
from trimtab.programs.limits import MIB, Limits, Walls


@pytest.mark.parametrize(
    "limits",
    [
        Limits(cpu=timedelta(seconds=1.5), memory=5, file_size=7, open_files=9, processes=11, network=True),
        Limits(cpu=None, memory=None, file_size=None, open_files=None, processes=None),
    ],
    ids=["limited", "unlimited"],
)
def test_the_launcher_reads_the_order_that_was_written(limits: Limits) -> None:
    order = handover.order_of(
        ("helm", "", "ü\n", os.fsdecode(b"\xff")),
        path="/bin/helm",
        environment={"A": "b=c", "EMPTY": ""},
        folder="/srv",
        limits=limits,
        namespaces="never",
        view="/srv/view",
    )
    read = launch.Order(handover.written(order, owner=42))
    assert read.owner == 42
    assert read.argv == [b"helm", b"", "ü\n".encode(), b"\xff"]
    assert (read.path, read.folder, read.view) == (b"/bin/helm", b"/srv", b"/srv/view")
    assert read.namespaces is False
    assert read.environment == {os.fsencode(k): os.fsencode(v) for k, v in order.environment.items()}
    assert read.cpu == (limits.cpu.total_seconds() if limits.cpu else None)
    assert (read.memory, read.file_size) == (limits.memory, limits.file_size)
    assert (read.open_files, read.processes, read.network) == (
        limits.open_files,
        limits.processes,
        limits.network,
    )


def test_what_the_launcher_says_is_understood(tmp_path: Path) -> None:
    file = os.open(tmp_path / "report", os.O_CREAT | os.O_RDWR)
    report = launch.Report(file)
    for wall in Walls.__struct_fields__:
        report.say("wall", wall)
    report.say("failed", "program", 2)
    report.say("stopped", "memory", 300 * MIB)
    report.say("ended", -9)
    report.say("used", 0.25, 12 * MIB)
    text = os.pread(file, 4096, 0)
    os.close(file)
    assert handover.report_of(text) == handover.Report(
        walls=Walls(**dict.fromkeys(Walls.__struct_fields__, True)),
        failed=("program", 2),
        stopped=("memory", 300 * MIB),
        code=-9,
        cpu=0.25,
        memory=12 * MIB,
    )


FAMILY = """
import os, signal
block = bytearray(64 * 1024 * 1024)
for _ in range(3):
    if os.fork() == 0:
        break
os.write(1, b"u")
signal.pause()
"""


@pytest.fixture
def family() -> Iterator[int]:
    """A process with three children, all sharing 64 MiB."""
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, start_new_session=True
    ) as parent:
        assert parent.stdout
        assert parent.stdout.read(4) == b"uuuu"
        yield parent.pid
        os.killpg(parent.pid, signal.SIGKILL)


def test_both_ways_to_find_a_tree_find_the_same(family: int) -> None:
    walked = launch.children(family)
    assert len(walked) == 3
    assert sorted(launch.children_by_parent()(family)) == sorted(walked)
    assert set(launch.descendants(os.getpid())) >= {family, *walked}


def test_shared_memory_counts_once_where_it_matters(family: int) -> None:
    rough = launch.usage(family, most=None)
    exact = launch.usage(family, most=100 * MIB)
    assert rough.memory > 3 * 64 * MIB
    assert 48 * MIB < exact.memory < 2 * 48 * MIB, "three of the four who share"
    assert exact.tasks == 3


@pytest.mark.parametrize("own_session", [True, False])
def test_a_process_is_signalled_with_its_whole_group_unless_that_is_ours(*, own_session: bool) -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, start_new_session=own_session) as started:
        assert launch.group_of(started.pid) == (-started.pid if own_session else started.pid)
        assert started.stdin is not None
        started.stdin.close()
    assert launch.group_of(started.pid) == started.pid


def test_no_more_processes_are_counted_than_are_enough_to_know(family: int) -> None:
    assert launch.usage(family, most=None, enough=1).tasks == 2


def test_a_process_that_has_gone_uses_nothing() -> None:
    with subprocess.Popen(["/bin/true"]) as gone:
        pass
    assert list(launch.descendants(gone.pid)) == []
    assert launch.stat(gone.pid) == []
    assert launch.usage(gone.pid, most=1).memory == 0


@pytest.mark.parametrize(
    "program",
    [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(200), b"\x7fELF\x02\x01" + bytes(200)],
)
def test_what_is_no_static_program_is_not_taken_for_one(program: bytes) -> None:
    assert not handover.is_static(program)


def test_a_static_program_is_told_from_one_with_libraries(helm: Path) -> None:
    assert handover.is_static(helm.read_bytes()[:4096])
    assert not handover.is_static(Path(sys.executable).resolve().read_bytes()[:4096])


@given(st.binary(max_size=300))
def test_no_beginning_of_a_file_breaks_the_question(rest: bytes) -> None:
    assert handover.is_static(b"\x7fELF\x02\x01" + rest) in {True, False}


def test_a_report_says_who_writes_it() -> None:
    assert handover.launcher_in(b"launcher x\nlauncher 17\nended 0\n") == 17
    assert handover.launcher_in(b"ended 0\n") == 0

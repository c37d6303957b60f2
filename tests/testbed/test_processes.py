"""Processes on a leash: whatever happens to their owner, nothing is left behind."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.fixtures import ControlPlanes
from testbed.problems import PartFailed
from testbed.processes import Port, Process

ROOT = Path(__file__).parents[2]
LIMIT = 60  # seconds that a dying process may take on a busy machine

CONTROL_PLANE = """
from testbed.controlplane import ControlPlane
plane = ControlPlane().start()
tell(*[process.pid for process in plane.processes])
"""
POSTGRES = """
from testbed.postgres import Postgres
server = Postgres().start()
workers = "SELECT pid FROM pg_stat_activity WHERE backend_type IN ('checkpointer', 'walwriter')"
tell(server.server.pid, *server.run_sql(workers).split())
"""
GIT_SERVER = """
from testbed.gitserver import GitServer
tell(GitServer().start().server.pid)
"""
FROM_A_SHORT_THREAD = """
import pathlib, tempfile, threading
from testbed.processes import Process
process = Process("sleep", ["sleep", "1000"], folder=pathlib.Path(tempfile.mkdtemp()))
thread = threading.Thread(target=process.start)
thread.start()
thread.join()
tell(process.pid)
"""
OWNER = """
def tell(*pids):
    print(*pids, flush=True)
{start}
import signal
signal.pause()
"""


class Owned:
    """Watches processes of another process through descriptors, which cannot be fooled by reused ids."""

    def __init__(self, pids: list[int]) -> None:
        self._watched = [os.pidfd_open(pid) for pid in pids]

    def all_dead_within(self, seconds: float) -> bool:
        return all(bool(select.select([watched], [], [], seconds)[0]) for watched in self._watched)

    def all_alive(self) -> bool:
        return not select.select(self._watched, [], [], 0)[0]


@pytest.fixture
def owner() -> Iterator[Callable[[str], tuple[subprocess.Popen[str], Owned]]]:
    """Runs Python code as an owner of processes and says what it owns."""
    started: list[subprocess.Popen[str]] = []
    leftovers = Path(tempfile.mkdtemp(prefix="owner-"))
    leftovers.chmod(0o711)  # PostgreSQL goes there as another user when we are root
    environment = {**os.environ, "TMPDIR": str(leftovers)}  # noqa: TID251 - handed on to the owner

    def run(start: str) -> tuple[subprocess.Popen[str], Owned]:
        code = OWNER.format(start=start)
        popen = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        started.append(popen)
        assert popen.stdout is not None
        return popen, Owned([int(pid) for pid in popen.stdout.readline().split()])

    yield run
    for popen in started:
        popen.kill()
        popen.communicate()
    shutil.rmtree(leftovers)


def dies_with(owner_code: tuple[subprocess.Popen[str], Owned]) -> tuple[bool, bool]:
    popen, owned = owner_code
    alive = owned.all_alive()
    popen.kill()
    return alive, owned.all_dead_within(LIMIT)


def test_the_whole_control_plane_dies_with_its_killed_owner(
    control_planes: ControlPlanes, owner: Callable[[str], tuple[subprocess.Popen[str], Owned]]
) -> None:
    assert dies_with(owner(CONTROL_PLANE)) == (True, True)


@pytest.mark.parametrize(
    "start", [POSTGRES, GIT_SERVER, FROM_A_SHORT_THREAD], ids=["postgres", "git", "thread"]
)
def test_parts_die_with_their_killed_owner_and_not_before(
    start: str, owner: Callable[[str], tuple[subprocess.Popen[str], Owned]]
) -> None:
    assert dies_with(owner(start)) == (True, True)


def test_a_paused_part_dies_with_its_killed_owner(
    owner: Callable[[str], tuple[subprocess.Popen[str], Owned]],
) -> None:
    assert dies_with(owner(FROM_A_SHORT_THREAD.replace("tell", "process.pause(); tell"))) == (True, True)


def test_an_owner_that_simply_ends_takes_its_parts_along(
    owner: Callable[[str], tuple[subprocess.Popen[str], Owned]],
) -> None:
    popen, owned = owner(FROM_A_SHORT_THREAD)
    popen.send_signal(signal.SIGINT)
    assert owned.all_dead_within(LIMIT)


def test_a_stubborn_program_is_killed_after_the_grace(tmp_path: Path) -> None:
    process = Process(
        "stubborn", ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], folder=tmp_path
    )
    process.start()
    process.wait_until(lambda: "ready" in process.log.read_text(), what="getting ready")
    process.stop(grace=0.1)
    assert not process.running


def test_a_restart_runs_the_same_command_with_another_process_and_the_same_log(tmp_path: Path) -> None:
    process = Process("told", ["sh", "-c", "echo started; exec sleep 1000"], folder=tmp_path)
    process.start()
    process.wait_until(lambda: process.log.read_text() == "started\n", what="starting")
    first = process.pid
    process.restart()
    process.wait_until(lambda: process.log.read_text() == "started\nstarted\n", what="starting again")
    assert process.pid != first
    process.kill()


def test_a_program_that_is_not_there_fails_with_its_name(tmp_path: Path) -> None:
    process = Process("ghost", ["/no/such/program"], folder=tmp_path)
    process.start()
    with pytest.raises(PartFailed, match=r"(?s)ghost: it ended with code 1.*cannot run /no/such/program"):
        process.wait_until(lambda: False, what="appearing")


def test_signals_to_a_program_that_is_gone_are_an_error_not_a_stray_kill(tmp_path: Path) -> None:
    process = Process("short", ["true"], folder=tmp_path)
    process.start()
    assert process.exited_within(LIMIT)
    with pytest.raises(PartFailed, match="short: it is not running"):
        process.pause()


BUSY = """
import threading
def work():
    while True:
        pass
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
work()
"""


def test_a_paused_program_stands_still_with_all_its_threads(tmp_path: Path) -> None:
    process = Process("busy", [sys.executable, "-c", BUSY], folder=tmp_path)
    process.start()
    process.wait_until(lambda: "ready" in process.log.read_text(), what="getting ready")
    process.pause()
    states = [stat.read_text().rpartition(")")[2].split()[0] for stat in tasks_of(process)]
    process.kill()
    assert states == ["T"] * 9


def tasks_of(process: Process) -> list[Path]:
    """What the kernel says of each thread of a program."""
    return list(Path(f"/proc/{process.pid}/task").glob("*/stat"))


def test_a_held_port_is_given_to_nobody_else() -> None:
    held = Port()
    others = [Port() for _ in range(200)]
    assert held.number not in {other.number for other in others}
    for port in (held, *others):
        port.release()

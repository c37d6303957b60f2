"""Long-running programs of the testbed: started on a leash, watched, paused, killed, restarted.

A `Process` keeps its command line, so a restart is the same program on the same ports and data.
A `Port` is reserved for as long as it is held, also while its program is down.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from testbed.problems import PartFailed

LEASH = Path(__file__).with_name("leash.py")
LOG_TAIL_LINES = 25
POLL_SECONDS = 0.03

# Children on a leash die with the thread that started them, so one thread starts them all and stays.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="testbed-starter")


def leashed(argv: Sequence[str], user: str = "", hold: str = "") -> list[str]:
    """The command line that runs a program so that it dies with the calling thread and process.

    `user` is empty or `uid:gid`, for programs that refuse to run as root; `hold` is explained there.
    """
    return [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), user, hold, *argv]


def resident_bytes(pid: int) -> int:
    """How much memory a process holds now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(kilobytes) << 10


class Process:
    """One program, which may be stopped, paused and started again."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        folder: Path,
        env: Mapping[str, str] | None = None,
        user: str = "",
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.name = name
        self.argv = list(argv)
        self.folder = folder
        self.log = folder / f"{name}.log"
        self._env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), **(env or {})}
        self._user = user
        self._stop_signal = stop_signal
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; the program must have been started."""
        if self._popen is None:
            raise PartFailed(self.name, "it has not been started")
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Is there a live process (paused ones live, too)?"""
        return self._popen is not None and self._popen.poll() is None

    def resident_bytes(self) -> int:
        """How much memory the process holds now."""
        return resident_bytes(self.pid)

    def start(self) -> None:
        """Start the program, adding to its log."""
        if self.running:
            raise PartFailed(self.name, "it is running already")
        self._popen = _STARTER.submit(self._spawn).result()

    def _spawn(self) -> subprocess.Popen[bytes]:
        """Start the program and wait until it is on its leash: a signal sent earlier could be its last."""
        taken_over, hold = os.pipe()
        with self.log.open("ab") as log, os.fdopen(taken_over, "rb") as waiting:
            with os.fdopen(hold, "wb") as held:
                popen = subprocess.Popen(
                    leashed(self.argv, self._user, str(held.fileno())),
                    cwd=self.folder,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C in the terminal is for the owner, who stops its parts
                    pass_fds=[held.fileno()],
                )
            waiting.read()
            return popen

    def wait_until(self, ready: Callable[[], bool], *, what: str, limit: float = 60) -> None:
        """Wait until a question is answered with yes; the program's death or the limit ends the waiting."""
        end = time.monotonic() + limit
        while not ready():
            if self.exited_within(POLL_SECONDS):
                raise self._failure(f"it ended with code {self._popen and self._popen.returncode}")
            if time.monotonic() > end:
                raise self._failure(f"{what} took longer than {limit:.0f} s")

    def exited_within(self, seconds: float) -> bool:
        """Wait this long for the program's end and say whether it came."""
        if self._popen is None:
            return True
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, *, grace: float = 10) -> None:
        """Ask the program to end; after the grace, kill it. Returns when it is gone."""
        if not self.running:
            return
        self.signal(signal.SIGCONT)
        self.signal(self._stop_signal)
        if not self.exited_within(grace):
            self.kill()

    def kill(self) -> None:
        """End the program at once and wait until it is gone."""
        if self._popen is not None:
            self._popen.kill()
            self._popen.wait()

    def restart(self, *, grace: float = 10) -> None:
        """Stop and start again: same command line, ports and data. Waiting for readiness is the caller's."""
        self.stop(grace=grace)
        self.start()

    def pause(self) -> None:
        """Freeze the program, returning when it stands still: its connections stay open and silent."""
        self.signal(signal.SIGSTOP)
        # On a busy machine the others of its threads go on until one of them has heard the signal.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let a paused program go on."""
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        if not self.running:
            raise self._failure("it is not running")
        os.kill(self.pid, number)

    def log_tail(self) -> str:
        """The last lines the program said."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])

    def _failure(self, reason: str) -> PartFailed:
        return PartFailed(self.name, f"{reason}; its log {self.log} ends with:\n{self.log_tail()}\n")


class Port:
    """A loopback port that nobody else can be given while this is held.

    The port stays bound, but never listening, by a socket that allows the address to be reused. The kernel
    hands such a port to nobody who asks for just any, yet a server that allows reuse, too (nearly all do),
    may listen on it. So there is no moment between choosing and listening in which another program could
    take it, and none between two runs of the server.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number = int(self._socket.getsockname()[1])

    def release(self) -> None:
        """Give the port back."""
        self._socket.close()

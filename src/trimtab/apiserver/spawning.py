"""The process of a cluster in the background, begun before anybody knows what it is to serve.

It imports for longer than all else takes that a start needs: whoever may want a cluster begins its process
first, and reads options, takes locks and makes a certificate meanwhile. What it is to do it is told on a
socket, its standard input; if that closes without a word it ends. Light, for time counts here: even `typing`
takes a tenth of what is won.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

_COMMAND = (sys.executable, "-m", "trimtab.apiserver")


class Begun:
    """A process that waits to be told what to serve; it goes with the block unless it is let go."""

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid = pid
        self.line = line
        self.is_told = False
        self.is_let_go = False

    def __enter__(self) -> Self:
        """Hold it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, unless it has been let go."""
        self.line.close()
        if not self.is_let_go:
            if not self.is_told:
                self.kill()
            os.waitpid(self.pid, 0)  # whoever was told tidies up, and ends: nobody listens any more

    def kill(self) -> None:
        """End it, whatever it does."""
        os.kill(self.pid, signal.SIGKILL)


_early: list[Begun] = []


def begin_early(environment: Mapping[str, str]) -> None:
    """Begin a process for whoever asks for one next."""
    _early.append(_spawned(environment))


def begun(environment: Mapping[str, str]) -> Begun:
    """A process of this environment that waits to be told: the one that was begun early, if one was."""
    return _early.pop() if _early else _spawned(environment)


def give_up_early() -> None:
    """End what was begun and nobody asked for."""
    while _early:
        with _early.pop():
            pass


def _spawned(environment: Mapping[str, str]) -> Begun:
    """A process of its own session, which nobody waits for: it must not end with a terminal.

    Until it is told where its log is, it speaks to whom we speak to.
    """
    ours, its = socket.socketpair()
    with its:
        # It connects to nobody: that it may read whom this machine trusts would only cost time.
        surroundings = {**environment, "SSL_CERT_FILE": os.devnull}
        files = [(os.POSIX_SPAWN_DUP2, its.fileno(), 0)]
        pid = os.posix_spawn(sys.executable, _COMMAND, surroundings, file_actions=files, setsid=True)
    return Begun(pid, ours)

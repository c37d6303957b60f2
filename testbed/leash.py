"""Becomes another program that dies when its owner dies, even by `kill -9`.

Run as a file by `testbed.processes`, never imported: `python -I -S leash.py OWNER USER PROGRAM ARGS...`.
The kernel sends the death signal when the thread that started us ends, so the owner starts long-lived
programs from a thread that lives as long as the owner itself.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Drop rights if asked to, ask the kernel for the death signal, become the program."""
    owner, user, *argv = sys.argv[1:]
    if user:
        # First the identity, then the signal: a change of identity makes the kernel forget the signal.
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        sys.exit("leash: the kernel refuses PR_SET_PDEATHSIG")
    if os.getppid() != int(owner):
        sys.exit("leash: the owner died before the program started")
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - becoming the program is the point, no shell wanted
    except OSError as exc:
        sys.exit(f"leash: cannot run {argv[0]}: {exc.strerror}")


if __name__ == "__main__":
    main()

"""The event loop of our own programs.

A library leaves the loop to whoever imports it: everything here runs on any. Our commands, the runner and the
embedded cluster run on uvloop, which spends less of the processor on the same sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

_T = TypeVar("_T")


def run_main(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a program's main coroutine on a loop of its own, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)

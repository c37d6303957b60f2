"""The event loop of our own programs.

A library leaves the loop to whoever imports it: everything here runs on any. Our commands, the runner and the
embedded cluster run on uvloop, which spends less of the processor on the same sockets.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import uvloop

_T = TypeVar("_T")
Complain: TypeAlias = Callable[[dict[str, Any]], object]
_LATE: Final = "Fatal error on SSL protocol"
#: after so many new values unreachable ones are looked for by who stays: what is let go must not pile up
_VALUES_PER_SEARCH: Final = 20_000
#: how uvloop says that a connection is closed, which a transport may have forgotten that it is
_CLOSED: Final = "the handler is closed"


def run_main(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a program's main coroutine on a loop of its own, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=_loop) as runner:
        return runner.run(main)


def stay() -> None:
    """Say that this process stays for long: memory matters more to it than the first second.

    What it has imported by now is there for good, and is not looked through again.
    """
    gc.freeze()
    gc.set_threshold(_VALUES_PER_SEARCH)
    gc.enable()


def _loop() -> asyncio.AbstractEventLoop:
    loop = uvloop.new_event_loop()
    hear_complaints(loop, loop.default_exception_handler)
    return loop


def hear_complaints(loop: asyncio.AbstractEventLoop, complain: Complain) -> None:
    """Hand on what a loop complains of, but for what is of no matter."""
    loop.set_exception_handler(lambda _loop, context: None if is_idle(context) else complain(context))


def is_idle(context: Mapping[str, Any]) -> bool:
    """Whether a complaint is only that a connection which we have closed cannot be written to any more.

    uvloop reads once more from a TLS connection that was closed just after its handshake, and stumbles over
    the answer that the handshake asks for.
    """
    transport, error = context.get("transport"), context.get("exception")
    return (
        context.get("message") == _LATE
        and isinstance(error, RuntimeError)
        and transport is not None
        and (str(error).endswith(_CLOSED) or bool(transport.is_closing()))
    )

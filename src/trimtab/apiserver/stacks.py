"""Room for what is nested deeper than an ordinary stack can follow.

A real server walks 10,000 levels; Python gives up after some hundred. Nobody sends such things in earnest, so
everything here is written as if nothing were deep, and whatever turns out to be is done once more, from its
beginning, in a thread with a stack that is large enough. Nothing else happens meanwhile: whoever asks, waits.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

Result = TypeVar("Result")
#: calls within calls: a dozen for each of 10,000 levels
CALLS: Final = 120_000
#: bytes that may be used of the stack, some thousand for each call; what is not touched takes no memory
STACK: Final = 1 << 30
_one_at_a_time = threading.Lock()  # noqa: TID251 - how deep calls may go is one number for all threads


def with_room(call: Callable[[], Result]) -> Result:
    """What a call returns or raises; if it runs out of stack, what it does where there is more."""
    try:
        return call()
    except RecursionError:
        return on_large_stack(call)


def on_large_stack(call: Callable[[], Result]) -> Result:
    """What a call returns or raises where there is room for it."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            errors.append(error)

    with _one_at_a_time:
        calls, size = sys.getrecursionlimit(), threading.stack_size(STACK)
        try:
            thread = threading.Thread(target=attempt, name="large stack")
            sys.setrecursionlimit(CALLS)
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(calls)
            threading.stack_size(size)
    if errors:
        raise errors[0]
    return results[0]

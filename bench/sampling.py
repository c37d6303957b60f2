"""Where the processor time of a stretch of Python goes: a sampling profiler of a few lines.

A timer that runs on processor time interrupts the program and notes the innermost Python function. Waiting
costs nothing and C code counts for the function that called it. A signal that arrives in the middle of C code
is only seen at its end, so each sample weighs what has been used since the one before. Unlike a tracing
profiler it adds nothing to each call, so code made of many small functions does not look worse than it is.
"""

from __future__ import annotations

import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from msgspec import Struct

_EVERY_SECONDS = 0.001


class Cost(Struct, frozen=True, kw_only=True):
    """One module's share of the whole, and the function in it that took most."""

    module: str
    share: float
    function: str


class Profile:
    """Seconds of processor time by (module, function)."""

    def __init__(self) -> None:
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._last = 0.0

    def begin(self) -> None:
        """Count from now on."""
        self._last = time.process_time()

    def note(self, _number: int, frame: FrameType | None) -> None:
        """Charge what was used since the last note to the function that runs now."""
        now = time.process_time()
        if frame is not None:
            where = str(frame.f_globals.get("__name__", "?")), frame.f_code.co_qualname
            self.seconds[where] += now - self._last
        self._last = now


@contextmanager
def profiled() -> Iterator[Profile]:
    """Watch where the processor time of the block goes."""
    profile = Profile()
    before = signal.signal(signal.SIGPROF, profile.note)
    signal.setitimer(signal.ITIMER_PROF, _EVERY_SECONDS, _EVERY_SECONDS)
    profile.begin()
    try:
        yield profile
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def biggest_costs(seconds: Mapping[tuple[str, str], float], count: int) -> tuple[Cost, ...]:
    """The modules that took most, largest first, each with the function in it that took most."""
    modules: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (module, function), used in seconds.items():
        modules[module][function] = used
    whole = sum(seconds.values())
    costs = (
        Cost(
            module=module,
            share=sum(functions.values()) / whole,
            function=max(functions, key=functions.__getitem__),
        )
        for module, functions in modules.items()
    )
    return tuple(sorted(costs, key=lambda cost: -cost.share)[:count])

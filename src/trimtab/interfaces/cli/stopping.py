"""Being told to end: SIGTERM is taken as Ctrl-C is. Light, for every command begins with it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_BY_SIGNAL: Final = 128


class Stops:
    """Which signal has stopped this process, if one has."""

    def __init__(self) -> None:
        self._signal = signal.SIGINT

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Have SIGTERM end what is done here in order, as Ctrl-C does: what it holds is let go for others."""
        # Where Ctrl-C is ignored, as by what a script put into the background, SIGTERM must not be, too.
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        before = signal.signal(signal.SIGTERM, self._interrupt)
        try:
            yield
        finally:  # a process that is about to end anyway just ends
            signal.signal(signal.SIGTERM, before)

    def _interrupt(self, number: int, _frame: object) -> None:
        self._signal = signal.Signals(number)
        signal.raise_signal(signal.SIGINT)

    @property
    def code(self) -> int:
        """The exit code that says so, as shells have it."""
        return _BY_SIGNAL + self._signal

"""Being told to end: SIGTERM is taken as Ctrl-C is. Light, for every command begins with it."""

from __future__ import annotations

import signal
from typing import Final

_BY_SIGNAL: Final = 128


class Stops:
    """Which signal has stopped this process, if one has."""

    def __init__(self) -> None:
        self._signal = signal.SIGINT

    def hear(self) -> None:
        """Have SIGTERM end a command in order, as Ctrl-C does: what it holds is let go for others."""
        signal.signal(signal.SIGTERM, self._interrupt)

    def _interrupt(self, number: int, _frame: object) -> None:
        self._signal = signal.Signals(number)
        signal.raise_signal(signal.SIGINT)

    @property
    def code(self) -> int:
        """The exit code that says so, as shells have it."""
        return _BY_SIGNAL + self._signal

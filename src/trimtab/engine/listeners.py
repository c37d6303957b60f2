"""Those who want to be told of something: each on his own, so that one who fails harms nobody else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, ParamSpec

_log = logging.getLogger(__name__)
_Told = ParamSpec("_Told")


class Listeners(Generic[_Told]):
    """Whoever listens, in the order in which they came; nobody is awaited."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[_Told, None]] = {}

    def __bool__(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def subscribe(self, told: Callable[_Told, None]) -> Callable[[], None]:
        """Be told from now on; the answer ends it."""
        ticket = object()
        self._listeners[ticket] = told
        return lambda: self._listeners.pop(ticket, None) and None

    def publish(self, *what: _Told.args, **named: _Told.kwargs) -> None:
        """Tell everybody."""
        for told in tuple(self._listeners.values()):
            try:
                told(*what, **named)
            except Exception:  # noqa: BLE001 - what listeners do is theirs
                _log.exception("a listener failed on %s", ", ".join(type(each).__name__ for each in what))

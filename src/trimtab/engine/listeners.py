"""Those who want to be told of something or asked about it, in the order in which they came."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Generic, ParamSpec, TypeVar

_log = logging.getLogger(__name__)
_Told = ParamSpec("_Told")
_One = TypeVar("_One")


class Subscribers(Generic[_One]):
    """Whoever came and has not left; going through them sees those who are there when it begins."""

    def __init__(self) -> None:
        self._all: dict[object, _One] = {}

    def __bool__(self) -> bool:
        """Whether anybody is there."""
        return bool(self._all)

    def __iter__(self) -> Iterator[_One]:
        return iter(tuple(self._all.values()))

    def subscribe(self, one: _One) -> Callable[[], None]:
        """Be among them from now on; the answer ends it."""
        ticket = object()
        self._all[ticket] = one

        def leave() -> None:
            self._all.pop(ticket, None)

        return leave


class Listeners(Subscribers[Callable[_Told, None]], Generic[_Told]):
    """Those who are told something: each on his own, so that one who fails harms nobody else."""

    def publish(self, *what: _Told.args, **named: _Told.kwargs) -> None:
        """Tell everybody; nobody is awaited."""
        for told in self if self._all else ():
            try:
                told(*what, **named)
            except Exception:  # noqa: BLE001 - what listeners do is theirs
                _log.exception("a listener failed on %s", ", ".join(type(each).__name__ for each in what))

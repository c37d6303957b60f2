"""Which events become lines of a log: everything that is news. Pure but for the memory of what was told."""

from __future__ import annotations

from collections.abc import Callable

from trimtab.app.running.events import AnyEvent, json_line, text_line
from trimtab.engine.events import ComparisonFailed, UnitForgotten, UnitRefreshed


class Log:
    """Turns events into lines; a look at a unit that found it as it was is none."""

    def __init__(self, write: Callable[[str], None], *, as_json: bool) -> None:
        self._write = write
        self._line = json_line if as_json else text_line
        self._stood: dict[str, object] = {}

    def tell(self, event: AnyEvent) -> None:
        """Write a line, if it is news."""
        if self._is_news(event):
            self._write(self._line(event))

    def _is_news(self, event: AnyEvent) -> bool:
        match event:
            case UnitRefreshed(unit=unit):
                stands: object = (event.verdict, event.health, event.revision)
            case ComparisonFailed(unit=unit, reason=reason):
                stands = reason
            case UnitForgotten(unit=unit):
                self._stood.pop(unit, None)
                return True
            case _:
                return True
        before, self._stood[unit] = self._stood.get(unit), stands
        return before != stands

"""`--timeout`, the same for every verb that waits: seconds, or a duration such as 90s or 5m.

No time at all means to look once, as it does to `kubectl wait`; where something has to be done meanwhile, it
cannot be meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_EXAMPLES = "write 90, 90s or 5m."


class _Seconds(click.ParamType[float]):
    """A number of seconds, or a duration with units; the verb gets seconds."""

    name = "duration"

    def __init__(self, *, looks: bool, instead: str) -> None:
        self._looks, self._instead = looks, instead

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from trimtab.settings.quantities import duration

        found = duration(str(value))
        if found is None or found.total_seconds() < 0:
            self.fail(f"{value!r} is no duration: {_EXAMPLES}", param, ctx)
        if not found and not self._looks:
            self.fail(f"In {value!r} nothing can be done: {_EXAMPLES} {self._instead}".rstrip(), param, ctx)
        return found.total_seconds()


def timeout_option(
    help_text: str, *, looks: bool = False, instead: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb `--timeout`; it takes it as a number of seconds.

    A verb that only `looks` takes 0 as well; others say what to write `instead`, if there is something.
    """
    kind = _Seconds(looks=looks, instead=instead)
    return click.option("--timeout", type=kind, default="5m", show_default=True, help=help_text)

"""`--timeout`, the same for every verb that waits: seconds, or a duration such as 90s or 5m."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class _Seconds(click.ParamType[float]):
    """A number of seconds, or a duration with units; the verb gets seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from trimtab.settings.quantities import duration

        found = duration(str(value))
        if found is None or found.total_seconds() < 0:
            self.fail(f"{value!r} is no duration: write 90, 90s or 5m.", param, ctx)
        return found.total_seconds()


def timeout_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb `--timeout`; it takes it as a number of seconds."""
    return click.option("--timeout", type=_Seconds(), default="5m", show_default=True, help=help_text)

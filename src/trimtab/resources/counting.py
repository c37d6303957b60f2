"""How many of something there are, as people say it. Pure."""

from __future__ import annotations


def counted(number: float, one: str, many: str = "") -> str:
    """`1 object`, `2 objects`; what is said of more than one may be said otherwise, like `2 apps are`."""
    return f"{number:.15g} {one if number == 1 else many or f'{one}s'}"

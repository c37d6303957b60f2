"""Reads off what `make demo` printed how long its set-up took, and how long the demo itself. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_SET_UP = re.compile(r"^set-up took (\d+(?:\.\d+)?) s\s*$", re.MULTILINE)
_DEMO = re.compile(r"^That was all of it, in (\d+) s\.", re.MULTILINE)


class Told(NamedTuple):
    """Seconds, by its own account."""

    #: of packages and of programs together; 0 where nothing had to be set up
    set_up: float
    demo: float


def told(printed: str) -> Told | None:
    """What a whole demo said of itself; nothing if it did not come to its end."""
    ended = _DEMO.search(printed)
    if ended is None:
        return None
    return Told(set_up=sum(map(float, _SET_UP.findall(printed))), demo=float(ended[1]))

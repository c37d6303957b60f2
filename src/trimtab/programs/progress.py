"""How far a download has come, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Progress(Struct, frozen=True, kw_only=True):
    """How far a package has come, in bytes."""

    name: str
    done: int
    total: int


Tell = Callable[[Progress], None]

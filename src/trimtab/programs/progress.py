"""How far a download has come, for whoever wants to show it; and that nothing can keep it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from trimtab.errors import Unavailable


class NotKept(Unavailable):
    """The folder for programs that are fetched cannot keep one."""


class Progress(Struct, frozen=True, kw_only=True):
    """How far a package has come, in bytes."""

    name: str
    done: int
    total: int


Tell = Callable[[Progress], None]


def silently(progress: Progress) -> None:
    """Tell nobody."""


def said_once(say: Callable[[str], object]) -> Tell:
    """Tells of each program once, as its download begins, in one sentence that is given to `say`."""
    told: set[str] = set()

    def tell(progress: Progress) -> None:
        if progress.name not in told:
            told.add(progress.name)
            say(f"Fetching {progress.name}, once ({progress.total / 1_000_000:.0f} MB)")

    return tell

"""Which renders may share a process, what it is told, and what it has answered. Pure.

Our builds of helm and kustomize (`renderers/`) run many times within one process, which saves their start. An
answer counts if the tool ended well. Whatever has none, or another, is rendered by the tool itself: so nobody
is told of a failure that is not his own, and every error is the one that the tool gives by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

#: the argument that asks our builds for many runs
WORD: Final = "trimtab-jobs"
#: a batch may take this part of the time that a single program may: whoever holds up the others is found soon
TIME_SHARE: Final = 0.25


class Order(Struct, frozen=True, kw_only=True):
    """One run of the tool."""

    folder: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


class Heard(Struct, frozen=True, kw_only=True):
    """What a process has answered: for each order it came to, what was printed; None for one that failed."""

    printed: tuple[bytes | None, ...]

    def answer(self, place: int) -> bytes | None:
        """What the order at this place printed, if it ended well."""
        return self.printed[place] if place < len(self.printed) else None

    def is_untried(self, place: int) -> bool:
        """Whether the process ended before it came to this order, for the sake of another.

        The first without an answer is the one that the process ended with. One that has answered nothing at
        all may be unable to, and is not asked again.
        """
        return bool(self.printed) and place > len(self.printed)


class _Head(Struct, frozen=True, kw_only=True):
    code: int
    stdout: int


_HEAD: Final = msgspec.json.Decoder(_Head)


def told(orders: Sequence[Order]) -> bytes:
    """The orders as the process reads them."""
    return b"\n".join(map(msgspec.json.encode, orders))


def heard(said: bytes, orders: int) -> Heard:
    """What the process has answered, as far as it came; what makes no sense is no answer."""
    return Heard(printed=tuple(each for each, _ in zip(_answers(said), range(orders), strict=False)))


def _answers(said: bytes) -> Iterator[bytes | None]:
    place = 0
    while (end := said.find(b"\n", place)) >= 0:
        try:
            head = _HEAD.decode(said[place:end])
        except msgspec.DecodeError:
            return
        place = end + 1 + head.stdout
        if head.stdout < 0 or place > len(said):
            return
        yield said[end + 1 : place] if head.code == 0 else None

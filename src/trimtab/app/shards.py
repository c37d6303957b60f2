"""Shards: which part a unit belongs to, which runner may hold it, and what belongs to runners at all. Pure.

The number of shards is part of a lease's name, so whoever wants to know whether a unit is kept reads the
leases and needs no setting.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import timedelta

from msgspec import Struct

from trimtab.app.appsources import sources_of
from trimtab.engine.units import SyncUnit
from trimtab.errors import TrimtabError
from trimtab.kube.leases import LeaseTerms
from trimtab.resources.digests import digest

_APP = "trimtab-app-"
_NAME = re.compile(r"trimtab-shard-(?P<number>\d{1,9})-of-(?P<count>\d{1,9})")
_SEAT = re.compile(r"trimtab-seat-\d{1,9}-of-(?P<count>\d{1,9})")


class Shard(Struct, frozen=True, order=True):
    """One part of all units: the number, from 0, and how many there are."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number} of {self.count}"

    @property
    def lease(self) -> str:
        """The name of the lease that says who holds it."""
        return f"trimtab-shard-{self.number}-of-{self.count}"

    def has(self, unit_id: str) -> bool:
        """Whether a unit belongs to it."""
        return spread(unit_id) % self.count == self.number


def shards(count: int) -> tuple[Shard, ...]:
    """All parts, when there are so many."""
    return tuple(Shard(number, count) for number in range(count))


def shard_named(lease: str) -> Shard | None:
    """The shard whose lease has this name; None for any other lease."""
    found = _NAME.fullmatch(lease)
    if found is None or int(found["number"]) >= int(found["count"]):
        return None
    return Shard(int(found["number"]), int(found["count"]))


def seats(count: int) -> tuple[str, ...]:
    """The leases by which runners with room for more are seen, when there are so many shards.

    There are as many as shards: further runners could be given none anyway.
    """
    return tuple(f"trimtab-seat-{number}-of-{count}" for number in range(count))


def seat_named(lease: str) -> int | None:
    """For how many shards a lease is a seat; None for any other lease."""
    found = _SEAT.fullmatch(lease)
    return None if found is None else int(found["count"])


def spread(unit_id: str) -> int:
    """A number that is the same for a unit wherever it is computed, and even over many units."""
    return int.from_bytes(hashlib.sha256(unit_id.encode()).digest()[:8])


def rivals(mine: Shard, held: Iterable[Shard]) -> tuple[Shard, ...]:
    """Held shards of another division, which may have units of ours."""
    return tuple(sorted(each for each in held if each.count != mine.count))


def is_kept(unit: SyncUnit) -> bool:
    """Whether runners keep this unit: what comes from a folder of somebody's machine is left to its owner.

    A unit that a runner was told of in a file is a runner's, wherever it comes from.
    """
    if unit.declared_in:
        return True
    try:
        return not sources_of(unit).is_local
    except TrimtabError:
        return False


def terms_of(takeover: timedelta) -> LeaseTerms:
    """The terms of a lease that is taken over after this long."""
    return LeaseTerms(duration=takeover, give_up_after=takeover * 2 / 3, rhythm=takeover * 2 / 15)


def app_lease(unit_id: str) -> str:
    """The name of the lease that says who works on a unit from a command line."""
    return f"{_APP}{digest(unit_id)}"


def is_app_lease(name: str) -> bool:
    """Whether a lease says who works on some unit from a command line."""
    return name.startswith(_APP)

"""Who should keep how many shards: what leases say of all runners, and what one does about it. Pure.

Shards are held by leases. A runner that has room for one more also holds a seat, so that those who have many
see one who has few. A shard changes hands when its holder has at least two more than a runner with a seat:
moving it then makes the two more alike, and never the other way round, so it comes to rest. While any shard
is free nobody hands over another, and only the one with most shards does so at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from msgspec import Struct

from trimtab.app.shards import Shard, seat_named, shard_named
from trimtab.kube.leases import Sighting, Take, move

#: shards that one has to have more than another before it hands over one
_APART = 2


class Division(Struct, frozen=True, kw_only=True):
    """Who keeps which shard, and who has room for more, as the leases were last seen."""

    count: int
    holders: Mapping[Shard, str] = {}
    seated: frozenset[str] = frozenset()

    def load(self, runner: str) -> int:
        """How many shards a runner keeps."""
        return sum(holder == runner for holder in self.holders.values())


def division_of(
    sightings: Mapping[str, Sighting], count: int, me: str, now: float, *, fresh: float
) -> Division:
    """What the leases say of so many shards; a lease that has run out is held by nobody.

    A seat counts only if it was renewed in the last `fresh` seconds: who was killed should be taken for gone
    before his shards are free, or he would be given some.
    """
    holders: dict[Shard, str] = {}
    seated = set()
    for name, sighting in sightings.items():
        if sighting.holding is None or isinstance(move(sighting, me, now), Take):
            continue
        shard, holder = shard_named(name), sighting.holding.holder
        if shard is not None and shard.count == count:
            holders[shard] = holder
        elif seat_named(name) == count and now - sighting.at <= fresh:
            seated.add(holder)
    return Division(count=count, holders=holders, seated=frozenset(seated))


def surplus(division: Division, me: str, idle: Collection[Shard]) -> tuple[Shard, str] | None:
    """The shard that a runner should hand over, one of the idle ones, and to whom; None if none."""
    if len(division.holders) < division.count:
        return None
    loads = Counter(division.holders.values())
    richest = min(loads, key=lambda runner: (-loads[runner], runner))
    others = division.seated - {me}
    if richest != me or not others:
        return None
    poorest = min(others, key=lambda runner: (loads[runner], runner))
    movable = [shard for shard in idle if division.holders.get(shard) == me]
    if not movable or loads[me] - loads[poorest] < _APART:
        return None
    return max(movable), poorest


def turn(division: Division, me: str) -> int:
    """How many runners with room should be let first when a shard is free: those who keep less."""
    mine = (division.load(me), me)
    return sum((division.load(other), other) < mine for other in division.seated - {me})

"""How many pods controllers may make: at once, after a refusal, and in the whole cluster. Pure.

Nothing else bounds what a workload asks for: pods cost memory here although no container runs, and quotas are
not looked at. Where the room ends, controllers are refused as a quota would refuse them. What a cluster began
with, as a copy of a large one does, takes no room.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from trimtab.apiserver.behaviours.changes import Change, Create
from trimtab.apiserver.behaviours.kinds import POD
from trimtab.apiserver.behaviours.manifests import Manifest, kind_of, uid_of
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World

BURST = 500  # pods made or given up in one go


def retry_at(world: World, owner: Manifest, now: datetime, timing: Timing) -> datetime | None:
    """When something may be made again for an owner that was refused, if that lies ahead."""
    refused = world.refusals.get(uid_of(owner))
    due = refused.at + timing.backoff if refused else now
    return due if due > now else None


def makeable(world: World, owner: Manifest, missing: int, now: datetime, timing: Timing) -> int:
    """How many of the missing pods to make now; where there is no room for any, one is tried."""
    if missing <= 0 or retry_at(world, owner, now, timing) is not None:
        return 0
    return max(1, min(missing, BURST, world.most_pods - world.count(POD)))


def within(most: int, changes: Iterable[Change]) -> list[Change]:
    """The changes without those pods to be made that are too many."""
    made = 0
    left = []
    for change in changes:
        made += isinstance(change, Create)
        if made <= most or not isinstance(change, Create):
            left.append(change)
    return left


def no_room(world: World, change: Change) -> str:
    """Why a controller may not make this, in the words of a quota; nothing where it may."""
    if not isinstance(change, Create) or kind_of(change.body) != POD:
        return ""
    used, most = world.count(POD), world.most_pods
    if used < most:
        return ""
    metadata = change.body["metadata"]
    name = metadata.get("name") or metadata.get("generateName", "")
    told = f"exceeded quota: embedded-cluster, requested: pods=1, used: pods={used}, limited: pods={most}"
    return f'pods "{name}" is forbidden: {told}'

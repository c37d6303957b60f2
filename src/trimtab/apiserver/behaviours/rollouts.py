"""How big each ReplicaSet of a Deployment should be, step by step of a rollout. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    age_order,
    annotations_of,
    created_at,
    is_going,
    name_of,
    status_of,
    uid_of,
)
from trimtab.kube.integers import whole
from trimtab.kube.quantity import percent_of

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"


class Rollout(Struct, frozen=True, kw_only=True):
    """A Deployment and its ReplicaSets: the one of its template, if it exists, and the old ones by age."""

    deployment: Manifest
    new: Manifest | None
    old: tuple[Manifest, ...]

    @property
    def all(self) -> tuple[Manifest, ...]:
        """Every ReplicaSet, the new one last."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def replicas(self) -> int:
        """How many pods are wished for."""
        return int(self.deployment["spec"].get("replicas", 1))

    @property
    def is_rolling(self) -> bool:
        """Whether old pods go while new ones come."""
        return bool(self.deployment["spec"]["strategy"]["type"] == "RollingUpdate")

    @property
    def max_surge(self) -> int:
        """How many pods there may be above the wish."""
        return self._fenceposts()[0] if self.is_rolling else 0

    @property
    def max_unavailable(self) -> int:
        """How many pods may be missing from the wish."""
        if not self.is_rolling or self.replicas == 0:
            return 0
        return min(self._fenceposts()[1], self.replicas)

    def _fenceposts(self) -> tuple[int, int]:
        rules = self.deployment["spec"]["strategy"]["rollingUpdate"]
        surge = percent_of(rules.get("maxSurge", 0), self.replicas, round_up=True)
        unavailable = percent_of(rules.get("maxUnavailable", 0), self.replicas, round_up=False)
        return (surge, 1) if surge == unavailable == 0 else (surge, unavailable)


def rollout_of(deployment: Manifest, replica_sets: Iterable[Manifest]) -> Rollout:
    """Which ReplicaSet is the new one: the oldest whose template is the Deployment's."""
    replica_sets = sorted(replica_sets, key=age_order)
    wanted = deployment["spec"]["template"]
    new = next((each for each in replica_sets if without_hash(each["spec"]["template"]) == wanted), None)
    old = tuple(each for each in replica_sets if each is not new)
    return Rollout(deployment=deployment, new=new, old=old)


def without_hash(template: Mapping[str, Any]) -> dict[str, Any]:
    """The template as it was before a ReplicaSet was made from it."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def size_of(replica_set: Manifest) -> int:
    """How many pods a ReplicaSet is asked to have."""
    return int(replica_set["spec"].get("replicas", 1))


def available_in(replica_set: Manifest) -> int:
    """How many of its pods are available."""
    return int(status_of(replica_set).get("availableReplicas", 0))


def revision_of(replica_set: Manifest) -> int:
    """Its place in the Deployment's history; 0 if it has none."""
    text = annotations_of(replica_set).get(REVISION, "")
    return whole(text) or 0


def active(replica_sets: Iterable[Manifest]) -> list[Manifest]:
    """Those that are asked to have pods."""
    return [each for each in replica_sets if size_of(each) > 0]


Sizes = dict[str, int]  # by the identity of the ReplicaSet


def is_scaling(rollout: Rollout) -> bool:
    """Whether the wish for replicas changed since the ReplicaSets were last sized."""
    desired = (annotations_of(each).get(DESIRED, "") for each in active(rollout.all))
    return any(whole(text) not in (None, rollout.replicas) for text in desired)


def first_size(rollout: Rollout) -> int:
    """The size a new ReplicaSet begins with."""
    return _grown(rollout, 0)


def _grown(rollout: Rollout, size: int) -> int:
    if not rollout.is_rolling:
        return rollout.replicas
    room = rollout.replicas + rollout.max_surge - sum(size_of(each) for each in rollout.all)
    return size if room <= 0 else size + min(room, rollout.replicas - size)


def rolling_sizes(rollout: Rollout) -> Sizes:
    """The next step of a rolling update: the new one grows if it may; else old ones shrink if they may."""
    new = rollout.new
    if new is None:
        return {}
    size = size_of(new)
    target = rollout.replicas if size > rollout.replicas else _grown(rollout, size)
    if target != size:
        return {uid_of(new): target}
    return _shrunk(rollout, new)


def _shrunk(rollout: Rollout, new: Manifest) -> Sizes:
    old = active(rollout.old)
    fewest = rollout.replicas - rollout.max_unavailable
    unavailable = size_of(new) - available_in(new)
    spare = sum(size_of(each) for each in rollout.all) - fewest - unavailable
    if not old or spare <= 0:
        return {}
    sizes = _without_unhealthy(old, spare)
    spare = sum(available_in(each) for each in (*old, new)) - fewest
    for each in old:
        size = sizes.get(uid_of(each), size_of(each))
        cut = min(size, spare)
        if cut > 0:
            sizes[uid_of(each)] = size - cut
            spare -= cut
    return sizes


def _without_unhealthy(old: Iterable[Manifest], spare: int) -> Sizes:
    """Pods that are not available are given up first: losing them costs nothing."""
    sizes: Sizes = {}
    for each in old:
        cut = min(spare, size_of(each) - available_in(each))
        if cut > 0:
            sizes[uid_of(each)] = size_of(each) - cut
            spare -= cut
    return sizes


def recreate_sizes(rollout: Rollout) -> Sizes:
    """Old pods go first, all at once."""
    return {uid_of(each): 0 for each in active(rollout.old)}


def scaled_sizes(rollout: Rollout) -> Sizes:
    """The sizes after a change of the wish: the only one takes all, several share it by their size."""
    lone = _active_or_latest(rollout)
    if lone is not None:
        return {uid_of(lone): rollout.replicas} if size_of(lone) != rollout.replicas else {}
    if rollout.new is not None and _is_saturated(rollout, rollout.new):
        return recreate_sizes(rollout)
    return _shared(rollout) if rollout.is_rolling else {}


def _active_or_latest(rollout: Rollout) -> Manifest | None:
    found = active(rollout.all)
    if len(found) == 1:
        return found[0]
    if found or not rollout.all:
        return None
    return rollout.new or rollout.old[-1]


def _is_saturated(rollout: Rollout, new: Manifest) -> bool:
    desired = annotations_of(new).get(DESIRED, "")
    wanted = rollout.replicas
    return size_of(new) == wanted and desired == str(wanted) and available_in(new) == wanted


def _shared(rollout: Rollout) -> Sizes:
    sets = active(rollout.all)
    allowed = rollout.replicas + rollout.max_surge if rollout.replicas else 0
    to_add = allowed - sum(size_of(each) for each in sets)
    newer_first = -1 if to_add > 0 else 1
    sets.sort(key=lambda each: (-size_of(each), newer_first * created_at(each).timestamp(), name_of(each)))
    sizes, added = {}, 0
    for each in sets:
        share = _share(rollout, each, to_add, added)
        sizes[uid_of(each)] = size_of(each) + share
        added += share
    if sets and to_add:
        largest = uid_of(sets[0])
        sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def _share(rollout: Rollout, replica_set: Manifest, to_add: int, added: int) -> int:
    size = size_of(replica_set)
    if not to_add or to_add == added:
        return 0
    if rollout.replicas == 0:
        share = -size
    else:
        text = annotations_of(replica_set).get(MAXIMUM, "")
        before = whole(text) or int(status_of(rollout.deployment).get("replicas", 0))
        most = rollout.replicas + rollout.max_surge
        share = int(size * most / before + 0.5) - size if before else 0
    left = to_add - added
    return min(share, left) if to_add > 0 else max(share, left)


def superfluous(rollout: Rollout) -> Sequence[Manifest]:
    """Old ReplicaSets beyond the history that is kept, the oldest revisions first; only empty ones may go."""
    limit = rollout.deployment["spec"].get("revisionHistoryLimit")
    alive = sorted((each for each in rollout.old if not is_going(each)), key=revision_of)
    if limit is None:
        return ()
    return [each for each in alive[: max(0, len(alive) - limit)] if _is_empty(each)]


def _is_empty(replica_set: Manifest) -> bool:
    status = status_of(replica_set)
    seen = status.get("observedGeneration", 0) >= replica_set["metadata"].get("generation", 0)
    return seen and size_of(replica_set) == 0 and not status.get("replicas")

"""ReplicaSets: as many pods of one template as were asked for, and a status that counts them. Pure.

ReplicationControllers, their elders, do the same and count a little less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Change,
    Create,
    Decision,
    Delete,
    Update,
)
from trimtab.apiserver.behaviours.events import REPLICA_SET_VOICE, REPLICATION_CONTROLLER_VOICE
from trimtab.apiserver.behaviours.kinds import POD, REPLICA_SET, REPLICATION_CONTROLLER
from trimtab.apiserver.behaviours.manifests import (
    Condition,
    Manifest,
    Name,
    generation_of,
    is_going,
    kind_of,
    labels_of,
    present,
    replaced,
    stamp,
    status_of,
    uid_of,
    with_status,
    without_condition,
)
from trimtab.apiserver.behaviours.ownership import claims, own_or_owner, pod_from
from trimtab.apiserver.behaviours.readiness import (
    dispensable_first,
    is_active,
    is_available,
    is_ready,
    is_terminating,
    next_available,
)
from trimtab.apiserver.behaviours.room import BURST, makeable, retry_at
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import Refused, World


def decide(world: World, name: Name, now: datetime, timing: Timing, *, kind: str = REPLICA_SET) -> Decision:
    """Make missing pods, give up surplus ones, and write down how many there are."""
    replica_set = world.get(kind, *name)
    if replica_set is None:
        return NOTHING
    claimed = claims(world, replica_set, POD)
    if claimed.changes:
        return Decision(changes=claimed.changes)
    active = [pod for pod in claimed.owned if is_active(pod)]
    missing = replica_set["spec"].get("replicas", 1) - len(active)
    refused = world.refusals.get(uid_of(replica_set)) if missing > 0 else None
    changes: list[Change] = []
    if not is_going(replica_set):
        most = makeable(world, replica_set, missing, now, timing)
        changes = list(_scaling(replica_set, active, missing, most))
    status = _status(replica_set, claimed.owned, refused, now)
    if status != status_of(replica_set):
        changes.insert(0, Update(body=with_status(replica_set, status), subresource="status"))
    waits = next_available(active, _min_ready(replica_set), now)
    retry = retry_at(world, replica_set, now, timing) if refused else None
    times = [each for each in (waits, retry) if each is not None]
    return Decision(changes=tuple(changes), again=min(times, default=None), on_behalf_of=uid_of(replica_set))


def _scaling(replica_set: Manifest, active: Sequence[Manifest], missing: int, most: int) -> Iterator[Change]:
    for _ in range(most):
        yield Create(pod_from(replica_set, replica_set["spec"]["template"]))
    for pod in dispensable_first(active)[: min(max(-missing, 0), BURST)]:
        yield Delete(target=pod)


def _min_ready(replica_set: Manifest) -> int:
    return int(replica_set["spec"].get("minReadySeconds", 0))


def _status(
    replica_set: Manifest, pods: Iterable[Manifest], refused: Refused | None, now: datetime
) -> dict[str, Any]:
    pods = list(pods)
    active = [pod for pod in pods if is_active(pod)]
    wanted = ((replica_set["spec"]["template"].get("metadata") or {}).get("labels") or {}).items()
    going = {"terminatingReplicas": sum(is_terminating(pod) for pod in pods)}
    return {
        "replicas": len(active),
        **(going if kind_of(replica_set) == REPLICA_SET else {}),
        **present(
            fullyLabeledReplicas=sum(wanted <= labels_of(pod).items() for pod in active),
            readyReplicas=sum(is_ready(pod) for pod in active),
            availableReplicas=sum(is_available(pod, _min_ready(replica_set), now) for pod in active),
            observedGeneration=generation_of(replica_set),
            conditions=_conditions(replica_set, refused, now),
        ),
    }


def _conditions(replica_set: Manifest, refused: Refused | None, now: datetime) -> list[Condition]:
    conditions = status_of(replica_set).get("conditions") or []
    if refused is None:
        return without_condition(conditions, "ReplicaFailure")
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": refused.message,
        "lastTransitionTime": stamp(now),
    }
    return replaced(conditions, failure)


def concerned(world: World, changed: Manifest, *, kind: str = REPLICA_SET) -> Iterator[Name]:
    """A ReplicaSet itself, or whoever owns or may adopt the pod."""
    return own_or_owner(world, changed, kind=kind, dependent=POD)


REPLICA_SETS = Behaviour(
    title="replica sets", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned, voice=REPLICA_SET_VOICE
)
REPLICATION_CONTROLLERS = Behaviour(
    title="replication controllers",
    actor=Actor.CONTROLLERS,
    decide=partial(decide, kind=REPLICATION_CONTROLLER),
    concerned=partial(concerned, kind=REPLICATION_CONTROLLER),
    voice=REPLICATION_CONTROLLER_VOICE,
)

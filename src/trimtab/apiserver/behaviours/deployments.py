"""Deployments: one ReplicaSet per template, rolled out in steps, with conditions that tell how it goes. Pure.

Each look takes one step; what it writes brings the next look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
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
    decision,
)
from trimtab.apiserver.behaviours.events import DEPLOYMENT_VOICE
from trimtab.apiserver.behaviours.hashes import template_hash
from trimtab.apiserver.behaviours.kinds import DEPLOYMENT, POD, REPLICA_SET
from trimtab.apiserver.behaviours.manifests import (
    Condition,
    Manifest,
    Name,
    annotations_of,
    condition,
    condition_in,
    controller_of,
    controller_reference,
    generation_of,
    is_going,
    kind_of,
    moment,
    name_of,
    namespace_of,
    present,
    replaced,
    stamp,
    status_of,
    uid_of,
    with_metadata,
    with_spec,
    with_status,
    without_condition,
)
from trimtab.apiserver.behaviours.ownership import claims, own_or_owner
from trimtab.apiserver.behaviours.readiness import is_over
from trimtab.apiserver.behaviours.rollouts import (
    DESIRED,
    HASH,
    MAXIMUM,
    REVISION,
    REVISION_HISTORY,
    Rollout,
    Sizes,
    first_size,
    is_scaling,
    recreate_sizes,
    revision_of,
    rolling_sizes,
    rollout_of,
    scaled_sizes,
    size_of,
    superfluous,
)
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World

_NOT_COPIED = {
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAXIMUM,
}
_NO_DEADLINE = 2**31 - 1
_HISTORY_CHARACTERS = 2000


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The next step of the rollout."""
    deployment = world.get(DEPLOYMENT, *name)
    if deployment is None:
        return NOTHING
    claimed = claims(world, deployment, REPLICA_SET)
    if claimed.changes:
        return Decision(changes=claimed.changes)
    rollout = rollout_of(deployment, claimed.owned)
    if is_going(deployment):
        return decision(_status_change(rollout, _counted(rollout, now)))
    if noted := _pause_noted(deployment, now):
        return decision([noted])
    if rollout.new is not None and (kept := _books_kept(rollout, rollout.new, now)):
        return decision([kept])
    if deployment["spec"].get("paused") or is_scaling(rollout):
        return _scaled(rollout, now)
    return _rolled(world, rollout, now)


def _scaled(rollout: Rollout, now: datetime) -> Decision:
    sizes = scaled_sizes(rollout)
    changes: list[Change] = [*_resized(rollout, sizes, forced=len(sizes) > 1)]
    if rollout.deployment["spec"].get("paused"):
        changes += [Delete(target=each) for each in superfluous(rollout)]
    return decision([*changes, *_status_change(rollout, _counted(rollout, now))])


def _rolled(world: World, rollout: Rollout, now: datetime) -> Decision:
    if rollout.is_rolling:
        if rollout.new is None:
            return decision(_made(world, rollout, now))
        sizes = rolling_sizes(rollout)
    else:
        sizes = recreate_sizes(rollout)
        if not sizes and _old_pods_run(world, rollout):
            return _told(rollout, now, [])
        if not sizes and rollout.new is None:
            return decision(_made(world, rollout, now))
        if not sizes and rollout.new is not None:
            sizes = {uid_of(rollout.new): rollout.replicas}
    changes: list[Change] = [*_resized(rollout, sizes, forced=False)]
    if not changes and is_complete(rollout, status_of(rollout.deployment)):
        changes += [Delete(target=each) for each in superfluous(rollout)]
    return _told(rollout, now, changes)


def _told(rollout: Rollout, now: datetime, changes: Iterable[Change]) -> Decision:
    status = _progressed(rollout, _counted(rollout, now), now)
    return decision([*changes, *_status_change(rollout, status)], _deadline(rollout.deployment, status, now))


def _old_pods_run(world: World, rollout: Rollout) -> bool:
    """Whether pods of old templates are still there."""
    if any(status_of(each).get("replicas", 0) for each in rollout.old):
        return True
    pods = (pod for each in rollout.old for pod in world.owned(each, POD))
    return any(not is_over(pod) for pod in pods)


# -- ReplicaSets ----------------------------------------------------------------------------------------


def _made(world: World, rollout: Rollout, now: datetime) -> Iterator[Change]:
    """The new ReplicaSet, and that it was made; a name that is taken gives another hash."""
    deployment = rollout.deployment
    collisions = int(status_of(deployment).get("collisionCount", 0))
    hashed = template_hash(deployment["spec"]["template"], collisions)
    name = f"{name_of(deployment)}-{hashed}"
    if world.get(REPLICA_SET, namespace_of(deployment), name) is not None:
        status = {**status_of(deployment), "collisionCount": collisions + 1}
        yield Update(body=with_status(deployment, status), subresource="status")
        return
    revision = str(max(map(revision_of, rollout.old), default=0) + 1)
    yield Create(_replica_set(rollout, name, hashed, revision))
    if (condition(deployment, "Progressing") or {}).get("reason") == "DeploymentResumed":
        return  # the real controller's note of this meets a conflict with its note of the resumption
    status = dict(status_of(deployment))
    if has_deadline(deployment):
        created = _progressing("NewReplicaSetCreated", f'Created new replica set "{name}"', now)
        status["conditions"] = replaced(status.get("conditions") or (), created)
    annotated = with_metadata(deployment, annotations={**annotations_of(deployment), REVISION: revision})
    yield Update(body=with_status(annotated, status), subresource="status")


def _replica_set(rollout: Rollout, name: str, hashed: str, revision: str) -> dict[str, Any]:
    deployment = rollout.deployment
    template, selector = deployment["spec"]["template"], deployment["spec"]["selector"]
    labels = {**(template.get("metadata", {}).get("labels") or {}), HASH: hashed}
    spec = {
        "replicas": first_size(rollout),
        "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: hashed}},
        "template": {**template, "metadata": {**template.get("metadata", {}), "labels": labels}},
        **present(minReadySeconds=deployment["spec"].get("minReadySeconds", 0)),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": namespace_of(deployment),
            "labels": labels,
            "annotations": {**_copied(deployment), REVISION: revision, **_sized(rollout)},
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": spec,
    }


def _copied(deployment: Manifest) -> dict[str, str]:
    return {key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED}


def _sized(rollout: Rollout) -> dict[str, str]:
    return {DESIRED: str(rollout.replicas), MAXIMUM: str(rollout.replicas + rollout.max_surge)}


def _resized(rollout: Rollout, sizes: Sizes, *, forced: bool) -> Iterator[Update]:
    """ReplicaSets whose size changes; where several share a change, also those that only hear of it."""
    for each in rollout.all:
        size = sizes.get(uid_of(each))
        annotations = {**annotations_of(each), **_sized(rollout)}
        hears = forced and size is not None and annotations != annotations_of(each)
        if size is not None and (size != size_of(each) or hears):
            yield Update(body=with_spec(with_metadata(each, annotations=annotations), replicas=size))


def _books_kept(rollout: Rollout, new: Manifest, now: datetime) -> Update | None:
    """The new ReplicaSet's annotations and the Deployment's revision, where they lag behind."""
    deployment = rollout.deployment
    annotations = {**annotations_of(new), **_copied(deployment)}
    revision = max(map(revision_of, rollout.old), default=0) + 1
    if revision_of(new) < revision:
        annotations |= _remembered(annotations, revision)
    min_ready = deployment["spec"].get("minReadySeconds", 0)
    if annotations != annotations_of(new) or new["spec"].get("minReadySeconds", 0) != min_ready:
        return Update(body=with_spec(with_metadata(new, annotations=annotations), minReadySeconds=min_ready))
    status = dict(status_of(deployment))
    if has_deadline(deployment) and condition(deployment, "Progressing") is None:
        found = _progressing("FoundNewReplicaSet", f'Found new replica set "{name_of(new)}"', now)
        status["conditions"] = replaced(status.get("conditions") or (), found)
    revised = {**annotations_of(deployment), REVISION: annotations[REVISION]}
    if revised == annotations_of(deployment) and status == status_of(deployment):
        return None
    body = with_status(with_metadata(deployment, annotations=revised), status)
    return Update(body=body, subresource="status")


def _remembered(annotations: Mapping[str, str], revision: int) -> dict[str, str]:
    """The annotations of a ReplicaSet that becomes the newest again: its former revisions are remembered."""
    before = annotations.get(REVISION)
    if before is None:
        return {REVISION: str(revision)}
    history = [*filter(None, annotations.get(REVISION_HISTORY, "").split(",")), before]
    while len(",".join(history)) > _HISTORY_CHARACTERS:
        history.pop(0)
    return {REVISION: str(revision), REVISION_HISTORY: ",".join(history)}


# -- status ---------------------------------------------------------------------------------------------


def _status_change(rollout: Rollout, status: Mapping[str, Any]) -> list[Change]:
    if status == status_of(rollout.deployment):
        return []
    return [Update(body=with_status(rollout.deployment, status), subresource="status")]


def _counted(rollout: Rollout, now: datetime) -> dict[str, Any]:
    """The status by the ReplicaSets' own counts."""
    sets, deployment = rollout.all, rollout.deployment
    available = _total(sets, "availableReplicas")
    enough = available >= rollout.replicas - rollout.max_unavailable
    made = _condition(
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        now,
    )
    before = status_of(deployment)
    kept = {key: before[key] for key in ("collisionCount",) if key in before}
    terminating = [
        status_of(each).get("terminatingReplicas")
        for each in sets
        if status_of(each).get("observedGeneration")
    ]
    if None not in terminating:
        kept["terminatingReplicas"] = sum(terminating)
    return {
        **kept,
        **present(
            observedGeneration=generation_of(deployment),
            replicas=_total(sets, "replicas"),
            updatedReplicas=_total((rollout.new,) if rollout.new else (), "replicas"),
            readyReplicas=_total(sets, "readyReplicas"),
            availableReplicas=available,
            unavailableReplicas=max(0, sum(map(size_of, sets)) - available),
            conditions=replaced(before.get("conditions") or (), made),
        ),
    }


def _total(replica_sets: Iterable[Manifest], field: str) -> int:
    return sum(int(status_of(each).get(field, 0)) for each in replica_sets)


def _progressed(rollout: Rollout, status: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The status with what can be said of progress, and with the failures of ReplicaSets."""
    deployment, conditions = rollout.deployment, status["conditions"]
    current = condition(deployment, "Progressing")
    if not has_deadline(deployment):
        conditions = without_condition(conditions, "Progressing")
    elif not _was_complete(status, current):
        conditions = _with_progress(rollout, status, current, now)
    failure = _failure(rollout)
    if failure is None:
        conditions = without_condition(conditions, "ReplicaFailure")
    else:
        conditions = replaced(conditions, failure)
    return {**status, "conditions": conditions}


def _was_complete(status: Mapping[str, Any], current: Condition | None) -> bool:
    same = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return same and current is not None and current["reason"] == "NewReplicaSetAvailable"


def _with_progress(
    rollout: Rollout, status: Mapping[str, Any], current: Condition | None, now: datetime
) -> list[Condition]:
    new, conditions = rollout.new, status["conditions"]
    what = f'ReplicaSet "{name_of(new)}"' if new else f'Deployment "{name_of(rollout.deployment)}"'
    if is_complete(rollout, status):
        message = f"{what} has successfully progressed."
        return replaced(conditions, _progressing("NewReplicaSetAvailable", message, now))
    if _is_progressing(status_of(rollout.deployment), status):
        made = _progressing("ReplicaSetUpdated", f"{what} is progressing.", now)
        if current is not None and current["status"] == "True":
            made["lastTransitionTime"] = current["lastTransitionTime"]
        return [*without_condition(conditions, "Progressing"), made]
    if _is_late(rollout.deployment, current, now):
        message = f"{what} has timed out progressing."
        return replaced(
            conditions, _condition("Progressing", "False", "ProgressDeadlineExceeded", message, now)
        )
    return list(conditions)


def is_complete(rollout: Rollout, status: Mapping[str, Any]) -> bool:
    """Whether only pods of the new template run, all of them are available, and the wish was seen."""
    counts = (status.get(each, 0) for each in ("updatedReplicas", "replicas", "availableReplicas"))
    seen = status.get("observedGeneration", 0) >= generation_of(rollout.deployment)
    return seen and all(count == rollout.replicas for count in counts)


def _is_progressing(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    grew = ("updatedReplicas", "readyReplicas", "availableReplicas")
    if any(after.get(each, 0) > before.get(each, 0) for each in grew):
        return True
    return _old_replicas(after) < _old_replicas(before)


def _old_replicas(status: Mapping[str, Any]) -> int:
    return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))


def has_deadline(deployment: Manifest) -> bool:
    """Whether progress is to be judged at all."""
    return bool(deployment["spec"].get("progressDeadlineSeconds", _NO_DEADLINE) != _NO_DEADLINE)


def _late_at(deployment: Manifest, current: Condition | None) -> datetime | None:
    if current is None or not has_deadline(deployment) or current["reason"] == "NewReplicaSetAvailable":
        return None
    since = moment(current.get("lastUpdateTime"))
    return since and since + timedelta(seconds=deployment["spec"]["progressDeadlineSeconds"])


def _is_late(deployment: Manifest, current: Condition | None, now: datetime) -> bool:
    at = _late_at(deployment, current)
    return at is not None and at < now


def _deadline(deployment: Manifest, status: Mapping[str, Any], now: datetime) -> datetime | None:
    """When to judge progress again; a second later than the deadline, for times are cut to seconds."""
    current = condition_in(status.get("conditions") or (), "Progressing")
    if current is not None and current["reason"] == "ProgressDeadlineExceeded":
        return None
    at = _late_at(deployment, current)
    return None if at is None else max(at, now) + timedelta(seconds=1)


def _failure(rollout: Rollout) -> Condition | None:
    """The first failure to make pods, of the new ReplicaSet before the old ones."""
    for each in (*((rollout.new,) if rollout.new else ()), *rollout.old):
        found = condition(each, "ReplicaFailure")
        if found is not None:
            return {**found, "lastUpdateTime": found.get("lastTransitionTime")}
    return None


def _pause_noted(deployment: Manifest, now: datetime) -> Update | None:
    """That the Deployment was paused or resumed, so that the time between does not count as delay."""
    current = condition(deployment, "Progressing")
    reason = current["reason"] if current else ""
    paused = bool(deployment["spec"].get("paused"))
    if not has_deadline(deployment) or reason == "ProgressDeadlineExceeded":
        return None
    if paused == (reason == "DeploymentPaused"):
        return None
    word = "Paused" if paused else "Resumed"
    made = _condition("Progressing", "Unknown", f"Deployment{word}", f"Deployment is {word.lower()}", now)
    conditions = replaced(status_of(deployment).get("conditions") or (), made)
    status = {**status_of(deployment), "conditions": conditions}
    return Update(body=with_status(deployment, status), subresource="status")


def _progressing(reason: str, message: str, now: datetime) -> dict[str, Any]:
    return _condition("Progressing", "True", reason, message, now)


def _condition(kind: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    at = stamp(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A Deployment itself, whoever owns or may adopt a ReplicaSet, and whose old pods are going."""
    yield from own_or_owner(world, changed, kind=DEPLOYMENT, dependent=REPLICA_SET)
    if kind_of(changed) == POD:
        controller = controller_of(changed)
        replica_set = world.by_uid(controller["uid"]) if controller else None
        owner = controller_of(replica_set) if replica_set else None
        if owner is not None and owner["kind"] == "Deployment":
            yield namespace_of(changed), owner["name"]


DEPLOYMENTS = Behaviour(
    title="deployments", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned, voice=DEPLOYMENT_VOICE
)

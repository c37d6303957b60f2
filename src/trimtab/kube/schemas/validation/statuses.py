"""What is wrong with the status that somebody reports of a workload: counts that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import Causes, invalid, part
from trimtab.kube.schemas.validation.names import at_least_zero

Json = Mapping[str, Any]
COLLISIONS = "collisionCount"


def deployment(new: Json, old: Json) -> Causes:
    """A Deployment's status."""
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    yield from _counts(new, "observedGeneration", *counts, "terminatingReplicas", COLLISIONS)
    yield from _among_all(new, "updatedReplicas", "readyReplicas", "availableReplicas")
    yield from _only_ready_are_available(new, "readyReplicas")
    yield from _collisions(new, old)


def replica_set(new: Json, _old: Json) -> Causes:
    """The status of a ReplicaSet or a ReplicationController."""
    among = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from _counts(new, "replicas", *among, "observedGeneration", "terminatingReplicas")
    yield from _among_all(new, *among)
    yield from _only_ready_are_available(new, "readyReplicas")


def stateful_set(new: Json, old: Json) -> Causes:
    """A StatefulSet's status."""
    among = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    yield from _counts(new, "replicas", *among, "observedGeneration", COLLISIONS)
    yield from _among_all(new, *among)
    yield from _only_ready_are_available(new, "status.readyReplicas")
    yield from _collisions(new, old)


def daemon_set(new: Json, old: Json) -> Causes:
    """A DaemonSet's status."""
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    more = ("updatedNumberScheduled", "numberAvailable", "numberUnavailable", COLLISIONS)
    yield from _counts(new, *counts, "observedGeneration", *more)
    yield from _collisions(new, old)


def autoscaler(new: Json, _old: Json) -> Causes:
    """A HorizontalPodAutoscaler's status."""
    yield from _counts(new, "currentReplicas", "desiredReplicas")


def disruption_budget(new: Json, _old: Json) -> Causes:
    """A PodDisruptionBudget's status."""
    yield from _counts(new, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _counts(new: Json, *names: str) -> Causes:
    status = part(new, "status")
    for name in names:
        yield from at_least_zero(status.get(name), f"status.{name}")


def _among_all(new: Json, *names: str) -> Causes:
    status = part(new, "status")
    for name in names:
        count = status.get(name) or 0
        if count > (status.get("replicas") or 0):
            yield invalid(f"status.{name}", count, "cannot be greater than status.replicas")


def _only_ready_are_available(new: Json, told: str) -> Causes:
    status = part(new, "status")
    count = status.get("availableReplicas") or 0
    if count > (status.get("readyReplicas") or 0):
        yield invalid("status.availableReplicas", count, f"cannot be greater than {told}")


def _collisions(new: Json, old: Json) -> Causes:
    """Names that were taken are counted, and the count never goes back."""
    count, before = part(new, "status").get(COLLISIONS), part(old, "status").get(COLLISIONS)
    if before is not None and (count is None or count < before):
        yield invalid(f"status.{COLLISIONS}", count or 0, "cannot be decremented")

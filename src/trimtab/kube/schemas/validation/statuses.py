"""What is wrong with the status that somebody reports: counts that cannot be, entrances that lead nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
    too_long,
)
from trimtab.kube.schemas.validation.claims import amount_held
from trimtab.kube.schemas.validation.failures import STATUSES
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import address as ip_address
from trimtab.kube.schemas.validation.names import (
    at_least_zero,
    condition_reason,
    dns_subdomain,
    qualified_name,
)

Json = Mapping[str, Any]
LONGEST_REASON, LONGEST_MESSAGE = 1 << 10, 1 << 15
COLLISIONS = "collisionCount"
MODES = ("Proxy", "VIP")
NATURAL = "must be a non-negative integer"
RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


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


def pod(new: Json, old: Json) -> Causes:
    """A Pod's status; which containers may run again is not judged."""
    status, before = part(new, "status"), part(old, "status")
    for number, each in entries(status.get("conditions")):
        if (seen := each.get("observedGeneration") or 0) < 0:
            yield invalid(f"status.conditions[{number}].observedGeneration", seen, NATURAL)
        if each.get("type") not in ("PodScheduled", "Ready", "Initialized"):
            kind = each.get("type", "")
            yield from each_invalid(f"status.conditions[{number}].Type", kind, qualified_name(kind))
    node = status.get("nominatedNodeName") or ""
    if node and node != before.get("nominatedNodeName"):
        yield from each_invalid("status.nominatedNodeName", node, dns_subdomain(node))
        if part(old, "spec").get("nodeName"):
            told = "may not be set on pods that are already bound to a node"
            yield forbidden("status.nominatedNodeName", told)
    if (seen := status.get("observedGeneration") or 0) < 0:
        yield invalid("status.observedGeneration", seen, NATURAL)
    if status.get("qosClass") != before.get("qosClass"):
        yield invalid("status.qosClass", status.get("qosClass"), IMMUTABLE)
    known = [each.get("ip") for _, each in entries(before.get("podIPs"))]
    for number, each in entries(status.get("podIPs")):
        if (found := each.get("ip", "")) not in known:
            yield from each_invalid(f"status.podIPs[{number}]", found, ip_address(found))


def claim(new: Json, _old: Json) -> Causes:
    """The status of a claim of storage: how much there is of it, and how its growth goes."""
    status = part(new, "status")
    for name, amount in (status.get("capacity") or {}).items():
        yield from amount_held(amount, f"status.capacity[{name}]")
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _storage_alone(name, "status.allocatedResourceStatuses")
        if state not in RESIZES:
            yield not_supported("status.allocatedResourceStatuses", name, RESIZES)
    for name, amount in (status.get("allocatedResources") or {}).items():
        wrong = list(_storage_alone(name, "status.allocatedResources"))
        yield from wrong or amount_held(amount, f"status.allocatedResources[{name}]")


def _storage_alone(name: str, path: str) -> Causes:
    """What is wrong with the name of what a claim is given, or grows in."""
    wrong = qualified_name(name)
    yield from each_invalid(path, name, wrong)
    if not wrong and name != "storage" and ("/" not in name or "kubernetes.io/" in name):
        yield not_supported(path, name, ("storage",))


def autoscaler(new: Json, _old: Json) -> Causes:
    """A HorizontalPodAutoscaler's status."""
    yield from _counts(new, "currentReplicas", "desiredReplicas")


def disruption_budget(new: Json, _old: Json) -> Causes:
    """A PodDisruptionBudget's status."""
    yield from _conditions(part(new, "status").get("conditions"), "status.conditions")
    yield from _counts(new, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def service(new: Json, _old: Json) -> Causes:
    """A Service's status: where it can be reached from outside."""
    path = "status.loadBalancer.ingress"
    entrances = part(part(new, "status"), "loadBalancer").get("ingress") or []
    if entrances and part(new, "spec").get("type") != "LoadBalancer":
        yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for number, entrance in entries(entrances):
        yield from _entrance(entrance, f"{path}[{number}]")


def _entrance(entrance: Json, path: str) -> Causes:
    address, mode, host = entrance.get("ip"), entrance.get("ipMode"), entrance.get("hostname")
    if address:
        yield from each_invalid(f"{path}.ip", address, ip_address(address))
    if mode is None and address:
        yield required(f"{path}.ipMode", "must be specified when `ip` is set")
    elif mode is not None and not address:
        yield forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set")
    elif mode is not None and mode not in MODES:
        yield not_supported(f"{path}.ipMode", mode, MODES)
    if host:
        yield from each_invalid(f"{path}.hostname", host, dns_subdomain(host))
        if not ip_address(host):
            yield invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address")


def _conditions(given: Any, path: str) -> Causes:
    """Conditions as all kinds are to have them, of which few are held to it."""
    seen: set[str] = set()
    for number, each in entries(given):
        kind = each.get("type", "")
        if kind in seen:
            yield duplicate(f"{path}[{number}].type", kind)
        seen.add(kind)
        yield from _condition(each, f"{path}[{number}]")


def _condition(condition: Json, path: str) -> Causes:
    kind, status, reason = (condition.get(name, "") for name in ("type", "status", "reason"))
    yield from each_invalid(f"{path}.type", kind, qualified_name(kind))
    if status not in STATUSES:
        yield not_supported(f"{path}.status", status, STATUSES)
    if (seen := condition.get("observedGeneration") or 0) < 0:
        yield invalid(f"{path}.observedGeneration", seen, "must be greater than or equal to zero")
    if condition.get("lastTransitionTime") is None:
        yield required(f"{path}.lastTransitionTime")
    if not reason:
        yield required(f"{path}.reason")
    else:
        yield from each_invalid(f"{path}.reason", reason, condition_reason(reason))
        if len(reason.encode()) > LONGEST_REASON:
            yield too_long(f"{path}.reason", LONGEST_REASON)
    if len(condition.get("message", "").encode()) > LONGEST_MESSAGE:
        yield too_long(f"{path}.message", LONGEST_MESSAGE)


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

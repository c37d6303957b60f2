"""What PodDisruptionBudgets say to the eviction of a Pod: the controllers count, an eviction spends. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from trimtab.kube.refusals import Refused, internal_error
from trimtab.kube.schemas.validation.causes import part
from trimtab.kube.selectors import label_selector
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
#: who writes budgets on behalf of whoever evicts
SPENDER = "kube-apiserver"
#: so many evictions may wait for the controller to see them
MOST_UNSEEN = 2000
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def asked_for(pod: Json, budgets: Iterable[Json]) -> Json | None:
    """The budget that an eviction of the Pod has to ask; nobody minds one that has ended or never began."""
    if pod["metadata"].get("deletionTimestamp") or part(pod, "status").get("phase") in _UNMISSED:
        return None
    labels = pod["metadata"].get("labels") or {}
    chosen = [each for each in budgets if label_selector(each["spec"].get("selector")).matches(labels)]
    if len(chosen) > 1:
        raise internal_error(SEVERAL)
    return chosen[0] if chosen and not _may_go_anyway(pod, chosen[0]) else None


_UNMISSED = ("Succeeded", "Failed", "Pending")


def _may_go_anyway(pod: Json, budget: Json) -> bool:
    """Whether the Pod is not ready, and its budget does without it."""
    conditions = part(pod, "status").get("conditions") or ()
    if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = part(budget, "status")
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def spent(budget: Json, name: str, now: datetime) -> Json:
    """The budget after the eviction of the Pod of that name; refused where it allows none."""
    status = part(budget, "status")
    _check(budget, status)
    left = {**status, "disruptionsAllowed": status["disruptionsAllowed"] - 1}
    left["disruptedPods"] = {**(status.get("disruptedPods") or {}), name: seconds_text(now)}
    if not left["disruptionsAllowed"]:
        seen = status["observedGeneration"]
        left["conditions"] = [_closed(each, seen, now) for each in status.get("conditions") or ()]
    return {**budget, "status": left}


def _check(budget: Json, status: Mapping[str, Any]) -> None:
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _not_now(f"The disruption budget {name} is still being processed by the server.", 10)
    if len(status.get("disruptedPods") or ()) > MOST_UNSEEN:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(name, why)
    if not status.get("disruptionsAllowed"):
        raise _not_now(_needs(name, status))


def _needs(name: str, status: Mapping[str, Any]) -> str:
    """Why a budget allows nothing."""
    for each in status.get("conditions") or ():
        if each["type"] == "DisruptionAllowed" and each["reason"] == "SyncFailed":
            shut = f"The disruption budget {name} does not allow evicting pods currently"
            return f"{shut} because it failed sync: {each.get('message', '')}"
    healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    return f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"


def _closed(condition: Json, seen: int, now: datetime) -> Json:
    """The condition of a budget that allows nothing any more."""
    if condition["type"] != "DisruptionAllowed" or condition["status"] == "False":
        return condition
    closed = {"status": "False", "reason": "InsufficientPods", "observedGeneration": seen}
    return {**condition, **closed, "lastTransitionTime": seconds_text(now)}


def _not_now(why: str, after: int = 0) -> Refused:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if after:
        details["retryAfterSeconds"] = after
    return Refused(429, "TooManyRequests", VIOLATED, details=details)


def _forbidden(name: str, why: str) -> Refused:
    message = f'poddisruptionbudget.policy "{name}" is forbidden: {why}'
    details = {"name": name, "group": "policy", "kind": "poddisruptionbudget"}
    return Refused(403, "Forbidden", message, details=details)

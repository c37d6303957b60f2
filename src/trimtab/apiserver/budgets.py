"""What PodDisruptionBudgets say to the eviction of a Pod: the controllers count, an eviction spends. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.disruptions import ALLOWED, allowance
from trimtab.apiserver.behaviours.manifests import condition, is_going, labels_of
from trimtab.apiserver.behaviours.ownership import selector_of
from trimtab.apiserver.behaviours.readiness import is_ready
from trimtab.kube.refusals import Refused, internal_error
from trimtab.kube.schemas.validation.causes import part
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
#: who writes budgets on behalf of whoever evicts
SPENDER = "kube-apiserver"
#: so many evictions may wait for the controller to see them
MOST_UNSEEN = 2000
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
_UNMISSED = ("Succeeded", "Failed", "Pending")
SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def asked_for(pod: Json, budgets: Iterable[Json]) -> Json | None:
    """The budget that an eviction of the Pod has to ask; nobody minds one that has ended or never began."""
    if is_going(pod) or part(pod, "status").get("phase") in _UNMISSED:
        return None
    chosen = [each for each in budgets if selector_of(each).matches(labels_of(pod))]
    if len(chosen) > 1:
        raise internal_error(SEVERAL)
    return chosen[0] if chosen and not _may_go_anyway(pod, chosen[0]) else None


def _may_go_anyway(pod: Json, budget: Json) -> bool:
    """Whether the Pod is not ready, and its budget does without it."""
    if is_ready(pod):
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
        left |= allowance(budget, 0, now)
    return {**budget, "status": left}


def _check(budget: Json, status: Mapping[str, Any]) -> None:
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _not_now(f"The disruption budget {name} is still being processed by the server.", 10)
    if len(status.get("disruptedPods") or ()) > MOST_UNSEEN:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(name, why)
    if not status.get("disruptionsAllowed"):
        raise _not_now(_needs(budget, status))


def _needs(budget: Json, status: Mapping[str, Any]) -> str:
    """Why a budget allows nothing."""
    name = budget["metadata"]["name"]
    said = condition(budget, ALLOWED)
    if said is not None and said["reason"] == "SyncFailed":
        shut = f"The disruption budget {name} does not allow evicting pods currently"
        return f"{shut} because it failed sync: {said['message']}"
    healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    return f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"


def _not_now(why: str, after: int = 0) -> Refused:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if after:
        details["retryAfterSeconds"] = after
    return Refused(429, "TooManyRequests", VIOLATED, details=details)


def _forbidden(name: str, why: str) -> Refused:
    message = f'poddisruptionbudget.policy "{name}" is forbidden: {why}'
    details = {"name": name, "group": "policy", "kind": "poddisruptionbudget"}
    return Refused(403, "Forbidden", message, details=details)

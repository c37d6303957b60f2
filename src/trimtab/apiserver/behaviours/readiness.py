"""Is a pod active, ready, available? The questions that every controller of pods asks. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    condition,
    created_at,
    is_going,
    is_true,
    moment,
    status_of,
)
from trimtab.kube.integers import whole

OVER = ("Succeeded", "Failed")
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NEVER = datetime.min.replace(tzinfo=UTC)


def is_over(pod: Manifest) -> bool:
    """Whether the pod has ended, well or badly."""
    return status_of(pod).get("phase") in OVER


def is_active(pod: Manifest) -> bool:
    """Whether the pod counts: neither over nor going."""
    return not is_over(pod) and not is_going(pod)


def is_terminating(pod: Manifest) -> bool:
    """Whether the pod is going, and not over yet."""
    return is_going(pod) and not is_over(pod)


def is_ready(pod: Manifest) -> bool:
    """Whether the pod is ready."""
    return is_true(pod, "Ready")


def ready_since(pod: Manifest) -> datetime | None:
    """Since when the pod is ready, if it is."""
    found = condition(pod, "Ready")
    if found is None or found["status"] != "True":
        return None
    return moment(found.get("lastTransitionTime"))


def available_at(pod: Manifest, min_ready_seconds: int) -> datetime | None:
    """When the pod counts as available, if it stays ready."""
    since = ready_since(pod)
    return None if since is None else since + timedelta(seconds=min_ready_seconds)


def is_available(pod: Manifest, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod has been ready for long enough."""
    at = available_at(pod, min_ready_seconds)
    return at is not None and (min_ready_seconds == 0 or at <= now)


def next_available(pods: Iterable[Manifest], min_ready_seconds: int, now: datetime) -> datetime | None:
    """When the next ready pod becomes available, if one is still waiting for that."""
    times = (available_at(pod, min_ready_seconds) for pod in pods)
    return min((at for at in times if at is not None and at > now), default=None)


def restarts(pod: Manifest) -> int:
    """How often the pod's most restless container was started again."""
    return max((each["restartCount"] for each in status_of(pod).get("containerStatuses") or ()), default=0)


def dispensable_first(pods: Iterable[Manifest]) -> list[Manifest]:
    """The pods as a ReplicaSet gives them up: unplaced, unready, crowded and young ones first."""
    pods = list(pods)
    crowd: dict[str, int] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        crowd[node] = crowd.get(node, 0) + 1
    return sorted(pods, key=lambda pod: _worth(pod, crowd))


def _worth(pod: Manifest, crowd: dict[str, int]) -> tuple[bool, int, bool, int, int, float, int, float]:
    node = pod["spec"].get("nodeName", "")
    annotations = pod["metadata"].get("annotations") or {}
    cost = annotations.get("controller.kubernetes.io/pod-deletion-cost", "0")
    since = ready_since(pod) or _NEVER
    return (
        bool(node),
        _PHASES.get(status_of(pod).get("phase", "Pending"), 0),
        is_ready(pod),
        whole(cost) or 0,
        -crowd[node],
        -since.timestamp() if since is not _NEVER else 0.0,
        -restarts(pod),
        -created_at(pod).timestamp(),
    )

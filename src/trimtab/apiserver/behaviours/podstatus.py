"""A pod's status in each stage of its life, as a kubelet writes it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from trimtab.apiserver.behaviours.manifests import (
    Condition,
    Manifest,
    condition_in,
    full_name,
    generation_of,
    stamp,
    status_of,
    uid_of,
)

_CREATING = {"waiting": {"reason": "ContainerCreating"}}
_READY_STATES = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def admitted(pod: Manifest, now: datetime, *, node_ip: str) -> dict[str, Any]:
    """The kubelet has seen the pod: containers are being created."""
    status = {
        **status_of(pod),
        "phase": "Pending",
        "observedGeneration": generation_of(pod),
        "hostIP": node_ip,
        "hostIPs": [{"ip": node_ip}],
        "startTime": stamp(now),
        "containerStatuses": [_waiting(each) for each in pod["spec"]["containers"]],
    }
    if pod["spec"].get("initContainers"):
        status["initContainerStatuses"] = [_waiting(each) for each in pod["spec"]["initContainers"]]
    return _with_conditions(
        pod, status, now, started=False, initialized=not pod["spec"].get("initContainers")
    )


def running(pod: Manifest, now: datetime, *, pod_ip: str, restarts: int = 0) -> dict[str, Any]:
    """The containers run, and are not ready yet."""
    state = {"running": {"startedAt": stamp(now)}}
    before = {each["name"]: each for each in status_of(pod).get("containerStatuses") or ()}
    status = {
        **status_of(pod),
        "phase": "Running",
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "containerStatuses": [
            _container(
                pod, each, state, started=True, restarts=restarts,
                last=before.get(each["name"], {}).get("lastState") or {},
            )
            for each in pod["spec"]["containers"]
        ],
    }  # fmt: skip
    if pod["spec"].get("initContainers"):
        status["initContainerStatuses"] = [
            _container(pod, each, _initialized(each, now), ready=True, started=_is_sidecar(each))
            for each in pod["spec"]["initContainers"]
        ]
    return _with_conditions(pod, status, now)


def ready(pod: Manifest, now: datetime) -> dict[str, Any]:
    """Everything is ready, gates of the pod's own included."""
    statuses = [{**each, "ready": True} for each in status_of(pod)["containerStatuses"]]
    status = _with_conditions(pod, {**status_of(pod), "containerStatuses": statuses}, now, is_ready=True)
    gates = [each["conditionType"] for each in pod["spec"].get("readinessGates") or ()]
    for gate in gates:
        if condition_in(status["conditions"], gate) is None:
            status["conditions"].append(_condition(pod, gate, "True", now))
    return status


def unpullable(pod: Manifest, now: datetime, *, backing_off: bool) -> dict[str, Any]:
    """No container's image can be pulled."""
    statuses = []
    for container in pod["spec"]["containers"]:
        image = container["image"]
        problem = (
            f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": not found'
        )
        waiting = {"reason": "ErrImagePull", "message": problem}
        if backing_off:
            message = f'Back-off pulling image "{image}": ErrImagePull: {problem}'
            waiting = {"reason": "ImagePullBackOff", "message": message}
        statuses.append({**_waiting(container), "state": {"waiting": waiting}})
    return _with_conditions(pod, {**status_of(pod), "containerStatuses": statuses}, now, started=True)


def crashed(pod: Manifest, now: datetime, *, pod_ip: str, restarts: int, wait: timedelta) -> dict[str, Any]:
    """Every container has ended with an error and waits to be started again."""
    namespace, name = full_name(pod)
    at = stamp(now)
    statuses = []
    for container in pod["spec"]["containers"]:
        message = (
            f"back-off {_go_duration(wait)} restarting failed container={container['name']} "
            f"pod={name}_{namespace}({uid_of(pod)})"
        )
        made = _container(
            pod, container, {"waiting": {"reason": "CrashLoopBackOff", "message": message}}, restarts=restarts
        )
        ended = _terminated(pod, container, at, at, exit_code=1, restarts=restarts)
        statuses.append({**made, "lastState": ended})
    status = {**status_of(pod), "phase": "Running", "podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
    return _with_conditions(pod, {**status, "containerStatuses": statuses}, now)


def ended(pod: Manifest, now: datetime, *, exit_code: int) -> dict[str, Any]:
    """Every container has ended for good."""
    statuses = []
    for container, before in zip(
        pod["spec"]["containers"], status_of(pod).get("containerStatuses") or _nothing(pod), strict=False
    ):
        since = (before.get("state") or {}).get("running", {}).get("startedAt", stamp(now))
        restarts = before.get("restartCount", 0)
        state = _terminated(pod, container, since, stamp(now), exit_code=exit_code, restarts=restarts)
        statuses.append(_container(pod, container, state, restarts=restarts))
    phase, reason = ("Failed", "PodFailed") if exit_code else ("Succeeded", "PodCompleted")
    status = {**status_of(pod), "phase": phase, "containerStatuses": statuses}
    conditions = {
        "PodReadyToStartContainers": _condition(pod, "PodReadyToStartContainers", "False", now),
        "Initialized": _condition(pod, "Initialized", "True", now, "" if exit_code else reason),
        "Ready": _condition(pod, "Ready", "False", now, reason),
        "ContainersReady": _condition(pod, "ContainersReady", "False", now, reason),
        "PodScheduled": _condition(pod, "PodScheduled", "True", now),
    }
    return {**status, "conditions": _merged(status_of(pod).get("conditions") or (), conditions)}


# -- containers -----------------------------------------------------------------------------------------


def _nothing(pod: Manifest) -> list[dict[str, Any]]:
    return [{} for _ in pod["spec"]["containers"]]


def _waiting(container: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "image": container["image"],
        "imageID": "",
        "lastState": {},
        "name": container["name"],
        "ready": False,
        "restartCount": 0,
        "started": False,
        "state": _CREATING,
    }


def _container(
    pod: Manifest,
    container: Mapping[str, Any],
    state: Mapping[str, Any],
    *,
    ready: bool = False,
    started: bool = False,
    restarts: int = 0,
    last: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "containerID": _container_id(pod, container, restarts),
        "image": container["image"],
        "imageID": f"{container['image'].partition('@')[0]}@sha256:{_digest(container['image'])}",
        "lastState": last or {},
        "name": container["name"],
        "ready": ready,
        "resources": container.get("resources") or {},
        "restartCount": restarts,
        "started": started,
        "state": state,
    }


def _terminated(
    pod: Manifest, container: Mapping[str, Any], since: str, until: str, *, exit_code: int, restarts: int
) -> dict[str, Any]:
    return {
        "terminated": {
            "containerID": _container_id(pod, container, restarts),
            "exitCode": exit_code,
            "finishedAt": until,
            "reason": "Error" if exit_code else "Completed",
            "startedAt": since,
        }
    }


def _container_id(pod: Manifest, container: Mapping[str, Any], restarts: int) -> str:
    return f"containerd://{_digest(uid_of(pod), container['name'], str(restarts))}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _is_sidecar(container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def _initialized(container: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    at = stamp(now)
    if _is_sidecar(container):
        return {"running": {"startedAt": at}}
    return {"terminated": {"exitCode": 0, "finishedAt": at, "reason": "Completed", "startedAt": at}}


def _go_duration(wait: timedelta) -> str:
    """`10s`, `1m20s`, `5m0s`: as Go prints durations of whole seconds."""
    minutes, seconds = divmod(int(wait.total_seconds()), 60)
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


# -- conditions -----------------------------------------------------------------------------------------


def _with_conditions(
    pod: Manifest,
    status: Mapping[str, Any],
    now: datetime,
    *,
    is_ready: bool = False,
    started: bool = True,
    initialized: bool = True,
) -> dict[str, Any]:
    names = " ".join(each["name"] for each in pod["spec"]["containers"])
    waits = f"containers with unready status: [{names}]"
    init_names = " ".join(each["name"] for each in pod["spec"].get("initContainers") or ())
    init_waits = f"containers with incomplete status: [{init_names}]"
    new = {
        "PodReadyToStartContainers": _condition(pod, "PodReadyToStartContainers", _truth(started), now),
        "Initialized": _condition(pod, "Initialized", "True", now)
        if initialized
        else _condition(pod, "Initialized", "False", now, "ContainersNotInitialized", init_waits),
        "PodScheduled": _condition(pod, "PodScheduled", "True", now),
    }
    for kind in ("Ready", "ContainersReady"):
        unready = _condition(pod, kind, "False", now, "ContainersNotReady", waits)
        new[kind] = _condition(pod, kind, "True", now) if is_ready else unready
    return {**status, "conditions": _merged(status.get("conditions") or (), new)}


def _truth(value: bool) -> str:  # noqa: FBT001 - it is what is to be written
    return "True" if value else "False"


def _condition(
    pod: Manifest, kind: str, status: str, now: datetime, reason: str = "", message: str = ""
) -> dict[str, Any]:
    made = {
        "type": kind,
        "status": status,
        "observedGeneration": generation_of(pod),
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
    }
    return {**made, **({"reason": reason} if reason else {}), **({"message": message} if message else {})}


def _merged(before: Iterable[Condition], new: Mapping[str, Condition]) -> list[Condition]:
    """The kubelet's own conditions in its order, each as old as its status; then the others."""
    before = list(before)
    merged: list[Condition] = []
    for kind in _READY_STATES:
        old = condition_in(before, kind)
        made = new[kind]
        if old is not None and old["status"] == made["status"]:
            made = {**made, "lastTransitionTime": old.get("lastTransitionTime")}
        merged.append(made)
    return [*merged, *_foreign(before)]


def _foreign(conditions: Sequence[Condition]) -> list[Condition]:
    return [each for each in conditions if each["type"] not in _READY_STATES]

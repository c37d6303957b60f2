"""The kubelet's stand-in: pods start, become ready, end, fail on request, and go when they are told to. Pure.

Where a pod stands is read from its own status, so nothing is remembered elsewhere; several steps that are due
are taken in one write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Change,
    Decision,
    Delete,
    Update,
    decision,
)
from trimtab.apiserver.behaviours.events import KUBELET_VOICE
from trimtab.apiserver.behaviours.kinds import NODE, POD
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    annotations_of,
    deleted_at,
    finalizers_of,
    full_name,
    is_going,
    is_true,
    kind_of,
    later,
    moment,
    status_of,
    uid_of,
    with_status,
)
from trimtab.apiserver.behaviours.podstatus import admitted, crashed, ended, ready, running, unpullable
from trimtab.apiserver.behaviours.timing import SIMULATE, Simulation, Timing, doubled, simulation_from
from trimtab.apiserver.behaviours.world import World

KILLED = 137
_OVER = ("Succeeded", "Failed")


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The pod's next status, or its end."""
    pod = world.get(POD, *name)
    if pod is None or not pod["spec"].get("nodeName"):
        return NOTHING
    if is_going(pod):
        return _stopping(pod, now, timing)
    if status_of(pod).get("phase") in _OVER:
        return NOTHING
    life = _Life(world, pod, now, timing)
    status, again = life.lived()
    changes = []
    if status != status_of(pod):
        changes.append(Update(body=with_status(pod, status), subresource="status"))
    return decision(changes, again)


def _stopping(pod: Manifest, now: datetime, timing: Timing) -> Decision:
    grace = int(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    if not grace and finalizers_of(pod) and status_of(pod).get("phase") in _OVER:
        return NOTHING
    stop = min(timing.stop.total_seconds(), grace)
    due = later(deleted_at(pod), stop - grace)
    if now < due:
        return decision((), due)
    changes: list[Change] = []
    if finalizers_of(pod) and status_of(pod).get("phase") not in _OVER:
        changes.append(Update(body=with_status(pod, ended(pod, now, exit_code=KILLED)), subresource="status"))
    if grace:
        changes.append(Delete(target=pod, grace_seconds=0))
    return decision(changes)


class _Life:
    """One pod between being placed and being over, at one moment."""

    def __init__(self, world: World, pod: Manifest, now: datetime, timing: Timing) -> None:
        self._world, self._pod, self._now, self._timing = world, pod, now, timing
        self._asked = simulation_from(annotations_of(pod).get(SIMULATE))
        slow = timing.slow_factor if self._asked is Simulation.SLOW else 1.0
        self._start, self._ready = timing.start * slow, timing.ready * slow
        self._ends = pod["spec"].get("restartPolicy", "Always") != "Always"

    def lived(self) -> tuple[dict[str, Any], datetime | None]:
        """The status after every step that is due, and when the next one is."""
        while True:
            status, again = self._step()
            if status is None:
                return dict(status_of(self._pod)), again
            self._pod = with_status(self._pod, status)

    def _step(self) -> tuple[dict[str, Any] | None, datetime | None]:
        status = status_of(self._pod)
        if status.get("phase") in _OVER:
            return None, None
        started, containers = moment(status.get("startTime")), status.get("containerStatuses")
        if started is None or not containers:  # nobody else's word on when it began counts without the rest
            return admitted(self._pod, self._now, node_ip=self._node_ip()), None
        state = containers[0].get("state") or {}
        if "running" in state:
            return self._while_running(moment(state["running"].get("startedAt")) or self._now)
        match (state.get("waiting") or {}).get("reason"):
            case "ErrImagePull":
                return self._at(
                    started + self._start + self._timing.backoff,
                    lambda: unpullable(self._pod, self._now, backing_off=True),
                )
            case "ImagePullBackOff":
                return None, None
            case "CrashLoopBackOff":
                return self._after_crash(containers[0])
            case _:
                return self._at(started + self._start, self._begun)

    def _at(self, due: datetime, then: Any) -> tuple[dict[str, Any] | None, datetime | None]:
        return (then(), None) if self._now >= due else (None, due)

    def _begun(self) -> dict[str, Any]:
        match self._asked:
            case Simulation.IMAGE_PULL_ERROR:
                return unpullable(self._pod, self._now, backing_off=False)
            case Simulation.CRASH_LOOP | Simulation.FAIL if self._restarts_on_failure():
                return self._crash(restarts=0)
            case _:
                return running(self._pod, self._now, pod_ip=self._pod_ip())

    def _restarts_on_failure(self) -> bool:
        return bool(self._pod["spec"].get("restartPolicy", "Always") != "Never")

    def _crash(self, *, restarts: int) -> dict[str, Any]:
        wait = doubled(self._timing.backoff, self._timing.backoff_cap, restarts)
        return crashed(self._pod, self._now, pod_ip=self._pod_ip(), restarts=restarts, wait=wait)

    def _after_crash(self, container: dict[str, Any]) -> tuple[dict[str, Any] | None, datetime | None]:
        restarts = container["restartCount"]
        last = (container.get("lastState") or {}).get("terminated") or {}
        crashed_at = moment(last.get("finishedAt")) or self._now
        wait = doubled(self._timing.backoff, self._timing.backoff_cap, restarts)
        return self._at(crashed_at + wait, lambda: self._crash(restarts=restarts + 1))

    def _while_running(self, since: datetime) -> tuple[dict[str, Any] | None, datetime | None]:
        if self._ends and self._now >= since + self._timing.run:
            failed = self._asked in (Simulation.FAIL, Simulation.CRASH_LOOP)
            return ended(self._pod, self._now, exit_code=1 if failed else 0), None
        end = since + self._timing.run if self._ends else None
        if is_true(self._pod, "Ready") or self._asked is Simulation.NEVER_READY:
            return None, end
        if self._now >= since + self._ready:
            return ready(self._pod, self._now), None
        return None, min(filter(None, (end, since + self._ready)))

    def _node_ip(self) -> str:
        node = self._world.get(NODE, "", self._pod["spec"]["nodeName"])
        addresses = status_of(node).get("addresses") or () if node else ()
        return next((each["address"] for each in addresses if each["type"] == "InternalIP"), "10.0.0.1")

    def _pod_ip(self) -> str:
        """The pod's own address, or the node's; one that no other pod has."""
        if self._pod["spec"].get("hostNetwork"):
            return self._node_ip()
        if known := status_of(self._pod).get("podIP"):
            return str(known)
        taken = {status_of(each).get("podIP") for each in self._world.all(POD)}
        number = int.from_bytes(hashlib.sha256(uid_of(self._pod).encode()).digest()[:2])
        while (address := f"10.244.{number >> 8 & 255}.{number & 255}") in taken or number & 255 in (0, 255):
            number += 1
        return address


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """The pod itself."""
    if kind_of(changed) == POD:
        yield full_name(changed)


KUBELET = Behaviour(
    title="kubelet", actor=Actor.KUBELET, decide=decide, concerned=concerned, voice=KUBELET_VOICE
)

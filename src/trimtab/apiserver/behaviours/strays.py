"""Pods whose node is gone: nobody runs them any more, so they have failed and go. Pure.

The server is asked for the node before anything goes: it may be there, and only not heard of yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Absent,
    Actor,
    Behaviour,
    Change,
    Decision,
    Delete,
    Update,
)
from trimtab.apiserver.behaviours.kinds import NODE, POD
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    full_name,
    generation_of,
    kind_of,
    name_of,
    replaced,
    stamp,
    status_of,
    with_status,
)
from trimtab.apiserver.behaviours.readiness import is_over
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """A pod on a node that is gone has failed, and goes without grace."""
    pod = world.get(POD, *name)
    node = pod["spec"].get("nodeName", "") if pod is not None else ""
    if pod is None or not node or world.get(NODE, "", node) is not None:
        return NOTHING
    changes: list[Change] = [Delete(target=pod, grace_seconds=0)]
    if not is_over(pod):
        changes.insert(0, Update(body=with_status(pod, _failed(pod, now)), subresource="status"))
    absent = Absent(kind=NODE, name=("", node))
    return Decision(changes=tuple(changes), unless_alive=(absent,))


def _failed(pod: Manifest, now: datetime) -> dict[str, Any]:
    why = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
        "observedGeneration": generation_of(pod),
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
    }
    status = status_of(pod)
    return {**status, "phase": "Failed", "conditions": replaced(status.get("conditions") or (), why)}


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A pod on a node that is not there, and all that were on a node that is gone."""
    if kind_of(changed) == POD:
        node = changed["spec"].get("nodeName")
        if node and world.get(NODE, "", node) is None:
            yield full_name(changed)
    elif kind_of(changed) == NODE and world.get(NODE, *full_name(changed)) is None:
        for pod in world.all(POD):
            if pod["spec"].get("nodeName") == name_of(changed):
                yield full_name(pod)


STRAYS = Behaviour(title="strays", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned)

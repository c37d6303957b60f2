"""The one node that an embedded cluster has: made at the start where there is none, always ready. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import NOTHING, Actor, Behaviour, Create, Decision, Update, decision
from trimtab.apiserver.behaviours.kinds import NODE
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    full_name,
    is_true,
    kind_of,
    stamp,
    with_spec,
)
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World

EMBEDDED = "embedded"
NOT_READY = "node.kubernetes.io/not-ready"  # a taint that the server gives to every new node
_ROOM = {"cpu": "64", "ephemeral-storage": "1Ti", "memory": "256Gi", "pods": "10k"}
_HEALTHY = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Make the node, unless the cluster has nodes of its own; a node that is ready may take pods."""
    node = world.get(NODE, *name)
    if node is None:
        return NOTHING if world.all(NODE) else decision([Create(_node(name[1], now))])
    taints = node["spec"].get("taints") or []
    left = [each for each in taints if each["key"] != NOT_READY]
    if left == taints or not is_true(node, "Ready"):
        return NOTHING
    return decision([Update(body=with_spec(node, taints=left))])


def _node(name: str, now: datetime) -> dict[str, Any]:
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    at = stamp(now)
    conditions = [
        {
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": at, "lastTransitionTime": at,
        }
        for kind, (status, reason, message) in _HEALTHY.items()
    ]  # fmt: skip
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": _ROOM, "allocatable": _ROOM, "conditions": conditions, "addresses": addresses},
    }


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A node that is there; one that somebody deletes stays away."""
    if kind_of(changed) == NODE and world.get(NODE, *full_name(changed)) is not None:
        yield full_name(changed)


NODES = Behaviour(
    title="nodes", actor=Actor.KUBELET, decide=decide, concerned=concerned, at_start=(("", EMBEDDED),)
)

"""The one node that an embedded cluster has: made at the start where there is none, always ready. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import NOTHING, Actor, Behaviour, Create, Decision, decision
from trimtab.apiserver.behaviours.kinds import NODE
from trimtab.apiserver.behaviours.manifests import Manifest, Name, stamp
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World

EMBEDDED = "embedded"
#: more than anybody asks for: nothing really runs here
_ROOM = {"cpu": "10k", "ephemeral-storage": "1Pi", "memory": "100Ti", "pods": "1M"}
_HEALTHY = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Make the node, unless the cluster has nodes of its own."""
    return NOTHING if world.all(NODE) else decision([Create(_node(name[1], now))])


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
    """A node that somebody deletes stays away."""
    return iter(())


NODES = Behaviour(
    title="nodes", actor=Actor.KUBELET, decide=decide, concerned=concerned, at_start=(("", EMBEDDED),)
)

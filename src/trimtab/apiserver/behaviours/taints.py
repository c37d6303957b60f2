"""Taints by which a node's state keeps new pods away: cordoned, unready, out of room. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from trimtab.apiserver.behaviours.changes import NOTHING, Actor, Behaviour, Decision, Update, decision
from trimtab.apiserver.behaviours.kinds import NODE
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    condition,
    full_name,
    kind_of,
    stamp,
    status_of,
    with_spec,
)
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
NOT_READY = "node.kubernetes.io/not-ready"  # the server gives it to every new node
_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): "node.kubernetes.io/unreachable",
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_OURS = frozenset({UNSCHEDULABLE, *_BY_CONDITION.values()})


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The taints that the node's state asks for, and none that it no longer asks for."""
    node = world.get(NODE, *name)
    if node is None:
        return NOTHING
    taints, wanted = node["spec"].get("taints") or [], list(_wanted(node))
    left = [each for each in taints if not _is_ours(each) or each["key"] in wanted]
    has = {each["key"] for each in left if _is_ours(each)}
    added = [
        {"key": key, "effect": "NoSchedule", "timeAdded": stamp(now)} for key in wanted if key not in has
    ]
    return NOTHING if [*left, *added] == taints else decision([_tainted(node, [*left, *added])])


def _tainted(node: Manifest, taints: list[Manifest]) -> Update:
    return Update(body=with_spec(node, taints=taints))


def _is_ours(taint: Manifest) -> bool:
    return taint["effect"] == "NoSchedule" and taint["key"] in _OURS


def _wanted(node: Manifest) -> Iterator[str]:
    """The taints by their keys; a node that has not said yet whether it is ready keeps waiting."""
    if condition(node, "Ready") is None:
        yield NOT_READY
    for each in status_of(node).get("conditions") or ():
        if key := _BY_CONDITION.get((each["type"], each["status"])):
            yield key
    if node["spec"].get("unschedulable"):
        yield UNSCHEDULABLE


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A node itself."""
    if kind_of(changed) == NODE:
        yield full_name(changed)


TAINTS = Behaviour(title="taints", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned)

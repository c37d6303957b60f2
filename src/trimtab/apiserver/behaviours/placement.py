"""Where may a pod run? Nodes that fit by selector, affinity, taints and claims, or why none does. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Bind,
    Decision,
    Update,
    decision,
)
from trimtab.apiserver.behaviours.events import SCHEDULER_VOICE
from trimtab.apiserver.behaviours.kinds import NODE, PERSISTENT_VOLUME_CLAIM, POD
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    full_name,
    generation_of,
    is_going,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    replaced,
    stamp,
    status_of,
    with_status,
)
from trimtab.apiserver.behaviours.readiness import is_over
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World

_NO_HELP = "preemption: 0/{total} nodes are available: {total} Preemption is not helpful for scheduling."


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Put a pod that has no node on the fitting one with the fewest pods, or say why there is none."""
    pod = world.get(POD, *name)
    if pod is None or is_going(pod) or is_over(pod):
        return NOTHING
    if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"):
        return NOTHING
    problem = claims_problem(world, pod)
    nodes = sorted(world.all(NODE), key=name_of)
    fitting = [] if problem else [node for node in nodes if fits(pod, node)]
    if not fitting:
        return _unschedulable(pod, problem or _misfits(pod, nodes), len(nodes), now)
    busy: dict[str, int] = {}
    for other in world.all(POD):
        node_name = other["spec"].get("nodeName", "")
        busy[node_name] = busy.get(node_name, 0) + 1
    best = min(fitting, key=lambda node: (busy.get(name_of(node), 0), name_of(node)))
    return decision([Bind(pod=pod, node=name_of(best))])


def claims_of(pod: Manifest) -> Iterator[str]:
    """The names of the claims a pod mounts."""
    for volume in pod["spec"].get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield claim["claimName"]


def claims_problem(world: World, pod: Manifest) -> str:
    """What keeps the pod's claims from being mounted."""
    for name in claims_of(pod):
        claim = world.get(PERSISTENT_VOLUME_CLAIM, namespace_of(pod), name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if status_of(claim).get("phase") != "Bound":
            return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def fits(pod: Manifest, node: Manifest) -> bool:
    """Whether the node would take the pod: chosen by it, not cordoned, no taint in the way."""
    return is_chosen(pod, node) and tolerates(pod, node)


def is_chosen(pod: Manifest, node: Manifest) -> bool:
    """Whether the pod's node selector and required node affinity allow the node."""
    spec, labels = pod["spec"], labels_of(node)
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def tolerates(pod: Manifest, node: Manifest) -> bool:
    """Whether the pod bears every taint of the node that keeps pods away."""
    taints = [each for each in node["spec"].get("taints") or () if each["effect"] != "PreferNoSchedule"]
    if node["spec"].get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    tolerations = pod["spec"].get("tolerations") or ()
    return all(any(_tolerated(taint, each) for each in tolerations) for taint in taints)


def _tolerated(taint: Mapping[str, Any], toleration: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def _term(term: Mapping[str, Any], node: Manifest) -> bool:
    fields = {"metadata.name": name_of(node)}
    expressions, on_fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    return (
        bool(expressions or on_fields)
        and all(_holds(each, labels_of(node)) for each in expressions)
        and all(_holds(each, fields) for each in on_fields)
    )


def _holds(expression: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    value = values.get(expression["key"])
    wanted: Sequence[str] = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(wanted[0])
        case "Lt":
            return value is not None and int(value) < int(wanted[0])
        case _:
            return False


def _misfits(pod: Manifest, nodes: Sequence[Manifest]) -> str:
    unchosen = sum(not is_chosen(pod, node) for node in nodes)
    tainted = len(nodes) - unchosen
    reasons = [f"{tainted} node(s) had untolerated taint(s)"] if tainted else []
    reasons += [f"{unchosen} node(s) didn't match Pod's node affinity/selector"] if unchosen else []
    return ", ".join(reasons)


def _unschedulable(pod: Manifest, problem: str, nodes: int, now: datetime) -> Decision:
    message = f"0/{nodes} nodes are available: {problem}. {_NO_HELP.format(total=nodes)}"
    if nodes == 0:
        message = "no nodes available to schedule pods"
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "observedGeneration": generation_of(pod),
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
    }
    conditions = status_of(pod).get("conditions") or []
    if (after := replaced(conditions, condition)) == conditions:
        return NOTHING
    status = {**status_of(pod), "conditions": after}
    return decision([Update(body=with_status(pod, status), subresource="status")])


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A pod itself; with a node or a claim, every pod that waits for a place."""
    kind = kind_of(changed)
    if kind == POD:
        yield full_name(changed)
    elif kind in (NODE, PERSISTENT_VOLUME_CLAIM):
        for pod in world.all(POD, namespace_of(changed) or None):
            if not pod["spec"].get("nodeName"):
                yield full_name(pod)


SCHEDULER = Behaviour(
    title="scheduler", actor=Actor.SCHEDULER, decide=decide, concerned=concerned, voice=SCHEDULER_VOICE
)

"""Where may a pod run? Nodes that fit by selector, affinity, taints, room, claims, or why none does. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

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
from trimtab.apiserver.behaviours.load import PODS, has_room, requested, room, shortages
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
    uid_of,
    with_status,
)
from trimtab.apiserver.behaviours.readiness import is_over
from trimtab.apiserver.behaviours.taints import UNSCHEDULABLE
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.integers import whole

_CORDON = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
_CORDONED = "node(s) were unschedulable"
_TAINTED = "node(s) had untolerated taint(s)"
_UNCHOSEN = "node(s) didn't match Pod's node affinity/selector"
_NO_HELP = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


class _Misfit(Struct, frozen=True):
    """Why a node does not take a pod, and whether it might if others left it."""

    reasons: tuple[str, ...]
    only_full: bool = False


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Put a pod that has no node on the fitting one with the fewest pods, or say why there is none."""
    pod = world.get(POD, *name)
    if pod is None or is_going(pod) or is_over(pod):
        return NOTHING
    if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"):
        return NOTHING
    nodes = sorted(world.all(NODE), key=name_of)
    if problem := claims_problem(world, pod):
        return _unschedulable(pod, _message(problem, [_NO_HELP] * len(nodes)), now)
    asked = requested(pod)
    misfits = {name_of(node): _misfit(world, pod, node, asked) for node in nodes}
    fitting = [name for name, misfit in misfits.items() if misfit is None]
    if not fitting:
        return _unschedulable(pod, _told([each for each in misfits.values() if each]), now)
    best = min(fitting, key=lambda node: (world.load(node)[PODS], node))
    return decision([Bind(pod=pod, node=best)])


def _misfit(world: World, pod: Manifest, node: Manifest, asked: Mapping[str, int]) -> _Misfit | None:
    """The first thing that keeps the pod from the node, in the order in which a scheduler asks."""
    if node["spec"].get("unschedulable") and not _all_tolerated(pod, [_CORDON]):
        return _Misfit((_CORDONED,))
    if not tolerates(pod, node):
        return _Misfit((_TAINTED,))
    if not is_chosen(pod, node):
        return _Misfit((_UNCHOSEN,))
    has = room(node)
    short = tuple(shortages(asked, world.load(name_of(node)), has))
    words = tuple("Too many pods" if each == PODS else f"Insufficient {each}" for each in short)
    return _Misfit(words, only_full=has_room(asked, has)) if words else None


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
    return _all_tolerated(pod, [*taints, *([_CORDON] if node["spec"].get("unschedulable") else [])])


def _all_tolerated(pod: Manifest, taints: Sequence[Mapping[str, Any]]) -> bool:
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
            return _is_less(wanted[0], value)
        case "Lt":
            return _is_less(value, wanted[0])
        case _:
            return False


def _is_less(left: str | None, right: str | None) -> bool:
    """Whether both are numbers, and this one is the smaller."""
    numbers = whole(left or ""), whole(right or "")
    return numbers[0] is not None and numbers[1] is not None and numbers[0] < numbers[1]


def _told(misfits: Sequence[_Misfit]) -> str:
    """Why no node takes the pod, in the words of the scheduler."""
    if not misfits:
        return "no nodes available to schedule pods"
    why = _counted(reason for each in misfits for reason in each.reasons)
    return _message(why, [_NO_VICTIMS if each.only_full else _NO_HELP for each in misfits])


def _message(why: str, preemption: Sequence[str]) -> str:
    none = f"0/{len(preemption)} nodes are available:"
    return f"{none} {why}. preemption: {none} {_counted(preemption)}."


def _counted(reasons: Iterable[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in Counter(reasons).items()))


def _unschedulable(pod: Manifest, message: str, now: datetime) -> Decision:
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
    """A pod itself; with a node, a claim or a pod that makes room, every pod that waits for a place."""
    kind, namespace = kind_of(changed), namespace_of(changed)
    if kind == POD:
        yield full_name(changed)
        if not changed["spec"].get("nodeName") or (world.by_uid(uid_of(changed)) and not is_over(changed)):
            return
        namespace = ""
    if kind in (NODE, PERSISTENT_VOLUME_CLAIM, POD):
        for pod in world.unplaced():
            if namespace in ("", namespace_of(pod)):
                yield full_name(pod)


SCHEDULER = Behaviour(
    title="scheduler", actor=Actor.SCHEDULER, decide=decide, concerned=concerned, voice=SCHEDULER_VOICE
)

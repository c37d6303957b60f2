"""PodDisruptionBudgets: how many of the chosen pods are healthy, and how many may be disrupted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from trimtab.apiserver.behaviours.changes import NOTHING, Actor, Behaviour, Decision, News, Update
from trimtab.apiserver.behaviours.events import DISRUPTION_VOICE
from trimtab.apiserver.behaviours.kinds import (
    DEPLOYMENT,
    POD,
    POD_DISRUPTION_BUDGET,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    condition,
    controller_of,
    full_name,
    generation_of,
    is_going,
    kind_of,
    labels_of,
    moment,
    name_of,
    namespace_of,
    present,
    replaced,
    stamp,
    status_of,
    uid_of,
    with_status,
)
from trimtab.apiserver.behaviours.ownership import selector_of
from trimtab.apiserver.behaviours.readiness import is_ready
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.quantity import percent_of

ALLOWED = "DisruptionAllowed"
_SCALED = (REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
#: how long an eviction is taken to be on its way, though its pod is still there
_ON_ITS_WAY = timedelta(minutes=2)


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The counts of the budget, and what it allows by them."""
    budget = world.get(POD_DISRUPTION_BUDGET, *name)
    if budget is None:
        return NOTHING
    pods = world.selected(POD, namespace_of(budget), selector_of(budget))
    disrupted, again = _disrupted(budget, pods, now)
    status = _status(world, budget, pods, disrupted, now)
    if status == status_of(budget):
        return Decision(again=again)
    update = Update(body=with_status(budget, status), subresource="status")
    none = () if pods else (News(budget, "NoPods", "No matching pods found"),)
    return Decision(changes=(update,), again=again, news=none)


def _disrupted(
    budget: Manifest, pods: Sequence[Manifest], now: datetime
) -> tuple[dict[str, str], datetime | None]:
    """Pods whose eviction was allowed and is on its way, and when the next of them is given up."""
    noted: Mapping[str, str] = status_of(budget).get("disruptedPods") or {}
    waiting = {
        name_of(pod): noted[name_of(pod)] for pod in pods if name_of(pod) in noted and not is_going(pod)
    }
    ends = {each: (moment(at) or now) + _ON_ITS_WAY for each, at in waiting.items()}
    left = {each: waiting[each] for each, end in ends.items() if end > now}
    return left, min((ends[each] for each in left), default=None)


def _status(
    world: World, budget: Manifest, pods: Sequence[Manifest], disrupted: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    expected, problem = _expected(world, budget, pods)
    if problem:
        return {**status_of(budget), "disruptionsAllowed": 0, **allowance(budget, 0, now, problem)}
    wanted = _wanted(budget, expected)
    healthy = sum(is_ready(pod) and not is_going(pod) and name_of(pod) not in disrupted for pod in pods)
    allowed = max(0, healthy - wanted) if expected > 0 else 0
    return {
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        **present(disruptedPods=dict(disrupted), observedGeneration=generation_of(budget)),
        **allowance(budget, allowed, now),
    }


def _wanted(budget: Manifest, expected: int) -> int:
    """How many pods have to stay healthy."""
    if (spare := budget["spec"].get("maxUnavailable")) is not None:
        return max(0, expected - percent_of(spare, expected, round_up=True))
    return percent_of(budget["spec"].get("minAvailable", 0), expected, round_up=True)


def _expected(world: World, budget: Manifest, pods: Sequence[Manifest]) -> tuple[int, str]:
    """How many pods there should be: what is there, or, to take a part of it, what their owners ask for."""
    if isinstance(budget["spec"].get("minAvailable"), int):
        return len(pods), ""
    sizes: dict[str, int] = {}
    for pod in pods:
        if controller_of(pod) is None:
            continue
        owner = _scaled(world, pod)
        if owner is None:
            return 0, f'found no controllers for pod "{name_of(pod)}"'
        sizes[uid_of(owner)] = int(owner["spec"].get("replicas", 1))
    return sum(sizes.values()), ""


def _scaled(world: World, pod: Manifest) -> Manifest | None:
    """Who says how many pods like this one there should be."""
    owner = world.by_uid((controller_of(pod) or {}).get("uid", ""))
    if owner is None or kind_of(owner) not in _SCALED:
        return None
    above = world.by_uid((controller_of(owner) or {}).get("uid", ""))
    return above if above is not None and kind_of(above) == DEPLOYMENT else owner


def allowance(budget: Manifest, allowed: int, now: datetime, problem: str = "") -> dict[str, Any]:
    """The condition that says whether so many disruptions are any, beside those that others wrote."""
    reason = "SyncFailed" if problem else "SufficientPods" if allowed else "InsufficientPods"
    before = condition(budget, ALLOWED)
    said = {
        "type": ALLOWED,
        "status": "True" if allowed else "False",
        "reason": reason,
        "message": problem,
        "observedGeneration": generation_of(budget),
        "lastTransitionTime": stamp(now),
    }
    if before is not None and before["status"] == said["status"]:
        said["lastTransitionTime"] = before["lastTransitionTime"]
    others = [each for each in status_of(budget).get("conditions") or () if each["type"] != ALLOWED]
    return {"conditions": replaced(others, said)}


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A budget itself, those that choose the pod, and those of a workload that is scaled."""
    kind, namespace = kind_of(changed), namespace_of(changed)
    if kind == POD_DISRUPTION_BUDGET:
        yield full_name(changed)
    elif kind == POD:
        for budget in world.all(POD_DISRUPTION_BUDGET, namespace):
            if selector_of(budget).matches(labels_of(changed)):
                yield full_name(budget)
    elif kind in (DEPLOYMENT, *_SCALED):
        for budget in world.all(POD_DISRUPTION_BUDGET, namespace):
            yield full_name(budget)


DISRUPTIONS = Behaviour(
    title="disruptions",
    actor=Actor.CONTROLLERS,
    decide=decide,
    concerned=concerned,
    voice=DISRUPTION_VOICE,
)

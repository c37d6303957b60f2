"""DaemonSets: one pod on every node that takes it, replaced a few at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    Actor,
    Behaviour,
    Change,
    Create,
    Decision,
    Delete,
)
from trimtab.apiserver.behaviours.events import DAEMON_SET_VOICE
from trimtab.apiserver.behaviours.kinds import CONTROLLER_REVISION, DAEMON_SET, NODE, POD
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    age_order,
    annotations_of,
    full_name,
    generation_of,
    is_going,
    kind_of,
    labels_of,
    name_of,
    present,
    status_of,
)
from trimtab.apiserver.behaviours.ownership import own_or_owner, pod_from
from trimtab.apiserver.behaviours.placement import fits
from trimtab.apiserver.behaviours.readiness import is_available, is_over, is_ready
from trimtab.apiserver.behaviours.revisions import concluded, revised
from trimtab.apiserver.behaviours.room import makeable, retry_at, within
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.quantity import percent_of

HASH_LABEL = "controller-revision-hash"
GENERATION = "deprecated.daemonset.template.generation"
_TOLERATED = (
    ("NoExecute", "not-ready"),
    ("NoExecute", "unreachable"),
    ("NoSchedule", "disk-pressure"),
    ("NoSchedule", "memory-pressure"),
    ("NoSchedule", "pid-pressure"),
    ("NoSchedule", "unschedulable"),
)


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Pods for nodes without one, none for nodes that should have none, then the next replacements."""
    found = revised(world, DAEMON_SET, name, hash_label=HASH_LABEL)
    if isinstance(found, Decision):
        return found
    look = _Look(world, found.owner, found.pods, labels_of(found.history.update)[HASH_LABEL], now)
    moves = [] if is_going(found.owner) else list(look.moves())
    hashes = {labels_of(pod).get(HASH_LABEL) for pod in found.pods}
    used = {name_of(each) for each in found.history.all if labels_of(each).get(HASH_LABEL) in hashes}
    retry = retry_at(world, found.owner, now, timing)
    moves = within(makeable(world, found.owner, len(moves), now, timing), moves)
    return concluded(found, moves, look.status(), used=used, min_ready=look.min_ready, now=now, retry=retry)


def node_of(pod: Manifest) -> str:
    """The node a pod is on or meant for."""
    if placed := pod["spec"].get("nodeName"):
        return str(placed)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


class _Look:
    """One look at a DaemonSet, its pods and the nodes."""

    def __init__(
        self, world: World, daemon_set: Manifest, pods: Sequence[Manifest], hashed: str, now: datetime
    ) -> None:
        self._set, self._spec, self._hash, self._now = daemon_set, daemon_set["spec"], hashed, now
        self.min_ready = int(self._spec.get("minReadySeconds", 0))
        strategy = self._spec.get("updateStrategy") or {}
        self._rules = strategy.get("rollingUpdate") or {}
        self._rolling = strategy.get("type", "RollingUpdate") == "RollingUpdate"
        self._wanted = {name_of(node) for node in world.all(NODE) if fits(self._pod(name_of(node)), node)}
        self._by_node: dict[str, list[Manifest]] = {}
        for pod in sorted(pods, key=age_order):
            self._by_node.setdefault(node_of(pod), []).append(pod)

    def moves(self) -> Iterator[Change]:
        """The pods to make and to delete."""
        settled = True
        for node in sorted(self._wanted | self._by_node.keys()):
            changes = list(self._on_node(node))
            settled = settled and not changes
            yield from changes
        if settled and self._rolling:
            yield from self._surges() if self._surge else self._replacements()

    @property
    def _surge(self) -> int:
        """On how many nodes a new pod may stand beside the old one."""
        most = self._rules.get("maxSurge", 0) if self._rolling else 0
        return percent_of(most, len(self._wanted), round_up=True)

    def _on_node(self, node: str) -> Iterator[Change]:
        pods = self._by_node.get(node, [])
        if node not in self._wanted:
            yield from (Delete(target=pod) for pod in pods if not is_going(pod))
            return
        ended = [pod for pod in pods if is_over(pod)]
        alive = [pod for pod in pods if not is_over(pod)]
        yield from (Delete(target=pod) for pod in ended if not is_going(pod))
        new = [pod for pod in alive if self._is_new(pod)] if self._surge else []
        old = [pod for pod in alive if pod not in new]
        yield from (Delete(target=pod) for pod in (*old[1:], *new[1:]) if not is_going(pod))
        if not pods:
            yield Create(self._pod(node))

    def _surges(self) -> Iterator[Change]:
        """New pods beside old ones; an old one goes as soon as the new one is available."""
        room, waiting = self._surge, []
        for node in sorted(self._wanted):
            new = [pod for pod in self._by_node.get(node, ()) if self._is_new(pod)]
            old = [pod for pod in self._by_node.get(node, ()) if not self._is_new(pod)]
            if not old:
                continue
            if not new:
                waiting.append(node)
            elif any(is_available(pod, self.min_ready, self._now) for pod in new):
                yield from (Delete(target=pod) for pod in old if not is_going(pod))
            else:
                room -= 1
        lame = [node for node in waiting if not self._is_available_on(node)]
        sound = [node for node in waiting if node not in lame]
        yield from (Create(self._pod(node)) for node in (*lame, *sound[: max(0, room)]))

    def _replacements(self) -> Iterator[Change]:
        most = max(1, percent_of(self._rules.get("maxUnavailable", 1), len(self._wanted), round_up=True))
        missing = sum(not self._is_available_on(node) for node in self._wanted)
        room = most - missing
        for node in sorted(self._wanted):
            for pod in self._by_node.get(node, ()):
                if self._is_new(pod) or is_going(pod):
                    continue
                if not is_available(pod, self.min_ready, self._now):
                    yield Delete(target=pod)
                elif room > 0:
                    room -= 1
                    yield Delete(target=pod)

    def _is_available_on(self, node: str) -> bool:
        return any(
            is_available(pod, self.min_ready, self._now) and not is_going(pod)
            for pod in self._by_node.get(node, ())
        )

    def _is_new(self, pod: Manifest) -> bool:
        return labels_of(pod).get(HASH_LABEL) == self._hash

    def _pod(self, node: str) -> dict[str, Any]:
        template = self._spec["template"]
        generation = annotations_of(self._set).get(GENERATION, str(generation_of(self._set)))
        labels = {HASH_LABEL: self._hash, "pod-template-generation": generation}
        pod = pod_from(self._set, template, labels=labels)
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        affinity = dict(template["spec"].get("affinity") or {})
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        affinity["nodeAffinity"] = {
            **(affinity.get("nodeAffinity") or {}),
            "requiredDuringSchedulingIgnoredDuringExecution": _narrowed(affinity, field) or required,
        }
        tolerations = [
            *(template["spec"].get("tolerations") or ()),
            *(
                {"effect": effect, "key": f"node.kubernetes.io/{key}", "operator": "Exists"}
                for effect, key in _TOLERATED
            ),
        ]
        return {**pod, "spec": {**template["spec"], "affinity": affinity, "tolerations": tolerations}}

    def status(self) -> dict[str, Any]:
        """How many nodes should have a pod, and how many have a good one."""
        first = {node: pods[0] for node, pods in self._by_node.items() if node in self._wanted}
        ready = [pod for pod in first.values() if is_ready(pod)]
        available = [pod for pod in ready if is_available(pod, self.min_ready, self._now)]
        kept = {key: status_of(self._set)[key] for key in ("collisionCount",) if key in status_of(self._set)}
        return {
            **kept,
            "currentNumberScheduled": len(first),
            "numberMisscheduled": sum(node not in self._wanted for node in self._by_node),
            "desiredNumberScheduled": len(self._wanted),
            "numberReady": len(ready),
            **present(
                observedGeneration=generation_of(self._set),
                updatedNumberScheduled=sum(self._is_new(pod) for pod in first.values()),
                numberAvailable=len(available),
                numberUnavailable=len(self._wanted) - len(available),
            ),
        }


def _narrowed(affinity: dict[str, Any], field: dict[str, Any]) -> dict[str, Any] | None:
    """The template's own terms, each on this one node."""
    rules = (affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [{**each, "matchFields": [field]} for each in rules.get("nodeSelectorTerms") or ()]
    return {"nodeSelectorTerms": terms} if terms else None


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A DaemonSet itself, whoever owns or may adopt the pod or revision; with a node, every DaemonSet."""
    yield from own_or_owner(world, changed, kind=DAEMON_SET, dependent=POD)
    if kind_of(changed) == CONTROLLER_REVISION:
        yield from own_or_owner(world, changed, kind=DAEMON_SET, dependent=CONTROLLER_REVISION)
    if kind_of(changed) == NODE:
        yield from (full_name(each) for each in world.all(DAEMON_SET))


DAEMON_SETS = Behaviour(
    title="daemon sets", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned, voice=DAEMON_SET_VOICE
)

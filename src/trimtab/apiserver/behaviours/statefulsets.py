"""StatefulSets: numbered pods with claims of their own, made and replaced in order. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    Actor,
    Behaviour,
    Change,
    Create,
    Decision,
    Delete,
    Update,
)
from trimtab.apiserver.behaviours.events import STATEFUL_SET_VOICE
from trimtab.apiserver.behaviours.kinds import (
    CONTROLLER_REVISION,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    STATEFUL_SET,
)
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    controller_reference,
    generation_of,
    is_going,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    present,
    status_of,
    uid_of,
    with_metadata,
)
from trimtab.apiserver.behaviours.ownership import own_or_owner, pod_from
from trimtab.apiserver.behaviours.readiness import is_available, is_over, is_ready
from trimtab.apiserver.behaviours.revisions import concluded, revised, template_of
from trimtab.apiserver.behaviours.room import makeable, retry_at
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.quantity import percent_of

HASH_LABEL = "controller.kubernetes.io/hash"
REVISION_LABEL = "controller-revision-hash"
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The next pod to make, to replace or to give up, and the status."""
    found = revised(world, STATEFUL_SET, name, hash_label=HASH_LABEL)
    if isinstance(found, Decision):
        return found
    history, recorded = found.history, status_of(found.owner).get("currentRevision")
    current = next((each for each in history.all if name_of(each) == recorded), history.update)
    missing = found.owner["spec"].get("replicas", 1)
    room = makeable(world, found.owner, missing, now, timing)
    look = _Look(world, found.owner, found.pods, current, history.update, now, room)
    moves = [] if is_going(found.owner) else list(look.moves())
    used = {name_of(current), *(revision_of(pod) for pod in found.pods)}
    retry = retry_at(world, found.owner, now, timing)
    return concluded(
        found, moves, look.status(moves), used=used, min_ready=look.min_ready, now=now, retry=retry
    )


def revision_of(pod: Manifest) -> str:
    """The name of the revision a pod was made from."""
    return labels_of(pod).get(REVISION_LABEL, "")


def ordinal_of(stateful_set: Manifest, pod: Manifest) -> int:
    """The number in the pod's name; -1 if it has none."""
    found = re.fullmatch(rf"{re.escape(name_of(stateful_set))}-(\d+)", name_of(pod))
    return int(found.group(1)) if found else -1


class _Look:
    """One look at a StatefulSet and its pods."""

    def __init__(
        self,
        world: World,
        stateful_set: Manifest,
        pods: Sequence[Manifest],
        current: Manifest,
        update: Manifest,
        now: datetime,
        room: int,
    ) -> None:
        self._room = room  # so many pods may be made now
        self._world, self._set, self._spec, self._now = world, stateful_set, stateful_set["spec"], now
        self._current, self._update = current, update
        self._pods = {ordinal: pod for pod in pods if (ordinal := ordinal_of(stateful_set, pod)) >= 0}
        self._ordered = self._spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        start = (self._spec.get("ordinals") or {}).get("start", 0)
        self._ordinals = range(start, start + self._spec.get("replicas", 1))
        self.min_ready = int(self._spec.get("minReadySeconds", 0))

    def moves(self) -> Iterator[Change]:
        """Make what is missing, then give up what is too much, then replace what is old."""
        moved = False
        for ordinal in self._ordinals:
            if not self._takes_room(ordinal):
                return
            changes = list(self._replica(ordinal))
            yield from changes
            moved = moved or bool(changes)
            if self._ordered and (changes or not self._is_healthy(ordinal)):
                return
        if moved:
            return
        condemned = sorted((each for each in self._pods if each not in self._ordinals), reverse=True)
        handed = [each for ordinal in condemned for each in self._claims_in_order(ordinal)]
        if handed:
            yield from handed
            return
        for ordinal in condemned:
            pod = self._pods[ordinal]
            if not is_going(pod):
                yield Delete(target=pod)
            if self._ordered:
                return
        if self._spec.get("updateStrategy", {}).get("type", "RollingUpdate") == "RollingUpdate":
            yield from self._replacements()

    def _takes_room(self, ordinal: int) -> bool:
        """Whether the pod is there, or may be made now."""
        if ordinal in self._pods:
            return True
        self._room -= 1
        return self._room >= 0

    def _replica(self, ordinal: int) -> Iterator[Change]:
        pod = self._pods.get(ordinal)
        if pod is None:
            yield from self._missing_claims(ordinal)
            yield Create(self._pod(ordinal))
        elif is_over(pod) and not is_going(pod):
            yield Delete(target=pod)
        elif not is_going(pod):
            yield from self._missing_claims(ordinal)
            yield from self._claims_in_order(ordinal)
            if labels_of(pod).get(NAME_LABEL) != name_of(pod):
                yield Update(body=with_metadata(pod, labels={**labels_of(pod), **self._identity(ordinal)}))

    def _is_healthy(self, ordinal: int) -> bool:
        pod = self._pods.get(ordinal)
        return pod is not None and not is_going(pod) and is_available(pod, self.min_ready, self._now)

    def _replacements(self) -> Iterator[Change]:
        """Pods of an old revision, from the highest number down, no more at once than may be missing."""
        rules = self._spec.get("updateStrategy", {}).get("rollingUpdate") or {}
        total = len(self._ordinals)
        most = max(1, percent_of(rules.get("maxUnavailable", 1), total, round_up=True))
        room = most - sum(not self._is_healthy(ordinal) for ordinal in self._ordinals)
        for ordinal in reversed(self._ordinals):
            pod = self._pods[ordinal]
            if room <= 0 or ordinal - self._ordinals.start < rules.get("partition", 0):
                return
            if revision_of(pod) != name_of(self._update) and not is_going(pod):
                yield Delete(target=pod)
                room -= 1

    # -- pods and claims ----------------------------------------------------------------------------------

    def _pod(self, ordinal: int) -> dict[str, Any]:
        revision = self._revision_for(ordinal)
        name = f"{name_of(self._set)}-{ordinal}"
        labels = {**self._identity(ordinal), REVISION_LABEL: name_of(revision)}
        pod = pod_from(self._set, template_of(revision), name=name, labels=labels)
        spec = {**pod["spec"], "hostname": name}
        if self._spec.get("serviceName"):
            spec["subdomain"] = self._spec["serviceName"]
        if volumes := self._volumes(spec, ordinal):
            spec["volumes"] = volumes
        return {**pod, "spec": spec}

    def _identity(self, ordinal: int) -> dict[str, str]:
        """The labels by which one pod of the set can be chosen."""
        return {NAME_LABEL: f"{name_of(self._set)}-{ordinal}", INDEX_LABEL: str(ordinal)}

    def _revision_for(self, ordinal: int) -> Manifest:
        """Numbers below the partition, and those an update has not come to, keep the revision they had."""
        rules = self._spec.get("updateStrategy", {})
        partition = (rules.get("rollingUpdate") or {}).get("partition", 0)
        place = ordinal - self._ordinals.start
        if rules.get("type", "RollingUpdate") != "RollingUpdate":
            return self._update
        if place < partition:
            return self._current
        if "rollingUpdate" not in rules and place < status_of(self._set).get("currentReplicas", 0):
            return self._current
        return self._update

    def _claim_templates(self) -> Sequence[Mapping[str, Any]]:
        """The templates of claims, one for each name: the last, if there are several."""
        given = self._spec.get("volumeClaimTemplates") or ()
        return [*{each["metadata"]["name"]: each for each in given}.values()]

    def _claim_name(self, template: Mapping[str, Any], ordinal: int) -> str:
        return f"{template['metadata']['name']}-{name_of(self._set)}-{ordinal}"

    def _volumes(self, spec: Mapping[str, Any], ordinal: int) -> list[dict[str, Any]]:
        claimed = {
            each["metadata"]["name"]: {
                "name": each["metadata"]["name"],
                "persistentVolumeClaim": {"claimName": self._claim_name(each, ordinal)},
            }
            for each in self._claim_templates()
        }
        others = [each for each in spec.get("volumes") or () if each["name"] not in claimed]
        return [*claimed.values(), *others]

    def _missing_claims(self, ordinal: int) -> Iterator[Create]:
        namespace = namespace_of(self._set)
        for template in self._claim_templates():
            name = self._claim_name(template, ordinal)
            if self._world.get(PERSISTENT_VOLUME_CLAIM, namespace, name) is None:
                chosen = self._spec["selector"].get("matchLabels") or {}
                metadata = {
                    **template["metadata"],
                    "name": name,
                    "namespace": namespace,
                    "labels": {**(template["metadata"].get("labels") or {}), **chosen},
                }
                kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
                yield Create({**kind, "metadata": metadata, "spec": template["spec"]})

    def _claims_in_order(self, ordinal: int) -> Iterator[Update]:
        """The claims of a pod with those owners that the retention policy gives them."""
        owners = {"StatefulSet": self._set, "Pod": self._pods[ordinal]}
        wanted = self._claim_owner(ordinal)
        for template in self._claim_templates():
            name = self._claim_name(template, ordinal)
            claim = self._world.get(PERSISTENT_VOLUME_CLAIM, namespace_of(self._set), name)
            if claim is None or is_going(claim):
                continue
            ours = {uid_of(each) for kind, each in owners.items() if kind != wanted}
            left = [each for each in owners_of(claim) if each["uid"] not in ours]
            if wanted and not any(each["uid"] == uid_of(owners[wanted]) for each in left):
                left.append(controller_reference(owners[wanted]))
            if left != list(owners_of(claim)):
                yield Update(body=with_metadata(claim, ownerReferences=left))

    def _claim_owner(self, ordinal: int) -> str:
        """With whom the claims of a pod go: with the pod once it is given up, with the set, or nobody."""
        policy = self._spec.get("persistentVolumeClaimRetentionPolicy") or {}
        if policy.get("whenScaled") == "Delete" and ordinal not in self._ordinals:
            return "Pod"
        return "StatefulSet" if policy.get("whenDeleted") == "Delete" else ""

    # -- status -------------------------------------------------------------------------------------------

    def status(self, changes: Iterable[Change]) -> dict[str, Any]:
        """The counts after these changes."""
        changes = list(changes)
        made = [each.body for each in changes if isinstance(each, Create) and kind_of(each.body) == POD]
        going = {uid_of(each.target) for each in changes if isinstance(each, Delete)}
        staying = [pod for pod in self._pods.values() if not is_going(pod) and uid_of(pod) not in going]
        ready = [pod for pod in self._pods.values() if is_ready(pod)]
        names = [revision_of(pod) for pod in (*staying, *made)]
        counts = {
            "replicas": len(self._pods) + len(made),
            **present(
                readyReplicas=len(ready),
                currentReplicas=names.count(name_of(self._current)),
                updatedReplicas=names.count(name_of(self._update)),
            ),
            "availableReplicas": sum(is_available(pod, self.min_ready, self._now) for pod in ready),
        }
        return {
            **counts,
            "collisionCount": int(status_of(self._set).get("collisionCount", 0)),
            "currentRevision": name_of(self._current),
            "updateRevision": name_of(self._update),
            **present(observedGeneration=generation_of(self._set)),
            **self._completed(counts),
        }

    def _completed(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """An update that is through makes its revision the current one."""
        wanted = len(self._ordinals)
        through = counts.get("updatedReplicas", 0) == wanted == counts.get("readyReplicas", 0)
        rolling = self._spec.get("updateStrategy", {}).get("type", "RollingUpdate") == "RollingUpdate"
        if not rolling or not through or counts["replicas"] != wanted:
            return {}
        return {"currentRevision": name_of(self._update), **present(currentReplicas=wanted)}


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A StatefulSet itself, whoever owns or may adopt the pod, and the owner of a revision."""
    yield from own_or_owner(world, changed, kind=STATEFUL_SET, dependent=POD)
    if kind_of(changed) == CONTROLLER_REVISION:
        yield from own_or_owner(world, changed, kind=STATEFUL_SET, dependent=CONTROLLER_REVISION)


STATEFUL_SETS = Behaviour(
    title="stateful sets",
    actor=Actor.CONTROLLERS,
    decide=decide,
    concerned=concerned,
    voice=STATEFUL_SET_VOICE,
)

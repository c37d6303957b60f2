"""Binding a pod to a node: what the subresource of that name does to the pod. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from trimtab.apiserver.refusing import conflict
from trimtab.kube.times import seconds_text

Json = dict[str, Any]


def bound(pod: Json, binding: Mapping[str, Any], now: datetime) -> Json:
    """The pod on its node; a pod that is going, or is on a node already, is refused."""
    metadata, node = pod["metadata"], (binding.get("target") or {}).get("name", "")
    if problem := _problem(pod, binding):
        raise conflict("", "pods/binding", metadata["name"], problem)
    status = pod.get("status") or {}
    conditions = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "observedGeneration": metadata.get("generation", 1),
        "lastProbeTime": None,
        "lastTransitionTime": seconds_text(now),
    }
    return {
        **pod,
        "spec": {**pod["spec"], "nodeName": node},
        "status": {**status, "conditions": [*conditions, scheduled]},
    }


def _problem(pod: Json, binding: Mapping[str, Any]) -> str:
    """What keeps the pod from being bound."""
    metadata, wanted = pod["metadata"], (binding.get("metadata") or {}).get("uid")
    if wanted and wanted != metadata["uid"]:
        return f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {metadata['uid']}"
    if metadata.get("deletionTimestamp"):
        return f"pod {metadata['name']} is being deleted, cannot be assigned to a host"
    if taken := pod["spec"].get("nodeName"):
        return f'pod {metadata["name"]} is already assigned to node "{taken}"'
    return ""

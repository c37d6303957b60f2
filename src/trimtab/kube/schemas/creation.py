"""An object as it is kept right after its creation: defaulted, its status reset, the server's own fields set.

Identity and time come as arguments. Left to whoever stores objects: resourceVersion, managedFields, and what
is allocated from a pool (addresses and node ports of Services). Admission is not here either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from trimtab.kube.quantity import parse_quantity
from trimtab.kube.schemas.defaults import completed, filled
from trimtab.kube.schemas.schema import Schema
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
UID_LABEL = "batch.kubernetes.io/controller-uid"
SERVER_SET = frozenset(
    {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
)


def created(
    manifest: Mapping[str, Any],
    schema: Schema,
    *,
    uid: str,
    now: datetime,
    resets_status: bool = True,
    counts_generation: bool = True,
) -> Json:
    """The object that a create of `manifest` leaves, with this uid at this time.

    A custom resource is expected to be read already: its nulls are judged by whoever validates it.
    """
    sent = {name: value for name, value in manifest.items() if name != "status" or not resets_status}
    metadata = unclaimed(manifest.get("metadata") or {})
    metadata |= {"uid": uid, "creationTimestamp": seconds_text(now)}
    if counts_generation:
        metadata["generation"] = 1
    whole = {**sent, "metadata": metadata}
    kept = completed(whole, schema) if schema.model else filled(whole, schema)
    prepare = PREPARED.get(schema.model)
    return prepare(kept) if prepare is not None else kept


def unclaimed(metadata: Mapping[str, Any]) -> Json:
    """Metadata of a new object without what only the server may say of it."""
    return {name: value for name, value in metadata.items() if name not in SERVER_SET}


def resets_status(kind: str, *, has_status_subresource: bool) -> bool:
    """Whether a status that comes with a create is dropped: where it can be set apart, but for nodes."""
    return has_status_subresource and kind != "Node"


# -- what single kinds do --------------------------------------------------------------------------------


def _namespace(kept: Json) -> Json:
    """The server itself must agree to a namespace's end, for what is in it."""
    finalizers = kept["spec"].get("finalizers") or []
    more = [] if "kubernetes" in finalizers else ["kubernetes"]
    return {**kept, "spec": {**kept["spec"], "finalizers": [*finalizers, *more]}}


def _pod(kept: Json) -> Json:
    spec = kept["spec"]
    status = {**kept["status"], "phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [_held_back(kept["metadata"]["creationTimestamp"])]
    if spec["terminationGracePeriodSeconds"] < 0:
        spec = {**spec, "terminationGracePeriodSeconds": 1}
    return {**kept, "spec": spec, "status": status}


def _held_back(since: str) -> Json:
    """The condition of a pod that is not to be scheduled yet."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def naming_secrets(kept: Json) -> Json:
    """Of the secrets of an account only the names are kept."""
    if not kept.get("secrets"):
        return kept
    return {
        **kept,
        "secrets": [{"name": each["name"]} if each.get("name") else {} for each in kept["secrets"]],
    }


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """How safe a pod's resources are: Guaranteed, Burstable or BestEffort."""
    whole = spec.get("resources")
    asking = (
        [whole]
        if whole
        else [
            each.get("resources") or {}
            for each in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        ]
    )
    amounts = [_positive(each, side) for each in asking for side in ("limits", "requests")]
    if not any(amounts):
        return "BestEffort"
    return "Guaranteed" if all(_is_guaranteed(each) for each in asking) else "Burstable"


def _positive(resources: Mapping[str, Any], side: str) -> dict[str, int]:
    wanted = resources.get(side) or {}
    amounts = {name: parse_quantity(wanted[name]).nanos for name in ("cpu", "memory") if name in wanted}
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _is_guaranteed(resources: Mapping[str, Any]) -> bool:
    limits, requests = _positive(resources, "limits"), _positive(resources, "requests")
    return len(limits) == 2 and requests == limits


_SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")


def with_sources(claim: Json, live: Json | None = None) -> Json:
    """A claim whose `dataSource` and `dataSourceRef` say the same, whichever was given.

    A source elsewhere is dropped, and what the older of the two cannot say if it stands there alone; but a
    claim that had a source before keeps what it says.
    """
    spec, before = dict(claim["spec"]), live["spec"] if live else {}
    if before.get("dataSource") is None and before.get("dataSourceRef") is None:
        if (spec.get("dataSourceRef") or {}).get("namespace"):
            del spec["dataSourceRef"]
        old = spec.get("dataSource")
        if old is not None and spec.get("dataSourceRef") is None and not _is_plain_source(old):
            del spec["dataSource"]
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if old is not None and new is None:
        spec["dataSourceRef"] = old
    elif new is not None and old is None and not new.get("namespace"):
        spec["dataSource"] = {name: value for name, value in new.items() if name != "namespace"}
    return {**claim, "spec": spec}


def _is_plain_source(source: Json) -> bool:
    group, kind = source.get("apiGroup") or "", source.get("kind")
    return (group, kind) in (("", "PersistentVolumeClaim"), _SNAPSHOT)


def _volume(kept: Json) -> Json:
    since = {"lastPhaseTransitionTime": kept["metadata"]["creationTimestamp"]}
    return {**kept, "status": {**kept["status"], **since}}


def _daemon_set(kept: Json) -> Json:
    """A counter of old, still shown as an annotation."""
    metadata = kept["metadata"]
    annotations = {**(metadata.get("annotations") or {}), "deprecated.daemonset.template.generation": "1"}
    return {**kept, "metadata": {**metadata, "annotations": annotations}}


def _job(kept: Json) -> Json:
    """A Job selects its pods by its own uid, unless a selector of one's own was asked for."""
    metadata, spec = kept["metadata"], kept["spec"]
    if spec.get("manualSelector"):
        return kept
    named = dict.fromkeys(("batch.kubernetes.io/job-name", "job-name"), metadata.get("name", ""))
    numbered = dict.fromkeys((UID_LABEL, "controller-uid"), metadata["uid"])
    template = spec["template"]
    own = template["metadata"].get("labels") or {}
    labels = {**named, **numbered, **own}
    if metadata.get("labels", own) == own:  # those of the template, taken over for want of others
        metadata = {**metadata, "labels": labels}
    selector = spec.get("selector") or {}
    matched = {UID_LABEL: metadata["uid"], **(selector.get("matchLabels") or {})}
    inner = {**template, "metadata": {**template["metadata"], "labels": labels}}
    chosen = {**spec, "selector": {**selector, "matchLabels": matched}, "template": inner}
    return {**kept, "metadata": metadata, "spec": chosen}


def _api_service(kept: Json) -> Json:
    """What the server serves itself is available from the first moment."""
    if kept["spec"].get("service"):
        return kept
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": kept["metadata"]["creationTimestamp"],
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {**kept, "status": {"conditions": [available]}}


_CORE = "io.k8s.api.core.v1."
PREPARED: Mapping[str, Callable[[Json], Json]] = {
    f"{_CORE}Namespace": _namespace,
    f"{_CORE}PersistentVolume": _volume,
    f"{_CORE}PersistentVolumeClaim": with_sources,
    f"{_CORE}Pod": _pod,
    f"{_CORE}ServiceAccount": naming_secrets,
    "io.k8s.api.apps.v1.DaemonSet": _daemon_set,
    "io.k8s.api.batch.v1.Job": _job,
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService": _api_service,
}

"""How kinds differ when they are written and deleted: the rules that no schema tells. Pure.

Everything not named here follows the common rule: an update needs an existing object but no resource version,
the status is written apart, deletion is immediate and leaves what the object owns to the garbage collector.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.requests import Address
from trimtab.apiserver.versions import converted, convertible_to, is_told_in_annotations
from trimtab.kube.merging.apply import Form, Target
from trimtab.kube.merging.fields import EMPTY, FieldSet, path
from trimtab.kube.merging.typed import same
from trimtab.kube.schemas.autoscalers import as_given
from trimtab.kube.schemas.creation import naming_secrets, with_sources
from trimtab.kube.schemas.kinds import built_in

Json = dict[str, Any]


class Strategy(Struct, frozen=True, kw_only=True):
    """What is special about one kind."""

    creates_on_update: bool = False
    needs_version: bool = False  # whether an update must say which version it replaces
    returns_deleted: bool = False  # whether deletion answers with the object rather than with a Status
    orphans: bool = False  # whether what it owns is left behind unless asked otherwise
    deletion_warning: str = ""
    folder: str = ""  # where its objects lie in the server's store, if not under the plural of the kind
    kept_by_status: tuple[str, ...] = ()  # metadata that a write of the status leaves alone
    counted_metadata: tuple[str, ...] = ()  # metadata whose change counts as a new generation
    stays_first: bool = False  # whether no change counts as a new generation
    begins_with_change: bool = False  # whether only changes are counted, and a new object has no generation


PLAIN = Strategy()
CUSTOM = Strategy(needs_version=True)
_CREATES = Strategy(creates_on_update=True)
_RETURNED = Strategy(returns_deleted=True)
_VERSIONED = Strategy(needs_version=True)
_PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning"
)
COUNTER = "deprecated.daemonset.template.generation"
ADMISSION = "admissionregistration.k8s.io"
ADMISSION_KINDS = (
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
RBAC = "rbac.authorization.k8s.io"
STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    ("", "Pod"): Strategy(returns_deleted=True, kept_by_status=("ownerReferences",)),
    ("apps", "Deployment"): Strategy(kept_by_status=("labels",), counted_metadata=("annotations",)),
    ("", "ReplicationController"): Strategy(orphans=True, folder="controllers"),
    ("", "Node"): Strategy(folder="minions"),
    ("networking.k8s.io", "Ingress"): Strategy(folder="ingress"),
    ("discovery.k8s.io", "EndpointSlice"): Strategy(counted_metadata=("labels",)),
    ("batch", "Job"): Strategy(orphans=True, deletion_warning=_PRESERVED),
    ("", "Service"): Strategy(creates_on_update=True, returns_deleted=True, folder="services/specs"),
    ("", "Endpoints"): Strategy(creates_on_update=True, folder="services/endpoints"),
    ("", "Event"): _CREATES,
    ("", "LimitRange"): _CREATES,
    (RBAC, "Role"): _CREATES,
    (RBAC, "ClusterRole"): _CREATES,
    (RBAC, "RoleBinding"): _CREATES,
    (RBAC, "ClusterRoleBinding"): _CREATES,
    ("coordination.k8s.io", "Lease"): Strategy(creates_on_update=True, needs_version=True),
    ("", "Namespace"): _RETURNED,
    ("", "ServiceAccount"): _RETURNED,
    ("", "PersistentVolumeClaim"): _RETURNED,
    ("", "PersistentVolume"): _RETURNED,
    ("", "ResourceQuota"): _RETURNED,
    ("storage.k8s.io", "StorageClass"): _RETURNED,
    ("", "PodTemplate"): _RETURNED,
    ("storage.k8s.io", "CSIDriver"): Strategy(
        returns_deleted=True, needs_version=True, begins_with_change=True
    ),
    ("storage.k8s.io", "CSINode"): Strategy(returns_deleted=True, needs_version=True),
    ("storage.k8s.io", "VolumeAttachment"): Strategy(returns_deleted=True, needs_version=True),
    ("storage.k8s.io", "CSIStorageCapacity"): _VERSIONED,
    ("node.k8s.io", "RuntimeClass"): Strategy(creates_on_update=True, needs_version=True),
    ("scheduling.k8s.io", "PriorityClass"): Strategy(stays_first=True),
    ("policy", "PodDisruptionBudget"): _VERSIONED,
    **{(ADMISSION, kind): _VERSIONED for kind in ADMISSION_KINDS},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Strategy(
        needs_version=True, folder="apiextensions.k8s.io/customresourcedefinitions"
    ),
    ("apiregistration.k8s.io", "APIService"): Strategy(
        needs_version=True, folder="apiregistration.k8s.io/apiservices"
    ),
}


def strategy_of(served: Served) -> Strategy:
    """What is special about this kind."""
    return CUSTOM if served.custom else STRATEGIES.get((served.group, served.kind), PLAIN)


# -- owners of fields -------------------------------------------------------------------------------------


def target_of(served: Served, subresource: str, versions: frozenset[str] | None = None) -> Target:
    """What server-side apply and the records of owners must know of this kind or subresource."""
    return Target(
        shape=served.schema,
        api_version=served.api_version,
        kind=served.kind,
        subresource=subresource,
        reset=_reset(served, subresource),
        blank=served.blank,
        served=versions,
        versions=served.schemas if served.custom else None,
        forms=_forms(served),
    )


def _forms(served: Served) -> Mapping[str, Form]:
    """The other versions of a built-in kind, in its own group, in which fields have other names."""
    back = partial(_in_version, served.api_version, served)
    schemas = {
        other: built_in().schema(served.group, other.rpartition("/")[2], served.kind)
        for other in convertible_to(served)
    }
    return {
        other: Form(schema, partial(_in_version, other, served), back)
        for other, schema in schemas.items()
        if schema is not None
    }


def _in_version(api_version: str, served: Served, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return converted(dict(manifest), api_version, served)


def _reset(served: Served, subresource: str) -> FieldSet:
    """The fields that an endpoint leaves alone."""
    if subresource == "status":
        return _reset_by_status(served)
    return FieldSet.of(path("status")) if served.has_status else EMPTY


def _reset_by_status(served: Served) -> FieldSet:
    if served.custom:
        # Everything but the status; of metadata only what the records leave out anyway is not named here.
        names = [name for name in served.schema.properties if name not in ("status", "apiVersion", "kind")]
        return FieldSet.of(path("spec"), *(path(name) for name in names))
    kept = strategy_of(served).kept_by_status
    return FieldSet.of(path("spec"), *(path("metadata", name) for name in kept))


# -- what a version tells in annotations ------------------------------------------------------------------


def as_told(completed: Json, given: Json, served: Served) -> Json:
    """An object with its defaults, but for what it tells in annotations: that gets them when it is kept."""
    return as_given(completed, given) if is_told_in_annotations(served) else completed


def in_full(manifest: Json, served: Served) -> Json:
    """An object in a version that has fields for all that is kept of it."""
    return converted(manifest, served.stored_as, served) if is_told_in_annotations(served) else manifest


def respelled(manifest: Json, served: Served) -> Json:
    """An object whose annotations are spelled as the server spells them."""
    return converted(in_full(manifest, served), served.api_version, served)


def unreported(new: Json, served: Served) -> Json:
    """A new object in full; nobody has reported a status of it, whatever its annotations say."""
    if not is_told_in_annotations(served):
        return new
    return {**in_full(new, served), "status": in_full({**new, "metadata": {}}, served)["status"]}


# -- what an update may touch -----------------------------------------------------------------------------


def through_main(new: Json, live: Json, address: Address) -> Json:
    """An update of the object itself, in full: the status stays as it was."""
    served = address.served
    if (served.group, served.kind) == ("", "Namespace") and address.subresource != "finalize":
        new = {**new, "spec": live["spec"]}
    if (served.group, served.kind) == ("", "ServiceAccount"):
        new = naming_secrets(new)
    if (served.group, served.kind) == ("", "PersistentVolumeClaim"):
        new = with_sources(new, live)
    if not served.has_status:
        return new
    if is_told_in_annotations(served):
        return {**in_full(new, served), "status": live["status"]}
    left = {name: value for name, value in new.items() if name != "status"}
    return {**left, "status": live["status"]} if "status" in live else left


def through_ephemeral(new: Json, live: Json) -> Json:
    """An update of the containers that are added to a running Pod: all else stays as it was."""
    metadata = {**live["metadata"], **_managed(new["metadata"])}
    added = new["spec"].get("ephemeralContainers")
    spec = {name: value for name, value in live["spec"].items() if name != "ephemeralContainers"}
    return {
        **live,
        "metadata": metadata,
        "spec": {**spec, "ephemeralContainers": added} if added else spec,
    }


def through_status(new: Json, live: Json, served: Served) -> Json:
    """An update of the status, in full: the rest stays as it was."""
    if served.custom:
        fields = {name: value for name, value in live.items() if name != "status"}
        fields["metadata"] = {**live["metadata"], **_managed(new["metadata"])}
        if "managedFields" not in new["metadata"]:
            fields["metadata"].pop("managedFields", None)
        return {**fields, "status": new["status"]} if "status" in new else fields
    if is_told_in_annotations(served):
        return {**in_full(new, served), "spec": live["spec"]}
    kept = strategy_of(served).kept_by_status
    metadata = {name: value for name, value in new["metadata"].items() if name not in kept}
    metadata |= {name: live["metadata"][name] for name in kept if name in live["metadata"]}
    changed = {name: value for name, value in new.items() if name != "spec"}
    if (served.group, served.kind) == ("", "Pod"):
        changed["status"] = _backfilled(new.get("status") or {}, live.get("status") or {})
    return {**changed, "metadata": metadata, **({"spec": live["spec"]} if "spec" in live else {})}


def _backfilled(status: Json, before: Json) -> Json:
    """A Pod's status with what kubelets forget to repeat."""
    kept: Json = {name: before[name] for name in ("qosClass", "observedGeneration") if name in before}
    earlier: dict[str, list[int]] = {}
    for each in before.get("conditions") or ():
        earlier.setdefault(each["type"], []).append(each.get("observedGeneration") or 0)
    conditions = []
    for each in status.get("conditions") or ():
        seen = earlier.get(each["type"]) or [0]
        known = seen.pop(0)
        lacks = not each.get("observedGeneration") and known
        conditions.append({**each, "observedGeneration": known} if lacks else each)
    return {**kept, **status, **({"conditions": conditions} if conditions else {})}


def _managed(metadata: Json) -> Json:
    return {name: metadata[name] for name in ("managedFields",) if name in metadata}


def is_new_generation(new: Json, live: Json, served: Served) -> bool:
    """Whether an update changes what somebody has to act upon."""
    if strategy_of(served).stays_first:
        return False
    passive = {"metadata", "apiVersion", "kind", *(("status",) if served.has_status else ())}
    if any(not same(new.get(name), live.get(name)) for name in {*new, *live} if name not in passive):
        return True
    counted = strategy_of(served).counted_metadata
    return any((new["metadata"].get(name) or {}) != (live["metadata"].get(name) or {}) for name in counted)


def with_counter(new: Json, live: Json | None) -> Json:
    """A DaemonSet shows a counter of old as an annotation; what others say there does not count."""
    if (new["apiVersion"], new["kind"]) != ("apps/v1", "DaemonSet"):
        return new
    count = 1 if live is None else int((live["metadata"].get("annotations") or {}).get(COUNTER, 1))
    if live is not None and not same(new["spec"].get("template"), live["spec"].get("template")):
        count += 1
    annotations = {**(new["metadata"].get("annotations") or {}), COUNTER: str(count)}
    return {**new, "metadata": {**new["metadata"], "annotations": annotations}}


def with_stated_counter(new: Json, manifest: Json) -> Json:
    """A DaemonSet as it is judged for owners: its counter is what the request says, or else 0."""
    if (new["apiVersion"], new["kind"]) != ("apps/v1", "DaemonSet"):
        return new
    stated = (manifest["metadata"].get("annotations") or {}).get(COUNTER) or "0"
    annotations = {**new["metadata"]["annotations"], COUNTER: stated}
    return {**new, "metadata": {**new["metadata"], "annotations": annotations}}

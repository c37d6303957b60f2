"""Is this object what it must be? Causes per field, in the server's words.

`creation_causes` and `update_causes` judge any object, built-in or custom, that is defaulted already (see
`trimtab.kube.schemas.creation`); `refusal` makes the one sentence of them that the server would answer with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct

from trimtab.kube.schemas.schema import Schema
from trimtab.kube.schemas.validation import (
    access,
    aggregation,
    autoscaling,
    batch,
    configuration,
    definitions,
    drivers,
    endpoints,
    events,
    flows,
    limits,
    networks,
    nodes,
    podchanges,
    policies,
    statuses,
    storage,
    webhooks,
    workloads,
)
from trimtab.kube.schemas.validation.causes import Cause, Causes, refusal
from trimtab.kube.schemas.validation.custom import custom, custom_status, custom_update
from trimtab.kube.schemas.validation.metadata import finalizers_are_qualified, metadata, metadata_update
from trimtab.kube.schemas.validation.names import NameRule, address, dns_label, dns_subdomain, path_segment

__all__ = ["Cause", "creation_causes", "refusal", "update_causes"]

Json = Mapping[str, Any]


def _nothing(_manifest: Json) -> Causes:
    yield from ()


def _no_change(_new: Json, _old: Json) -> Causes:
    yield from ()


class Rules(Struct, frozen=True, kw_only=True):
    """How the objects of one kind are judged."""

    create: Callable[[Json], Causes] = _nothing
    update: Callable[[Json, Json], Causes] = _no_change
    name: NameRule = dns_subdomain
    rechecked: bool = True  # whether an update is judged by the rules of creation, too
    status: Callable[[Json, Json], Causes] | None = None  # how a write of the status alone is judged


def _cron_job_name(name: str) -> tuple[str, ...]:
    return (*dns_subdomain(name), *batch.short_enough(name))


_CORE, _APPS, _BATCH = "io.k8s.api.core.v1.", "io.k8s.api.apps.v1.", "io.k8s.api.batch.v1."
_NET, _RBAC = "io.k8s.api.networking.v1.", "io.k8s.api.rbac.v1."
_ADMISSION = "io.k8s.api.admissionregistration.v1."
_STORAGE = "io.k8s.api.storage.v1."
_FIXED_SELECTOR = workloads.selector_is_fixed
_FIXED_ROLE = access.role_reference_is_fixed
KINDS: Mapping[str, Rules] = {
    f"{_CORE}ConfigMap": Rules(create=configuration.config_map, update=configuration.config_map_update),
    f"{_CORE}Endpoints": Rules(
        create=endpoints.endpoints, update=endpoints.endpoints_update, rechecked=False
    ),
    f"{_CORE}Event": Rules(create=events.old_event),
    f"{_CORE}LimitRange": Rules(create=limits.limit_range),
    f"{_CORE}Namespace": Rules(
        create=configuration.namespace, name=dns_label, status=configuration.namespace_status
    ),
    f"{_CORE}Node": Rules(create=nodes.node, update=nodes.node_update),
    f"{_CORE}PersistentVolume": Rules(create=storage.volume, update=storage.volume_update),
    f"{_CORE}PersistentVolumeClaim": Rules(
        create=storage.claim, update=storage.claim_update, rechecked=False, status=statuses.claim
    ),
    f"{_CORE}Pod": Rules(
        create=workloads.pod, update=podchanges.pod_update, rechecked=False, status=statuses.pod
    ),
    f"{_CORE}PodTemplate": Rules(create=workloads.template),
    f"{_CORE}ReplicationController": Rules(
        create=workloads.replication_controller, status=statuses.replica_set
    ),
    f"{_CORE}ResourceQuota": Rules(
        create=limits.resource_quota, update=limits.resource_quota_update, rechecked=False
    ),
    f"{_CORE}Secret": Rules(create=configuration.secret, update=configuration.secret_update),
    f"{_CORE}Service": Rules(
        create=networks.service,
        update=networks.service_update,
        name=dns_label,
        rechecked=False,
        status=statuses.service,
    ),
    f"{_APPS}ControllerRevision": Rules(
        create=workloads.revision, update=workloads.revision_update, rechecked=False
    ),
    f"{_APPS}DaemonSet": Rules(
        create=workloads.daemon_set,
        update=workloads.daemon_set_update,
        rechecked=False,
        status=statuses.daemon_set,
    ),
    f"{_APPS}Deployment": Rules(
        create=workloads.deployment, update=_FIXED_SELECTOR, status=statuses.deployment
    ),
    f"{_APPS}ReplicaSet": Rules(
        create=workloads.replica_set, update=_FIXED_SELECTOR, status=statuses.replica_set
    ),
    f"{_APPS}StatefulSet": Rules(
        create=workloads.stateful_set,
        update=workloads.stateful_set_update,
        name=dns_label,
        rechecked=False,
        status=statuses.stateful_set,
    ),
    f"{_BATCH}CronJob": Rules(create=batch.cron_job, name=_cron_job_name),
    f"{_BATCH}Job": Rules(create=batch.job, update=batch.job_update, rechecked=False),
    f"{_NET}IPAddress": Rules(
        create=endpoints.ip_address, update=endpoints.ip_address_update, name=address, rechecked=False
    ),
    f"{_NET}Ingress": Rules(create=networks.new_ingress, update=networks.ingress_update, rechecked=False),
    f"{_NET}IngressClass": Rules(
        create=networks.ingress_class, update=networks.ingress_class_update, rechecked=False
    ),
    f"{_NET}NetworkPolicy": Rules(create=networks.network_policy),
    f"{_NET}ServiceCIDR": Rules(
        create=endpoints.service_range, update=endpoints.service_range_update, rechecked=False
    ),
    f"{_RBAC}ClusterRole": Rules(create=access.cluster_role, name=path_segment),
    f"{_RBAC}ClusterRoleBinding": Rules(
        create=access.cluster_role_binding, update=_FIXED_ROLE, name=path_segment
    ),
    f"{_RBAC}Role": Rules(create=access.role, name=path_segment),
    f"{_RBAC}RoleBinding": Rules(create=access.role_binding, update=_FIXED_ROLE, name=path_segment),
    f"{_ADMISSION}MutatingAdmissionPolicy": Rules(create=policies.mutating_policy),
    f"{_ADMISSION}MutatingAdmissionPolicyBinding": Rules(create=policies.mutating_binding),
    f"{_ADMISSION}MutatingWebhookConfiguration": Rules(create=webhooks.mutating),
    f"{_ADMISSION}ValidatingAdmissionPolicy": Rules(create=policies.validating_policy),
    f"{_ADMISSION}ValidatingAdmissionPolicyBinding": Rules(create=policies.validating_binding),
    f"{_ADMISSION}ValidatingWebhookConfiguration": Rules(create=webhooks.validating),
    "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": Rules(
        create=autoscaling.old_autoscaler,
        update=autoscaling.old_autoscaler_update,
        rechecked=False,
        status=statuses.autoscaler,
    ),
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": Rules(
        create=autoscaling.autoscaler,
        update=autoscaling.autoscaler_update,
        rechecked=False,
        status=statuses.autoscaler,
    ),
    "io.k8s.api.certificates.v1.CertificateSigningRequest": Rules(
        create=aggregation.signing_request, rechecked=False
    ),
    "io.k8s.api.coordination.v1.Lease": Rules(create=configuration.lease),
    "io.k8s.api.discovery.v1.EndpointSlice": Rules(
        create=endpoints.endpoint_slice, update=endpoints.endpoint_slice_update, rechecked=False
    ),
    "io.k8s.api.events.v1.Event": Rules(create=events.event, update=events.event_update, rechecked=False),
    "io.k8s.api.flowcontrol.v1.FlowSchema": Rules(create=flows.flow_schema),
    "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration": Rules(create=flows.priority_level),
    "io.k8s.api.node.v1.RuntimeClass": Rules(
        create=nodes.runtime_class, update=nodes.runtime_class_update, rechecked=False
    ),
    "io.k8s.api.policy.v1.PodDisruptionBudget": Rules(
        create=configuration.disruption_budget, status=statuses.disruption_budget
    ),
    "io.k8s.api.scheduling.v1.PriorityClass": Rules(
        create=configuration.priority_class, update=configuration.priority_class_update, rechecked=False
    ),
    f"{_STORAGE}CSIDriver": Rules(create=drivers.driver, update=drivers.driver_update),
    f"{_STORAGE}CSINode": Rules(create=drivers.driver_node, update=drivers.driver_node_update),
    f"{_STORAGE}CSIStorageCapacity": Rules(create=drivers.capacity, update=drivers.capacity_update),
    f"{_STORAGE}StorageClass": Rules(create=storage.storage_class, update=storage.storage_class_update),
    f"{_STORAGE}VolumeAttachment": Rules(create=drivers.attachment, update=drivers.attachment_update),
    f"{_STORAGE}VolumeAttributesClass": Rules(
        create=drivers.attributes_class, update=drivers.attributes_class_update, rechecked=False
    ),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": Rules(
        create=definitions.definition,
        update=definitions.definition_update,
        rechecked=False,
        status=definitions.accepted_names,
    ),
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService": Rules(create=aggregation.api_service),
}


#: how kinds judge changed metadata themselves, unless just as a change: as a new one, both, not at all
AS_CHANGED, AS_NEW, BARE = "as changed", "as new", "as changed, whatever finalizers are called"
CHANGE, CREATION = "and in between what may not be changed", "and in between all that new ones are judged by"
METADATA: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        [
            *(f"{_CORE}{kind}" for kind in ("Endpoints", "PersistentVolumeClaim", "Pod", "ServiceAccount")),
            f"{_NET}Ingress",
        ],
        (AS_CHANGED, AS_NEW),
    ),
    **dict.fromkeys(
        (f"{_CORE}ConfigMap", f"{_CORE}Secret", f"{_NET}IngressClass"), (AS_CHANGED, CHANGE, AS_NEW)
    ),
    f"{_BATCH}Job": (AS_NEW, AS_CHANGED),
    **dict.fromkeys(
        [
            f"{_CORE}Namespace",
            f"{_CORE}Node",
            *(f"{_RBAC}{kind}" for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
            f"{_STORAGE}StorageClass",
        ],
        (AS_NEW, CREATION, AS_CHANGED),
    ),
    f"{_CORE}PersistentVolume": (AS_NEW, CREATION, AS_NEW, CREATION),
    **dict.fromkeys((f"{_CORE}Event", "io.k8s.api.events.v1.Event"), ()),
    f"{_CORE}LimitRange": (AS_NEW,),
    "io.k8s.api.discovery.v1.EndpointSlice": (AS_NEW,),
    "io.k8s.api.coordination.v1.Lease": (BARE,),
    "io.k8s.api.policy.v1.PodDisruptionBudget": (),
}


#: how writes through a part of an object are judged, where only that part can change
PARTS: Mapping[str, Callable[[Json, Json], Causes]] = {
    "ephemeralcontainers": podchanges.pod_ephemeral_update,
    "finalize": configuration.namespace_finalize,
}


def creation_causes(manifest: Json, schema: Schema, *, namespaced: bool) -> tuple[Cause, ...]:
    """Why the server would refuse to create an object, in its order."""
    meta = manifest.get("metadata") or {}
    if not schema.model:
        return tuple(chain(metadata(meta, dns_subdomain, namespaced=namespaced), custom(manifest, schema)))
    rules = KINDS.get(schema.model, Rules())
    if not METADATA.get(
        schema.model, (AS_NEW,)
    ):  # only what is right in itself is judged by the rule for all
        return tuple(rules.create(manifest)) or tuple(metadata(meta, path_segment, namespaced=namespaced))
    return tuple(
        chain(
            metadata(meta, rules.name, namespaced=namespaced),
            finalizers_are_qualified(meta.get("finalizers") or []),
            rules.create(manifest),
        )
    )


def common_causes(new: Json, old: Json, *, namespaced: bool) -> tuple[Cause, ...]:
    """Why the server would refuse a change of any object, whatever its kind says."""
    meta, before = new.get("metadata") or {}, old.get("metadata") or {}
    return (*metadata(meta, path_segment, namespaced=namespaced), *metadata_update(meta, before))


def update_causes(new: Json, old: Json, schema: Schema, subresource: str = "") -> tuple[Cause, ...]:
    """Why the server would refuse to replace an object by another, in its order.

    A write of the status alone is judged by less, and that of many kinds not at all.
    """
    status_only = subresource == "status"
    head = metadata_update(new.get("metadata") or {}, old.get("metadata") or {})
    if not schema.model:
        judged = custom_status if status_only else custom_update
        return tuple(chain(head, judged(new, old, schema)))
    rules = KINDS.get(schema.model, Rules())
    if status_only and rules.status is not None:
        return tuple(chain(head, rules.status(new, old)))
    if subresource in PARTS:
        return tuple(chain(head, PARTS[subresource](new, old)))
    ways = METADATA.get(schema.model, (AS_CHANGED,))
    again = rules.create(new) if rules.rechecked and CREATION not in ways else iter(())
    change = iter(()) if CHANGE in ways else rules.update(new, old)
    return tuple(chain(_own_metadata(new, old, ways, rules), again, change))


def _own_metadata(new: Json, old: Json, ways: tuple[str, ...], rules: Rules) -> Causes:
    """What a kind itself says of changed metadata, at times more than once."""
    meta, before = new.get("metadata") or {}, old.get("metadata") or {}
    for way in ways:
        if way in (CHANGE, CREATION):
            yield from rules.update(new, old) if way == CHANGE else rules.create(new)
            continue
        if way == AS_NEW:
            yield from metadata(meta, rules.name, namespaced=bool(meta.get("namespace")))
        else:
            yield from metadata_update(meta, before)
        if way != BARE:
            yield from finalizers_are_qualified(meta.get("finalizers") or [])

"""What the server warns of although it accepts an object: one sentence each, in its own words. Pure.

`creation_warnings` and `update_warnings` judge objects that have passed validation. What a request itself is
warned of (unknown fields, deprecated versions, owners that stand twice) is said by whoever reads requests.
Not judged: whether the key of a TLS Secret fits its certificate.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from trimtab.kube.gotext import plain, quoted
from trimtab.kube.schemas.schema import Schema
from trimtab.kube.schemas.validation.causes import entries, part
from trimtab.kube.schemas.validation.metadata import STANDARD_FINALIZERS
from trimtab.kube.schemas.validation.names import dns_label, qualified_name
from trimtab.kube.schemas.warnings.addresses import address, network
from trimtab.kube.schemas.warnings.formats import changed_definition, new_definition
from trimtab.kube.schemas.warnings.pods import claim_spec, deprecated_label, node_term, pod, pod_template

Json: TypeAlias = Mapping[str, Any]
Warnings: TypeAlias = Iterator[str]


def creation_warnings(manifest: Json, schema: Schema) -> tuple[str, ...]:
    """What a new object is warned of."""
    if not schema.model:
        return tuple(_finalizers(manifest, {}))
    rules = KINDS.get(schema.model)
    return tuple(rules.create(manifest)) if rules else ()


def update_warnings(new: Json, old: Json, schema: Schema, *, subresource: str = "") -> tuple[str, ...]:
    """What a change is warned of; a change of the status by other rules than one of the object itself."""
    if subresource == "status":
        return tuple(STATUS[schema.model](new)) if schema.model in STATUS else ()
    if not schema.model:
        return tuple(_finalizers(new, old))
    rules = KINDS.get(schema.model)
    return tuple(rules.update(new, old)) if rules and not subresource else ()


# -- custom kinds -----------------------------------------------------------------------------------------


def _finalizers(new: Json, old: Json) -> Warnings:
    added = set(part(new, "metadata").get("finalizers") or ()) - set(
        part(old, "metadata").get("finalizers") or ()
    )
    for each in sorted(added):
        head = f"metadata.finalizers: {quoted(each)}"
        yield from (f"{head}: {problem}" for problem in qualified_name(each))
        if "/" not in each and each not in STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in each else ""
            advice = "to avoid accidental conflicts with other finalizer writers"
            yield f"{head}: prefer a domain-qualified finalizer name{path} {advice}"


# -- workloads --------------------------------------------------------------------------------------------

POD_NAMES = "this is used in Pod names and hostnames"
HOSTNAME = "this is used in the Pod's hostname"
ENDLESS = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
    "a value >= 0 is recommended"
)
MANY_INDEXES = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
    "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


def _name(manifest: Json, use: str) -> Warnings:
    problems = list(dns_label(str(part(manifest, "metadata").get("name", ""))))
    if problems:
        told = "which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: {use}, {told}: {plain(problems)}"


def _pod(manifest: Json) -> Warnings:
    yield from _name(manifest, HOSTNAME)
    yield from pod(manifest)


def _template(manifest: Json) -> Warnings:
    yield from pod_template(part(part(manifest, "spec"), "template"), "spec.template")


def _named_template(manifest: Json) -> Warnings:
    yield from _name(manifest, POD_NAMES)
    yield from _template(manifest)


def _stateful_set(manifest: Json) -> Warnings:
    yield from _template(manifest)
    yield from _claims(manifest, "")


def _stateful_set_update(new: Json, old: Json) -> Warnings:
    if _moved(new, old):
        yield from _template(new)
    yield from _claims(new, ".Spec")


def _claims(manifest: Json, below: str) -> Warnings:
    spec = part(manifest, "spec")
    for number, claim in entries(spec.get("volumeClaimTemplates")):
        yield from claim_spec(part(claim, "spec"), f"spec.volumeClaimTemplates[{number}]{below}")
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        yield ENDLESS


def _bare_template(manifest: Json) -> Warnings:
    yield from pod_template(part(manifest, "template"), "template")


def _job_spec(spec: Json, path: str) -> Warnings:
    many = (spec.get("completions") or 0) > 100_000 and (spec.get("parallelism") or 0) > 10_000
    if spec.get("completionMode") == "Indexed" and many:
        yield f"{path}: {MANY_INDEXES}"
    yield from pod_template(part(spec, "template"), f"{path}.template")


def _job(manifest: Json) -> Warnings:
    yield from _name(manifest, POD_NAMES)
    yield from _job_spec(part(manifest, "spec"), "spec")


def _job_update(new: Json, old: Json) -> Warnings:
    if _moved(new, old):
        yield from _job_spec(part(new, "spec"), "spec")


def _cron_job_spec(manifest: Json) -> Warnings:
    yield from _job_spec(part(part(part(manifest, "spec"), "jobTemplate"), "spec"), "spec.jobTemplate.spec")


def _cron_job(manifest: Json) -> Warnings:
    yield from _name(manifest, POD_NAMES)
    yield from _cron_job_spec(manifest)


def _cron_job_update(new: Json, old: Json) -> Warnings:
    if _moved(new, old):
        yield from _cron_job_spec(new)


def _moved(new: Json, old: Json) -> bool:
    """Whether the change counts as a new generation."""
    return bool(part(new, "metadata").get("generation") != part(old, "metadata").get("generation"))


# -- networks ---------------------------------------------------------------------------------------------

HINTS = "service.kubernetes.io/topology-aware-hints"
INGRESS_CLASS = "kubernetes.io/ingress.class"


def _service(manifest: Json) -> Warnings:
    spec = part(manifest, "spec")
    if HINTS in (part(manifest, "metadata").get("annotations") or {}):
        yield f"annotation {HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    if not headless and spec.get("type") != "ExternalName":
        yield from _each(address, spec.get("clusterIPs"), "spec.clusterIPs")
    if headless:
        yield from _headless(spec)
    yield from _each(address, spec.get("externalIPs"), "spec.externalIPs")
    if spec.get("externalIPs") and not headless and spec.get("type") != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("loadBalancerIP"):
        yield from address("spec.loadBalancerIP", spec["loadBalancerIP"])
    yield from _each(network, spec.get("loadBalancerSourceRanges"), "spec.loadBalancerSourceRanges")
    yield from _misplaced_names(spec)


def _headless(spec: Json) -> Warnings:
    for name in ("loadBalancerIP", "externalIPs"):
        if spec.get(name):
            yield f"spec.{name} is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def _misplaced_names(spec: Json) -> Warnings:
    if spec.get("type") == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("type") != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _each(check: Callable[[str, str], Warnings], values: Any, path: str) -> Warnings:
    for number, value in entries(values):
        yield from check(f"{path}[{number}]", value)


def _ingress(manifest: Json) -> Warnings:
    annotated = INGRESS_CLASS in (part(manifest, "metadata").get("annotations") or {})
    if annotated and part(manifest, "spec").get("ingressClassName") is None:
        yield f"annotation {quoted(INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"


def _network_policy(manifest: Json) -> Warnings:
    spec = part(manifest, "spec")
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for number, rule in entries(spec.get(side)):
            for place, peer in entries(rule.get(peers)):
                path = f"spec.{side}[{number}].{peers}[{place}].ipBlock"
                if block := peer.get("ipBlock"):
                    yield from network(f"{path}.cidr", block.get("cidr", ""))
                    yield from _each(network, block.get("except"), f"{path}.except")


def _endpoint_slice(manifest: Json) -> Warnings:
    if manifest.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


def _endpoints(manifest: Json) -> Warnings:
    labels = part(manifest, "metadata").get("labels") or {}
    if labels.get("endpoints.kubernetes.io/managed-by") == "endpoint-controller":
        return
    for number, subset in entries(manifest.get("subsets")):
        for side in ("addresses", "notReadyAddresses"):
            for place, each in entries(subset.get(side)):
                yield from address(f"subsets[{number}].{side}[{place}].ip", each.get("ip", ""))


def _load_balancer(manifest: Json) -> Warnings:
    ingress = part(part(manifest, "status"), "loadBalancer").get("ingress")
    for number, each in entries(ingress):
        if each.get("ip"):
            yield from address(f"status.loadBalancer.ingress[{number}]", each["ip"])


def _pod_addresses(manifest: Json) -> Warnings:
    for name in ("podIPs", "hostIPs"):
        for number, each in entries(part(manifest, "status").get(name)):
            yield from address(f"status.{name}[{number}].ip", each.get("ip", ""))


# -- storage, nodes and the rest --------------------------------------------------------------------------

OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
OLD_VOLUME_ANNOTATIONS = {
    OLD_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": (
        'deprecated since v1.31; use "mountOptions" attribute instead'
    ),
}
OLD_VOLUMES = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageOS": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
RECYCLED = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)
MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent "
    "possible logging of tokens in volume attributes"
)


def _annotated(manifest: Json, known: Mapping[str, str]) -> Warnings:
    annotations = part(manifest, "metadata").get("annotations") or {}
    for name, told in known.items():
        if name in annotations:
            yield f"metadata.annotations[{name}]: {told}"


def _volume(manifest: Json) -> Warnings:
    spec = part(manifest, "spec")
    yield from _annotated(manifest, OLD_VOLUME_ANNOTATIONS)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield RECYCLED
    required = part(part(spec, "nodeAffinity"), "required")
    for number, term in entries(required.get("nodeSelectorTerms")):
        path = f"spec.nodeAffinity.required.nodeSelectorTerms[{number}]"
        yield from node_term(term, path, values=False)
    for name, told in OLD_VOLUMES.items():
        if spec.get(name.lower() if name == "storageOS" else name) is not None:
            yield f"spec.{name}: {told}"


def _claim(manifest: Json) -> Warnings:
    told = 'deprecated since v1.8; use "storageClassName" attribute instead'
    yield from _annotated(manifest, {OLD_CLASS: told})
    yield from claim_spec(part(manifest, "spec"), "spec")


def _storage_class(manifest: Json) -> Warnings:
    for number, topology in entries(manifest.get("allowedTopologies")):
        for place, expression in entries(topology.get("matchLabelExpressions")):
            if told := deprecated_label(expression.get("key", "")):
                yield f"allowedTopologies[{number}].matchLabelExpressions[{place}].key: {told}"


def _runtime_class(manifest: Json) -> Warnings:
    for label in part(manifest, "scheduling").get("nodeSelector") or {}:
        if told := deprecated_label(label):
            yield f"scheduling.nodeSelector: {told}"


def _node(manifest: Json) -> Warnings:
    spec = part(manifest, "spec")
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    yield from _each(network, spec.get("podCIDRs"), "spec.podCIDRs")


def _account(manifest: Json) -> Warnings:
    told = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    yield from _annotated(manifest, {MOUNTABLE: told})


def _account_update(new: Json, old: Json) -> Warnings:
    if MOUNTABLE not in (part(old, "metadata").get("annotations") or {}):
        yield from _account(new)


def _driver(manifest: Json) -> Warnings:
    spec = part(manifest, "spec")
    if spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None:
        yield TOKENS


def _driver_update(new: Json, old: Json) -> Warnings:
    if part(new, "spec").get("tokenRequests") != part(old, "spec").get("tokenRequests"):
        yield from _driver(new)


def _secret(manifest: Json) -> Warnings:
    """A TLS Secret without anything like a certificate or a key."""
    if manifest.get("type") != "kubernetes.io/tls":
        return
    for name, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        held = (manifest.get("data") or {}).get(name) or ""
        if b"-----BEGIN " not in base64.b64decode(held):
            yield f"tls: failed to find any PEM data in {what} input"
            return


# -- which kind is warned of what -------------------------------------------------------------------------


class Rules(Struct, frozen=True):
    """What the objects of one kind are warned of."""

    create: Callable[[Json], Warnings]
    update: Callable[[Json, Json], Warnings]


def _never(_new: Json, _old: Json) -> Warnings:
    yield from ()


def _always(rule: Callable[[Json], Warnings]) -> Rules:
    """A rule for every write."""
    return Rules(rule, lambda new, _old: rule(new))


def _when_moved(create: Callable[[Json], Warnings], update: Callable[[Json], Warnings]) -> Rules:
    """Rules that look at changes only if these count as a new generation."""
    return Rules(create, lambda new, old: update(new) if _moved(new, old) else _never(new, old))


_CORE, _APPS, _NET, _STORAGE = (
    f"io.k8s.api.{group}.v1." for group in ("core", "apps", "networking", "storage")
)
KINDS: Mapping[str, Rules] = {
    f"{_CORE}Pod": Rules(_pod, _never),
    f"{_CORE}PodTemplate": _when_moved(_bare_template, _bare_template),
    f"{_CORE}ReplicationController": _when_moved(_named_template, _template),
    f"{_APPS}Deployment": _when_moved(_named_template, _template),
    f"{_APPS}ReplicaSet": _when_moved(_named_template, _template),
    f"{_APPS}DaemonSet": Rules(
        _template,
        lambda new, old: _template(new) if _other_template(new, old) else _never(new, old),
    ),
    f"{_APPS}StatefulSet": Rules(_stateful_set, _stateful_set_update),
    "io.k8s.api.batch.v1.Job": Rules(_job, _job_update),
    "io.k8s.api.batch.v1.CronJob": Rules(_cron_job, _cron_job_update),
    f"{_CORE}Service": _always(_service),
    f"{_CORE}Endpoints": _always(_endpoints),
    "io.k8s.api.discovery.v1.EndpointSlice": Rules(_endpoint_slice, _never),
    f"{_NET}Ingress": Rules(_ingress, _never),
    f"{_NET}NetworkPolicy": _always(_network_policy),
    f"{_CORE}PersistentVolume": _always(_volume),
    f"{_CORE}PersistentVolumeClaim": _always(_claim),
    f"{_STORAGE}StorageClass": _always(_storage_class),
    f"{_STORAGE}CSIDriver": Rules(_driver, _driver_update),
    "io.k8s.api.node.v1.RuntimeClass": _always(_runtime_class),
    f"{_CORE}Node": _always(_node),
    f"{_CORE}ServiceAccount": Rules(_account, _account_update),
    f"{_CORE}Secret": _always(_secret),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": Rules(
        new_definition, changed_definition
    ),
}
STATUS: Mapping[str, Callable[[Json], Warnings]] = {
    f"{_CORE}Pod": _pod_addresses,
    f"{_CORE}Service": _load_balancer,
    f"{_NET}Ingress": _load_balancer,
}


def _other_template(new: Json, old: Json) -> bool:
    return bool(part(new, "spec").get("template") != part(old, "spec").get("template"))

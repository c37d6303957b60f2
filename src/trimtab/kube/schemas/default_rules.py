"""Defaults that depend on something: one small function per type of the built-in kinds.

Each takes what was given at one place (nulls and empty values already gone), and returns it with more.
Nothing is changed in place. The unconditional defaults are data (`trimtab.kube.schemas.kinds`); `decides`
names the fields that a function here answers for, so that the script which learns the data leaves them alone.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from trimtab.kube.quantity import BadQuantity, Quantity, parse_quantity
from trimtab.kube.schemas.autoscalers import in_v2, v1_from_v2, v2_from_v1
from trimtab.kube.schemas.images import image_tag

Json = dict[str, Any]
Given = Mapping[str, Any]


class Rule(Struct, frozen=True):
    """The conditional defaults of one type."""

    apply: Callable[[Given], Json]
    decides: tuple[str, ...]


def _with(given: Given, **more: Any) -> Json:
    """The given fields, and those of `more` that are not given."""
    return {**{name: value for name, value in more.items() if value is not None}, **given}


# -- pods ------------------------------------------------------------------------------------------------


def pull_policy_by_tag(given: Given, image: str = "image", policy: str = "imagePullPolicy") -> Json:
    """An image without tag, or tagged `latest`, is pulled always; any other one when it is not there."""
    always = image_tag(str(given.get(image, ""))) == "latest"
    return _with(given, **{policy: "Always" if always else "IfNotPresent"})


def ephemeral_container(given: Given) -> Json:
    """As any container; these cannot be created with a pod, so nothing is learned of them."""
    said = pull_policy_by_tag(given)
    return _with(said, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")


def pull_policy_of_image_volume(given: Given) -> Json:
    """As for containers."""
    return pull_policy_by_tag(given, "reference", "pullPolicy")


def empty_dir_without_source(given: Given) -> Json:
    """A volume that says nothing of its source is an empty directory."""
    return _with(given, emptyDir={} if not set(given) - {"name"} else None)


def service_account_under_both_names(given: Given) -> Json:
    """`serviceAccount` is the old name of `serviceAccountName`; both are kept and say the same."""
    account = given.get("serviceAccountName") or given.get("serviceAccount")
    return {**given, "serviceAccountName": account, "serviceAccount": account} if account else dict(given)


def pod_beyond_its_spec(given: Given) -> Json:
    """What a Pod has and a pod template has not: requests from limits, host ports, service links."""
    if not isinstance(given.get("spec"), dict):
        return dict(given)
    spec = dict(given["spec"])
    for group in ("containers", "initContainers"):
        if isinstance(spec.get(group), list):
            spec[group] = [
                _container_of_pod(each, on_host=bool(spec.get("hostNetwork"))) for each in spec[group]
            ]
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if isinstance(spec.get("resources"), dict):
        spec["resources"] = _pod_resources(spec)
    return {**given, "spec": spec}


def _container_of_pod(container: Any, *, on_host: bool) -> Any:
    if not isinstance(container, dict):
        return container
    more = dict(container)
    resources = container.get("resources") or {}
    if resources.get("limits"):
        requests = {**resources["limits"], **(resources.get("requests") or {})}
        more["resources"] = {**resources, "requests": requests}
    if on_host and container.get("ports"):
        more["ports"] = [
            {**port, "hostPort": port.get("hostPort") or port.get("containerPort")}
            for port in container["ports"]
        ]
    return more


def _pod_resources(spec: Json) -> Json:
    """Limits and requests of the pod as a whole, completed from those of its containers."""
    resources = dict(spec["resources"])
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    if limits or requests:
        for name, amount in _total(spec, "limits").items():
            if name.startswith("hugepages-") and name not in requests:
                limits.setdefault(name, amount)
    if limits:
        for name, amount in _total(spec, "requests").items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if name in ("cpu", "memory") or name.startswith("hugepages-"):
                requests.setdefault(name, amount)
    return {
        **resources,
        **({"limits": limits} if limits else {}),
        **({"requests": requests} if requests else {}),
    }


def _total(spec: Json, side: str) -> dict[str, str]:
    """What all containers need at once: side cars with the others, or the largest starting one if more."""
    sums = _added({}, [_amounts(each, side) for each in spec.get("containers") or ()])
    starting: dict[str, Quantity] = {}
    sidecars: dict[str, Quantity] = {}
    for each in spec.get("initContainers") or ():
        own = _amounts(each, side)
        if each.get("restartPolicy") == "Always":
            sidecars = _added(sidecars, [own])
            sums, own = _added(sums, [own]), sidecars
        else:
            own = _added(sidecars, [own])
        starting = {
            name: max(own.get(name, Quantity(0)), starting.get(name, Quantity(0)))
            for name in {*own, *starting}
        }
    return {
        name: str(max(sums.get(name, Quantity(0)), starting.get(name, Quantity(0))))
        for name in {*sums, *starting}
    }


def _added(sums: Mapping[str, Quantity], more: list[dict[str, Quantity]]) -> dict[str, Quantity]:
    total = dict(sums)
    for each in more:
        for name, amount in each.items():
            total[name] = total[name] + amount if name in total else amount
    return total


def _amounts(container: Any, side: str) -> dict[str, Quantity]:
    amounts = ((container.get("resources") or {}).get(side) or {}) if isinstance(container, dict) else {}
    try:
        return {name: parse_quantity(amount) for name, amount in amounts.items()}
    except (BadQuantity, AttributeError):
        return {}


# -- workloads -------------------------------------------------------------------------------------------


def rolling_deployment(given: Given) -> Json:
    """A quarter more and a quarter fewer pods while a Deployment rolls; nothing if it recreates them."""
    return _rolling(given, {"maxUnavailable": "25%", "maxSurge": "25%"})


def rolling_daemon_set(given: Given) -> Json:
    """One node after the other while a DaemonSet rolls."""
    return _rolling(given, {"maxUnavailable": 1, "maxSurge": 0})


def _rolling(given: Given, defaults: Json) -> Json:
    if given.get("type", "RollingUpdate") != "RollingUpdate":
        return dict(given)
    said = {name: value for name, value in (given.get("rollingUpdate") or {}).items() if value is not None}
    return {**given, "type": "RollingUpdate", "rollingUpdate": {**defaults, **said}}


def rolling_stateful_set(given: Given) -> Json:
    """All of a StatefulSet's pods roll, unless a strategy without details was asked for by name."""
    kind, said = given.get("type", "RollingUpdate"), given.get("rollingUpdate")
    if kind != "RollingUpdate" or ("type" in given and said is None):
        return dict(given)
    return {**given, "type": kind, "rollingUpdate": _with(_given(said), partition=0)}


def _given(value: Any) -> Json:
    return {name: each for name, each in (value or {}).items() if each is not None}


def controller_from_template_labels(given: Given) -> Json:
    """A ReplicationController selects, and is labelled with, its template's labels if it says nothing."""
    spec = given.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not labels:
        return dict(given)
    return _labelled({**given, "spec": {**spec, "selector": spec.get("selector") or labels}}, labels)


def _labelled(given: Json, labels: Any) -> Json:
    meta = given.get("metadata") or {}
    return given if meta.get("labels") else {**given, "metadata": {**meta, "labels": labels}}


def job(given: Given) -> Json:
    """One pod once; more retries where each index counts its own; replaced when gone or failed."""
    spec = _given(given.get("spec"))
    once = "completions" not in spec and "parallelism" not in spec
    per_index = "backoffLimitPerIndex" in spec
    completed = _with(
        spec,
        completions=1 if once else None,
        parallelism=1,
        backoffLimit=2147483647 if per_index else 6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        manualSelector=False,
    )
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    done = {**given, "spec": completed}
    return _labelled(done, labels) if labels else done


def scaling_behavior(given: Given) -> Json:
    """Scaling up is fast and at once, scaling down waits for five minutes of calm (set by the controller)."""
    up = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    }
    down = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
    return {
        "scaleUp": {**up, **_given(given.get("scaleUp"))},
        "scaleDown": {**down, **_given(given.get("scaleDown"))},
    }


def old_autoscaler(given: Given) -> Json:
    """What v1 says in annotations is completed as in v2, in which it is kept."""
    made = v2_from_v1(given)
    if behavior := made["spec"].get("behavior"):
        made["spec"]["behavior"] = scaling_behavior(behavior)
    return v1_from_v2(made)


# -- services and networks -------------------------------------------------------------------------------


def service(given: Given) -> Json:
    """Affinity and traffic policies by the type of the Service."""
    kind = given.get("type", "ClusterIP")
    affinity = given.get("sessionAffinity", "None")
    outside = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and bool(given.get("externalIPs")))
    spec = {name: value for name, value in given.items() if name != "sessionAffinityConfig"}
    return _with(
        spec,
        sessionAffinityConfig=_affinity(given) if affinity != "None" else None,
        externalTrafficPolicy="Cluster" if outside else None,
        internalTrafficPolicy="Cluster" if kind in ("ClusterIP", "NodePort", "LoadBalancer") else None,
        allocateLoadBalancerNodePorts=True if kind == "LoadBalancer" else None,
    )


def _affinity(given: Given) -> Any:
    said = given.get("sessionAffinityConfig")
    timeout = ((said or {}).get("clientIP") or {}).get("timeoutSeconds")
    by_address = given.get("sessionAffinity") == "ClientIP" and timeout is None
    return {"clientIP": {"timeoutSeconds": 10800}} if by_address else said


def target_port(given: Given) -> Json:
    """A port of a Service leads to the same port of its pods."""
    return {**given, "targetPort": given.get("targetPort") or given.get("port", 0)}


def policy_types(given: Given) -> Json:
    """A network policy is about what comes in, and about what goes out if it has rules for that."""
    outgoing = ["Egress"] if given.get("egress") else []
    return _with(given, policyTypes=["Ingress", *outgoing])


def load_balancer_mode(given: Given) -> Json:
    """An address of a load balancer is its virtual one."""
    return _with(given, ipMode="VIP" if given.get("ip") else None)


def subject_group(given: Given) -> Json:
    """Users and groups belong to the RBAC group, service accounts to the core one."""
    people = given.get("kind") in ("User", "Group")
    return _with(given, apiGroup="rbac.authorization.k8s.io" if people else None)


# -- the rest --------------------------------------------------------------------------------------------


def namespace(given: Given) -> Json:
    """A namespace is labelled with its own name."""
    meta = given.get("metadata") or {}
    if not meta.get("name"):
        return dict(given)
    labels = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}
    return {**given, "metadata": {**meta, "labels": labels}}


def allocatable(given: Given) -> Json:
    """All of a node can be used, unless it says otherwise."""
    return _with(given, allocatable=given.get("capacity"))


def pod_ranges(given: Given) -> Json:
    """`podCIDR` is the first of `podCIDRs`, whichever was given; where they differ it stands alone."""
    first, all_ = given.get("podCIDR"), given.get("podCIDRs")
    if first and all_ and all_[0] != first:
        return {**given, "podCIDRs": [first]}
    if all_:
        return {**given, "podCIDR": all_[0]}
    return _with(given, podCIDRs=[first] if first else None)


def limit_of_containers(given: Given) -> Json:
    """Of a container's limit, the default follows the maximum and the default request whatever is known."""
    if given.get("type") != "Container":
        return dict(given)
    default = {**(given.get("max") or {}), **(given.get("default") or {})}
    request = {**(given.get("min") or {}), **default, **(given.get("defaultRequest") or {})}
    return {
        **given,
        **({"default": default} if default else {}),
        **({"defaultRequest": request} if request else {}),
    }


def secret(given: Given) -> Json:
    """`stringData` is written into `data`, encoded, and wins there."""
    texts = given.get("stringData") or {}
    rest = {name: value for name, value in given.items() if name != "stringData"}
    encoded = {name: base64.b64encode(str(text or "").encode()).decode() for name, text in texts.items()}
    return {**rest, "data": {**(given.get("data") or {}), **encoded}} if encoded else rest


def pod_addresses(given: Given) -> Json:
    """A pod's address and its addresses say the same; if they differ, the older of the two wins."""
    one, several = given.get("podIP"), given.get("podIPs") or []
    if one and (not several or several[0].get("ip") != one):
        return {**given, "podIPs": [{"ip": one}]}
    return {**given, "podIP": several[0]["ip"]} if several and several[0].get("ip") else dict(given)


def claimed_phase(given: Given) -> Json:
    """A volume or claim of which nothing is known is pending."""
    return _with(given, phase="Pending")


def active_phase(given: Given) -> Json:
    """A namespace of which nothing is known is active."""
    return _with(given, phase="Active")


def names_from_kind(given: Given) -> Json:
    """The singular and the list kind of a CRD follow from its kind."""
    kind = str(given.get("kind", ""))
    return _with(given, singular=kind.lower() or None, listKind=f"{kind}List" if kind else None)


def stored_versions(given: Given) -> Json:
    """A CRD stores its storage version from the first moment."""
    versions = (given.get("spec") or {}).get("versions") or ()
    stored = [version.get("name") for version in versions if version.get("storage")][:1]
    status = given.get("status") or {}
    return (
        {**given, "status": {**status, "storedVersions": status.get("storedVersions") or stored}}
        if stored
        else dict(given)
    )


def device_count(given: Given) -> Json:
    """One device, unless all are asked for."""
    mode = given.get("allocationMode", "ExactCount")
    return _with(given, allocationMode=mode, count=1 if mode == "ExactCount" else None)


def exempt_level(given: Given) -> Json:
    """An exempt priority level lends nothing and has no share of its own."""
    return _with(given, nominalConcurrencyShares=0, lendablePercent=0)


# Fields of features that are off by default: the server drops them without a word.
SWITCHED_OFF: Mapping[str, frozenset[str]] = {
    "io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy": frozenset({"maxUnavailable"}),
    "io.k8s.api.coordination.v1.LeaseSpec": frozenset({"preferredHolder", "strategy"}),
    "io.k8s.api.core.v1.Lifecycle": frozenset({"stopSignal"}),
    "io.k8s.api.core.v1.PodSpec": frozenset({"schedulingGroup"}),
    "io.k8s.api.core.v1.VolumeProjection": frozenset({"clusterTrustBundle", "podCertificate"}),
}

_CORE, _APPS = "io.k8s.api.core.v1.", "io.k8s.api.apps.v1."
RULES: Mapping[str, Rule] = {
    f"{_CORE}Container": Rule(pull_policy_by_tag, ("imagePullPolicy",)),
    f"{_CORE}EphemeralContainer": Rule(
        ephemeral_container, ("imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy")
    ),
    f"{_CORE}ImageVolumeSource": Rule(pull_policy_of_image_volume, ("pullPolicy",)),
    f"{_CORE}LimitRangeItem": Rule(limit_of_containers, ("default", "defaultRequest")),
    f"{_CORE}LoadBalancerIngress": Rule(load_balancer_mode, ("ipMode",)),
    f"{_CORE}Namespace": Rule(namespace, ()),
    f"{_CORE}NamespaceStatus": Rule(active_phase, ("phase",)),
    f"{_CORE}NodeSpec": Rule(pod_ranges, ("podCIDR", "podCIDRs")),
    f"{_CORE}NodeStatus": Rule(allocatable, ("allocatable",)),
    f"{_CORE}PersistentVolumeClaimStatus": Rule(claimed_phase, ("phase",)),
    f"{_CORE}PersistentVolumeStatus": Rule(claimed_phase, ("phase",)),
    f"{_CORE}Pod": Rule(pod_beyond_its_spec, ()),
    f"{_CORE}PodSpec": Rule(
        service_account_under_both_names, ("serviceAccount", "serviceAccountName", "enableServiceLinks")
    ),
    f"{_CORE}PodStatus": Rule(pod_addresses, ("podIP", "podIPs")),
    f"{_CORE}ReplicationController": Rule(controller_from_template_labels, ()),
    f"{_CORE}ReplicationControllerSpec": Rule(dict, ("selector",)),
    f"{_CORE}Secret": Rule(secret, ("data",)),
    f"{_CORE}ServicePort": Rule(target_port, ("targetPort",)),
    f"{_CORE}ServiceSpec": Rule(
        service,
        (
            "sessionAffinityConfig",
            "externalTrafficPolicy",
            "internalTrafficPolicy",
            "allocateLoadBalancerNodePorts",
        ),
    ),
    f"{_CORE}Volume": Rule(empty_dir_without_source, ("emptyDir",)),
    f"{_APPS}DaemonSetUpdateStrategy": Rule(rolling_daemon_set, ("type", "rollingUpdate")),
    f"{_APPS}DeploymentStrategy": Rule(rolling_deployment, ("type", "rollingUpdate")),
    f"{_APPS}RollingUpdateDaemonSet": Rule(dict, ("maxSurge", "maxUnavailable")),
    f"{_APPS}RollingUpdateDeployment": Rule(dict, ("maxSurge", "maxUnavailable")),
    f"{_APPS}RollingUpdateStatefulSetStrategy": Rule(dict, ("partition", "maxUnavailable")),
    f"{_APPS}StatefulSetUpdateStrategy": Rule(rolling_stateful_set, ("type", "rollingUpdate")),
    "io.k8s.api.autoscaling.v2.HPAScalingRules": Rule(
        dict, ("policies", "selectPolicy", "stabilizationWindowSeconds", "tolerance")
    ),
    "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": Rule(old_autoscaler, ()),
    "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec": Rule(dict, ("targetCPUUtilizationPercentage",)),
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": Rule(in_v2, ()),
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior": Rule(
        scaling_behavior, ("scaleUp", "scaleDown")
    ),
    "io.k8s.api.batch.v1.Job": Rule(job, ()),
    "io.k8s.api.batch.v1.JobSpec": Rule(
        dict,
        (
            "backoffLimit",
            "completionMode",
            "completions",
            "manualSelector",
            "parallelism",
            "podReplacementPolicy",
            "suspend",
        ),
    ),
    "io.k8s.api.flowcontrol.v1.ExemptPriorityLevelConfiguration": Rule(
        exempt_level, ("nominalConcurrencyShares", "lendablePercent")
    ),
    "io.k8s.api.networking.v1.NetworkPolicySpec": Rule(policy_types, ("policyTypes",)),
    "io.k8s.api.rbac.v1.Subject": Rule(subject_group, ("apiGroup",)),
    "io.k8s.api.resource.v1.DeviceSubRequest": Rule(device_count, ("allocationMode", "count")),
    "io.k8s.api.resource.v1.ExactDeviceRequest": Rule(device_count, ("allocationMode", "count")),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": Rule(
        stored_versions, ()
    ),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames": Rule(
        names_from_kind, ("singular", "listKind")
    ),
}

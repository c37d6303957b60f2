"""The kinds and manifests that the cases are made of."""

from __future__ import annotations

import copy
from typing import Any

from trimtab.kube.discovery import Resource

GROUP = "contract.trimtab.dev"


def _resource(api_version: str, kind: str, plural: str, *, namespaced: bool = True) -> Resource:
    group, _, version = api_version.rpartition("/")
    return Resource(group=group, version=version, kind=kind, plural=plural, namespaced=namespaced)


CONFIG_MAPS = _resource("v1", "ConfigMap", "configmaps")
SECRETS = _resource("v1", "Secret", "secrets")
SERVICES = _resource("v1", "Service", "services")
PODS = _resource("v1", "Pod", "pods")
ACCOUNTS = _resource("v1", "ServiceAccount", "serviceaccounts")
CLAIMS = _resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
QUOTAS = _resource("v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGES = _resource("v1", "LimitRange", "limitranges")
ENDPOINTS = _resource("v1", "Endpoints", "endpoints")
EVENTS = _resource("v1", "Event", "events")
NEW_EVENTS = _resource("events.k8s.io/v1", "Event", "events")
POD_TEMPLATES = _resource("v1", "PodTemplate", "podtemplates")
CONTROLLERS = _resource("v1", "ReplicationController", "replicationcontrollers")
NAMESPACES = _resource("v1", "Namespace", "namespaces", namespaced=False)
NODES = _resource("v1", "Node", "nodes", namespaced=False)
VOLUMES = _resource("v1", "PersistentVolume", "persistentvolumes", namespaced=False)
DEPLOYMENTS = _resource("apps/v1", "Deployment", "deployments")
STATEFUL_SETS = _resource("apps/v1", "StatefulSet", "statefulsets")
DAEMON_SETS = _resource("apps/v1", "DaemonSet", "daemonsets")
REPLICA_SETS = _resource("apps/v1", "ReplicaSet", "replicasets")
CONTROLLER_REVISIONS = _resource("apps/v1", "ControllerRevision", "controllerrevisions")
JOBS = _resource("batch/v1", "Job", "jobs")
CRON_JOBS = _resource("batch/v1", "CronJob", "cronjobs")
INGRESSES = _resource("networking.k8s.io/v1", "Ingress", "ingresses")
INGRESS_CLASSES = _resource("networking.k8s.io/v1", "IngressClass", "ingressclasses", namespaced=False)
NETWORK_POLICIES = _resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
BUDGETS = _resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
AUTOSCALERS = _resource("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
OLD_AUTOSCALERS = _resource("autoscaling/v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
ROLES = _resource("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDINGS = _resource("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
CLUSTER_ROLES = _resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS = _resource(
    "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
STORAGE_CLASSES = _resource("storage.k8s.io/v1", "StorageClass", "storageclasses", namespaced=False)
PRIORITY_CLASSES = _resource("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", namespaced=False)
DRIVERS = _resource("storage.k8s.io/v1", "CSIDriver", "csidrivers", namespaced=False)
DRIVER_NODES = _resource("storage.k8s.io/v1", "CSINode", "csinodes", namespaced=False)
CAPACITIES = _resource("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities")
VOLUME_ATTACHMENTS = _resource("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", namespaced=False)
ATTRIBUTES_CLASSES = _resource(
    "storage.k8s.io/v1", "VolumeAttributesClass", "volumeattributesclasses", namespaced=False
)
RUNTIME_CLASSES = _resource("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", namespaced=False)
LEASES = _resource("coordination.k8s.io/v1", "Lease", "leases")
ENDPOINT_SLICES = _resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
POLICIES = _resource(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
POLICY_BINDINGS = _resource(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
WEBHOOKS = _resource(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
SIGNING_REQUESTS = _resource(
    "certificates.k8s.io/v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    namespaced=False,
)
RESOURCE_SLICES = _resource("resource.k8s.io/v1", "ResourceSlice", "resourceslices", namespaced=False)
DEFINITIONS = _resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
GADGETS = _resource(f"{GROUP}/v1", "Gadget", "gadgets")


def named(
    resource: Resource, name: str, /, labels: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    """A manifest of a kind: its name, perhaps labels, and whatever else it holds."""
    metadata: dict[str, Any] = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}


def with_metadata(manifest: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The manifest with more metadata."""
    return {**manifest, "metadata": {**manifest["metadata"], **fields}}


def with_spec(manifest: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The manifest with other fields in its spec; None takes one away."""
    spec = {name: value for name, value in {**manifest["spec"], **fields}.items() if value is not None}
    return {**manifest, "spec": spec}


def config_map(name: str, /, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    """A ConfigMap with these data."""
    return named(CONFIG_MAPS, name, labels, **({"data": data} if data else {}))


def container(name: str = "web", **fields: Any) -> dict[str, Any]:
    """A container."""
    return {"name": name, "image": f"registry.example/{name}:1", **fields}


def deployment(name: str, *containers: dict[str, Any], **pod: Any) -> dict[str, Any]:
    """A Deployment of these containers (one by default); more fields go into the pod's spec."""
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": list(containers) or [container()], **pod},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return named(DEPLOYMENTS, name, spec=spec)


def templated(resource: Resource, name: str, /, pod: dict[str, Any] | None = None, **spec: Any) -> Any:
    """A workload of any kind that has a selector and a pod template."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container()], **(pod or {})}}
    return named(resource, name, spec={"selector": {"matchLabels": labels}, "template": template, **spec})


def service(name: str, *ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A headless Service of these ports (80 by default)."""
    fields = {"clusterIP": "None", "selector": {"app": name}, **spec}
    return named(SERVICES, name, spec={"ports": list(ports) or [{"port": 80}], **fields})


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A Pod that asks for no token."""
    fields = {"containers": [container()], "automountServiceAccountToken": False, **spec}
    return named(PODS, name, spec=fields)


def job(name: str, *, pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Job that runs once."""
    template = {"spec": {"containers": [container()], "restartPolicy": "Never", **(pod or {})}}
    return named(JOBS, name, spec={"template": template, **spec})


def gadget(name: str, /, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """An object of the suite's own kind, whose schema has every shape of list and map."""
    return named(GADGETS, name, labels, spec=spec)


def _list_map(keys: list[str], **properties: Any) -> dict[str, Any]:
    items = {"type": "object", "required": keys[:1], "properties": properties}
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
    }


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
GADGET_SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 10},
        "replicas": {"type": "integer", "format": "int32"},
        "colour": {"type": "string", "enum": ["red", "green", "blue"], "default": "red"},
        "word": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "either": {"x-kubernetes-int-or-string": True},
        "nothing": {"type": "string", "nullable": True},
        "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "parts": _list_map(
            ["name"],
            name=STRING,
            count={"type": "integer", "default": 1},
            notes={"type": "array", "items": STRING},
            spare={"type": "object", "properties": {"left": INTEGER, "right": INTEGER}},
        ),
        "ports": _list_map(
            ["port", "protocol"], port=INTEGER, protocol={"type": "string", "default": "TCP"}, name=STRING
        ),
        "steps": {
            "type": "array",
            "maxItems": 4,
            "items": {"type": "object", "properties": {"run": STRING, "as": STRING}},
            "x-kubernetes-list-type": "atomic",
        },
        "plain": {"type": "array", "items": STRING},
        "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
        "whole": {
            "type": "object",
            "properties": {"a": STRING, "b": STRING},
            "x-kubernetes-map-type": "atomic",
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "nested": {"type": "object", "default": {}, "properties": {"depth": {**INTEGER, "default": 3}}},
    },
}
GADGET_STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": INTEGER,
        "selector": STRING,
        "conditions": _list_map(["type"], type=STRING, status=STRING),
    },
}


def definition(
    kind: str, /, group: str = GROUP, *, spec: dict[str, Any] | None = None, **version: Any
) -> dict[str, Any]:
    """A CustomResourceDefinition of one version; more fields go into that version."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": spec or {"type": "object"}, "status": GADGET_STATUS}}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return named(
        DEFINITIONS,
        f"{plural}.{group}",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{**copy.deepcopy(served), **version}],
        },
    )


SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def gadget_definition() -> dict[str, Any]:
    """The suite's own kind."""
    return definition("Gadget", spec=GADGET_SPEC, subresources={"status": {}, "scale": SCALE})


def is_established(manifest: dict[str, Any]) -> bool:
    """Whether a CustomResourceDefinition is served."""
    conditions = manifest.get("status", {}).get("conditions") or []
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)

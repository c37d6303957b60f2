"""Defaults: the least that each kind accepts, and everything the server makes of it."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    ACCOUNTS,
    AUTOSCALERS,
    BUDGETS,
    CLAIMS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    CONTROLLERS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    EVENTS,
    INGRESS_CLASSES,
    INGRESSES,
    JOBS,
    LEASES,
    LIMIT_RANGES,
    NAMESPACES,
    NETWORK_POLICIES,
    NODES,
    OLD_AUTOSCALERS,
    POD_TEMPLATES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    REPLICA_SETS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUMES,
    WEBHOOKS,
    container,
    deployment,
    job,
    named,
    pod,
    service,
    templated,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
RBAC = "rbac.authorization.k8s.io"
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container()]}}
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
WEBHOOK = {
    "name": "w.example.com",
    "clientConfig": {"service": {"namespace": "n", "name": "s"}},
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "rules": [
        {"apiGroups": ["nobody.example"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}
    ],
}
LEAST: tuple[tuple[Resource, dict[str, Any]], ...] = (
    (CONFIG_MAPS, named(CONFIG_MAPS, "a")),
    (SECRETS, named(SECRETS, "a")),
    (ACCOUNTS, named(ACCOUNTS, "a")),
    (SERVICES, named(SERVICES, "a", spec={"ports": [{"port": 80}]})),
    (PODS, pod("a")),
    (POD_TEMPLATES, named(POD_TEMPLATES, "a", template=TEMPLATE)),
    (CONTROLLERS, named(CONTROLLERS, "a", spec={"template": TEMPLATE})),
    (
        ENDPOINTS,
        named(ENDPOINTS, "a", subsets=[{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]),
    ),
    (
        CLAIMS,
        named(
            CLAIMS,
            "a",
            spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        ),
    ),
    (QUOTAS, named(QUOTAS, "a", spec={"hard": {"pods": "10", "cpu": 2, "memory": "1024Mi"}})),
    (LIMIT_RANGES, named(LIMIT_RANGES, "a", spec={"limits": [{"type": "Container", "max": {"cpu": "2"}}]})),
    (NAMESPACES, named(NAMESPACES, "default-least")),
    (NODES, named(NODES, "default-least")),
    (
        VOLUMES,
        named(
            VOLUMES,
            "default-least",
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/x"},
            },
        ),
    ),
    (DEPLOYMENTS, deployment("a")),
    (STATEFUL_SETS, templated(STATEFUL_SETS, "a", serviceName="s")),
    (DAEMON_SETS, templated(DAEMON_SETS, "a")),
    (REPLICA_SETS, templated(REPLICA_SETS, "a")),
    (CONTROLLER_REVISIONS, named(CONTROLLER_REVISIONS, "a", revision=1, data={"x": 1})),
    (JOBS, job("a")),
    (
        CRON_JOBS,
        named(CRON_JOBS, "a", spec={"schedule": "@hourly", "jobTemplate": {"spec": job("a")["spec"]}}),
    ),
    (
        INGRESSES,
        named(
            INGRESSES,
            "a",
            spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
        ),
    ),
    (INGRESS_CLASSES, named(INGRESS_CLASSES, "default-least", spec={"controller": "example.com/x"})),
    (
        NETWORK_POLICIES,
        named(NETWORK_POLICIES, "a", spec={"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}),
    ),
    (BUDGETS, named(BUDGETS, "a", spec={"minAvailable": "50%", "selector": {"matchLabels": {"x": "1"}}})),
    (AUTOSCALERS, named(AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE})),
    (OLD_AUTOSCALERS, named(OLD_AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE})),
    (ROLES, named(ROLES, "a", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])),
    (
        ROLE_BINDINGS,
        named(
            ROLE_BINDINGS,
            "a",
            roleRef={"kind": "Role", "name": "r", "apiGroup": RBAC},
            subjects=[
                {"kind": "User", "name": "u"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
            ],
        ),
    ),
    (CLUSTER_ROLES, named(CLUSTER_ROLES, "default-least", rules=None)),
    (
        CLUSTER_ROLE_BINDINGS,
        named(
            CLUSTER_ROLE_BINDINGS,
            "default-least",
            roleRef={"kind": "ClusterRole", "name": "r", "apiGroup": RBAC},
        ),
    ),
    (STORAGE_CLASSES, named(STORAGE_CLASSES, "default-least", provisioner="example.com/x")),
    (PRIORITY_CLASSES, named(PRIORITY_CLASSES, "default-least", value=1000)),
    (LEASES, named(LEASES, "a", spec={"holderIdentity": "me"})),
    (
        ENDPOINT_SLICES,
        named(
            ENDPOINT_SLICES,
            "a",
            addressType="IPv4",
            endpoints=[{"addresses": ["192.0.2.1"]}],
            ports=[{"port": 80}],
        ),
    ),
    (EVENTS, named(EVENTS, "a", involvedObject={"kind": "Pod", "name": "p"}, reason="Tested", type="Normal")),
    (WEBHOOKS, named(WEBHOOKS, "default-least", webhooks=[WEBHOOK])),
)


async def _least(stage: Stage, kind: Resource, body: dict[str, Any]) -> None:
    name = body["metadata"]["name"]
    if kind is EVENTS:
        body = {**body, "involvedObject": {**body["involvedObject"], "namespace": stage.namespace}}
    await stage.create(kind, body)
    await stage.patch(kind, name, {"metadata": {"labels": {"more": "1"}}}, how=PatchType.MERGE)


for kind_, body_ in LEAST:
    shown = f"{kind_.kind} of {kind_.api_version}"
    TABLE.add("create", "defaults of kinds", f"the least {shown}", _least, kind_, body_)

PROBE = {"httpGet": {"port": 80}}
PODS_PARTS: dict[str, dict[str, Any]] = {
    "probes": {
        "containers": [
            container(
                livenessProbe=PROBE,
                readinessProbe={"tcpSocket": {"port": "x"}},
                startupProbe={"exec": {}},
                ports=[{"containerPort": 80, "name": "x"}],
            ),
            container(
                "grpc", livenessProbe={"grpc": {"port": 1}}, lifecycle={"preStop": {"httpGet": {"port": 80}}}
            ),
        ]
    },
    "ports and host network": {
        "containers": [container(ports=[{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}])],
        "hostNetwork": True,
    },
    "a port defined twice": {
        "containers": [
            container("one", ports=[{"containerPort": 80, "name": "http"}]),
            container("two", ports=[{"containerPort": 80, "name": "http"}]),
        ]
    },
    "resources": {
        "containers": [
            container(
                resources={"limits": {"cpu": "0.5", "memory": "1024Mi"}, "requests": {"memory": "1000000000"}}
            ),
            container("only-limits", resources={"limits": {"cpu": 1}}),
        ]
    },
    "images and pull policies": {
        "containers": [
            container("tagged", image="x:1"),
            container("latest", image="x:latest"),
            container("untagged", image="x"),
            container("digest", image="x@sha256:" + "0" * 64),
            container("ported", image="host:5000/x"),
        ]
    },
    "volumes": {
        "volumes": [
            {"name": "cm", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
            {"name": "sec", "secret": {"secretName": "s"}},
            {"name": "empty", "emptyDir": {}},
            {"name": "nothing"},
            {"name": "host", "hostPath": {"path": "/x"}},
            {
                "name": "down",
                "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]},
            },
            {"name": "proj", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}},
            {
                "name": "iscsi",
                "iscsi": {"targetPortal": "192.0.2.1", "iqn": "iqn.2001-04.com.example:x", "lun": 0},
            },
        ]
    },
    "variables": {
        "containers": [
            container(
                env=[
                    {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                    {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    {"name": "D"},
                ],
                envFrom=[{"configMapRef": {"name": "c"}}],
            )
        ]
    },
    "spreading and affinity": {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 5, "effect": "NoExecute"}],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "host", "labelSelector": {"matchLabels": {"x": "1"}}}
                ]
            }
        },
    },
    "init and security": {
        "initContainers": [container("init", restartPolicy="Always")],
        "securityContext": {"runAsUser": 1, "fsGroup": 2},
        "containers": [
            container(securityContext={"privileged": True, "capabilities": {"add": ["NET_ADMIN"]}})
        ],
        "serviceAccountName": "me",
    },
}


async def _pod_part(stage: Stage, spec: dict[str, Any]) -> None:
    await stage.create(DEPLOYMENTS, deployment("a", **spec) if "containers" not in spec else _template(spec))


def _template(spec: dict[str, Any]) -> dict[str, Any]:
    body = deployment("a")
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    return with_spec(body, template=template)


for what, spec_ in PODS_PARTS.items():
    TABLE.add("create", "defaults of pods", f"a template with {what}", _pod_part, spec_)

FORMS: dict[str, tuple[Resource, dict[str, Any]]] = {
    "a service with an address asked for": (SERVICES, service("a", clusterIP="10.96.0.90")),
    "a service with a drawn address": (SERVICES, service("a", clusterIP=None, type="ClusterIP")),
    "a node port": (SERVICES, named(SERVICES, "a", spec={"type": "NodePort", "ports": [{"port": 80}]})),
    "a node port asked for": (
        SERVICES,
        named(SERVICES, "a", spec={"type": "NodePort", "ports": [{"port": 80, "nodePort": 30011}]}),
    ),
    "a load balancer": (
        SERVICES,
        named(SERVICES, "a", spec={"type": "LoadBalancer", "ports": [{"port": 80}]}),
    ),
    "a local load balancer": (
        SERVICES,
        named(
            SERVICES,
            "a",
            spec={"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]},
        ),
    ),
    "an external name": (
        SERVICES,
        named(SERVICES, "a", spec={"type": "ExternalName", "externalName": "x.example"}),
    ),
    "a headless service without a selector": (SERVICES, service("a", selector=None)),
    "a service with affinity": (SERVICES, service("a", sessionAffinity="ClientIP")),
    "a service with named targets": (SERVICES, service("a", {"port": 80, "targetPort": "web", "name": "x"})),
    "a deployment that recreates": (DEPLOYMENTS, with_spec(deployment("a"), strategy={"type": "Recreate"})),
    "a deployment that keeps nothing": (
        DEPLOYMENTS,
        with_spec(deployment("a"), revisionHistoryLimit=0, replicas=0),
    ),
    "a daemon set updated on delete": (
        DAEMON_SETS,
        templated(DAEMON_SETS, "a", updateStrategy={"type": "OnDelete"}),
    ),
    "a stateful set with claims": (
        STATEFUL_SETS,
        templated(
            STATEFUL_SETS,
            "a",
            serviceName="s",
            volumeClaimTemplates=[
                {
                    "metadata": {"name": "v"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            ],
        ),
    ),
    "an indexed job": (JOBS, job("a", completionMode="Indexed", completions=3, parallelism=2)),
    "a job of many": (JOBS, job("a", completions=3)),
    "a suspended job": (JOBS, job("a", suspend=True, backoffLimit=0, ttlSecondsAfterFinished=5)),
    "an autoscaler by cpu": (
        AUTOSCALERS,
        named(
            AUTOSCALERS,
            "a",
            spec={
                "maxReplicas": 3,
                "scaleTargetRef": REFERENCE,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": 50},
                        },
                    }
                ],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
            },
        ),
    ),
    "an ingress with rules": (
        INGRESSES,
        named(
            INGRESSES,
            "a",
            spec={
                "rules": [
                    {
                        "host": "x.example",
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "s", "port": {"name": "http"}}},
                                }
                            ]
                        },
                    }
                ]
            },
        ),
    ),
    "a network policy for both ways": (
        NETWORK_POLICIES,
        named(NETWORK_POLICIES, "a", spec={"podSelector": {}, "egress": [{}], "ingress": [{}]}),
    ),
    "a secret from strings": (
        SECRETS,
        named(SECRETS, "a", stringData={"k": "v"}, data={"k": "MQ==", "l": "Mg=="}),
    ),
    "a storage class that waits": (
        STORAGE_CLASSES,
        named(
            STORAGE_CLASSES,
            "default-waits",
            provisioner="x.example/y",
            volumeBindingMode="WaitForFirstConsumer",
            reclaimPolicy="Retain",
        ),
    ),
}


async def _form(stage: Stage, kind: Resource, body: dict[str, Any]) -> None:
    if "spec" in body:
        body = with_spec(body)
    await stage.create(kind, body)


for what, (kind_, body_) in FORMS.items():
    TABLE.add("create", "defaults of forms", what, _form, kind_, body_)

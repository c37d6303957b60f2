"""Invalid objects: the code, the reason, the message and the causes of each refusal."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    AUTOSCALERS,
    BUDGETS,
    CLAIMS,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    GADGETS,
    INGRESSES,
    JOBS,
    NAMESPACES,
    NETWORK_POLICIES,
    OLD_AUTOSCALERS,
    PODS,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUMES,
    config_map,
    container,
    deployment,
    gadget,
    job,
    named,
    pod,
    service,
    templated,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
RBAC = "rbac.authorization.k8s.io"


def web(**fields: Any) -> dict[str, Any]:
    """A Deployment with one container that has these fields."""
    return deployment("a", container(**fields))


METADATA: dict[str, dict[str, Any]] = {
    "a label key": {"labels": {"bad key": "x"}},
    "a label key with two slashes": {"labels": {"a/b/c": "x"}},
    "a label prefix": {"labels": {"Upper/x": "1"}},
    "a label value": {"labels": {"x": "bad value"}},
    "a long label value": {"labels": {"x": "v" * 64}},
    "an annotation key": {"annotations": {"bad key": "x"}},
    "annotations too large": {"annotations": {"x": "v" * 270000}},
    "a finalizer": {"finalizers": ["nonsense"]},
    "a finalizer with a bad name": {"finalizers": ["a/b/c"]},
    "an owner without a uid": {"ownerReferences": [{**OWNER, "uid": ""}]},
    "an owner without a name": {"ownerReferences": [{**OWNER, "name": ""}]},
    "an owner without a kind": {"ownerReferences": [{**OWNER, "kind": ""}]},
    "an owner without a version": {"ownerReferences": [{**OWNER, "apiVersion": ""}]},
    "two controllers": {
        "ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": True}]
    },
    "an owner twice": {"ownerReferences": [OWNER, OWNER]},
    "an owner that blocks": {"ownerReferences": [{**OWNER, "blockOwnerDeletion": True}]},
    "finalizers that contradict": {"finalizers": ["orphan", "foregroundDeletion"]},
}


async def _metadata(stage: Stage, fields: dict[str, Any]) -> None:
    await stage.create(CONFIG_MAPS, with_metadata(config_map("a"), **fields))
    await stage.create(GADGETS, with_metadata(gadget("a"), **fields))
    await stage.create(DEPLOYMENTS, with_metadata(deployment("a"), **fields))


for what, fields_ in METADATA.items():
    TABLE.add("create", "invalid metadata", what, _metadata, fields_)

PATHS = [{"path": "x", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 0}}}}]


def scaled(version: str, kind: str = "Deployment") -> dict[str, Any]:
    return {"kind": kind, "name": "web", "apiVersion": version}


USED = {"type": "Utilization", "averageUtilization": 50}
METRICS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "something unknown": {"type": "Luck"},
    "something else than it says": {"type": "Pods", "resource": {"name": "cpu", "target": USED}},
    "two things": {
        "type": "Resource",
        "resource": {"name": "cpu", "target": USED},
        "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "1"}},
    },
    "pods that need less than nothing": {
        "type": "Pods",
        "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "-1"}},
    },
    "an object of no version": {
        "type": "Object",
        "object": {
            "describedObject": scaled("a/b/c", kind=""),
            "metric": {"name": "x"},
            "target": {"type": "Value", "value": "1"},
        },
    },
    "a container without a name": {
        "type": "ContainerResource",
        "containerResource": {"name": "a b", "container": "A", "target": USED},
    },
    "a container's luck": {
        "type": "ContainerResource",
        "containerResource": {"name": "luck", "container": "a", "target": USED},
    },
}
INVALID: dict[str, tuple[Resource, dict[str, Any]]] = {
    "a config map's key": (CONFIG_MAPS, named(CONFIG_MAPS, "a", data={"bad key": "1"})),
    "a config map's key in both": (CONFIG_MAPS, config_map("a", x="1") | {"binaryData": {"x": "MQ=="}}),
    "a secret without its key": (
        SECRETS,
        named(SECRETS, "a", type="kubernetes.io/tls", data={"tls.crt": "MQ=="}),
    ),
    "a docker secret without its key": (SECRETS, named(SECRETS, "a", type="kubernetes.io/dockerconfigjson")),
    **{
        f"a docker secret that holds {what}": (
            SECRETS,
            named(SECRETS, "a", type="kubernetes.io/dockercfg", stringData={".dockercfg": text}),
        )
        for what, text in {
            "nothing": "",
            "null": "null",
            "a list": "[]",
            "a number": "1",
            "a text": '"x"',
            "half an object": '{"a"',
            "a word": "nope",
            "two objects": "{}{}",
            "no letters": "\u2603",
        }.items()
    },
    "an ssh secret without its key": (SECRETS, named(SECRETS, "a", type="kubernetes.io/ssh-auth")),
    "an ssh secret with an empty key": (
        SECRETS,
        named(SECRETS, "a", type="kubernetes.io/ssh-auth", data={"ssh-privatekey": ""}),
    ),
    "a secret's key": (SECRETS, named(SECRETS, "a", data={"bad key": "MQ=="})),
    "a token of an account": (SECRETS, named(SECRETS, "a", type="kubernetes.io/service-account-token")),
    "a basic-auth secret": (SECRETS, named(SECRETS, "a", type="kubernetes.io/basic-auth")),
    "a deployment without a spec": (DEPLOYMENTS, named(DEPLOYMENTS, "a")),
    "a deployment with negative replicas": (DEPLOYMENTS, with_spec(deployment("a"), replicas=-1)),
    "a deployment without a selector": (DEPLOYMENTS, with_spec(deployment("a"), selector=None)),
    "a deployment with an empty selector": (DEPLOYMENTS, with_spec(deployment("a"), selector={})),
    "a deployment whose selector does not fit": (
        DEPLOYMENTS,
        with_spec(deployment("a"), selector={"matchLabels": {"other": "1"}}),
    ),
    "a deployment with a bad selector": (
        DEPLOYMENTS,
        with_spec(deployment("a"), selector={"matchExpressions": [{"key": "x", "operator": "Nonsense"}]}),
    ),
    "a deployment with a bad strategy": (DEPLOYMENTS, with_spec(deployment("a"), strategy={"type": "Never"})),
    "a deployment with a rolling update that recreates": (
        DEPLOYMENTS,
        with_spec(deployment("a"), strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
    ),
    "a deployment that neither surges nor lacks": (
        DEPLOYMENTS,
        with_spec(deployment("a"), strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
    ),
    "a deployment with a bad percentage": (
        DEPLOYMENTS,
        with_spec(deployment("a"), strategy={"rollingUpdate": {"maxSurge": "lots"}}),
    ),
    "a deployment with bad times": (
        DEPLOYMENTS,
        with_spec(deployment("a"), minReadySeconds=10, progressDeadlineSeconds=5, revisionHistoryLimit=-1),
    ),
    "a deployment that never restarts": (DEPLOYMENTS, deployment("a", restartPolicy="Never")),
    "a deployment without containers": (
        DEPLOYMENTS,
        with_spec(
            deployment("a"), template={"metadata": {"labels": {"app": "a"}}, "spec": {"containers": []}}
        ),
    ),
    "a container without a name": (DEPLOYMENTS, deployment("a", {"image": "x"})),
    "a container without an image": (DEPLOYMENTS, deployment("a", {"name": "x"})),
    "a container's name": (DEPLOYMENTS, deployment("a", container("Bad_Name"))),
    "a container twice": (DEPLOYMENTS, deployment("a", container("x"), container("x"))),
    "a container like an init container": (
        DEPLOYMENTS,
        deployment("a", container("x"), initContainers=[container("x")]),
    ),
    "an image with spaces": (DEPLOYMENTS, web(image=" x ")),
    "a pull policy": (DEPLOYMENTS, web(imagePullPolicy="Sometimes")),
    "a termination policy": (DEPLOYMENTS, web(terminationMessagePolicy="Sometimes")),
    "a port's number": (DEPLOYMENTS, web(ports=[{"containerPort": 0}, {"containerPort": 70000}])),
    "a port's name": (DEPLOYMENTS, web(ports=[{"containerPort": 80, "name": "BAD"}])),
    "a port's name twice": (
        DEPLOYMENTS,
        web(ports=[{"containerPort": 80, "name": "x"}, {"containerPort": 81, "name": "x"}]),
    ),
    "a port's protocol": (DEPLOYMENTS, web(ports=[{"containerPort": 80, "protocol": "HTTP"}])),
    "a variable's name": (DEPLOYMENTS, web(env=[{"name": "", "value": "1"}, {"name": "a=b", "value": "1"}])),
    "a variable with two sources": (
        DEPLOYMENTS,
        web(env=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
    ),
    "a variable's field": (
        DEPLOYMENTS,
        web(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nonsense"}}}]),
    ),
    "a variable without a source": (DEPLOYMENTS, web(env=[{"name": "A", "valueFrom": {}}])),
    "requests over limits": (
        DEPLOYMENTS,
        web(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    ),
    "negative resources": (DEPLOYMENTS, web(resources={"requests": {"cpu": "-1"}})),
    "unknown resources": (DEPLOYMENTS, web(resources={"requests": {"speed": "1"}})),
    "a probe without a way": (DEPLOYMENTS, web(livenessProbe={"periodSeconds": 1})),
    "a probe with two ways": (
        DEPLOYMENTS,
        web(livenessProbe={"httpGet": {"port": 80}, "tcpSocket": {"port": 80}}),
    ),
    "a probe's numbers": (
        DEPLOYMENTS,
        web(livenessProbe={"httpGet": {"port": 0}, "periodSeconds": -1, "successThreshold": 2}),
    ),
    "a mount without its volume": (DEPLOYMENTS, web(volumeMounts=[{"name": "v", "mountPath": "/v"}])),
    "a mount without a path": (
        DEPLOYMENTS,
        deployment("a", container(volumeMounts=[{"name": "v"}]), volumes=[{"name": "v", "emptyDir": {}}]),
    ),
    "a mount path twice": (
        DEPLOYMENTS,
        deployment(
            "a",
            container(volumeMounts=[{"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/v"}]),
            volumes=[{"name": "v", "emptyDir": {}}],
        ),
    ),
    "a volume twice": (DEPLOYMENTS, deployment("a", volumes=[{"name": "v", "emptyDir": {}}] * 2)),
    "a volume with two sources": (
        DEPLOYMENTS,
        deployment("a", volumes=[{"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}]),
    ),
    "a volume's parts": (
        DEPLOYMENTS,
        deployment(
            "a",
            volumes=[
                {"name": "v", "configMap": {}},
                {"name": "w", "secret": {}},
                {"name": "x", "hostPath": {"path": ".."}},
            ],
        ),
    ),
    "a toleration": (
        DEPLOYMENTS,
        deployment("a", tolerations=[{"key": "k", "operator": "Maybe"}, {"key": "k", "effect": "Nothing"}]),
    ),
    "a restart policy": (PODS, pod("a", restartPolicy="Sometimes")),
    "a dns policy": (PODS, pod("a", dnsPolicy="Nobody")),
    "a negative grace": (PODS, pod("a", terminationGracePeriodSeconds=-1, activeDeadlineSeconds=0)),
    "a missing account": (PODS, pod("a", serviceAccountName="nobody")),
    "a missing priority": (PODS, pod("a", priorityClassName="nobody")),
    "a host name": (PODS, pod("a", hostname="Bad_Name", subdomain="Bad")),
    "a service without ports": (SERVICES, named(SERVICES, "a", spec={})),
    "a service's port": (SERVICES, service("a", {"port": 0}, {"port": 70000})),
    "a service's ports without names": (SERVICES, service("a", {"port": 80}, {"port": 81})),
    "a service's port twice": (SERVICES, service("a", {"name": "x", "port": 80}, {"name": "y", "port": 80})),
    "a service's names twice": (SERVICES, service("a", {"name": "x", "port": 80}, {"name": "x", "port": 81})),
    "a service's protocol": (SERVICES, service("a", {"port": 80, "protocol": "HTTP"})),
    "a service's target": (SERVICES, service("a", {"port": 80, "targetPort": "Bad_Name"})),
    "a service's type": (SERVICES, service("a", type="Magic")),
    "a service's affinity": (SERVICES, service("a", sessionAffinity="Strong")),
    "a service's address": (SERVICES, service("a", clusterIP="nowhere")),
    "a service's address out of range": (SERVICES, service("a", clusterIP="192.0.2.1")),
    "a service's selector": (SERVICES, service("a", selector={"bad key": "x"})),
    "an external name missing": (SERVICES, named(SERVICES, "a", spec={"type": "ExternalName"})),
    "an external name": (
        SERVICES,
        named(SERVICES, "a", spec={"type": "ExternalName", "externalName": "Bad_"}),
    ),
    "a node port of no node": (SERVICES, service("a", {"port": 80, "nodePort": 30001})),
    "a node port out of range": (
        SERVICES,
        named(SERVICES, "a", spec={"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}),
    ),
    "external addresses": (SERVICES, service("a", externalIPs=["nowhere", "127.0.0.1"])),
    "a headless node port": (SERVICES, service("a", type="NodePort")),
    "a stateful set without a service": (STATEFUL_SETS, templated(STATEFUL_SETS, "a")),
    "a stateful set's policy": (
        STATEFUL_SETS,
        templated(STATEFUL_SETS, "a", serviceName="s", podManagementPolicy="Wild"),
    ),
    "a daemon set's strategy": (DAEMON_SETS, templated(DAEMON_SETS, "a", updateStrategy={"type": "Wild"})),
    "a job without a template": (JOBS, named(JOBS, "a", spec={})),
    "a job that always restarts": (JOBS, job("a", pod={"restartPolicy": "Always"})),
    "a job's numbers": (
        JOBS,
        job("a", completions=-1, parallelism=-1, backoffLimit=-1, activeDeadlineSeconds=-1),
    ),
    "a job with a selector": (JOBS, job("a", selector={"matchLabels": {"x": "1"}})),
    "an indexed job without completions": (JOBS, job("a", completionMode="Indexed")),
    "a cron job's schedule": (
        CRON_JOBS,
        named(CRON_JOBS, "a", spec={"schedule": "now", "jobTemplate": {"spec": job("a")["spec"]}}),
    ),
    "a cron job without anything": (CRON_JOBS, named(CRON_JOBS, "a", spec={})),
    "a cron job's policy": (
        CRON_JOBS,
        named(
            CRON_JOBS,
            "a",
            spec={
                "schedule": "* * * * *",
                "concurrencyPolicy": "Wild",
                "startingDeadlineSeconds": -1,
                "timeZone": "Mars/North",
                "jobTemplate": {"spec": job("a")["spec"]},
            },
        ),
    ),
    "a claim without anything": (CLAIMS, named(CLAIMS, "a", spec={})),
    "a claim's mode": (
        CLAIMS,
        named(CLAIMS, "a", spec={"accessModes": ["Wild"], "resources": {"requests": {"storage": "-1"}}}),
    ),
    "a volume without anything": (VOLUMES, named(VOLUMES, "refused-volume", spec={})),
    "an ingress without anything": (INGRESSES, named(INGRESSES, "a", spec={})),
    "an ingress's path": (
        INGRESSES,
        named(INGRESSES, "a", spec={"rules": [{"host": "*.*", "http": {"paths": PATHS}}]}),
    ),
    "addresses that some read otherwise": (
        PODS,
        pod(
            "a",
            dnsPolicy="None",
            dnsConfig={"nameservers": ["010.0.0.1", "1.2.3.4", "::1", "x"], "options": [{}]},
            hostAliases=[{"ip": "::ffff:10.0.0.1"}, {"ip": "1.2.3.256"}],
        ),
    ),
    "no name server": (PODS, pod("a", dnsPolicy="None")),
    "networks that some read otherwise": (
        NETWORK_POLICIES,
        named(
            NETWORK_POLICIES,
            "a",
            spec={
                "podSelector": {},
                "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.2.3/16"]}}]}],
                "egress": [
                    {
                        "to": [
                            {"ipBlock": {"cidr": "::ffff:10.0.0.0/104"}},
                            {"ipBlock": {"cidr": "010.0.0.0/8"}},
                            {"ipBlock": {"cidr": "10.0.0.0/08"}},
                            {"ipBlock": {"cidr": "10.0.0.0"}},
                        ]
                    }
                ],
            },
        ),
    ),
    "an ingress's path type": (
        INGRESSES,
        named(INGRESSES, "a", spec={"rules": [{"http": {"paths": [{"path": "/", "backend": {}}]}}]}),
    ),
    "a network policy's port": (
        NETWORK_POLICIES,
        named(
            NETWORK_POLICIES,
            "a",
            spec={
                "podSelector": {},
                "policyTypes": ["Wild"],
                "ingress": [{"from": [{}], "ports": [{"port": 0}]}],
            },
        ),
    ),
    "a network policy's block": (
        NETWORK_POLICIES,
        named(
            NETWORK_POLICIES,
            "a",
            spec={"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "x"}}]}]},
        ),
    ),
    "a budget with both": (BUDGETS, named(BUDGETS, "a", spec={"minAvailable": 1, "maxUnavailable": 1})),
    "a budget's number": (BUDGETS, named(BUDGETS, "a", spec={"minAvailable": "150%"})),
    **{
        f"an autoscaler of {version or 'no version'}": (
            AUTOSCALERS,
            named(AUTOSCALERS, "a", spec={"maxReplicas": 1, "scaleTargetRef": scaled(version)}),
        )
        for version in ("", "v1", "/v1", "x/", "a/b/c")
    },
    "an old autoscaler of another version": (
        OLD_AUTOSCALERS,
        named(OLD_AUTOSCALERS, "a", spec={"maxReplicas": 1, "scaleTargetRef": scaled("a/b/c")}),
    ),
    "an old autoscaler that wants nothing": (
        OLD_AUTOSCALERS,
        named(
            OLD_AUTOSCALERS,
            "a",
            spec={
                "maxReplicas": 1,
                "scaleTargetRef": scaled("apps/v1"),
                "targetCPUUtilizationPercentage": 0,
            },
        ),
    ),
    **{
        f"an autoscaler by {what}": (
            AUTOSCALERS,
            named(
                AUTOSCALERS,
                "a",
                spec={"maxReplicas": 1, "scaleTargetRef": scaled("apps/v1"), "metrics": [metric]},
            ),
        )
        for what, metric in METRICS.items()
    },
    "an autoscaler without anything": (AUTOSCALERS, named(AUTOSCALERS, "a", spec={})),
    "an autoscaler's bounds": (
        AUTOSCALERS,
        named(
            AUTOSCALERS,
            "a",
            spec={"minReplicas": 5, "maxReplicas": 3, "scaleTargetRef": {"kind": "X", "name": "y"}},
        ),
    ),
    "a role's rule": (ROLES, named(ROLES, "a", rules=[{"apiGroups": [""], "resources": ["pods"]}])),
    "a role's rule without resources": (ROLES, named(ROLES, "a", rules=[{"verbs": ["get"]}])),
    "a binding without a role": (ROLE_BINDINGS, named(ROLE_BINDINGS, "a")),
    "a binding's role": (
        ROLE_BINDINGS,
        named(ROLE_BINDINGS, "a", roleRef={"apiGroup": "x", "kind": "Wild", "name": ""}),
    ),
    "a binding's subject": (
        ROLE_BINDINGS,
        named(
            ROLE_BINDINGS,
            "a",
            roleRef={"apiGroup": RBAC, "kind": "Role", "name": "r"},
            subjects=[{"kind": "ServiceAccount", "name": "s"}, {"kind": "Wild", "name": ""}],
        ),
    ),
    "a storage class without anything": (STORAGE_CLASSES, named(STORAGE_CLASSES, "refused-class")),
    "a storage class's policy": (
        STORAGE_CLASSES,
        named(
            STORAGE_CLASSES, "refused-class", provisioner="x", reclaimPolicy="Wild", volumeBindingMode="Wild"
        ),
    ),
    "a priority too high": (PRIORITY_CLASSES, named(PRIORITY_CLASSES, "refused-class", value=2000000000)),
    "a namespace's name": (NAMESPACES, named(NAMESPACES, "Bad.Name")),
    "a custom enum": (GADGETS, gadget("a", colour="pink")),
    "a custom minimum": (GADGETS, gadget("a", size=-1)),
    "a custom maximum": (GADGETS, gadget("a", size=11)),
    "a custom pattern": (GADGETS, gadget("a", word="UPPER")),
    "a custom length": (GADGETS, gadget("a", word="toolongaword")),
    "too many custom items": (GADGETS, gadget("a", steps=[{}] * 5)),
    "a custom set with a value twice": (GADGETS, gadget("a", tags=["x", "y", "x"])),
    "a custom list map with a key twice": (GADGETS, gadget("a", parts=[{"name": "x"}, {"name": "x"}])),
    "a custom list map without a key": (GADGETS, gadget("a", parts=[{"count": 1}])),
    "a custom int-or-string": (GADGETS, gadget("a", either=1.5)),
    "a custom boolean": (GADGETS, gadget("a", flag="yes")),
    "a custom number": (GADGETS, gadget("a", ratio="x")),
    "a custom null": (GADGETS, gadget("a", size=None, nothing=None)),
    "several custom faults": (GADGETS, gadget("a", size=99, colour="pink", tags=["x", "x"], flag=1)),
    "custom int32": (GADGETS, gadget("a", replicas=2**40)),
}


async def _invalid(stage: Stage, kind: Resource, body: dict[str, Any]) -> None:
    await stage.create(kind, body)


for what, (kind_, body_) in INVALID.items():
    TABLE.add("create", f"invalid {kind_.kind}", what, _invalid, kind_, body_)

"""Objects with several faults at once: every one is told, in the real server's order."""

from __future__ import annotations

import random
from typing import Any, Final

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    AUTOSCALERS,
    BUDGETS,
    INGRESSES,
    LIMIT_RANGES,
    NAMESPACES,
    NETWORK_POLICIES,
    NODES,
    POLICIES,
    POLICY_BINDINGS,
    PRIORITY_CLASSES,
    QUOTAS,
    ROLE_BINDINGS,
    STORAGE_CLASSES,
    VOLUMES,
    named,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource
from trimtab.kube.merging.patch import merge_patch

TABLE = Table(__name__)
DRY = Write(dry_run=True)
ROUNDS: Final = 24
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
FIELDS = {
    "matchFields": [
        {"key": "metadata.name", "operator": "Exists"},
        {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
        {"key": "metadata.name", "operator": "In", "values": ["A b"]},
        {"key": "odd", "operator": "NotIn", "values": ["a"]},
        {},
    ]
}
BACKEND = {"service": {"name": "a", "port": {"number": 80}}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
HOST = {"hostPath": {"path": "/a"}, "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
#: kind → an object in order, and what may be wrong with it, each by itself
WRONG: dict[Resource, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    NODES: (
        named(NODES, "faulty", spec={}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"metadata": {"annotations": {"a b": "c"}}},
            {"metadata": {"finalizers": ["a b"]}},
            {"spec": {"podCIDRs": ["x"]}},
            {"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}},
            {"spec": {"taints": [{"key": "a b", "effect": "Odd"}]}},
            {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}},
            {"spec": {"taints": [{"key": "a", "value": "b c", "effect": ""}]}},
            {"spec": {"configSource": {}}},
            {"status": {"capacity": {"cpu": "-1"}}},
            {"status": {"allocatable": {"memory": "-1", "cpu": "1"}}},
            {"status": {"addresses": [{"type": "InternalIP", "address": "x"}] * 2}},
            {"status": {"capacity": {"a b": "1"}}},
            {"spec": {"providerID": "a"}},
            {"spec": {"unschedulable": True}},
        ],
    ),
    VOLUMES: (
        named(VOLUMES, "faulty", spec=HOST),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "A b"}}},
            {"spec": {"accessModes": []}},
            {"spec": {"accessModes": ["x", "y"]}},
            {"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]}},
            {"spec": {"capacity": None}},
            {"spec": {"capacity": {"storage": "-1"}}},
            {"spec": {"capacity": {"storage": "1Gi", "cpu": "1"}}},
            {"spec": {"persistentVolumeReclaimPolicy": "Odd"}},
            {"spec": {"persistentVolumeReclaimPolicy": "Recycle", "hostPath": {"path": "/"}}},
            {"spec": {"hostPath": {"path": ""}}},
            {"spec": {"hostPath": {"path": "/a/../b", "type": "Odd"}}},
            {"spec": {"hostPath": None}},
            {"spec": {"storageClassName": "A b"}},
            {"spec": {"volumeMode": "Odd"}},
            {"spec": {"volumeMode": "Block"}},
            {"spec": {"volumeAttributesClassName": "A b"}},
            {"spec": {"volumeAttributesClassName": ""}},
            {"spec": {"mountOptions": ["a", ""]}},
            {"spec": {"nodeAffinity": {}}},
            {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": []}}}},
            {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{}]}]}}}},
            {"spec": {"claimRef": {"kind": "Odd"}}},
            {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [FIELDS]}}}},
            {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}}}},
            {"spec": {"hostPath": {"path": "/a/.."}, "persistentVolumeReclaimPolicy": "Recycle"}},
        ],
    ),
    ROLE_BINDINGS: (
        named(
            ROLE_BINDINGS,
            "a",
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            subjects=[{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}],
        ),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"metadata": {"name": "a/b"}},
            {"metadata": {"name": "%"}},
            {"roleRef": {"apiGroup": "odd"}},
            {"roleRef": {"kind": "Odd"}},
            {"roleRef": {"name": ""}},
            {"roleRef": {"name": "a/b"}},
            {"roleRef": None},
            {"subjects": [{}]},
            {"subjects": [{"kind": "ServiceAccount", "name": "A b", "apiGroup": "x"}]},
            {"subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "A b"}]},
            {"subjects": [{"kind": "User", "name": "", "apiGroup": "x"}, {"kind": "Group", "name": ""}]},
            {"subjects": [{"kind": "Odd", "name": "", "namespace": "x"}]},
        ],
    ),
    POLICIES: (
        named(
            POLICIES,
            "faulty",
            spec={
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [RULE]},
                "validations": [{"expression": "true"}],
            },
        ),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"spec": {"failurePolicy": "Odd"}},
            {"spec": {"paramKind": {}}},
            {"spec": {"paramKind": {"apiVersion": "a/b/c", "kind": "A b"}}},
            {"spec": {"matchConstraints": None}},
            {"spec": {"matchConstraints": {"resourceRules": []}}},
            {"spec": {"matchConstraints": {"resourceRules": [{}]}}},
            {"spec": {"matchConstraints": {"resourceRules": [{**RULE, "operations": ["ODD", "*"]}]}}},
            {"spec": {"matchConstraints": {"resourceRules": [{**RULE, "resources": ["*/*", "pods"]}]}}},
            {"spec": {"matchConstraints": {"resourceRules": [{**RULE, "scope": "Odd"}]}}},
            {"spec": {"matchConstraints": {"matchPolicy": "Odd"}}},
            {"spec": {"matchConstraints": {"namespaceSelector": {"matchLabels": {"a b": "c"}}}}},
            {"spec": {"matchConstraints": {"objectSelector": {"matchExpressions": [{"key": "a"}]}}}},
            {"spec": {"matchConditions": [{"name": "a b", "expression": ""}]}},
            {"spec": {"matchConditions": [{"name": "a", "expression": "true"}] * 2}},
            {"spec": {"variables": [{"name": "a b", "expression": ""}]}},
            {"spec": {"variables": [{"name": "a", "expression": "true"}] * 2}},
            {"spec": {"validations": []}},
            {"spec": {"validations": [{"expression": "", "reason": "Odd", "message": " "}]}},
            {"spec": {"validations": [{"expression": "true", "message": "a\nb"}]}},
            {"spec": {"validations": [{"expression": "true", "messageExpression": " "}]}},
            {"spec": {"auditAnnotations": [{"key": "a b", "valueExpression": ""}]}},
            {"spec": {"auditAnnotations": [{"key": "a", "valueExpression": "'a'"}] * 2}},
        ],
    ),
    POLICY_BINDINGS: (
        named(POLICY_BINDINGS, "faulty", spec={"policyName": "a", "validationActions": ["Deny"]}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"spec": {"policyName": ""}},
            {"spec": {"policyName": "A b"}},
            {"spec": {"validationActions": []}},
            {"spec": {"validationActions": ["Deny", "Warn"]}},
            {"spec": {"validationActions": ["Odd", "Audit", "Audit"]}},
            {"spec": {"paramRef": {}}},
            {"spec": {"paramRef": {"name": "A b", "namespace": "A b"}}},
            {"spec": {"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "Odd"}}},
            {"spec": {"paramRef": {"selector": {"matchLabels": {"a b": "c"}}}}},
            {"spec": {"matchResources": {"matchPolicy": "Odd"}}},
            {"spec": {"matchResources": {"resourceRules": [{}]}}},
            {"spec": {"matchResources": {"excludeResourceRules": [{**RULE, "operations": ["ODD"]}]}}},
            {"spec": {"matchResources": {"objectSelector": {"matchExpressions": [{"key": "a"}]}}}},
        ],
    ),
    NAMESPACES: (
        named(NAMESPACES, "faulty"),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"metadata": {"annotations": {"a b": "c"}}},
            {"metadata": {"finalizers": ["a b", "c"]}},
            {"spec": {"finalizers": ["a b"]}},
            {"spec": {"finalizers": ["c"]}},
            {"metadata": {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}},
            {"metadata": {"generateName": "A b"}},
            {"status": {"phase": "Odd"}},
        ],
    ),
    INGRESSES: (
        named(INGRESSES, "a", spec={"defaultBackend": BACKEND}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"spec": {"defaultBackend": None}},
            {"spec": {"defaultBackend": {}}},
            {"spec": {"defaultBackend": {"service": {"name": "A b", "port": {}}}}},
            {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"name": "A b", "number": 1}}}}},
            {"spec": {"defaultBackend": {"resource": {"kind": "", "name": ""}}}},
            {"spec": {"ingressClassName": "A b"}},
            {
                "metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}},
                "spec": {"ingressClassName": "y"},
            },
            {"spec": {"tls": [{"hosts": ["A b"], "secretName": "A b"}]}},
            {"spec": {"rules": [{"host": "A b"}]}},
            {"spec": {"rules": [{"host": "192.0.2.1", "http": {"paths": []}}]}},
            {"spec": {"rules": [{"host": "*.*.a", "http": {"paths": [{"path": "a", "backend": {}}]}}]}},
            {
                "spec": {
                    "rules": [
                        {"http": {"paths": [{"path": "/a//b", "pathType": "Exact", "backend": BACKEND}]}}
                    ]
                }
            },
            {"spec": {"rules": [{"http": {"paths": [{"path": "", "pathType": "Odd", "backend": BACKEND}]}}]}},
        ],
    ),
    NETWORK_POLICIES: (
        named(NETWORK_POLICIES, "a", spec={"podSelector": {}}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"spec": {"podSelector": {"matchLabels": {"a b": "c d"}}}},
            {"spec": {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
            {"spec": {"policyTypes": ["Odd", "Ingress", "Egress"]}},
            {"spec": {"ingress": [{"from": [{}], "ports": [{"protocol": "Odd", "port": 0}]}]}},
            {"spec": {"ingress": [{"ports": [{"port": "A b"}, {"endPort": 5}]}]}},
            {"spec": {"ingress": [{"ports": [{"port": 9, "endPort": 5}, {"port": "a", "endPort": 5}]}]}},
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "x", "except": ["y"]}}]}]}},
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}]}]}},
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}]}},
            {"spec": {"egress": [{"to": [{"namespaceSelector": {"matchLabels": {"a b": "c"}}}]}]}},
        ],
    ),
    AUTOSCALERS: (
        named(AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": TARGET}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"spec": {"minReplicas": 0}},
            {"spec": {"minReplicas": 5}},
            {"spec": {"maxReplicas": 0}},
            {"spec": {"scaleTargetRef": {"kind": "", "name": ""}}},
            {"spec": {"scaleTargetRef": {"kind": "a/b", "name": "a/b", "apiVersion": "a/b/c"}}},
            {"spec": {"metrics": [{"type": "Odd"}]}},
            {"spec": {"metrics": [{"type": "Resource"}]}},
            {
                "spec": {
                    "metrics": [{"type": "Resource", "resource": {"name": "", "target": {"type": "Odd"}}}]
                }
            },
            {"spec": {"behavior": {"scaleUp": {"stabilizationWindowSeconds": -1, "selectPolicy": "Odd"}}}},
            {"spec": {"behavior": {"scaleDown": {"policies": []}}}},
            {
                "spec": {
                    "behavior": {"scaleDown": {"policies": [{"type": "Odd", "value": 0, "periodSeconds": 0}]}}
                }
            },
        ],
    ),
    BUDGETS: (
        named(BUDGETS, "a", spec={"minAvailable": 1}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"metadata": {"finalizers": ["a b"]}},
            {"spec": {"maxUnavailable": 1}},
            {"spec": {"minAvailable": -1}},
            {"spec": {"minAvailable": "x"}},
            {"spec": {"minAvailable": "120%"}},
            {"spec": {"selector": {"matchLabels": {"a b": "c"}}}},
            {"spec": {"unhealthyPodEvictionPolicy": "Odd"}},
        ],
    ),
    LIMIT_RANGES: (
        named(LIMIT_RANGES, "a", spec={"limits": []}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"spec": {"limits": [{"type": "Pod"}, {"type": "Pod"}]}},
            {"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}]}},
            {"spec": {"limits": [{"type": "a b", "max": {"a b": "1"}}]}},
            {"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
            {"spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
            {"spec": {"limits": [{"type": "PersistentVolumeClaim"}]}},
            {"spec": {"limits": [{"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}}]}},
        ],
    ),
    QUOTAS: (
        named(QUOTAS, "a", spec={"hard": {"pods": "1"}}),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"spec": {"hard": {"pods": "-1"}}},
            {"spec": {"hard": {"pods": "1500m"}}},
            {"spec": {"scopes": ["Odd"]}},
            {"spec": {"scopes": ["Terminating", "NotTerminating"]}},
            {"spec": {"scopes": ["BestEffort"], "hard": {"cpu": "1"}}},
            {"spec": {"scopeSelector": {"matchExpressions": [{"scopeName": "Odd", "operator": "Odd"}]}}},
            {
                "spec": {
                    "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}
                }
            },
        ],
    ),
    STORAGE_CLASSES: (
        named(STORAGE_CLASSES, "faulty", provisioner="a"),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"provisioner": ""},
            {"provisioner": "A b"},
            {"parameters": {"": "x"}},
            {"reclaimPolicy": "Odd"},
            {"volumeBindingMode": "Odd"},
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "a b", "values": []}]}]},
            {"mountOptions": [""]},
        ],
    ),
    PRIORITY_CLASSES: (
        named(PRIORITY_CLASSES, "faulty", value=1),
        [
            {"metadata": {"labels": {"a b": "c"}}},
            {"value": 2_000_000_000},
            {"value": 2},
            {"preemptionPolicy": "Odd"},
            {"preemptionPolicy": "Never"},
            {"globalDefault": True},
        ],
    ),
}


def _faulty(kind: Resource, number: int) -> dict[str, Any]:
    """An object with one fault, or with some that chance chose."""
    body, faults = WRONG[kind]
    chance = random.Random(number)
    chosen = [faults[number]] if number < len(faults) else chance.sample(faults, chance.randint(2, 5))
    for fault in chosen:
        body = merge_patch(body, fault)
    return body


async def _told(stage: Stage, kind: Resource, numbers: range) -> None:
    """Such objects are made, and one in order becomes such."""
    name = f"faulty-{numbers.start}"
    await stage.given(kind, merge_patch(WRONG[kind][0], {"metadata": {"name": name}}))
    for number in numbers:
        wrong = _faulty(kind, number)
        await stage.create(kind, wrong, write=DRY)
        version = await stage.version_of(kind, name)
        after = merge_patch(wrong, {"metadata": {"name": name, "resourceVersion": version}})
        await stage.update(kind, name, after, write=DRY)
    if not kind.namespaced:
        await stage.cluster.delete(kind, name)
    if kind is VOLUMES:  # somebody might still use it
        await stage.cluster.patch(kind, name, {"metadata": {"finalizers": None}}, how=PatchType.MERGE)


for kind_, (_, faults_) in WRONG.items():
    single = len(faults_)
    TABLE.add("create", "several faults", f"{kind_.kind}: one fault", _told, kind_, range(single))
    for first in range(single, single + ROUNDS, 6):
        name_ = f"{kind_.kind}: several, from {first - single}"
        TABLE.add("create", "several faults", name_, _told, kind_, range(first, first + 6))

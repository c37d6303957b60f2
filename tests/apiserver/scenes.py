"""Scenes: requests in order, played to the real API server and to ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.apiserver.conversation import APPLY, MERGE, PATCH, STRATEGIC, YAML, Step

MAPS = "/api/v1/namespaces/{ns}/configmaps"
SERVICES = "/api/v1/namespaces/{ns}/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/{ns}.example.com/v1/namespaces/{ns}/gadgets"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
POD_SPEC = {"containers": [{"name": "web", "image": "registry.example/web:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
WEB = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {**head, "metadata": {"name": name, **metadata}, "data": {"a": "b"}}


def deployment(name: str, **spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "apps/v1", "kind": "Deployment"}
    return {**head, "metadata": {"name": name}, "spec": {**WEB, **spec}}


def gadget(name: str, group: str = "{ns}.example.com", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": name}, **fields}


def creating() -> Iterator[Step]:
    yield Step("POST", MAPS, config_map("one"))
    yield Step("POST", MAPS, config_map("one"))
    yield Step("POST", MAPS, {"metadata": {}})
    yield Step("POST", MAPS, config_map("Bad_Name"))
    yield Step("POST", MAPS, config_map("two", resourceVersion="5"))
    yield Step("POST", MAPS, config_map("two", namespace="other"))
    yield Step("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("two"))
    yield Step("POST", MAPS, {**config_map("two"), "apiVersion": "v2"})
    yield Step("POST", MAPS, {**config_map("two"), "kind": "Secret"})
    yield Step("POST", MAPS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "two"}})
    yield Step("POST", MAPS, {"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "two"}})
    yield Step("POST", MAPS, {"metadata": {"name": "kindless"}})
    yield Step("POST", f"{MAPS}?dryRun=All", config_map("dry"))
    yield Step("POST", f"{MAPS}?dryRun=Some", config_map("dry"))
    yield Step("POST", f"{MAPS}?fieldValidation=Bogus", config_map("dry"))
    yield Step("POST", f"{MAPS}?fieldManager={'x' * 129}", config_map("dry"))
    yield Step("POST", MAPS, {**config_map("more"), "foo": 1})
    yield Step("POST", f"{MAPS}?fieldValidation=Strict", {**config_map("strict"), "foo": 1})
    yield Step("POST", f"{MAPS}?fieldValidation=Ignore", {**config_map("ignored"), "foo": 1})
    yield Step("POST", f"{MAPS}?fieldValidation=Strict", '{"metadata":{"name":"x","name":"x"}}')
    yield Step("POST", MAPS, '{"metadata":{"name":"x"},"data":{"a":1}}')
    yield Step("POST", MAPS, "metadata: {name: from-yaml}\n", media=YAML)
    yield Step("POST", MAPS, config_map("finalizer", finalizers=["bad"]))
    yield Step("GET", MAPS)


def malformed() -> Iterator[Step]:
    for body in ("", "{bad", "[]", '"x"', '{"a":}', "{} x", '{"a":tru}', '{"a":1.}', '["a"', '{"a" 1}'):
        yield Step("POST", MAPS, body)
    yield Step("POST", MAPS, "{}", media="text/plain")
    yield Step("PATCH", f"{MAPS}/one", "{}", media="text/plain")
    yield Step("GET", MAPS, accept="text/html")
    yield Step("POST", f"{MAPS}/one", config_map("one"))
    yield Step("PUT", MAPS, config_map("one"))
    yield Step("GET", f"{MAPS}/one/status")
    yield Step("DELETE", "/api/v1/configmaps")
    yield Step("POST", "/api/v1/configmaps", config_map("one"))
    yield Step("GET", "/api/v1/configmaps/one")
    yield Step("POST", "/api/v1/namespaces/{ns}/namespaces", {"metadata": {"name": "x"}})
    yield Step("PATCH", "/api/v1/namespaces", {})
    yield Step("GET", "/api/v1/namespaces/{ns}/nodes")
    yield Step("GET", f"{MAPS}/one/two/three")
    yield Step("GET", "/api/v1/namespaces/{ns}/nothings")
    yield Step("GET", "/apis/nowhere/v1")
    yield Step("GET", "/apis/apps/v2")
    yield Step("GET", "/nowhere")
    yield Step("DELETE", f"{MAPS}/one", "{bad")
    yield Step("POST", MAPS, '{"metadata":{"name":"big"},"data":{"a":"' + "x" * 2**21 + '"}}')
    yield Step("POST", MAPS, '{"metadata":{"name":"big"},"data":{"a":"' + "x" * 3 * 2**20 + '"}}')
    endpoints = "/api/v1/namespaces/{ns}/endpoints"
    yield Step("POST", endpoints, {"metadata": {"name": "a"}, "subsets": ["x"]})
    yield Step("POST", endpoints, {"metadata": {"name": "a"}})
    yield Step("PUT", f"{endpoints}/a", {"metadata": {"name": "b"}})
    yield Step("PATCH", f"{endpoints}/a", "{bad", MERGE)
    yield Step("PATCH", f"{endpoints}/b", {}, MERGE)
    yield Step("PATCH", f"{endpoints}/a?fieldManager=a", {"kind": "Endpoints"}, APPLY)


def updating() -> Iterator[Step]:
    yield Step("POST", MAPS, config_map("one"))
    yield Step("PUT", f"{MAPS}/one", config_map("two"))
    yield Step("PUT", f"{MAPS}/nowhere", config_map("nowhere"))
    yield Step("PUT", f"{MAPS}/one", config_map("one", resourceVersion="1"))
    yield Step("PUT", f"{MAPS}/one", config_map("one", resourceVersion="abc"))
    yield Step("PUT", f"{MAPS}/one", config_map("one", uid="abc"))
    yield Step("PUT", f"{MAPS}/one", config_map("one", deletionTimestamp="2020-01-01T00:00:00Z"))
    yield Step("PUT", f"{MAPS}/one", config_map("one", creationTimestamp="2020-01-01T00:00:00Z"))
    yield Step("PUT", f"{MAPS}/one", {"metadata": {"name": "one"}, "immutable": True, "data": {"a": "c"}})
    yield Step("PUT", f"{MAPS}/one", {"metadata": {"name": "one"}, "immutable": True, "data": {"a": "d"}})
    yield Step("POST", DEPLOYMENTS, deployment("web"))
    yield Step("PUT", f"{DEPLOYMENTS}/web", deployment("web", replicas=3))
    yield Step("PUT", f"{DEPLOYMENTS}/web", deployment("web", replicas=3))
    yield Step("PUT", f"{DEPLOYMENTS}/web/status", {**deployment("web"), "status": {"replicas": 2}})
    yield Step("PUT", f"{DEPLOYMENTS}/web", deployment("web", selector={"matchLabels": {"app": "other"}}))
    yield Step("GET", f"{DEPLOYMENTS}/web", accept=PARTIAL)
    yield Step("GET", f"{DEPLOYMENTS}/web")


def patching() -> Iterator[Step]:
    yield Step("POST", DEPLOYMENTS, deployment("web"))
    yield Step("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 2}}, media=MERGE)
    more = {"spec": {"template": {"spec": {"containers": [{"name": "log", "image": "log:1"}]}}}}
    yield Step("PATCH", f"{DEPLOYMENTS}/web", more, media=STRATEGIC)
    yield Step(
        "PATCH", f"{DEPLOYMENTS}/web", [{"op": "replace", "path": "/spec/replicas", "value": 4}], media=PATCH
    )
    yield Step("PATCH", f"{DEPLOYMENTS}/web", [{"op": "remove", "path": "/spec/nowhere"}], media=PATCH)
    yield Step("PATCH", f"{DEPLOYMENTS}/web", {"metadata": {"name": "x"}}, media=MERGE)
    yield Step("PATCH", f"{DEPLOYMENTS}/web", {"metadata": {"uid": "x"}}, media=MERGE)
    yield Step("PATCH", f"{DEPLOYMENTS}/web", {"metadata": {"name": "x", "foo": 1}}, media=MERGE)
    nameless = [{"op": "replace", "path": "/metadata", "value": {"foo": "bar"}}]
    yield Step("PATCH", f"{DEPLOYMENTS}/web", nameless, media=PATCH)
    yield Step("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 5}, "foo": 1}, media=MERGE)
    yield Step("PATCH", f"{DEPLOYMENTS}/web?dryRun=All", {"spec": {"replicas": 6}}, media=MERGE)
    yield Step("PATCH", f"{DEPLOYMENTS}/web?force=true", {}, media=MERGE)
    yield Step("PATCH", f"{DEPLOYMENTS}/nowhere", {}, media=MERGE)
    yield Step("PATCH", f"{DEPLOYMENTS}/web", "{bad", media=MERGE)
    yield Step("PATCH", f"{DEPLOYMENTS}/web", {}, media=MERGE)
    yield Step("GET", f"{DEPLOYMENTS}/web")


def applying() -> Iterator[Step]:
    first = deployment("web", replicas=1)
    yield Step("PATCH", f"{DEPLOYMENTS}/web", first, media=APPLY)
    yield Step("PATCH", f"{DEPLOYMENTS}/web?fieldManager=a", first, media=APPLY)
    yield Step("PATCH", f"{DEPLOYMENTS}/web?fieldManager=a", first, media=APPLY)
    yield Step("PATCH", f"{DEPLOYMENTS}/web?fieldManager=b", deployment("web", replicas=2), media=APPLY)
    forced = f"{DEPLOYMENTS}/web?fieldManager=b&force=true"
    yield Step("PATCH", forced, deployment("web", replicas=2), media=APPLY)
    yield Step("PATCH", f"{DEPLOYMENTS}/web?fieldManager=a", deployment("web"), media=APPLY)
    yield Step("PATCH", f"{DEPLOYMENTS}/web?fieldManager=b", {**first, "foo": 1}, media=APPLY)
    yield Step("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 7}}, media=MERGE)
    yield Step("GET", f"{DEPLOYMENTS}/web/scale")
    yield Step("PUT", f"{DEPLOYMENTS}/web/scale", {"metadata": {"name": "web"}, "spec": {"replicas": -1}})
    yield Step("GET", f"{DEPLOYMENTS}/web")


def deleting() -> Iterator[Step]:
    for name in ("a", "b", "c", "d", "e"):
        yield Step("POST", MAPS, config_map(name, labels={"l": name}))
    yield Step("DELETE", f"{MAPS}/a?dryRun=All", accept=PARTIAL)
    yield Step("DELETE", f"{MAPS}/a")
    yield Step("DELETE", f"{MAPS}/a")
    yield Step("DELETE", f"{MAPS}/b", {"preconditions": {"uid": "x"}})
    yield Step("DELETE", f"{MAPS}/b", {"preconditions": {"resourceVersion": "1"}})
    yield Step("DELETE", f"{MAPS}/b?dryRun=All")
    yield Step("DELETE", f"{MAPS}/b", {"propagationPolicy": "Sideways"})
    yield Step("POST", MAPS, config_map("kept", finalizers=["example.com/a"]))
    for orphaned in (True, False, False):
        yield Step("DELETE", f"{MAPS}/kept", {"orphanDependents": orphaned})
    yield Step("DELETE", f"{MAPS}/b", {"propagationPolicy": "Foreground"})
    yield Step("DELETE", f"{MAPS}/b", {"propagationPolicy": "Orphan"})
    yield Step("DELETE", f"{MAPS}/b", {"propagationPolicy": "Background"})
    yield Step("PATCH", f"{MAPS}/c", {"metadata": {"finalizers": ["a.example/b"]}}, media=MERGE)
    yield Step("DELETE", f"{MAPS}/c")
    yield Step("DELETE", f"{MAPS}/c")
    yield Step(
        "PATCH", f"{MAPS}/c", {"metadata": {"finalizers": ["a.example/b", "c.example/d"]}}, media=MERGE
    )
    yield Step("PATCH", f"{MAPS}/c", {"metadata": {"finalizers": None}}, media=MERGE)
    yield Step("GET", f"{MAPS}/c")
    yield Step("DELETE", f"{MAPS}?labelSelector=l=d")
    yield Step("GET", MAPS)


def listing() -> Iterator[Step]:
    for name in ("a", "b", "c"):
        yield Step("POST", MAPS, config_map(name, labels={"l": name}))
    for query in (
        "limit=2",
        "limit=2&labelSelector=l",
        "limit=3",
        "limit=abc",
        "limit=1&continue=abc",
        "labelSelector=l in (a,b)",
        "labelSelector=a b",
        "fieldSelector=metadata.name=b",
        "fieldSelector=metadata.name!=b",
        "fieldSelector=data.a=b",
        "resourceVersion=0",
        "resourceVersion=abc",
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Sideways",
        "resourceVersion=1&resourceVersionMatch=Exact",
        "resourceVersion=99999999&resourceVersionMatch=Exact",
    ):
        yield Step("GET", f"{MAPS}?{query}")
    yield Step("GET", f"{MAPS}?limit=1", accept=PARTIAL.replace("Metadata;", "MetadataList;"))
    yield Step("GET", f"{MAPS}/a?resourceVersion=99999999")


def services() -> Iterator[Step]:
    specs: tuple[dict[str, Any], ...] = (
        {"ports": [{"port": 80}]},
        {"type": "NodePort", "ports": [{"port": 80}]},
        {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]},
        {"clusterIP": "None", "ports": [{"port": 80}]},
        {"type": "ExternalName", "externalName": "a.example"},
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]},
        {"clusterIP": "1.2.3.4", "ports": [{"port": 80}]},
        {"clusterIP": "10.96.0.1", "ports": [{"port": 80}]},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
    )
    for number, spec in enumerate(specs):
        yield Step("POST", SERVICES, {"metadata": {"name": f"s{number}"}, "spec": spec})
    for kind in ("NodePort", "ClusterIP", "LoadBalancer"):
        yield Step("PATCH", f"{SERVICES}/s0", {"spec": {"type": kind}}, media=MERGE)
    yield Step("PUT", f"{SERVICES}/s1", {"metadata": {"name": "s1"}, "spec": {"ports": [{"port": 81}]}})
    yield Step("PUT", f"{SERVICES}/made", {"metadata": {"name": "made"}, "spec": {"ports": [{"port": 81}]}})
    yield Step("DELETE", f"{SERVICES}/s0")


def namespaces() -> Iterator[Step]:
    inner = "/api/v1/namespaces/{ns}-inner"
    yield Step("POST", "/api/v1/namespaces", {"metadata": {"name": "{ns}-inner"}})
    yield Step("POST", f"{inner}/configmaps", config_map("a"))
    yield Step("PUT", inner, {"metadata": {"name": "{ns}-inner", "labels": {"a": "b"}}})
    yield Step("PATCH", f"{inner}/status", {"status": {"phase": "Terminating"}}, media=MERGE)
    yield Step(
        "PUT", f"{inner}/finalize", {"metadata": {"name": "{ns}-inner"}, "spec": {"finalizers": ["bad"]}}
    )
    yield Step("DELETE", inner)
    yield Step("PATCH", f"{inner}/status", {"status": {"phase": "Active"}}, media=MERGE)
    yield Step("POST", f"{inner}/configmaps", config_map("b"))
    yield Step("PUT", f"{inner}/configmaps/a", {"metadata": {"name": "a"}, "data": {"c": "d"}})
    yield Step("DELETE", inner)
    yield Step("PUT", f"{inner}/finalize", {"metadata": {"name": "{ns}-inner"}, "spec": {"finalizers": []}})
    yield Step("GET", inner)
    yield Step("DELETE", "/api/v1/namespaces/default")
    yield Step("POST", "/api/v1/namespaces", {"metadata": {"name": "a.b"}})


DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.{ns}.example.com"},
    "spec": {
        "group": "{ns}.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "default": 3, "maximum": 9},
                                    "weight": {"type": "number"},
                                    "title": {"type": "string"},
                                },
                            },
                            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
                        },
                    }
                },
            },
            {
                "name": "v1beta1",
                "served": True,
                "storage": False,
                "deprecated": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            },
        ],
    },
}


def custom_resources() -> Iterator[Step]:
    yield Step("POST", GADGETS, gadget("a", spec={"title": "t", "more": 1}, status={"size": 5}))
    yield Step("POST", GADGETS, gadget("b", spec={"title": 5}))
    yield Step("POST", GADGETS, gadget("b", spec={"size": 10}))
    yield Step("POST", GADGETS, {"metadata": {"name": "b"}})
    yield Step("POST", f"{GADGETS}?dryRun=All", gadget("b", spec={"weight": 1 << 63}))
    yield Step("PATCH", f"{GADGETS}/a?dryRun=All", {"spec": {"weight": (1 << 64) - 1}}, media=MERGE)
    yield Step("POST", GADGETS, gadget("b", group="other.example.com"))
    yield Step("POST", f"{GADGETS}?fieldValidation=Strict", gadget("b", spec={"more": 1}))
    yield Step("PUT", f"{GADGETS}/a", gadget("a", spec={}))
    yield Step("GET", GADGETS.replace("/v1/", "/v1beta1/") + "/a")
    yield Step("PATCH", f"{GADGETS}/a/status", {"status": {"size": 2}, "spec": {"size": 1}}, media=MERGE)
    yield Step("PATCH", f"{GADGETS}/a/scale", {"spec": {"replicas": 4}}, media=MERGE)
    yield Step("GET", f"{GADGETS}/a/scale")
    yield Step("PATCH", f"{GADGETS}/a", {"spec": {"size": 1}}, media=STRATEGIC)
    yield Step("PATCH", f"{GADGETS}/c?fieldManager=m", gadget("c", spec={"size": 4}), media=APPLY)
    yield Step("PATCH", f"{GADGETS}/c?fieldManager=n", gadget("c", spec={"size": 5}), media=APPLY)
    yield Step("GET", f"{GADGETS}?fieldSelector=spec.size=4")
    yield Step("GET", GADGETS)
    yield Step("GET", "/apis/{ns}.example.com")
    yield Step("GET", "/apis/{ns}.example.com/v1")
    yield Step("DELETE", f"{GADGETS}/a")
    yield Step("DELETE", GADGETS)


def pods() -> Iterator[Step]:
    base = "/api/v1/namespaces/{ns}"
    yield Step("POST", f"{base}/pods", {"metadata": {"name": "a"}, "spec": POD_SPEC})
    yield Step("POST", f"{base}/serviceaccounts", {"metadata": {"name": "default"}})
    yield Step("POST", f"{base}/pods", {"metadata": {"name": "a"}, "spec": POD_SPEC})
    nobody = {**POD_SPEC, "serviceAccountName": "nobody"}
    yield Step("POST", f"{base}/pods", {"metadata": {"name": "b"}, "spec": nobody})
    critical = {**POD_SPEC, "priorityClassName": "system-node-critical", "nodeName": "n"}
    yield Step("POST", f"{base}/pods", {"metadata": {"name": "c"}, "spec": critical})
    yield Step("POST", f"{base}/pods", {"metadata": {"name": "d"}, "spec": POD_SPEC})
    yield Step("POST", f"{base}/pods/d/binding", {"target": {"kind": "Node", "name": "n"}})
    binding = {"metadata": {"name": "d"}, "target": {"kind": "Node", "name": "n"}}
    yield Step("POST", f"{base}/pods/d/binding", binding)
    yield Step("POST", f"{base}/pods/d/binding", binding)
    yield Step("POST", f"{base}/bindings", binding)
    yield Step("GET", f"{base}/pods/d")
    yield Step("POST", f"{base}/pods/a/eviction", {"metadata": {"name": "a"}})
    yield Step("POST", f"{base}/pods/a/eviction", {"metadata": {"name": "a"}})
    yield from evicting(base)
    yield from budgeting(base)
    yield from debugging(base)
    yield Step("GET", f"{base}/endpoints")
    yield Step("GET", f"{base}/endpoints/a")
    yield Step("DELETE", f"{base}/pods/a")
    yield Step("DELETE", f"{base}/pods/c")
    yield Step("DELETE", f"{base}/pods/c", {"gracePeriodSeconds": 5})
    yield Step("DELETE", f"{base}/pods/c", {"gracePeriodSeconds": 0})
    yield Step("GET", f"{base}/pods/c")


def evicting(base: str) -> Iterator[Step]:
    """Evictions that are refused or only tried, and one that is not; Pod `d` is on a node."""
    path, named = f"{base}/pods/d/eviction", {"metadata": {"name": "d"}}
    for body in (
        {},
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "d", "namespace": "other"}},
        {"apiVersion": "v1", "kind": "Pod", **named},
        {"apiVersion": "policy/v2", "kind": "Eviction", **named},
        "[]",
        {**named, "deleteOptions": {"dryRun": ["Some"]}},
        {**named, "deleteOptions": {"dryRun": ["All"]}},
        {**named, "deleteOptions": {"preconditions": {"uid": "another"}}},
        {**named, "deleteOptions": {"preconditions": {"resourceVersion": "1"}}},
    ):
        yield Step("POST", path, body)
    yield Step("POST", f"{path}?dryRun=All", named)
    yield Step("POST", f"{path}?fieldValidation=Strict", {**named, "foo": 1})
    yield Step("GET", f"{base}/pods/d")
    yield Step("POST", path, named)
    yield Step("GET", f"{base}/pods/d")


def budgeting(base: str) -> Iterator[Step]:
    """Evictions that a budget refuses, allows, or does not mind; nobody counts but the scene itself."""
    budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    meant = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    for name in ("g", "h"):
        pod = {"metadata": {"name": name, "labels": {"app": "kept"}}, "spec": {**POD_SPEC, "nodeName": "n"}}
        yield Step("POST", f"{base}/pods", pod)
    yield Step("POST", budgets, {"metadata": {"name": "kept"}, "spec": meant})
    yield Step("POST", f"{base}/pods/g/eviction?dryRun=All", {"metadata": {"name": "g"}})  # it has not begun
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    for name in ("g", "h"):
        yield Step("PATCH", f"{base}/pods/{name}/status", running, media=MERGE)
    yield from evicted_twice(base)
    counts = {"observedGeneration": 1, "expectedPods": 2, "desiredHealthy": 2, "currentHealthy": 2}
    shut = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}
    shut["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    failed = {**shut, "reason": "SyncFailed", "message": "no owner"}
    opened = {**shut, "status": "True", "reason": "SufficientPods"}
    for condition, allowed in ((shut, 0), (failed, 0), (opened, 1)):
        status = {"status": {**counts, "disruptionsAllowed": allowed, "conditions": [condition]}}
        yield Step("PATCH", f"{budgets}/kept/status", status, media=MERGE)
        yield from evicted_twice(base)
        yield Step("GET", f"{budgets}/kept")
        yield Step("GET", f"{base}/pods/g")
    yield from unready(base, budgets)
    yield Step("POST", budgets, {"metadata": {"name": "too"}, "spec": meant})
    yield Step("POST", f"{base}/pods/h/eviction", {"metadata": {"name": "h"}})


def evicted_twice(base: str) -> Iterator[Step]:
    """A Pod that is evicted, after a try."""
    yield Step("POST", f"{base}/pods/g/eviction?dryRun=All", {"metadata": {"name": "g"}})
    yield Step("POST", f"{base}/pods/g/eviction", {"metadata": {"name": "g"}})


def unready(base: str, budgets: str) -> Iterator[Step]:
    """A Pod that is not ready: it may go where enough others are, or where its budget never minds."""
    path, named = f"{base}/pods/h/eviction?dryRun=All", {"metadata": {"name": "h"}}
    sick = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}
    yield Step("PATCH", f"{base}/pods/h/status", sick, media=MERGE)
    for healthy in (2, 1):
        status = {"status": {"currentHealthy": healthy, "desiredHealthy": 2, "disruptionsAllowed": 0}}
        yield Step("PATCH", f"{budgets}/kept/status", status, media=MERGE)
        yield Step("POST", path, named)
    always = {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    yield Step("PATCH", f"{budgets}/kept", always, media=MERGE)
    yield Step("POST", path, named)


def debugging(base: str) -> Iterator[Step]:
    """Containers that are added to a running Pod."""
    yield Step("POST", f"{base}/pods", {"metadata": {"name": "e"}, "spec": POD_SPEC})
    path = f"{base}/pods/e/ephemeralcontainers"
    for added in (
        {"name": "shell", "image": "shell:1", "targetContainerName": "web"},
        {"name": "shell", "image": "shell:2"},
        {"name": "web", "image": "shell:1"},
        {"name": "Other_"},
        {"name": "other", "image": "shell:1", "targetContainerName": "nowhere"},
        {
            "name": "other",
            "image": "shell:1",
            "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": 1}},
        },
    ):
        yield Step("PATCH", path, {"spec": {"ephemeralContainers": [added]}}, media=STRATEGIC)
    yield Step("PATCH", path, {"spec": {"ephemeralContainers": None}}, media=MERGE)
    beside = {"metadata": {"labels": {"a": "b"}}, "spec": {"activeDeadlineSeconds": 5}}
    yield Step("PATCH", path, beside, media=MERGE)
    yield Step("GET", path)


def questions() -> Iterator[Step]:
    rights, one = "/apis/authorization.k8s.io/v1", {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    both = {**one, "nonResourceAttributes": {"path": "/a"}}
    for spec in ({}, one, both):
        yield Step("POST", f"{rights}/selfsubjectaccessreviews", {"spec": spec})
        yield Step("POST", f"{rights}/subjectaccessreviews", {"spec": spec})
        admin = {**spec, "user": "admin", "groups": ["system:masters"]}
        yield Step("POST", f"{rights}/subjectaccessreviews", {"spec": admin})
        yield Step("POST", f"{rights}/namespaces/{{ns}}/localsubjectaccessreviews", {"spec": admin})
    yield Step("POST", f"{rights}/selfsubjectrulesreviews", {"spec": {}})
    yield Step("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}})


SCENES = {
    scene.__name__: scene
    for scene in (
        creating,
        malformed,
        updating,
        patching,
        applying,
        deleting,
        listing,
        services,
        namespaces,
        pods,
        questions,
    )
}

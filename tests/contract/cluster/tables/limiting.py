"""Limits, quotas, topologies and what else bounds others: what is wrong with them, alone and together.

Where the real server looks at a map, one thing alone is wrong in it: it goes through maps in any order.
"""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    AUTOSCALERS,
    GADGETS,
    INGRESSES,
    LEASES,
    LIMIT_RANGES,
    NETWORK_POLICIES,
    QUOTAS,
    STORAGE_CLASSES,
    gadget,
    named,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
Json = dict[str, Any]


def _limit(kind: str = "Container", **sides: Json) -> Json:
    return {"type": kind, **sides}


#: entries of a LimitRange, each list of them refused
LIMITS: dict[str, list[Json]] = {
    "a resource that no container has": [_limit(max={"storage": "1"})],
    "a resource that nobody knows": [_limit(min={"gems": "1"})],
    "a resource that nobody knows, for claims": [
        _limit("PersistentVolumeClaim", max={"gems": "1"}, min={"storage": "1"})
    ],
    "a resource that nobody knows, for a kind with a domain": [_limit("example.com/x", max={"gems": "1"})],
    "a resource with a domain of quotas": [_limit("Pod", max={"requests.example.com/gems": "1"})],
    "a resource with two slashes": [_limit("Pod", max={"a/b/c": "1"})],
    "defaults of pods": [_limit("Pod", default={"cpu": "1"}, defaultRequest={"cpu": "1"})],
    "claims without storage": [_limit("PersistentVolumeClaim", max={"cpu": "1"})],
    "claims without anything": [_limit("PersistentVolumeClaim")],
    "a minimum above everything": [
        _limit(min={"cpu": "3"}, max={"cpu": "2"}, default={"cpu": "1"}, defaultRequest={"cpu": "1"})
    ],
    "a maximum below everything": [
        _limit(max={"cpu": "1"}, default={"cpu": "2"}, defaultRequest={"cpu": "3"})
    ],
    "a ratio below one": [_limit(maxLimitRequestRatio={"cpu": "500m"})],
    "a ratio that the bounds do not allow": [
        _limit(
            min={"cpu": "1"}, max={"cpu": "2"}, default={"cpu": "2"}, maxLimitRequestRatio={"cpu": "2001m"}
        )
    ],
    "a ratio to nothing": [_limit(min={"cpu": "0"}, max={"cpu": "-1"}, maxLimitRequestRatio={"cpu": "2"})],
    "a ratio of amounts beyond thousandths": [
        _limit("Pod", min={"memory": "3E"}, max={"memory": "8E"}, maxLimitRequestRatio={"memory": "3"})
    ],
    "a request of what cannot be promised twice": [
        _limit(default={"example.com/gems": "2"}, defaultRequest={"example.com/gems": "1"})
    ],
    "a kind twice, and one without a name": [_limit("Pod"), _limit("Pod"), _limit("")],
}
#: what a ResourceQuota says, each refused
QUOTA_SPECS: dict[str, Json] = {
    "huge pages as limits": {"hard": {"limits.hugepages-2Mi": "1"}},
    "something that only ends like huge pages": {"hard": {"my.hugepages-2Mi": "1"}},
    "a bad name": {"hard": {"a b": "1"}},
    "a scope twice wrong": {"scopes": ["Wild", "Wild"]},
    "scopes that contradict": {"scopes": ["BestEffort", "NotBestEffort", "NotTerminating", "Terminating"]},
    "a scope for something else": {"hard": {"services": "1"}, "scopes": ["BestEffort", "PriorityClass"]},
    "a scope of volumes for pods": {"hard": {"pods": "1"}, "scopes": ["VolumeAttributesClass"]},
    "a selected scope for something else": {
        "hard": {"services": "1"},
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]},
                {"scopeName": "Terminating", "operator": "Exists"},
            ]
        },
    },
    "an empty expression": {"scopeSelector": {"matchExpressions": [{}]}},
    "an expression without values": {
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "NotIn"}]}
    },
    "an expression with values too many": {
        "scopeSelector": {
            "matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists", "values": ["x"]}]
        }
    },
    "an expression that may only ask for existence": {
        "scopeSelector": {
            "matchExpressions": [{"scopeName": "BestEffort", "operator": "In", "values": ["x"]}]
        }
    },
    "expressions that contradict": {
        "scopes": ["BestEffort"],
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": scope, "operator": "Exists"} for scope in ("Terminating", "NotTerminating")
            ]
        },
    },
}
ZONE = {"key": "zone", "values": ["a", "b"]}
TOPOLOGIES: dict[str, list[Json]] = {
    "an empty term": [{}],
    "two empty terms": [{}, {"matchLabelExpressions": []}],
    "a term twice": [
        {"matchLabelExpressions": [ZONE]},
        {"matchLabelExpressions": [{**ZONE, "values": ["b", "a"]}]},
    ],
    "a key twice": [{"matchLabelExpressions": [ZONE, ZONE]}],
    "a value twice": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b", "a"]}]}],
    "no values, and a bad key": [{"matchLabelExpressions": [{"key": "a b"}]}],
    "nothing": [{"matchLabelExpressions": [{}]}],
}
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
OTHERS: dict[str, tuple[Resource, Json]] = {
    "a policy of three kinds": (
        NETWORK_POLICIES,
        {"spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Wild"]}},
    ),
    "a range of ports that ends before it begins": (
        NETWORK_POLICIES,
        {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80, "endPort": 50}]}]}},
    ),
    "an ingress with a bad secret and a bad host": (
        INGRESSES,
        {"spec": {"tls": [{"hosts": ["A b"], "secretName": "Bad Name"}], "rules": [{"host": "A.b"}]}},
    ),
    "an ingress with a bad secret and nothing else": (
        INGRESSES,
        {"spec": {"tls": [{"secretName": "Bad Name"}]}},
    ),
}


async def _refused(stage: Stage, kind: Resource, body: Json) -> None:
    await stage.create(kind, named(kind, "refused", **body))


for what, entries_ in LIMITS.items():
    TABLE.add("create", "invalid LimitRange", what, _refused, LIMIT_RANGES, {"spec": {"limits": entries_}})
for what, spec_ in QUOTA_SPECS.items():
    TABLE.add("create", "invalid ResourceQuota", what, _refused, QUOTAS, {"spec": spec_})
for what, terms_ in TOPOLOGIES.items():
    body_ = {"provisioner": "example.com/x", "allowedTopologies": terms_}
    TABLE.add("create", "invalid StorageClass", f"topologies: {what}", _refused, STORAGE_CLASSES, body_)
for what, (kind_, given_) in OTHERS.items():
    TABLE.add("create", f"invalid {kind_.kind}", what, _refused, kind_, given_)


@case("update", "immutable fields")
async def the_scopes_of_a_quota(stage: Stage) -> None:
    await stage.given(QUOTAS, named(QUOTAS, "a", spec={"scopes": ["NotTerminating"]}))
    for scopes in (None, ["Terminating"], ["NotTerminating", "NotTerminating"], ["NotTerminating"]):
        await stage.update(QUOTAS, "a", named(QUOTAS, "a", spec={"scopes": scopes} if scopes else {}))


@case("update", "preconditions")
async def a_patch_that_takes_its_version_from_an_object(stage: Stage) -> None:
    await stage.given(LEASES, named(LEASES, "a", spec={"holderIdentity": "h"}))
    await stage.given(GADGETS, gadget("a", size=1))
    for kind in (LEASES, GADGETS):
        for value in ({"name": "a"}, {"name": "a", "resourceVersion": "0"}):
            patch = [{"op": "replace", "path": "/metadata", "value": value}]
            await stage.patch(kind, "a", patch, how=PatchType.JSON)
    for gone in (None, "", "0"):
        body = {"metadata": {"resourceVersion": gone}, "spec": {"holderIdentity": f"{gone}"}}
        await stage.patch(LEASES, "a", body, how=PatchType.MERGE)
    await stage.apply(LEASES, "a", named(LEASES, "a", spec={"leaseDurationSeconds": 5}))


@case("apply", "wrong shapes")
async def amounts_that_are_maps_or_lists(stage: Stage) -> None:
    for amount in ({"a": "b"}, {}, ["1"], [], True):
        await stage.apply(
            LIMIT_RANGES,
            "a",
            named(LIMIT_RANGES, "a", spec={"limits": [_limit(max={"cpu": amount})]}),
            force=True,
        )
        await stage.apply(QUOTAS, "a", named(QUOTAS, "a", spec={"hard": {"pods": amount}}), force=True)
        target = {"type": "AverageValue", "averageValue": amount}
        metric = {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": target}}
        await stage.apply(AUTOSCALERS, "a", named(AUTOSCALERS, "a", spec={"metrics": [metric]}), force=True)

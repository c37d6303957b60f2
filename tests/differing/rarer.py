"""Where kinds that few people write by hand are judged otherwise: more rows for docs/kinds-data.md."""

from __future__ import annotations

from typing import Any

from tests.apiserver.bad_requests import MERGE
from tests.apiserver.wire import delete
from tests.differing.asking import Difference, Differences, Proof, patch, post

DRY = "?dryRun=All"
CORE = "/api/v1/namespaces/default"
ENDPOINTS = f"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices{DRY}"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NODES, VOLUMES = f"/api/v1/nodes{DRY}", f"/api/v1/persistentvolumes{DRY}"
LABELS = {"app": "differing"}
CONTAINERS = [{"name": "a", "image": "a:1"}]
#: pods of jobs are not always restarted
RESTARTED = {
    "schedule": "* * * * *",
    "successfulJobsHistoryLimit": -1,
    "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Always", "containers": CONTAINERS}}}},
}


def _named(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "differing"}, **fields}


def _deployment(volumes: list[Any], **spec: Any) -> dict[str, Any]:
    pod = {"containers": CONTAINERS, "volumes": volumes}
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    return _named(spec={"selector": {"matchLabels": LABELS}, "template": template, **spec})


RARER: Differences = {
    "`deprecatedTopology` of an EndpointSlice": Difference(
        real="dropped",
        ours="kept",
        proofs=(
            Proof(
                asked=post(
                    ENDPOINTS,
                    _named(
                        addressType="IPv4",
                        endpoints=[{"addresses": ["192.0.2.1"], "deprecatedTopology": {"a": "b"}}],
                    ),
                ),
                part=("endpoints", 0, "deprecatedTopology"),
            ),
        ),
    ),
    "an empty `ipFamilyPolicy` of a Service of the type `ExternalName`": Difference(
        real="refused",
        ours="accepted",
        proofs=(
            Proof(
                asked=post(
                    f"{CORE}/services{DRY}",
                    _named(spec={"type": "ExternalName", "externalName": "a.example", "ipFamilyPolicy": ""}),
                )
            ),
        ),
    ),
    "conditions without a type in the status of a budget": Difference(
        real="refused",
        ours="accepted",
        proofs=(
            Proof(
                given=(post(BUDGETS, _named(spec={"minAvailable": 1, "selector": {"matchLabels": LABELS}})),),
                asked=patch(
                    f"{BUDGETS}/differing/status{DRY}",
                    {
                        "status": {
                            "conditions": [
                                {
                                    "type": "",
                                    "status": "True",
                                    "reason": "A",
                                    "message": "",
                                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                                }
                            ]
                        }
                    },
                    MERGE,
                ),
                after=(delete(f"{BUDGETS}/differing"),),
            ),
        ),
    ),
    "a `podCIDR` of a Node beside other `podCIDRs`": Difference(
        real="takes the place of the first",
        ours="is kept beside them",
        proofs=(
            Proof(
                asked=post(NODES, _named(spec={"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24"]})),
                part=("spec", "podCIDRs"),
            ),
        ),
    ),
    "`ReadWriteOncePod` beside other modes of a PersistentVolume": Difference(
        real="refused",
        ours="accepted",
        proofs=(
            Proof(
                asked=post(
                    VOLUMES,
                    _named(
                        spec={
                            "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
                            "capacity": {"storage": "1Gi"},
                            "hostPath": {"path": "/a"},
                        }
                    ),
                )
            ),
        ),
    ),
    "a strategy of an unknown type, where a refusal shows it": Difference(
        real="with Go's names of all fields",
        ours="with those of JSON inside",
        proofs=(
            Proof(
                asked=post(
                    f"/apis/apps/v1/namespaces/default/deployments{DRY}",
                    _deployment([], strategy={"type": "Odd", "rollingUpdate": {"maxSurge": 1}}),
                )
            ),
        ),
    ),
    "two volumes of one name, the first of which is wrong": Difference(
        real="the second is not called a duplicate",
        ours="it is",
        proofs=(
            Proof(
                asked=post(
                    f"/apis/apps/v1/namespaces/default/deployments{DRY}",
                    _deployment([{"name": "A"}, {"name": "A", "emptyDir": {}}]),
                )
            ),
            Proof(
                asked=post(
                    f"/apis/apps/v1/namespaces/default/deployments{DRY}",
                    _deployment([{"name": "a", "hostPath": {"path": ""}}, {"name": "a", "emptyDir": {}}]),
                )
            ),
        ),
    ),
    "the template of a CronJob beside wrong limits": Difference(
        real="told first",
        ours="told last",
        proofs=(
            Proof(asked=post(f"/apis/batch/v1/namespaces/default/cronjobs{DRY}", _named(spec=RESTARTED))),
        ),
    ),
    "`rules` of a Role that goes with its last finalizer": Difference(
        real="an empty list",
        ours="null",
        proofs=(
            Proof(
                given=(
                    post(
                        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
                        {"metadata": {"name": "differing", "finalizers": ["a.example/b"]}, "rules": []},
                    ),
                    delete("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/differing"),
                ),
                asked=patch(
                    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/differing",
                    {"metadata": {"finalizers": None}, "rules": []},
                    MERGE,
                ),
                part=("rules",),
            ),
        ),
    ),
}

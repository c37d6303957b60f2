"""What few people write by hand: what is dropped, what takes another's place, and what is refused."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    BUDGETS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NODES,
    SERVICES,
    STATEFUL_SETS,
    VOLUMES,
    named,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
DRY = Write(dry_run=True)
LABELS = {"app": "a"}
CONTAINERS = [{"name": "a", "image": "a:1"}]
TIME = "2026-01-02T03:04:05Z"
CONDITION = {"type": "A", "status": "True", "reason": "B", "message": "", "lastTransitionTime": TIME}


def _workload(kind: Resource, pod: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS, **pod}}
    return named(kind, "a", spec={"selector": {"matchLabels": LABELS}, "template": template, **spec})


def _volume(**spec: Any) -> dict[str, Any]:
    held = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
    return named(VOLUMES, "rarer", spec={**held, **spec})


def _cron_job(job: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": {"containers": CONTAINERS, "restartPolicy": "Always"}}, **job}}
    return named(CRON_JOBS, "a", spec={"schedule": "* * * * *", "jobTemplate": template, **spec})


def _by_name(**spec: Any) -> dict[str, Any]:
    return named(SERVICES, "a", spec={"type": "ExternalName", "externalName": "a.example", **spec})


ROLLS: dict[str, dict[str, Any]] = {
    "with nothing": {},
    "with an empty roll": {"rollingUpdate": {}},
    "with a number": {"rollingUpdate": {"maxUnavailable": 1}},
    "with a share": {"rollingUpdate": {"maxUnavailable": "10%"}},
}
FIRST: dict[str, dict[str, Any]] = {
    "of a bad name": {"name": "A"},
    "without a path": {"name": "a", "hostPath": {"path": ""}},
    "in order": {"name": "a", "emptyDir": {}},
    "without a name": {"emptyDir": {}},
}
MOUNTED = [{"name": "a", "image": "a:1", "volumeMounts": [{"name": "a", "mountPath": "/a"}]}]
WRITTEN: dict[str, tuple[Resource, dict[str, Any]]] = {
    "an outside name with an empty policy of families": (SERVICES, _by_name(ipFamilyPolicy="")),
    "an outside name with a policy of families": (SERVICES, _by_name(ipFamilyPolicy="SingleStack")),
    "an outside name without families": (SERVICES, _by_name(ipFamilies=[])),
    "a node's first range beside others": (
        NODES,
        named(NODES, "rarer", spec={"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24", "fd00::/64"]}),
    ),
    "a node's first range beside itself": (
        NODES,
        named(NODES, "rarer", spec={"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}),
    ),
    "a volume for one pod and for others": (
        VOLUMES,
        _volume(accessModes=["ReadWriteOnce", "ReadWriteOncePod"]),
    ),
    "a volume for one pod and for nobody known": (VOLUMES, _volume(accessModes=["x", "ReadWriteOncePod"])),
    "a volume for one pod": (VOLUMES, _volume(accessModes=["ReadWriteOncePod"])),
    **{
        f"a strategy of an odd type of a {kind.kind} {how}": (
            kind,
            _workload(kind, {}, **{field: {"type": "Odd", **rolling}}, **more),
        )
        for kind, field, more in (
            (DEPLOYMENTS, "strategy", {}),
            (DAEMON_SETS, "updateStrategy", {}),
            (STATEFUL_SETS, "updateStrategy", {"serviceName": "a"}),
        )
        for how, rolling in ROLLS.items()
    },
    **{
        f"two volumes of one name, the first {what}": (
            DEPLOYMENTS,
            _workload(DEPLOYMENTS, {"volumes": [first, {**first, "emptyDir": {}, "hostPath": None}]}),
        )
        for what, first in FIRST.items()
    },
    "a mount of a wrong volume": (
        DEPLOYMENTS,
        _workload(DEPLOYMENTS, {"volumes": [{"name": "a", "hostPath": {"path": ""}}], "containers": MOUNTED}),
    ),
    "a schedule that is wrong inside and outside": (
        CRON_JOBS,
        _cron_job(
            {"parallelism": -1},
            successfulJobsHistoryLimit=-1,
            failedJobsHistoryLimit=-1,
            startingDeadlineSeconds=-1,
            concurrencyPolicy="Odd",
            timeZone="",
        ),
    ),
}


async def _written(stage: Stage, kind: Resource, body: dict[str, Any]) -> None:
    await stage.create(kind, body, write=DRY)


for what_, (kind_, body_) in WRITTEN.items():
    TABLE.add("create", "rarer fields", what_, _written, kind_, body_)


@case("create", "rarer fields")
async def topology_as_it_was_said_of_old_is_dropped(stage: Stage) -> None:
    endpoint: dict[str, Any] = {"addresses": ["192.0.2.1"], "deprecatedTopology": {"a": "b"}}
    placed = {**endpoint, "deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    slice_ = named(ENDPOINT_SLICES, "a", addressType="IPv4", endpoints=[endpoint, placed])
    await stage.create(ENDPOINT_SLICES, slice_)
    await stage.update(ENDPOINT_SLICES, "a", slice_)
    await stage.apply(ENDPOINT_SLICES, "a", slice_, manager="x", force=True)


CONDITIONS: dict[str, list[dict[str, Any]]] = {
    "nothing wrong": [CONDITION],
    "no type": [{**CONDITION, "type": ""}],
    "a bad type": [{**CONDITION, "type": "a b"}],
    "nothing at all": [{}],
    "an odd status": [{**CONDITION, "status": "Maybe"}],
    "a bad reason": [{**CONDITION, "reason": "a b"}],
    "a negative generation": [{**CONDITION, "observedGeneration": -1}],
    "one type twice": [CONDITION, {**CONDITION, "status": "False"}],
    "words too long": [{**CONDITION, "reason": "A" * 1025, "message": "a" * 32769}],
}


async def _reported(stage: Stage, kind: Resource, body: dict[str, Any], conditions: list[Any]) -> None:
    """Such conditions are reported in a status, and then with a count that cannot be."""
    await stage.given(kind, body)
    wrong: dict[str, Any] = {"disruptionsAllowed": -1}
    for more in ({}, wrong if kind is BUDGETS else {"loadBalancer": {"ingress": [{}]}}):
        status = {"status": {"conditions": conditions, **more}}
        await stage.patch(kind, "a", status, how=PatchType.MERGE, subresource="status", write=DRY)


for what_, conditions_ in CONDITIONS.items():
    TABLE.add(
        "subresource",
        "conditions",
        f"of a budget: {what_}",
        _reported,
        BUDGETS,
        named(BUDGETS, "a", spec={"minAvailable": 1, "selector": {"matchLabels": LABELS}}),
        conditions_,
    )
    TABLE.add(
        "subresource",
        "conditions",
        f"of a service: {what_}",
        _reported,
        SERVICES,
        named(SERVICES, "a", spec={"ports": [{"port": 80}]}),
        conditions_,
    )

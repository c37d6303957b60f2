"""Where our behaviours knowingly do otherwise than the real controllers, what each of them shows, and why.

Each difference is a small story and a question; the answers of both casts are pinned. A run fails when ours
moves or becomes the real one's, `make judge-behaviours` when the real one moves. The table in
docs/behaviours.md is made from this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from tests.contract.behaviours.masks import managers_of
from tests.contract.behaviours.rules import claim_waits_for_a_pod
from tests.contract.behaviours.stage import Stage
from tests.contract.behaviours.stories import Story, config_map, service, workload
from tests.contract.behaviours.upkeep import bare_pod, node_of_its_own, remove
from trimtab.kube.times import parse_time

Json = dict[str, Any]


async def nothing(stage: Stage) -> None:
    """A story that leaves nothing behind but its namespace."""


class Difference(Struct, frozen=True, kw_only=True):
    """One thing that goes otherwise: how to bring it about, and what to look at."""

    how: str  # a sentence for users: what differs, and why
    story: Story
    seen: Callable[[Stage], object]
    real: object
    ours: object
    after: Callable[[Stage], Awaitable[None]] = nothing  # puts away what stands outside the namespace


def _statuses(stage: Stage, kind: str) -> list[Json]:
    return [each.get("status") or {} for each in stage.audience.all(kind)]


def _conditions(status: Json) -> dict[str, str]:
    return {each["type"]: f"{each['status']} {each['reason']}" for each in status.get("conditions") or ()}


# -- names and times ------------------------------------------------------------------------------------


async def _hashed(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=0))
    await stage.create(workload("StatefulSet", "db", replicas=0, serviceName="db"))
    await stage.until(lambda: len(_hashes(stage)) == 2, "both are there")


def _hashes(stage: Stage) -> list[str]:
    sets = [each["metadata"]["labels"]["pod-template-hash"] for each in stage.audience.all("ReplicaSet")]
    revisions = stage.audience.all("ControllerRevision")
    return [*sets, *(each["metadata"]["labels"]["controller.kubernetes.io/hash"] for each in revisions)]


async def _namespace_goes(stage: Stage) -> None:
    await stage.create(config_map("held", finalizers=["example.com/hold"]))
    await stage.delete("Namespace", stage.namespace)
    await stage.until(lambda: bool(_statuses(stage, "Namespace")[0].get("conditions")), "it is looked after")


def _pauses(stage: Stage) -> bool:
    """Whether seconds passed before anybody began to empty the namespace, by the times that objects hold."""
    (namespace,) = stage.audience.all("Namespace")
    times = [parse_time(each["lastTransitionTime"]) for each in namespace["status"].get("conditions") or ()]
    begun = (min(times) - parse_time(namespace["metadata"]["deletionTimestamp"])).total_seconds()
    return begun >= 4


async def _let_go(stage: Stage) -> None:
    await stage.patch("ConfigMap", "held", {"metadata": {"finalizers": None}})


# -- who has no stand-in --------------------------------------------------------------------------------


async def _autoscaled(stage: Stage) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    wish = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3}
    await stage.create(workload("Deployment", "web", replicas=1))
    await stage.create(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"},
            "spec": wish,
        }
    )


async def _with_quota(stage: Stage) -> None:
    kind = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    await stage.create({**kind, "spec": {"hard": {"secrets": "5"}}})


async def _with_token(stage: Stage) -> None:
    metadata = {"name": "token", "annotations": {"kubernetes.io/service-account.name": "default"}}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}
    await stage.create({**kind, "metadata": metadata})


def _token_keys(stage: Stage) -> list[str]:
    return sorted(key for each in stage.audience.all("Secret") for key in each.get("data") or ())


async def _outside(stage: Stage) -> None:
    """A Service that leads elsewhere, by Endpoints that somebody wrote."""
    await stage.create(service("outside", selector=None))
    subset = {"addresses": [{"ip": "192.0.2.7"}], "ports": [{"name": "web", "port": 80}]}
    kind = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "outside"}}
    await stage.create({**kind, "subsets": [subset]})


def _slice_makers(stage: Stage) -> list[str]:
    label = "endpointslice.kubernetes.io/managed-by"
    return [each["metadata"]["labels"][label] for each in stage.audience.all("EndpointSlice")]


async def _aggregated(stage: Stage) -> None:
    mark = {"example.com/part-of": stage.namespace}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    part = {"metadata": {"name": f"{stage.namespace}-part", "labels": mark}, "rules": rules}
    await stage.create({**kind, **part})
    chosen = {"clusterRoleSelectors": [{"matchLabels": mark}]}
    await stage.create(
        {**kind, "metadata": {"name": stage.namespace}, "aggregationRule": chosen, "rules": []}
    )


def _aggregated_rules(stage: Stage) -> list[list[str]]:
    return [rule["verbs"] for each in stage.audience.all("ClusterRole") for rule in each.get("rules") or ()]


async def _without_roles(stage: Stage) -> None:
    await remove(stage, ("ClusterRole", stage.namespace), ("ClusterRole", f"{stage.namespace}-part"))


async def _budgeted_twice(stage: Stage) -> None:
    """A pod that two budgets are about."""
    for name in ("one", "another"):
        rule = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1}
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
        await stage.create({**kind, "spec": rule})
    await stage.create(bare_pod("web"))


def _complaints(stage: Stage) -> set[str]:
    """The reasons for which users are warned of the pod."""
    about = [each for each in stage.audience.events.values() if each["involvedObject"]["name"] == "web"]
    return {each["reason"] for each in about if each["type"] == "Warning"}


# -- pods, nodes and volumes ----------------------------------------------------------------------------


async def _in_a_zone(stage: Stage) -> None:
    await stage.create(node_of_its_own(stage))
    await stage.create(service("web", trafficDistribution="PreferSameZone"))
    await stage.create(bare_pod("web", nodeName=stage.namespace))
    await stage.until(lambda: len(_zones(stage)) == 1, "the pod is served")


def _zones(stage: Stage) -> list[tuple[str, object]]:
    return [
        (each.get("zone", ""), each.get("hints", {}).get("forZones"))
        for one in stage.audience.all("EndpointSlice")
        for each in one.get("endpoints") or ()
        if each["conditions"]["ready"]
    ]


async def _without_node(stage: Stage) -> None:
    await stage.delete("Pod", "web")
    await remove(stage, ("Node", stage.namespace))


async def _unprovided(stage: Stage) -> None:
    """A claim of a class whose provisioner is not there, and a pod that wants it."""
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": stage.namespace}}
    rules = {"provisioner": "example.com/nobody", "volumeBindingMode": "WaitForFirstConsumer"}
    await stage.create({**kind, **rules})
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    await stage.create({**claim, "spec": {**wish, "storageClassName": stage.namespace}})
    await stage.until_told("WaitForFirstConsumer")
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    await stage.create(bare_pod("user", volumes=mounted))


def _claimed(stage: Stage) -> tuple[list[str], list[str]]:
    phases = [each.get("phase", "") for each in _statuses(stage, "PersistentVolumeClaim")]
    about = [each for each in stage.audience.events.values() if each["involvedObject"]["name"] == "data"]
    return phases, sorted({each["reason"] for each in about})


def _scheduled(stage: Stage) -> list[str]:
    """What a scheduler has written into the status of the pod."""
    pod = stage.audience.find("Pod", "user")
    assert pod is not None
    fields = managers_of(pod).get("kube-scheduler Update v1 status") or ()
    return sorted({path.split("/")[2].removeprefix("f:") for path in fields})


async def _without_class(stage: Stage) -> None:
    await remove(stage, ("StorageClass", stage.namespace))


DIFFERENCES: Mapping[str, Difference] = {
    "hashes in names": Difference(
        how="`pod-template-hash` and revision hashes look alike and change with the template, but are other "
        "words: the real ones are made of how Go prints its structures.",
        story=_hashed,
        seen=_hashes,
        real=["7c47679ffc", "6c5cc69ff5"],
        ours=["86cc8bdb44", "5d6cb55bfd"],
    ),
    "a namespace's deletion": Difference(
        how="The real controller lets five seconds pass before it looks after a namespace that goes, and "
        "again after each look; here it is emptied at once, and the rest follows two seconds after its pods.",
        story=_namespace_goes,
        seen=_pauses,
        real=True,
        ours=False,
        after=_let_go,
    ),
    "HorizontalPodAutoscalers": Difference(
        how="Nothing looks after them: there is no load here to scale by.",
        story=_autoscaled,
        seen=lambda stage: [_conditions(each) for each in _statuses(stage, "HorizontalPodAutoscaler")],
        real=[{"AbleToScale": "True SucceededGetScale", "ScalingActive": "False FailedGetResourceMetric"}],
        ours=[{}],
    ),
    "ResourceQuotas": Difference(
        how="Nothing counts what they limit.",
        story=_with_quota,
        seen=lambda stage: _statuses(stage, "ResourceQuota"),
        real=[{"hard": {"secrets": "5"}, "used": {"secrets": "0"}}],
        ours=[{}],
    ),
    "Secrets with the token of a ServiceAccount": Difference(
        how="They stay empty: no tokens are issued here.",
        story=_with_token,
        seen=_token_keys,
        real=["ca.crt", "namespace", "token"],
        ours=[],
    ),
    "Endpoints written by hand": Difference(
        how="They are not mirrored into EndpointSlices.",
        story=_outside,
        seen=_slice_makers,
        real=["endpointslicemirroring-controller.k8s.io"],
        ours=[],
    ),
    "ClusterRoles that aggregate others": Difference(
        how="Their rules stay as they were written.",
        story=_aggregated,
        seen=_aggregated_rules,
        real=[["get"]],
        ours=[],
        after=_without_roles,
    ),
    "several budgets of one pod": Difference(
        how="The real controller complains and keeps any one of them up to date; here all of them are.",
        story=_budgeted_twice,
        seen=_complaints,
        real={"MultiplePodDisruptionBudgets"},
        ours=set(),
    ),
    "zones of endpoints": Difference(
        how="EndpointSlices say neither in which zone a pod is nor for which zones it is meant.",
        story=_in_a_zone,
        seen=_zones,
        real=[("here", [{"name": "here"}])],
        ours=[("", None)],
        after=_without_node,
    ),
    "pods that wait for a volume": Difference(
        how="The real scheduler names the chosen node in the pod's status while the volume is bound for it; "
        "here the pod is unschedulable until its claim is bound.",
        story=claim_waits_for_a_pod,
        seen=_scheduled,
        real=["nominatedNodeName"],
        ours=["conditions"],
    ),
    "classes of storage": Difference(
        how="Every class with a provisioner makes volumes, whether the provisioner is there or not; a real "
        "claim waits for it.",
        story=_unprovided,
        seen=_claimed,
        real=(["Pending"], ["ExternalProvisioning", "WaitForFirstConsumer"]),
        ours=(["Bound"], ["WaitForFirstConsumer"]),
        after=_without_class,
    ),
}

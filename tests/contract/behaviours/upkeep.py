"""Stories of what is looked after beside workloads: nodes and their room, budgets, services, history.

What stands outside the namespace is called like it, and put away at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.contract.behaviours.rules import NOWHERE, counts, cron_job_of, ends, index_of, reference
from tests.contract.behaviours.stage import Stage
from tests.contract.behaviours.stories import Story, has, job, rolled_out, service, template, workload
from trimtab.kube.cluster import Deletion, Propagation
from trimtab.kube.failures import NotFound

Json = dict[str, Any]
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


async def remove(stage: Stage, *found: tuple[str, str]) -> None:
    """Delete these objects outside the namespace, where they are still there."""
    for kind, name in found:
        try:
            await stage.cluster.delete(stage.resource(kind), name, how=Deletion(grace_seconds=0))
        except NotFound:
            continue


def node_of_its_own(stage: Stage) -> Json:
    """A node that is called like the story's namespace; nobody else's pods come to it."""
    taint = {"key": "example.com/story", "value": stage.namespace, "effect": "NoSchedule"}
    labels = {"kubernetes.io/hostname": stage.namespace, "topology.kubernetes.io/zone": "here"}
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": stage.namespace, "labels": labels},
        "spec": {"taints": [taint]},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def bare_pod(name: str, **spec: Any) -> Json:
    """A pod that nobody owns."""
    pod = template("web", **spec)
    return {"apiVersion": "v1", "kind": "Pod", **pod, "metadata": {**pod["metadata"], "name": name}}


def _found(stage: Stage, kind: str, name: str) -> Json:
    return stage.audience.find(kind, name) or {}


# -- workloads and budgets ------------------------------------------------------------------------------


async def replication_controller(stage: Stage) -> None:
    spec = {"replicas": 2, "selector": {"app": "old"}, "template": template("old"), "minReadySeconds": 2}
    kind = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "old"}}
    await stage.create({**kind, "spec": spec})
    await stage.until_status("ReplicationController", "old", counts(availableReplicas=2))
    await stage.patch("ReplicationController", "old", {"spec": {"replicas": 1}})
    done = counts(observedGeneration=2, replicas=1, availableReplicas=1)
    await stage.until_status("ReplicationController", "old", done)


async def disruption_budgets(stage: Stage) -> None:
    """One that leaves room, one that leaves none, one that counts in percent, and one without pods."""
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    rules: dict[str, Json] = {
        "room": {"maxUnavailable": 1},
        "none": {"minAvailable": 3},
        "part": {"minAvailable": "50%"},
    }
    for name, rule in {**rules, "nobody": {"minAvailable": 1}}.items():
        chosen = {"matchLabels": {"app": name}}
        await stage.create({**kind, "metadata": {"name": name}, "spec": {"selector": chosen, **rule}})
    for name in rules:  # the real controller looks after one budget of a pod alone
        await stage.create(workload("Deployment", name, replicas=3))
        await stage.until_status("Deployment", name, rolled_out(3, generation=1))
    for name, allowed in (("room", 1), ("none", 0), ("part", 1)):
        wanted = counts(currentHealthy=3, disruptionsAllowed=allowed, observedGeneration=1)
        await stage.until_status("PodDisruptionBudget", name, wanted)
    await stage.until_status("PodDisruptionBudget", "nobody", counts(desiredHealthy=1))


async def lost_identity(stage: Stage) -> None:
    """A numbered pod gets back the label by which it alone can be chosen."""
    await stage.create(workload("StatefulSet", "db", replicas=1, serviceName="db"))
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=1))
    label = "statefulset.kubernetes.io/pod-name"
    await stage.patch("Pod", "db-0", {"metadata": {"labels": {label: None}}})
    await stage.until_told("SuccessfulUpdate")
    await stage.until(lambda: label in _found(stage, "Pod", "db-0")["metadata"]["labels"], "it is back")


async def index_backs_off(stage: Stage) -> None:
    """An index that failed twice waits longer than one that failed once: each waits for itself."""
    spec = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 2}
    await stage.create(job("work", NOWHERE, **spec))
    await stage.until_status("Job", "work", counts(active=2))
    await ends(stage, index=0)
    await stage.until(lambda: _tries(stage, 0) == 2, "the first index is tried again")
    await ends(stage, index=0)
    await ends(stage, index=1)
    await stage.until(lambda: _tries(stage, 1) == 2, "the second index is tried again")
    assert _tries(stage, 0) == 2, "the first index still waits"
    await stage.until(lambda: _tries(stage, 0) == 3, "the first index is tried once more")
    for index in (0, 1):
        await ends(stage, code=0, index=index)
    await stage.until_status("Job", "work", has("Complete"))


def _tries(stage: Stage, index: int) -> int:
    return sum(index_of(pod) == index for pod in stage.audience.all("Pod"))


# -- CronJobs -------------------------------------------------------------------------------------------


async def late_cron_jobs(stage: Stage) -> None:
    """Two schedules that were missed: one is made up for, one came too late; a Job that is taken away."""
    made = cron_job_of(NOWHERE, schedule="30 3 13 1 *", suspend=True)
    for name, rule in (("late", {"startingDeadlineSeconds": 60}), ("clock", {})):
        await stage.create({**made, "metadata": {"name": name}, "spec": {**made["spec"], **rule}})
        before = {"status": {"lastScheduleTime": "2024-02-01T00:00:00Z"}}
        await stage.patch("CronJob", name, before, subresource="status")
        await stage.patch("CronJob", name, {"spec": {"suspend": False}})
    await stage.until_status("CronJob", "clock", lambda status: len(status.get("active") or ()) == 1)
    (running,) = stage.audience.all("Job")
    await stage.delete("Job", running["metadata"]["name"], Propagation.BACKGROUND)
    await stage.until_told("MissingJob")
    await stage.until_status("CronJob", "clock", lambda status: not status.get("active"))
    await stage.until(lambda: not stage.audience.all("Pod"), "its pods are gone")


async def cron_job_history(stage: Stage) -> None:
    """Of Jobs that are over, the last good and the last bad one are kept."""
    await stage.create(cron_job_of(suspend=True, successfulJobsHistoryLimit=1, failedJobsHistoryLimit=1))
    await stage.until(lambda: bool(_found(stage, "CronJob", "clock")), "it is there")
    owner = [reference(stage, "CronJob", "clock", controller=True)]
    for name in ("bad-early", "bad-late"):
        late = job(name, NOWHERE, activeDeadlineSeconds=1)
        await stage.create({**late, "metadata": {"name": name, "ownerReferences": owner}})
        await stage.until_status("Job", name, has("Failed"))
    for name in ("good-early", "good-late"):
        await stage.create({**job(name), "metadata": {"name": name, "ownerReferences": owner}})
        await stage.until_status("Job", name, has("Complete"))
    for name in ("bad-early", "good-early"):
        await stage.until_gone("Job", name)


# -- nodes and services ---------------------------------------------------------------------------------


def _taints(stage: Stage) -> set[str]:
    spec = _found(stage, "Node", stage.namespace).get("spec") or {}
    return {each["key"].rpartition("/")[2] for each in spec.get("taints") or ()}


async def node_goes(stage: Stage) -> None:
    """A node becomes ready, is cordoned and let go again; when it is deleted its pods have failed."""
    await stage.create(node_of_its_own(stage))
    await stage.until(lambda: _taints(stage) == {"story"}, "it takes pods")
    await stage.patch("Node", stage.namespace, {"spec": {"unschedulable": True}})
    await stage.until(lambda: _taints(stage) == {"story", "unschedulable"}, "it is cordoned")
    await stage.patch("Node", stage.namespace, {"spec": {"unschedulable": None}})
    await stage.until(lambda: _taints(stage) == {"story"}, "it takes pods again")
    held = bare_pod("held", nodeName=stage.namespace)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await stage.create(held)
    await stage.until_status("Pod", "held", has("Ready"))
    await stage.delete("Node", stage.namespace)
    await stage.until_status("Pod", "held", has("DisruptionTarget"))
    await stage.until_status("Pod", "held", lambda status: status["phase"] == "Failed")
    await stage.patch("Pod", "held", {"metadata": {"finalizers": None}})
    await stage.until_gone("Pod", "held")


async def room_on_a_node(stage: Stage) -> None:
    """Two pods that do not fit on a node together come one after the other."""
    await stage.create(node_of_its_own(stage))
    await stage.until(lambda: _taints(stage) == {"story"}, "it takes pods")
    await stage.create(_demanding(stage, "first"))
    await stage.until_status("Pod", "first", has("Ready"))
    await stage.create(_demanding(stage, "second"))
    await stage.until(lambda: "1 Insufficient cpu" in _unplaced(stage, "second"), "it is told what lacks")
    assert "1 No preemption victims found for incoming pod" in _unplaced(stage, "second")
    await stage.delete("Pod", "first")
    await stage.until_status("Pod", "second", has("Ready"))
    await stage.delete("Pod", "second")
    await stage.until_gone("Pod", "second")
    await remove(stage, ("Node", stage.namespace))
    await stage.until_gone("Node", stage.namespace)


def _demanding(stage: Stage, name: str) -> Json:
    pod = bare_pod(name, nodeSelector={"kubernetes.io/hostname": stage.namespace})
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2500m", "memory": "1Gi"}}
    pod["spec"]["tolerations"] = [{"key": "example.com/story", "operator": "Exists"}]
    return pod


def _unplaced(stage: Stage, name: str) -> str:
    conditions = (_found(stage, "Pod", name).get("status") or {}).get("conditions") or ()
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


async def relabelled_service(stage: Stage) -> None:
    """What leads to pods follows the labels of its service, and then names no pod's change as the cause."""
    await stage.create(service("web"))
    await stage.create(bare_pod("web"))
    await stage.until(lambda: _led_to(stage) == [(True, None)] * 2, "the pod is served")
    await stage.patch("Service", "web", {"metadata": {"labels": {"tier": "front"}}})
    await stage.until(lambda: _led_to(stage) == [(False, "front")] * 2, "the labels follow")


def _led_to(stage: Stage) -> list[tuple[bool, str | None]]:
    """Of what leads to a ready pod: whether it says since when, and its label."""
    slices = [each for each in stage.audience.all("EndpointSlice") if _ready(each.get("endpoints"))]
    legacy = [each for each in stage.audience.all("Endpoints") if "addresses" in str(each.get("subsets"))]
    metadata = [each["metadata"] for each in (*slices, *legacy)]
    return [
        (TRIGGER in (each.get("annotations") or {}), (each.get("labels") or {}).get("tier"))
        for each in metadata
    ]


def _ready(endpoints: list[Json] | None) -> bool:
    return bool(endpoints) and all(each["conditions"]["ready"] for each in endpoints or ())


UPKEEP: Mapping[str, Story] = {
    "a replication controller": replication_controller,
    "disruption budgets": disruption_budgets,
    "a pod that lost its name": lost_identity,
    "an index that backs off for itself": index_backs_off,
    "cron jobs that are late": late_cron_jobs,
    "the history of a cron job": cron_job_history,
    "a node that goes": node_goes,
    "room on a node": room_on_a_node,
    "a service with other labels": relabelled_service,
}

"""Stories of the rules that users write into a spec: strategies, limits, policies, deadlines, owners.

Pods that have to fail find no node on any cluster, and the story itself says in their status how they ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.contract.behaviours.stage import Stage
from tests.contract.behaviours.stories import config_map, has, image, job, rolled_out, volume, workload
from trimtab.apiserver.behaviours.daemonsets import node_of
from trimtab.kube.cluster import Propagation

Json = dict[str, Any]
NOWHERE: Json = {"metadata": {}, "spec": {"nodeSelector": {"exists": "nowhere"}}}


def counts(**wanted: int) -> Callable[[Json], bool]:
    return lambda status: all(status.get(key, 0) == value for key, value in wanted.items())


# -- Deployments ----------------------------------------------------------------------------------------


async def scale_while_paused(stage: Stage) -> None:
    """A paused Deployment is scaled all the same; one that keeps no history forgets its old ReplicaSets."""
    await stage.create(workload("Deployment", "web", replicas=1, revisionHistoryLimit=0))
    await stage.until_status("Deployment", "web", rolled_out(1, generation=1))
    change = {**image("registry.example/web:2")["spec"], "paused": True, "replicas": 3}
    await stage.patch("Deployment", "web", {"spec": change})
    await stage.until_status("Deployment", "web", counts(observedGeneration=2, availableReplicas=3))
    await stage.patch("Deployment", "web", {"spec": {"paused": None}})
    await stage.until_status("Deployment", "web", rolled_out(3, generation=3))
    await stage.until(lambda: len(stage.audience.all("ReplicaSet")) == 1, "the old ReplicaSet is forgotten")


# -- StatefulSets ---------------------------------------------------------------------------------------


async def partition(stage: Stage) -> None:
    rules = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    await stage.create(workload("StatefulSet", "db", replicas=3, serviceName="db", updateStrategy=rules))
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=3, updatedReplicas=3))
    await stage.patch("StatefulSet", "db", image("registry.example/db:2"))
    halfway = counts(availableReplicas=3, updatedReplicas=1, observedGeneration=2)
    await stage.until_status("StatefulSet", "db", halfway)
    await stage.delete("Pod", "db-0")  # comes back as it was: it is below the partition
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=2))
    await stage.until_status("StatefulSet", "db", halfway)
    await stage.patch("StatefulSet", "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}})
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=3, updatedReplicas=2))


async def stateful_set_on_delete(stage: Stage) -> None:
    spec = {"replicas": 2, "serviceName": "db", "updateStrategy": {"type": "OnDelete"}}
    await stage.create(workload("StatefulSet", "db", **spec))
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=2))
    await stage.patch("StatefulSet", "db", image("registry.example/db:2"))
    await stage.until_status("StatefulSet", "db", counts(observedGeneration=2))
    for number in (0, 1):
        await stage.delete("Pod", f"db-{number}")
        await stage.until_status("StatefulSet", "db", counts(availableReplicas=1))
        await stage.until_status("StatefulSet", "db", counts(availableReplicas=2))


async def parallel_update(stage: Stage) -> None:
    """A parallel set comes and goes at once, but is updated one by one."""
    spec = {"replicas": 3, "serviceName": "db", "podManagementPolicy": "Parallel"}
    await stage.create(workload("StatefulSet", "db", **spec))
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=3))
    await stage.patch("StatefulSet", "db", image("registry.example/db:2"))
    done = counts(availableReplicas=3, updatedReplicas=3, currentReplicas=3, observedGeneration=2)
    await stage.until_status("StatefulSet", "db", done)
    await stage.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
    await stage.until_status("StatefulSet", "db", counts(replicas=1, availableReplicas=1, currentReplicas=1))


def _with_claims(stage: Stage, **policy: str) -> Json:
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "data"}, "spec": {**wish, "storageClassName": _storage(stage)}}
    return workload(
        "StatefulSet", "db", replicas=2, serviceName="db", volumeClaimTemplates=[claim],
        persistentVolumeClaimRetentionPolicy=policy,
    )  # fmt: skip


def _storage(stage: Stage) -> str:
    return f"manual-{stage.namespace}"


async def claims_go_along(stage: Stage) -> None:
    """Claims that are given up with their pods, and with the whole set."""
    for number in (1, 2):
        await stage.create(volume(f"{stage.namespace}-{number}", _storage(stage)))
    await stage.create(_with_claims(stage, whenScaled="Delete", whenDeleted="Delete"))
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=2))
    await stage.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
    await stage.until_gone("PersistentVolumeClaim", "data-db-1")
    await stage.delete("StatefulSet", "db", Propagation.BACKGROUND)
    await stage.until_gone("PersistentVolumeClaim", "data-db-0")


async def claims_change_hands(stage: Stage) -> None:
    """A policy that is changed later is written into the claims that are there."""
    for number in (1, 2):
        await stage.create(volume(f"{stage.namespace}-{number}", _storage(stage)))
    await stage.create(_with_claims(stage, whenScaled="Retain", whenDeleted="Delete"))
    await stage.until_status("StatefulSet", "db", counts(availableReplicas=2))
    await stage.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
    await stage.until_status("StatefulSet", "db", counts(replicas=1, availableReplicas=1))
    policy = {"whenDeleted": "Retain"}
    await stage.patch("StatefulSet", "db", {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})

    def free() -> bool:
        claim = stage.audience.find("PersistentVolumeClaim", "data-db-0")
        return claim is not None and not claim["metadata"].get("ownerReferences")

    await stage.until(free, "the claim has no owner any more")


# -- DaemonSets -----------------------------------------------------------------------------------------


async def daemon_set_on_delete(stage: Stage) -> None:
    await stage.create(workload("DaemonSet", "agent", updateStrategy={"type": "OnDelete"}))
    await stage.until_status("DaemonSet", "agent", counts(numberAvailable=2))
    await stage.patch("DaemonSet", "agent", image("registry.example/agent:2"))
    await stage.until_status("DaemonSet", "agent", counts(observedGeneration=2, updatedNumberScheduled=0))
    first = next(pod for pod in stage.audience.all("Pod") if node_of(pod) == "node-0")
    await stage.delete("Pod", first["metadata"]["name"])
    await stage.until_status("DaemonSet", "agent", counts(updatedNumberScheduled=1, numberAvailable=2))


async def daemon_set_with_surge(stage: Stage) -> None:
    rules = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await stage.create(workload("DaemonSet", "agent", updateStrategy=rules))
    await stage.until_status("DaemonSet", "agent", counts(numberAvailable=2, updatedNumberScheduled=2))
    await stage.patch("DaemonSet", "agent", image("registry.example/agent:2"))
    await stage.until(lambda: len(stage.audience.all("Pod")) == 3, "a new pod is there beside the old ones")
    done = counts(observedGeneration=2, numberAvailable=2, updatedNumberScheduled=2)
    await stage.until_status("DaemonSet", "agent", done)
    await stage.until(lambda: len(stage.audience.all("Pod")) == 2, "the old pods are gone")


# -- Jobs -----------------------------------------------------------------------------------------------


async def ends(stage: Stage, *, code: int = 1, index: int | None = None, **status: Any) -> None:
    """The next pod that waits ends with this exit code, after a scheduler has looked for a node in vain."""

    def waiting() -> list[Json]:
        return [
            pod for pod in stage.audience.all("Pod")
            if pod["status"].get("phase") == "Pending"
            and pod["status"].get("conditions")
            and "deletionTimestamp" not in pod["metadata"]
            and (index is None or index_of(pod) == index)
        ]  # fmt: skip

    await stage.until(lambda: bool(waiting()), "a pod waits")
    ended = {"exitCode": code, "reason": "Error" if code else "Completed"}
    container = {"name": "main", "image": "registry.example/job:1", "imageID": "", "ready": False}
    states = [{**container, "restartCount": 0, "state": {"terminated": ended}}]
    body = {"phase": "Failed" if code else "Succeeded", "containerStatuses": states, **status}
    name = waiting()[0]["metadata"]["name"]
    await stage.patch("Pod", name, {"status": body}, subresource="status")


def index_of(pod: Json) -> int:
    return int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


async def job_backs_off(stage: Stage) -> None:
    await stage.create(job("work", NOWHERE, backoffLimit=1))
    await ends(stage)
    await stage.until_status("Job", "work", counts(failed=1, active=1))
    await ends(stage)
    await stage.until_status("Job", "work", has("Failed"))


async def indexed_job(stage: Stage) -> None:
    await stage.create(job("work", completions=4, parallelism=2, completionMode="Indexed"))
    await stage.until_status("Job", "work", has("Complete"))


async def indexed_job_that_gives_up(stage: Stage) -> None:
    """Each index may fail once; the others go on."""
    spec = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
    await stage.create(job("work", NOWHERE, **spec))
    await stage.until_status("Job", "work", counts(active=3))
    await ends(stage, index=1)
    await stage.until_status("Job", "work", lambda status: status.get("failedIndexes") == "1")
    await ends(stage, code=0, index=0)
    await stage.until_status("Job", "work", lambda status: status.get("completedIndexes") == "0")
    await ends(stage, code=0, index=2)
    await stage.until_status("Job", "work", has("Failed"))


async def too_many_failed_indexes(stage: Stage) -> None:
    spec = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
    await stage.create(job("work", NOWHERE, **spec, maxFailedIndexes=0))
    await stage.until_status("Job", "work", counts(active=3))
    await ends(stage, index=1)
    await stage.until_status("Job", "work", has("Failed"))


async def success_by_policy(stage: Stage) -> None:
    spec = {"completions": 3, "parallelism": 3, "completionMode": "Indexed"}
    policy = {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]}
    await stage.create(job("work", NOWHERE, **spec, successPolicy=policy))
    await stage.until_status("Job", "work", counts(active=3))
    await ends(stage, code=0, index=1)
    await stage.until_status("Job", "work", has("Complete"))


async def job_deadline(stage: Stage) -> None:
    await stage.create(job("work", NOWHERE, activeDeadlineSeconds=3))
    await stage.until_status("Job", "work", has("Failed"))


async def job_suspended_midway(stage: Stage) -> None:
    await stage.create(job("work", NOWHERE, completions=3, parallelism=2))
    await stage.until_status("Job", "work", counts(active=2))
    await stage.patch("Job", "work", {"spec": {"suspend": True}})
    await stage.until_status("Job", "work", has("Suspended"))
    await stage.until(lambda: not stage.audience.all("Pod"), "the pods are gone")
    await stage.patch("Job", "work", {"spec": {"suspend": False, "parallelism": 1}})
    await stage.until_status("Job", "work", counts(active=1))


async def job_made_narrower(stage: Stage) -> None:
    await stage.create(job("work", NOWHERE, completions=3, parallelism=3))
    await stage.until_status("Job", "work", counts(active=3))
    await stage.patch("Job", "work", {"spec": {"parallelism": 1}})
    await stage.until_status("Job", "work", counts(active=1, terminating=0))


def _on_code(action: str, code: int) -> Json:
    return {"action": action, "onExitCodes": {"operator": "In", "values": [code]}}


async def failure_policy(stage: Stage) -> None:
    """Some failures do not count, one is the end."""
    on_disruption = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    rules = [on_disruption, _on_code("Count", 1), _on_code("FailJob", 42)]
    await stage.create(job("work", NOWHERE, backoffLimit=2, podFailurePolicy={"rules": rules}))
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    await ends(stage, code=3, conditions=[disrupted, unplaced])
    await stage.until(lambda: len(stage.audience.all("Pod")) == 2, "there is another pod")
    await ends(stage)
    await stage.until_status("Job", "work", counts(failed=1, active=1))
    await ends(stage, code=42)
    await stage.until_status("Job", "work", has("Failed"))


async def failure_policy_of_an_index(stage: Stage) -> None:
    spec = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 3}
    policy = {"rules": [_on_code("FailIndex", 42)]}
    await stage.create(job("work", NOWHERE, **spec, podFailurePolicy=policy))
    await stage.until_status("Job", "work", counts(active=2))
    await ends(stage, code=42, index=0)
    await stage.until_status("Job", "work", lambda status: status.get("failedIndexes") == "0")
    await ends(stage, code=0, index=1)
    await stage.until_status("Job", "work", has("Failed"))


# -- CronJobs -------------------------------------------------------------------------------------------


def cron_job_of(pod: Json | None = None, **spec: Any) -> Json:
    template = {"metadata": {"labels": {"made": "by-clock"}}, "spec": job("work", pod)["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "clock"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template, **spec},
    }


async def cron_job_forbids(stage: Stage) -> None:
    """A Job that still runs keeps the next one away; it comes as soon as it may."""
    await stage.create(cron_job_of(NOWHERE, concurrencyPolicy="Forbid"))
    await stage.until_status("CronJob", "clock", lambda status: len(status.get("active") or ()) == 1)
    await stage.until_told("JobAlreadyActive")
    await stage.patch("CronJob", "clock", {"spec": {"suspend": True}})


async def cron_job_replaces(stage: Stage) -> None:
    await stage.create(cron_job_of(NOWHERE, concurrencyPolicy="Replace", timeZone="Asia/Kolkata"))
    await stage.until(lambda: len(stage.audience.all("Job")) == 1, "the first Job is there")
    first = stage.audience.all("Job")[0]["metadata"]["name"]
    await stage.until_gone("Job", first)

    def replaced(status: Json) -> bool:
        active = [each["name"] for each in status.get("active") or ()]
        return len(active) == 1 and active[0] != first

    await stage.until_status("CronJob", "clock", replaced)
    await stage.patch("CronJob", "clock", {"spec": {"suspend": True}})


async def cron_job_at_a_distance(stage: Stage) -> None:
    """Moments that are counted from the beginning rather than read from a clock."""
    await stage.create(cron_job_of(schedule="@every 15s"))
    await stage.until_status("CronJob", "clock", lambda status: "lastSuccessfulTime" in status)
    await stage.patch("CronJob", "clock", {"spec": {"suspend": True}})


async def cron_job_without_history(stage: Stage) -> None:
    await stage.create(cron_job_of(successfulJobsHistoryLimit=0, startingDeadlineSeconds=30))
    await stage.until_status("CronJob", "clock", lambda status: "lastSuccessfulTime" in status)
    await stage.patch("CronJob", "clock", {"spec": {"suspend": True}})
    await stage.until(lambda: not stage.audience.all("Job"), "no Job is kept")


async def job_by_hand(stage: Stage) -> None:
    """What `kubectl create job --from=cronjob/clock` does."""
    await stage.create(cron_job_of(suspend=True))
    await stage.until(lambda: stage.audience.find("CronJob", "clock") is not None, "it is there")
    owner = reference(stage, "CronJob", "clock", controller=True)
    made = job("by-hand")
    marks = {"annotations": {"cronjob.kubernetes.io/instantiate": "manual"}, "ownerReferences": [owner]}
    await stage.create({**made, "metadata": {"name": "by-hand", **marks}})
    await stage.until_told("UnexpectedJob")
    await stage.until_status("Job", "by-hand", has("Complete"))


# -- owners ---------------------------------------------------------------------------------------------


def reference(stage: Stage, kind: str, name: str, **more: Any) -> Json:
    found = stage.audience.find(kind, name)
    assert found is not None
    uid = found["metadata"]["uid"]
    return {"apiVersion": found["apiVersion"], "kind": kind, "name": name, "uid": uid, **more}


async def _there(stage: Stage, name: str) -> None:
    await stage.until(lambda: stage.audience.find("ConfigMap", name) is not None, f"{name} is there")


async def owners_in_a_circle(stage: Stage) -> None:
    """Two that own each other go together, however one of them is deleted."""
    for number, way in enumerate((Propagation.FOREGROUND, Propagation.BACKGROUND, Propagation.ORPHAN)):
        a, b = f"a{number}", f"b{number}"
        await stage.create(config_map(a))
        await _there(stage, a)
        first = reference(stage, "ConfigMap", a, blockOwnerDeletion=True)
        await stage.create(config_map(b, ownerReferences=[first]))
        await _there(stage, b)
        second = reference(stage, "ConfigMap", b, blockOwnerDeletion=True)
        await stage.patch("ConfigMap", a, {"metadata": {"ownerReferences": [second]}})
        await stage.delete("ConfigMap", a, way)
        await stage.until_gone("ConfigMap", a)
    for each in ("b0", "b1"):
        await stage.until_gone("ConfigMap", each)


async def owners_elsewhere(stage: Stage) -> None:
    """An owner in another namespace is none; a cluster-wide one is; one of an unknown kind is let be."""
    await stage.until(lambda: stage.audience.find("Namespace", stage.namespace) is not None, "it is there")
    resource = stage.resource("ConfigMap")
    elsewhere = await stage.cluster.get(resource, "kube-root-ca.crt", namespace="default")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt"}
    there = {**owner, "uid": elsewhere.metadata.uid}
    wide = reference(stage, "Namespace", stage.namespace)
    absent = "00000000-0000-4000-8000-000000000000"
    unknown = {**owner, "apiVersion": "example.com/v1", "kind": "Nothing", "uid": absent}
    await stage.create(config_map("unknown", ownerReferences=[unknown]))
    await stage.create(config_map("wide", ownerReferences=[wide]))
    await stage.create(config_map("elsewhere", ownerReferences=[there]))
    await stage.until_gone("ConfigMap", "elsewhere")


# -- claims ---------------------------------------------------------------------------------------------


async def claim_waits_for_a_pod(stage: Stage) -> None:
    """A claim of a class that waits is bound when a pod wants it, and not before."""
    name = _storage(stage)
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    rules = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    await stage.create({**kind, **rules})
    await stage.create(volume(f"{stage.namespace}-1", name))
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    await stage.create({**claim, "spec": {**wish, "storageClassName": name}})
    await stage.until_told("WaitForFirstConsumer")
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = {"containers": [{"name": "main", "image": "registry.example/web:1"}], "volumes": mounted}
    await stage.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"}, "spec": pod})
    await stage.until_status("PersistentVolumeClaim", "data", lambda status: status.get("phase") == "Bound")
    await stage.until_status("Pod", "user", lambda status: status.get("phase") == "Running")
    await stage.delete("StorageClass", name)


RULES: Mapping[str, Callable[[Stage], Awaitable[None]]] = {
    "a scale while paused": scale_while_paused,
    "a stateful set with a partition": partition,
    "a stateful set that waits for deletes": stateful_set_on_delete,
    "a stateful set updated in parallel": parallel_update,
    "claims that go along": claims_go_along,
    "claims that change hands": claims_change_hands,
    "a daemon set that waits for deletes": daemon_set_on_delete,
    "a daemon set with surge": daemon_set_with_surge,
    "a job that backs off": job_backs_off,
    "an indexed job": indexed_job,
    "an indexed job that gives up": indexed_job_that_gives_up,
    "a job with too many failed indexes": too_many_failed_indexes,
    "a job that succeeds by policy": success_by_policy,
    "a job that is too late": job_deadline,
    "a job suspended midway": job_suspended_midway,
    "a job made narrower": job_made_narrower,
    "a job that fails by policy": failure_policy,
    "an index that fails by policy": failure_policy_of_an_index,
    "a cron job that forbids": cron_job_forbids,
    "a cron job that replaces": cron_job_replaces,
    "a cron job without history": cron_job_without_history,
    "a cron job at a fixed distance": cron_job_at_a_distance,
    "a job by hand": job_by_hand,
    "owners in a circle": owners_in_a_circle,
    "owners elsewhere": owners_elsewhere,
    "a claim that waits for a pod": claim_waits_for_a_pod,
}

"""The stories: what somebody does to a cluster, and what to wait for; the same on every cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.contract.behaviours.stage import Stage
from trimtab.kube.cluster import Propagation

Json = dict[str, Any]
Story = Callable[[Stage], Awaitable[None]]


def template(app: str, image: str = "registry.example/web:1", **spec: Any) -> Json:
    containers = [{"name": "main", "image": image, "ports": [{"name": "http", "containerPort": 8080}]}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **spec}}


def workload(kind: str, name: str, **spec: Any) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": template(name),
            "minReadySeconds": 2,  # long enough for real controllers to notice what lies between
            **spec,
        },
    }


def service(name: str, **spec: Any) -> Json:
    ports = [{"name": "web", "port": 80, "targetPort": "http"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": ports, **spec},
    }


def job(name: str, pod: Json | None = None, **spec: Any) -> Json:
    made = pod or {"metadata": {}, "spec": {}}
    containers = [{"name": "main", "image": "registry.example/job:1"}]
    body = {**made, "spec": {"restartPolicy": "Never", "containers": containers, **made["spec"]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": body, **spec},
    }


def image(name: str) -> Json:
    ports = [{"name": "http", "containerPort": 8080}]
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name, "ports": ports}]}}}}


def rolled_out(replicas: int, *, generation: int) -> Callable[[Json], bool]:
    def holds(status: Json) -> bool:
        counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        reasons = [each["reason"] for each in status.get("conditions") or ()]
        return (
            status.get("observedGeneration") == generation
            and all(status.get(each, 0) == replicas for each in counts)
            and status.get("terminatingReplicas") == 0
            and "NewReplicaSetAvailable" in reasons
        )

    return holds


async def _serves(stage: Stage, name: str, count: int) -> None:
    """Wait until both kinds of endpoints show so many ready pods, and no others."""

    def holds() -> bool:
        slices = stage.audience.all("EndpointSlice")
        ready = [each["conditions"]["ready"] for one in slices for each in one.get("endpoints") or ()]
        legacy = stage.audience.find("Endpoints", name) or {}
        subsets = legacy.get("subsets") or ()
        addresses = [each for one in subsets for each in one.get("addresses") or ()]
        waiting = [each for one in subsets for each in one.get("notReadyAddresses") or ()]
        return ready == [True] * count and len(addresses) == count and not waiting

    await stage.until(holds, f"{count} pods of {name} are served")


async def _rest(stage: Stage, kind: str, sizes: list[int]) -> None:
    """Wait until the status of every ReplicaSet says what its size is."""

    def holds() -> bool:
        found = sorted(each["spec"]["replicas"] for each in stage.audience.all(kind))
        seen = all(
            (each.get("status") or {}).get("replicas") == each["spec"]["replicas"]
            and each["status"].get("observedGeneration") == each["metadata"]["generation"]
            and each["status"].get("availableReplicas", 0) == each["spec"]["replicas"]
            and each["status"].get("terminatingReplicas") == 0
            for each in stage.audience.all(kind)
        )
        return found == sorted(sizes) and seen

    await stage.until(holds, f"the sizes of {kind} are {sizes}")


# -- Deployments ----------------------------------------------------------------------------------------


async def rollout(stage: Stage) -> None:
    await stage.create(service("web"))
    await stage.create(workload("Deployment", "web", replicas=3))
    await stage.until_status("Deployment", "web", rolled_out(3, generation=1))
    await _serves(stage, "web", 3)
    await stage.patch("Deployment", "web", image("registry.example/web:2"))
    await stage.until_status("Deployment", "web", rolled_out(3, generation=2))
    await _serves(stage, "web", 3)
    await _rest(stage, "ReplicaSet", [0, 3])


async def scale(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=2))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    for generation, replicas in ((2, 5), (3, 1)):
        await stage.patch("Deployment", "web", {"spec": {"replicas": replicas}})
        await stage.until_status("Deployment", "web", rolled_out(replicas, generation=generation))
    await _rest(stage, "ReplicaSet", [1])


async def rollback(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=2, revisionHistoryLimit=1))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    for generation, tag in ((2, "2"), (3, "1"), (4, "3")):
        await stage.patch("Deployment", "web", image(f"registry.example/web:{tag}"))
        await stage.until_status("Deployment", "web", rolled_out(2, generation=generation))
        await _rest(stage, "ReplicaSet", [0, 2])


async def pause(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=1))
    await stage.until_status("Deployment", "web", rolled_out(1, generation=1))
    await stage.patch("Deployment", "web", {"spec": {"paused": True}})

    def paused(status: Json) -> bool:
        reasons = [each["reason"] for each in status["conditions"]]
        return "DeploymentPaused" in reasons and status.get("observedGeneration") == 2

    await stage.until_status("Deployment", "web", paused)
    await stage.patch("Deployment", "web", image("registry.example/web:2"))
    await stage.until_status("Deployment", "web", lambda status: status.get("observedGeneration") == 3)
    await stage.patch("Deployment", "web", {"spec": {"paused": None}})
    await stage.until_status("Deployment", "web", rolled_out(1, generation=4))
    await _rest(stage, "ReplicaSet", [0, 1])


async def recreate(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=2, strategy={"type": "Recreate"}))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    await stage.patch("Deployment", "web", image("registry.example/web:2"))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=2))
    await _rest(stage, "ReplicaSet", [0, 2])


def asked_to(word: str) -> Json:
    """The part of a pod template that asks for trouble: our kubelet and KWOK both listen to it."""
    return {"metadata": {"annotations": {"trimtab.dev/simulate": word}}, "spec": {}}


async def failed_image(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=2, progressDeadlineSeconds=20))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    await stage.patch("Deployment", "web", {"spec": {"template": asked_to("image-pull-error")}})
    await stage.until(lambda: _waits(stage) == ["ErrImagePull"], "an image cannot be pulled")

    def late(status: Json) -> bool:
        return "ProgressDeadlineExceeded" in [each["reason"] for each in status["conditions"]]

    await stage.until_status("Deployment", "web", late)
    await stage.until(lambda: _waits(stage) == ["ImagePullBackOff"], "it is not tried again at once")


def _waits(stage: Stage) -> list[str]:
    """The reasons for which containers wait."""
    containers = [
        each for pod in stage.audience.all("Pod") for each in pod["status"].get("containerStatuses") or ()
    ]
    return [each["state"]["waiting"]["reason"] for each in containers if "waiting" in each["state"]]


# -- Jobs -----------------------------------------------------------------------------------------------


def has(kind: str) -> Callable[[Json], bool]:
    return lambda status: any(
        each["type"] == kind and each["status"] == "True" for each in status.get("conditions") or ()
    )


async def job_success(stage: Stage) -> None:
    await stage.create(job("work", completions=3, parallelism=2))
    await stage.until_status("Job", "work", has("Complete"))

    def freed() -> bool:
        return all(not pod["metadata"].get("finalizers") for pod in stage.audience.all("Pod"))

    await stage.until(freed, "the pods are freed")


async def job_failure(stage: Stage) -> None:
    await stage.create(job("work", asked_to("fail"), backoffLimit=0))
    await stage.until_status("Job", "work", has("Failed"))


async def job_suspended(stage: Stage) -> None:
    await stage.create(job("work", suspend=True))
    await stage.until_status("Job", "work", has("Suspended"))
    await stage.patch("Job", "work", {"spec": {"suspend": False}})
    await stage.until_status("Job", "work", has("Complete"))


async def job_kept_for_a_while(stage: Stage) -> None:
    await stage.create(job("work", ttlSecondsAfterFinished=1))
    await stage.until_status("Job", "work", has("Complete"))
    await stage.until_gone("Job", "work")
    await stage.until(lambda: not stage.audience.all("Pod"), "its pods are gone")


async def cron_job(stage: Stage) -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job("work")["spec"]}}
    kind = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "clock"}}
    await stage.create({**kind, "spec": spec})
    await stage.until_status("CronJob", "clock", lambda status: "lastScheduleTime" in status)
    await stage.patch("CronJob", "clock", {"spec": {"suspend": True}})
    await stage.until_status("CronJob", "clock", lambda status: "lastSuccessfulTime" in status)


# -- StatefulSets and DaemonSets ------------------------------------------------------------------------


def _set_rolled_out(replicas: int, *, generation: int) -> Callable[[Json], bool]:
    def holds(status: Json) -> bool:
        counts = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        return (
            status.get("observedGeneration") == generation
            and all(status.get(each, 0) == replicas for each in counts)
            and status.get("currentRevision") == status.get("updateRevision")
        )

    return holds


async def stateful_set(stage: Stage) -> None:
    await stage.create(workload("StatefulSet", "db", replicas=3, serviceName="db"))
    await stage.until_status("StatefulSet", "db", _set_rolled_out(3, generation=1))
    await stage.patch("StatefulSet", "db", image("registry.example/db:2"))
    await stage.until_status("StatefulSet", "db", _set_rolled_out(3, generation=2))
    await stage.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
    await stage.until_status("StatefulSet", "db", _set_rolled_out(1, generation=3))


async def stateful_set_in_parallel(stage: Stage) -> None:
    storage_class = f"manual-{stage.namespace}"
    for number in (1, 2):
        await stage.create(volume(f"{stage.namespace}-{number}", storage_class))
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "data"}, "spec": {**wish, "storageClassName": storage_class}}
    spec = {"replicas": 2, "serviceName": "db", "podManagementPolicy": "Parallel"}
    await stage.create(workload("StatefulSet", "db", **spec, volumeClaimTemplates=[claim]))

    await stage.until_status("StatefulSet", "db", _set_rolled_out(2, generation=1))
    await stage.delete("StatefulSet", "db", Propagation.BACKGROUND)
    await stage.until(lambda: not stage.audience.all("Pod"), "the pods are gone")


def volume(name: str, storage_class: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": f"/volumes/{name}"},
            "storageClassName": storage_class,
        },
    }


async def daemon_set(stage: Stage) -> None:
    def holds(generation: int) -> Callable[[Json], bool]:
        counts = (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberAvailable",
            "updatedNumberScheduled",
        )
        return lambda status: (
            status.get("observedGeneration") == generation and all(status.get(each) == 2 for each in counts)
        )

    await stage.create(workload("DaemonSet", "agent"))
    await stage.until_status("DaemonSet", "agent", holds(1))
    await stage.patch("DaemonSet", "agent", image("registry.example/agent:2"))
    await stage.until_status("DaemonSet", "agent", holds(2))


# -- garbage and namespaces -----------------------------------------------------------------------------


async def foreground_delete(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=2))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    await stage.delete("Deployment", "web", Propagation.FOREGROUND)
    await stage.until_gone("Deployment", "web")


async def background_delete(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=2))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    await stage.delete("Deployment", "web", Propagation.BACKGROUND)
    await stage.until(lambda: not stage.audience.all("Pod"), "the pods are gone")
    await stage.until(lambda: not stage.audience.all("ReplicaSet"), "the ReplicaSet is gone")


async def orphan_delete(stage: Stage) -> None:
    await stage.create(workload("Deployment", "web", replicas=2))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    await stage.delete("Deployment", "web", Propagation.ORPHAN)
    await stage.until_gone("Deployment", "web")
    await _rest(stage, "ReplicaSet", [2])


async def adoption(stage: Stage) -> None:
    await orphan_delete(stage)
    await stage.create(workload("Deployment", "web", replicas=2))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))


def config_map(name: str, **metadata: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


async def dangling_owners(stage: Stage) -> None:
    """An owner that never was takes its dependents along; one of several that is there keeps them."""
    await stage.create(config_map("owner"))
    await stage.until(lambda: stage.audience.find("ConfigMap", "owner") is not None, "the owner is there")
    owner = stage.audience.find("ConfigMap", "owner")
    assert owner is not None
    there = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    absent = {**there, "name": "nobody", "uid": "00000000-0000-4000-8000-000000000000"}
    renamed = {**there, "uid": "00000000-0000-4000-8000-000000000001"}
    await stage.create(config_map("both", ownerReferences=[there, absent]))
    await stage.create(config_map("lost", ownerReferences=[absent]))
    await stage.create(config_map("mistaken", ownerReferences=[renamed]))
    await stage.create(config_map("kept", ownerReferences=[there]))
    await stage.until_gone("ConfigMap", "lost")
    await stage.until_gone("ConfigMap", "mistaken")

    def cleaned() -> bool:
        both = stage.audience.find("ConfigMap", "both")
        return both is not None and len(both["metadata"]["ownerReferences"]) == 1

    await stage.until(cleaned, "the absent owner is forgotten")


async def namespace_deletion(stage: Stage) -> None:
    await stage.create(config_map("plain"))
    await stage.create(config_map("held", finalizers=["example.com/hold"]))
    await stage.create(workload("Deployment", "web", replicas=1))
    await stage.until_status("Deployment", "web", rolled_out(1, generation=1))
    await stage.delete("Namespace", stage.namespace)

    def held(status: Json) -> bool:
        return any(each["reason"] == "SomeFinalizersRemain" for each in status.get("conditions") or ())

    await stage.until_status("Namespace", stage.namespace, held)
    await stage.patch("ConfigMap", "held", {"metadata": {"finalizers": None}})
    await stage.until_gone("Namespace", stage.namespace)


STORIES: Mapping[str, Story] = {
    "a rollout": rollout,
    "a scale": scale,
    "a rollback": rollback,
    "a pause": pause,
    "a recreation": recreate,
    "a failed image": failed_image,
    "a job that succeeds": job_success,
    "a job that fails": job_failure,
    "a job that waits": job_suspended,
    "a job that is kept for a while": job_kept_for_a_while,
    "a cron job": cron_job,
    "a stateful set": stateful_set,
    "a stateful set in parallel": stateful_set_in_parallel,
    "a daemon set": daemon_set,
    "a foreground delete": foreground_delete,
    "a background delete": background_delete,
    "an orphan delete": orphan_delete,
    "an adoption": adoption,
    "dangling owners": dangling_owners,
    "a namespace deletion": namespace_deletion,
}

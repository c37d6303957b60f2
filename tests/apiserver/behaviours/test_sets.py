"""StatefulSets, DaemonSets, claims and services in memory, beyond what the stories tell."""

from __future__ import annotations

from typing import Any

from tests.apiserver.behaviours.making import AtWork, at_work, pod_template
from trimtab.kube.cluster import Deletion

Json = dict[str, Any]


def workload(kind: str, name: str, **spec: Any) -> Json:
    wish = {"selector": {"matchLabels": {"app": name}}, "template": pod_template(name), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": wish}


def image(tag: str) -> Json:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": f"web:{tag}"}]}}}}


async def images(stage: AtWork) -> dict[str, str]:
    pods = await stage.all("Pod")
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in pods}


async def test_a_partition_keeps_the_lower_numbers_at_the_old_revision() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    async with at_work() as stage:
        await stage.create(
            workload("StatefulSet", "db", replicas=3, serviceName="db", updateStrategy=strategy)
        )
        await stage.wait(10)
        await stage.patch("StatefulSet", "db", image("2"))
        await stage.wait(10)
        assert await images(stage) == {"db-0": "web:1", "db-1": "web:1", "db-2": "web:2"}
        await stage.delete("Pod", "db-0")
        await stage.wait(10)
        assert (await images(stage))["db-0"] == "web:1"
        status = (await stage.get("StatefulSet", "db"))["status"]
        assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)


async def test_an_update_on_delete_waits_for_the_deletion() -> None:
    async with at_work() as stage:
        strategy = {"type": "OnDelete"}
        await stage.create(
            workload("StatefulSet", "db", replicas=1, serviceName="db", updateStrategy=strategy)
        )
        await stage.wait(5)
        await stage.patch("StatefulSet", "db", image("2"))
        await stage.wait(5)
        assert await images(stage) == {"db-0": "web:1"}


async def test_claims_are_bound_by_the_default_class_and_outlive_their_pods() -> None:
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "data"}, "spec": wish}
    async with at_work() as stage:
        await stage.create(workload("StatefulSet", "db", serviceName="db", volumeClaimTemplates=[claim]))
        await stage.wait(2)
        found = await stage.get("PersistentVolumeClaim", "data-db-0")
        assert (found["status"]["phase"], found["spec"]["storageClassName"]) == ("Bound", "standard")
        assert (await stage.get("StatefulSet", "db"))["status"]["availableReplicas"] == 1
        await stage.delete("PersistentVolumeClaim", "data-db-0")
        assert len(await stage.all("PersistentVolumeClaim")) == 1, "a pod uses it"
        await stage.delete("StatefulSet", "db", Deletion())
        await stage.wait(2)
        assert await stage.all("PersistentVolumeClaim") == []
        assert await stage.all("PersistentVolume") == []


async def test_of_several_claims_of_one_name_the_last_is_made() -> None:
    claims = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
        }
        for size in ("1Gi", "2Gi")
    ]
    async with at_work() as stage:
        await stage.create(workload("StatefulSet", "db", serviceName="db", volumeClaimTemplates=claims))
        await stage.wait(2)
        [found] = await stage.all("PersistentVolumeClaim")
        assert found["spec"]["resources"]["requests"] == {"storage": "2Gi"}
        assert (await stage.get("StatefulSet", "db"))["status"]["availableReplicas"] == 1


async def test_a_daemon_set_follows_the_nodes() -> None:
    async with at_work() as stage:
        await stage.create(workload("DaemonSet", "agent"))
        await stage.wait(2)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "second"}}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
        await stage.create({**node, "status": {"conditions": [ready], "allocatable": {"pods": "10"}}})
        await stage.wait(2)
        assert (await stage.get("DaemonSet", "agent"))["status"]["numberAvailable"] == 2
        await stage.delete("Node", "second")
        await stage.wait(2)
        assert (await stage.get("DaemonSet", "agent"))["status"]["desiredNumberScheduled"] == 1


async def test_a_service_leads_to_ready_pods_only_and_forgets_them_when_it_goes() -> None:
    service = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    async with at_work() as stage:
        await stage.create(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": service}
        )
        assert [each.get("endpoints") for each in await stage.all("EndpointSlice")] in ([None], [[]])
        await stage.create(workload("ReplicaSet", "web", replicas=2))
        await stage.wait(1)
        assert await ready(stage) == [False, False]
        await stage.wait(1)
        assert await ready(stage) == [True, True]
        await stage.delete("Service", "web")
        assert (await stage.all("EndpointSlice"), await stage.all("Endpoints")) == ([], [])


async def ready(stage: AtWork) -> list[bool]:
    slices = await stage.all("EndpointSlice")
    return [each["conditions"]["ready"] for one in slices for each in one.get("endpoints") or ()]

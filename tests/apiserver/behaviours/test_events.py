"""What users are told in Events; the contract suite compares the words of controllers with the real ones."""

from __future__ import annotations

from typing import Any

from tests.apiserver.behaviours.making import AtWork, at_work, deployment, pod_template

Json = dict[str, Any]


async def told(stage: AtWork) -> list[tuple[str, str, str, str]]:
    """Who tells what of which kind, in the order in which it was told."""
    events = sorted(await stage.all("Event"), key=lambda each: int(each["metadata"]["resourceVersion"]))
    return [
        (
            each["source"]["component"],
            each["involvedObject"]["kind"],
            f"{each['type']} {each['reason']}",
            each["message"],
        )
        for each in events
    ]


async def reasons(stage: AtWork, component: str) -> list[str]:
    return [reason for by, _, reason, _ in await told(stage) if by == component]


async def test_a_rollout_is_told_from_the_top_to_the_containers() -> None:
    async with at_work() as stage:
        await stage.create(deployment(replicas=1))
        await stage.wait(10)
        (replica_set,), (pod,) = await stage.all("ReplicaSet"), await stage.all("Pod")
        names = replica_set["metadata"]["name"], pod["metadata"]["name"]
        assert await told(stage) == [
            (
                "deployment-controller",
                "Deployment",
                "Normal ScalingReplicaSet",
                f"Scaled up replica set {names[0]} from 0 to 1",
            ),
            ("replicaset-controller", "ReplicaSet", "Normal SuccessfulCreate", f"Created pod: {names[1]}"),
            (
                "default-scheduler",
                "Pod",
                "Normal Scheduled",
                f"Successfully assigned default/{names[1]} to embedded",
            ),
            ("kubelet", "Pod", "Normal Pulled", 'Container image "web:1" already present on machine'),
            ("kubelet", "Pod", "Normal Created", "Container created"),
            ("kubelet", "Pod", "Normal Started", "Container started"),
        ]


async def test_an_image_that_cannot_be_pulled_is_told_and_tried_again() -> None:
    async with at_work() as stage:
        await stage.create(deployment(replicas=1, simulate="image-pull-error"))
        await stage.wait(60)
        assert await reasons(stage, "kubelet") == [
            "Normal Pulling",
            "Warning Failed",
            "Warning Failed",
            "Normal BackOff",
            "Warning Failed",
        ]


async def test_what_is_told_again_is_counted_up() -> None:
    async with at_work() as stage:
        await stage.create(deployment(replicas=1, simulate="crash-loop"))
        await stage.wait(100)
        (backing_off,) = [each for each in await stage.all("Event") if each["reason"] == "BackOff"]
        (pod,) = await stage.all("Pod")
        restarts = pod["status"]["containerStatuses"][0]["restartCount"]
        assert backing_off["count"] == restarts + 1 > 2
        assert backing_off["firstTimestamp"] < backing_off["lastTimestamp"]
        assert backing_off["involvedObject"]["fieldPath"] == "spec.containers{main}"


async def test_pods_that_may_not_be_made_are_a_warning() -> None:
    async with at_work() as stage:
        template = pod_template(serviceAccountName="nobody")
        await stage.create(deployment(replicas=1, template=template))
        (warning,) = [each for each in await told(stage) if each[2] == "Warning FailedCreate"]
        assert warning[:2] == ("replicaset-controller", "ReplicaSet")
        assert warning[3].startswith("Error creating: pods ")
        assert 'serviceaccount "nobody" not found' in warning[3]


async def test_a_pod_that_fits_nowhere_is_a_warning() -> None:
    async with at_work() as stage:
        await stage.create(deployment(replicas=1, template=pod_template(nodeSelector={"disk": "none"})))
        (warning,) = [each for each in await told(stage) if each[0] == "default-scheduler"]
        assert warning[2] == "Warning FailedScheduling"
        assert warning[3].startswith("0/1 nodes are available")


async def test_events_go_with_their_namespace() -> None:
    async with at_work() as stage:
        await stage.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        resource = stage.resource("Deployment")
        await stage.cluster.create(resource, deployment(replicas=1), namespace="shop")
        await stage.wait(10)
        await stage.delete("Namespace", "shop")
        await stage.wait(60)
        pages = stage.cluster.list(stage.resource("Event"), namespace="shop")
        assert [each async for page in pages for each in page.objects] == []
        assert "shop" not in [each["metadata"]["name"] for each in await stage.all("Namespace")]

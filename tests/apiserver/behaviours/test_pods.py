"""The life of a pod, as its status tells it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.apiserver.behaviours.making import AtWork, at_work, conditions, deployment, pod_template
from trimtab.apiserver.behaviours import Timing
from trimtab.kube.cluster import Deletion

Json = dict[str, Any]


async def lone_pod(stage: AtWork, **template: Any) -> Json:
    made = pod_template(**template)
    await stage.create(
        {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {**made["metadata"], "name": "lone"}}
    )
    return await stage.get("Pod", "lone")


def state(pod: Json) -> Json:
    found: Json = pod["status"]["containerStatuses"][0]["state"]
    return found


async def test_a_pod_is_created_then_runs_then_is_ready() -> None:
    async with at_work() as stage:
        pod = await lone_pod(stage)
        assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("embedded", "Pending")
        assert state(pod) == {"waiting": {"reason": "ContainerCreating"}}
        await stage.wait(1)
        pod = await stage.get("Pod", "lone")
        assert (pod["status"]["phase"], conditions(pod)["Ready"]) == (
            "Running",
            ("False", "ContainersNotReady"),
        )
        assert state(pod) == {"running": {"startedAt": "2026-01-01T00:00:01Z"}}
        await stage.wait(1)
        assert conditions(await stage.get("Pod", "lone"))["Ready"] == ("True", "")


async def test_a_slow_pod_takes_ten_times_as_long() -> None:
    async with at_work() as stage:
        await lone_pod(stage, simulate="slow")
        await stage.wait(19)
        assert conditions(await stage.get("Pod", "lone"))["Ready"][0] == "False"
        await stage.wait(1)
        assert conditions(await stage.get("Pod", "lone"))["Ready"][0] == "True"


async def test_a_pod_that_is_never_ready_runs_on() -> None:
    async with at_work() as stage:
        await lone_pod(stage, simulate="never-ready")
        await stage.wait(3600)
        pod = await stage.get("Pod", "lone")
        assert (pod["status"]["phase"], conditions(pod)["Ready"][0]) == ("Running", "False")


async def test_an_image_that_cannot_be_pulled_is_told_as_a_kubelet_tells_it() -> None:
    async with at_work() as stage:
        await lone_pod(stage, simulate="image-pull-error")
        await stage.wait(1)
        pod = await stage.get("Pod", "lone")
        assert (pod["status"]["phase"], state(pod)["waiting"]["reason"]) == ("Pending", "ErrImagePull")
        await stage.wait(10)
        waiting = state(await stage.get("Pod", "lone"))["waiting"]
        assert waiting["reason"] == "ImagePullBackOff"
        assert waiting["message"].startswith('Back-off pulling image "web:1": ErrImagePull: ')


async def test_a_crash_loop_restarts_ever_more_slowly() -> None:
    async with at_work() as stage:
        await lone_pod(stage, simulate="crash-loop")
        seen = []
        for wait in (1, 10, 20, 40):
            await stage.wait(wait)
            pod = await stage.get("Pod", "lone")
            seen.append(
                (pod["status"]["containerStatuses"][0]["restartCount"], state(pod)["waiting"]["message"])
            )
        pod = await stage.get("Pod", "lone")
        name = f"main pod=lone_default({pod['metadata']['uid']})"
        assert seen == [
            (restarts, f"back-off {wait} restarting failed container={name}")
            for restarts, wait in enumerate(("10s", "20s", "40s", "1m20s"))
        ]
        last = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"]) == (1, "Error")


@pytest.mark.parametrize(("simulate", "phase"), [("", "Succeeded"), ("fail", "Failed")])
async def test_a_pod_that_is_meant_to_end_ends(simulate: str, phase: str) -> None:
    async with at_work() as stage:
        await lone_pod(stage, simulate=simulate, restartPolicy="Never")
        await stage.wait(3)
        pod = await stage.get("Pod", "lone")
        assert pod["status"]["phase"] == phase
        assert state(pod)["terminated"]["exitCode"] == (1 if simulate else 0)


async def test_a_pod_stops_within_its_grace() -> None:
    async with at_work(Timing(stop=timedelta(seconds=50))) as stage:
        await lone_pod(stage, terminationGracePeriodSeconds=20)
        await stage.wait(5)
        await stage.delete("Pod", "lone")
        await stage.wait(19)
        assert len(await stage.all("Pod")) == 1
        await stage.wait(1)
        assert await stage.all("Pod") == []


async def test_a_pod_that_is_killed_while_somebody_holds_it_is_told_as_failed() -> None:
    async with at_work() as stage:
        await lone_pod(stage)
        await stage.wait(2)
        await stage.patch("Pod", "lone", {"metadata": {"finalizers": ["example.com/hold"]}})
        await stage.delete("Pod", "lone", Deletion())
        pod = await stage.get("Pod", "lone")
        assert (pod["status"]["phase"], state(pod)["terminated"]["exitCode"]) == ("Failed", 137)
        await stage.patch("Pod", "lone", {"metadata": {"finalizers": None}})
        assert await stage.all("Pod") == []


async def test_a_pod_without_a_fitting_node_says_why_and_starts_when_one_comes() -> None:
    async with at_work() as stage:
        pod = await lone_pod(stage, nodeSelector={"disk": "fast"})
        told = {each["type"]: each for each in pod["status"]["conditions"]}["PodScheduled"]
        assert (told["status"], told["reason"]) == ("False", "Unschedulable")
        assert told["message"].startswith(
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity"
        )
        await stage.patch("Node", "embedded", {"metadata": {"labels": {"disk": "fast"}}})
        await stage.wait(2)
        assert conditions(await stage.get("Pod", "lone"))["Ready"][0] == "True"


async def test_pods_have_addresses_of_their_own() -> None:
    async with at_work() as stage:
        await stage.create(deployment(replicas=20))
        await stage.wait(2)
        assert len({pod["status"]["podIP"] for pod in await stage.all("Pod")}) == 20

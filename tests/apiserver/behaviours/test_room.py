"""How many pods controllers make: never more than there is room for, however many are asked for."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.apiserver.behaviours.making import AtWork, at_work, conditions, deployment, pod_template

Json = dict[str, Any]
MANY = 2_000_000_000
ROOM = 12
MEGABYTES = 1 << 20
ENDING: Json = pod_template(restartPolicy="Never")
GREEDY: dict[str, Json] = {
    "Deployment": deployment(replicas=MANY),
    "ReplicaSet": {**deployment(replicas=MANY), "kind": "ReplicaSet"},
    "StatefulSet": {
        **deployment(replicas=MANY, serviceName="web", podManagementPolicy="Parallel"),
        "kind": "StatefulSet",
    },
    "ReplicationController": {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "web"},
        "spec": {"replicas": MANY, "selector": {"app": "web"}, "template": pod_template()},
    },
    "Job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "web"},
        "spec": {"parallelism": MANY, "completions": MANY, "template": ENDING},
    },
    "an indexed Job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "web"},
        "spec": {
            "parallelism": 100_000,
            "completions": MANY,
            "completionMode": "Indexed",
            "template": ENDING,
        },
    },
}


@asynccontextmanager
async def little_room() -> AsyncIterator[AtWork]:
    async with at_work(most_pods=ROOM) as stage:
        yield stage


async def refusals(stage: AtWork) -> list[str]:
    """What users are told of pods that could not be made."""
    return [each["message"] for each in await stage.all("Event") if each["reason"] == "FailedCreate"]


@pytest.mark.parametrize("greedy", GREEDY.values(), ids=GREEDY)
async def test_a_workload_that_asks_for_billions_of_pods_gets_what_there_is_room_for(greedy: Json) -> None:
    async with little_room() as stage:
        tracemalloc.start()
        try:
            await stage.create(greedy)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(await stage.all("Pod")) == ROOM
        assert peak < 20 * MEGABYTES
        (told,) = {each.partition("is forbidden: ")[2] for each in await refusals(stage)}
        limit = f"used: pods={ROOM}, limited: pods={ROOM}"
        assert told == f"exceeded quota: embedded-cluster, requested: pods=1, {limit}"


async def test_a_deployment_without_room_says_so_until_it_asks_for_less() -> None:
    async with little_room() as stage:
        await stage.create(deployment(replicas=MANY))
        found = await stage.get("Deployment", "web")
        assert conditions(found)["ReplicaFailure"] == ("True", "FailedCreate")
        await stage.patch("Deployment", "web", {"spec": {"replicas": 3}})
        await stage.wait(15)
        found = await stage.get("Deployment", "web")
        assert conditions(found) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }


async def test_room_that_becomes_free_is_used() -> None:
    async with little_room() as stage:
        await stage.create(deployment(replicas=ROOM))
        await stage.create({**GREEDY["StatefulSet"], "metadata": {"name": "db"}})
        assert (await stage.get("StatefulSet", "db"))["status"]["replicas"] == 0
        await stage.patch("Deployment", "web", {"spec": {"replicas": ROOM - 1}})
        await stage.wait(15)
        assert (await stage.get("StatefulSet", "db"))["status"]["replicas"] == 1


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Job"])
async def test_whoever_is_refused_its_pods_tries_again_later_and_does_not_keep_others_waiting(
    kind: str,
) -> None:
    async with at_work() as stage:
        ends = {"restartPolicy": "Never"} if kind == "Job" else {}
        template = pod_template(serviceAccountName="robot", **ends)
        chosen = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "web"}}}
        api = "batch/v1" if kind == "Job" else "apps/v1"
        named = {"apiVersion": api, "kind": kind, "metadata": {"name": "web"}}
        await stage.create({**named, "spec": {"template": template, **chosen}})
        assert not await stage.all("Pod")
        assert len(await refusals(stage)) == 1
        await stage.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
        await stage.wait(15)
        assert len(await stage.all("Pod")) == 1

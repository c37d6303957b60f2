"""Binding a pod to a node."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import ChangedMeanwhile, NotFound

Json = dict[str, Any]


async def pods_in(cluster: Cluster) -> Any:
    discovery = await cluster.discover()
    accounts, pods = discovery.preferred("", "ServiceAccount"), discovery.preferred("", "Pod")
    assert accounts is not None
    await cluster.create(accounts, {"metadata": {"name": "default"}}, namespace="default")
    return pods


def pod(name: str) -> Json:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}


def binding(node: str, **metadata: str) -> Json:
    return {"metadata": {"name": "lone", **metadata}, "target": {"kind": "Node", "name": node}}


async def test_a_bound_pod_is_on_its_node_and_counts_as_scheduled() -> None:
    cluster = MemoryCluster()
    pods = await pods_in(cluster)
    await cluster.create(pods, pod("lone"), namespace="default")
    await cluster.create(pods, binding("worker"), namespace="default", name="lone", subresource="binding")
    found = (await cluster.get(pods, "lone", namespace="default")).manifest()
    assert found["spec"]["nodeName"] == "worker"
    assert [(each["type"], each["status"]) for each in found["status"]["conditions"]] == [
        ("PodScheduled", "True")
    ]


async def test_a_pod_is_bound_once() -> None:
    cluster = MemoryCluster()
    pods = await pods_in(cluster)
    await cluster.create(pods, pod("lone"), namespace="default")
    await cluster.create(pods, binding("worker"), namespace="default", name="lone", subresource="binding")
    with pytest.raises(ChangedMeanwhile, match='already assigned to node "worker"'):
        await cluster.create(pods, binding("other"), namespace="default", name="lone", subresource="binding")


async def test_a_binding_for_another_life_of_the_name_is_refused() -> None:
    cluster = MemoryCluster()
    pods = await pods_in(cluster)
    await cluster.create(pods, pod("lone"), namespace="default")
    with pytest.raises(ChangedMeanwhile, match="UID in precondition"):
        await cluster.create(
            pods, binding("worker", uid="another"), namespace="default", name="lone", subresource="binding"
        )


async def test_a_pod_that_is_not_there_cannot_be_bound() -> None:
    cluster = MemoryCluster()
    pods = await pods_in(cluster)
    with pytest.raises(NotFound):
        await cluster.create(pods, binding("worker"), namespace="default", name="lone", subresource="binding")

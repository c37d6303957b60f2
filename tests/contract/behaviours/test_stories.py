"""One story, three casts: the real controllers, ours in memory, and ours on the real API server.

What the real ones did is recorded; a run with the real parts verifies the recordings.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Any

import pytest

from scripts.record_behaviours import slug
from testbed.controlplane import ControlPlane
from testbed.fixtures import Parts
from tests.contract.behaviours.programme import PROGRAMME, comparable
from tests.contract.behaviours.stage import REST, MovedTime, RealTime, Stage, staged
from tests.kube.world import connect_to
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import AlreadyExists
from trimtab.kube.picture import Upserted
from trimtab.kube.watch import follow
from trimtab.tasks import ManualClock

Json = dict[str, Any]
RECORDED = Path(__file__).parent / "recorded"
NODES = ("node-0", "node-1")
OVER_HTTP = (
    "a rollout",
    "a job that succeeds",
    "a stateful set in parallel",
    "a daemon set",
    "a foreground delete",
    "an adoption",
    "dangling owners",
    "a namespace deletion",
)


def recorded(title: str) -> Json:
    story: Json = json.loads((RECORDED / f"{slug(title)}.json").read_text())
    return story


async def add_node(cluster: Cluster, name: str) -> None:
    nodes = (await cluster.discover()).preferred("", "Node")
    assert nodes is not None
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}
    room = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }
    await cluster.create(nodes, node)


async def add_namespace(cluster: Cluster, name: str) -> None:
    namespaces = (await cluster.discover()).preferred("", "Namespace")
    assert namespaces is not None
    await cluster.create(namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def lines(story: Json) -> list[str]:
    """A story as lines, so that a failure shows where two differ."""
    return json.dumps(story, indent=1, sort_keys=True).splitlines()


async def played(title: str, staging: AbstractAsyncContextManager[Stage]) -> None:
    """Play a story and compare it with the recording, as soon as everything has come to rest like there."""
    wanted = recorded(title)
    async with staging as stage:
        await PROGRAMME[title](stage)

        def told() -> Json:
            whole: Json = json.loads(json.dumps(comparable(title, stage.told())))
            return whole

        try:
            await stage.until(lambda: told() == wanted, "the story ends as recorded", REST)
        except AssertionError:
            assert lines(told()) == lines(wanted)


@pytest.mark.parametrize("title", PROGRAMME)
async def test_our_behaviours_tell_the_story_of_the_real_controllers_in_no_time(title: str) -> None:
    clock = ManualClock()
    cluster = MemoryCluster(clock=clock)
    for node in NODES:
        await add_node(cluster, node)
    async with behaviours_of(cluster, clock=clock) as behaviours:
        await behaviours.settled()
        await add_namespace(cluster, "story")
        await behaviours.settled()
        await played(title, staged(cluster, "story", MovedTime(behaviours, clock), real=False))


@pytest.fixture(scope="module")
def bare_server(parts: Parts) -> Iterator[ControlPlane]:
    """An API server of our own without controllers: behaviours make themselves at home in all of it."""
    with ControlPlane(builder=parts, controllers=False) as plane:
        yield plane


@pytest.mark.real
@pytest.mark.parametrize("title", OVER_HTTP)
async def test_our_behaviours_tell_the_same_story_on_the_real_api_server(
    title: str, bare_server: ControlPlane
) -> None:
    """They need nothing but the `Cluster` protocol."""
    namespace = f"ours-{secrets.token_hex(4)}"
    async with connect_to(bare_server) as cluster:
        for node in NODES:
            with contextlib.suppress(AlreadyExists):
                await add_node(cluster, node)
        async with behaviours_of(cluster, timing=AT_ONCE):
            await add_namespace(cluster, namespace)
            await pods_may_come(cluster, namespace)
            await played(title, staged(cluster, namespace, RealTime(), real=False))


@pytest.mark.judge
@pytest.mark.parametrize("title", PROGRAMME)
async def test_the_real_controllers_still_tell_the_recorded_story(
    title: str, control_plane: ControlPlane
) -> None:
    namespace = f"story-{secrets.token_hex(4)}"
    control_plane.add_namespace(namespace)
    async with connect_to(control_plane) as cluster:
        await played(title, staged(cluster, namespace, RealTime(), real=True))


async def pods_may_come(cluster: Cluster, namespace: str) -> None:
    """Return when the account that pods run as is there."""
    accounts = (await cluster.discover()).preferred("", "ServiceAccount")
    assert accounts is not None
    async with aclosing(follow(cluster, accounts, namespace=namespace)) as told:
        async for news in told:
            if isinstance(news, Upserted):
                return

"""One story, three casts: the real controllers, ours in memory, and ours on the real API server.

What the real ones did is recorded; a run with the real parts verifies the recordings.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import pytest

from testbed.controlplane import ROOMY, ControlPlane
from testbed.fixtures import Parts
from tests.contract.behaviours.programme import PROGRAMME, comparable, recording
from tests.contract.behaviours.stage import (
    NODES,
    REST,
    RealTime,
    Stage,
    add_namespace,
    add_node,
    in_memory,
    staged,
)
from tests.kube.world import connect_to
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import AlreadyExists
from trimtab.kube.picture import Upserted
from trimtab.kube.watch import follow

Json = dict[str, Any]
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
    story: Json = json.loads(recording(title).read_text())
    return story


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
    async with in_memory("story") as ours:
        await played(title, staged(ours.cluster, "story", ours.time, real=False))


@pytest.fixture(scope="module")
def bare_server(parts: Parts) -> Iterator[ControlPlane]:
    """An API server of our own without controllers: behaviours make themselves at home in all of it."""
    with ControlPlane(builder=parts, controllers=False, gogc=ROOMY) as plane:
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

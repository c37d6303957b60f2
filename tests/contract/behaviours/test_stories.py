"""One story, several casts: the real controllers, ours in memory, and ours on other servers.

What the real ones did is recorded. A run with the real parts has them tell the stories of `IN_EVERY_RUN`
again, `make judge-behaviours` the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
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
    add_namespace_for_pods,
    add_node,
    in_memory,
    staged,
)
from tests.contract.cluster.worlds import embedded_world
from tests.kube.world import connect_to
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import AlreadyExists

Json = dict[str, Any]
#: what the real controllers tell in every run with the real parts; the others wait for minutes and are many
IN_EVERY_RUN = (
    "a rollout",
    "a scale",
    "a failed image",
    "a job that succeeds",
    "a namespace deletion",
    "a foreground delete",
)
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


#: how often a story is told until it is as recorded
TELLINGS = 3


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
    async with in_memory("theatre") as ours:
        await played(title, staged(ours.cluster, "theatre", ours.time))


@pytest.fixture(scope="module")
def bare_server(parts: Parts) -> Iterator[ControlPlane]:
    """An API server of our own without controllers: behaviours make themselves at home in all of it."""
    with ControlPlane(builder=parts, controllers=False, gogc=ROOMY) as plane:
        yield plane


async def played_by_ours_over_http(title: str, cluster: Cluster) -> None:
    """They need nothing but the `Cluster` protocol."""
    namespace = f"ours-{secrets.token_hex(4)}"
    for node in NODES:
        with contextlib.suppress(AlreadyExists):
            await add_node(cluster, node)
    async with behaviours_of(cluster, timing=AT_ONCE):
        await add_namespace_for_pods(cluster, namespace)
        await played(title, staged(cluster, namespace, RealTime()))


@pytest.mark.real
@pytest.mark.parametrize("title", OVER_HTTP)
async def test_our_behaviours_tell_the_same_story_on_the_real_api_server(
    title: str, bare_server: ControlPlane
) -> None:
    async with connect_to(bare_server) as cluster:
        await played_by_ours_over_http(title, cluster)


@pytest.mark.parametrize("title", OVER_HTTP)
async def test_our_behaviours_tell_the_same_story_on_the_embedded_server(title: str) -> None:
    async with embedded_world("http") as world:
        await played_by_ours_over_http(title, world.cluster)


async def played_by_the_real_ones(title: str, plane: ControlPlane) -> None:
    namespace = f"story-{secrets.token_hex(4)}"
    async with connect_to(plane) as cluster:
        await add_namespace_for_pods(cluster, namespace)
        await played(title, staged(cluster, namespace, RealTime()))


@pytest.mark.real
async def test_the_real_controllers_tell_the_recorded_stories(control_plane: ControlPlane) -> None:
    """Side by side: nearly all of a story is waiting, and each has its own namespace.

    Whatever the real ones leave to chance, they do tell each story as it is recorded.
    """
    failures: dict[str, Exception] = {title: AssertionError("never told") for title in IN_EVERY_RUN}

    async def tell(title: str) -> None:
        try:
            await played_by_the_real_ones(title, control_plane)
        except (AssertionError, ExceptionGroup) as failure:  # a stage has a group of its own
            failure.add_note(f"This was the story of {title}.")
            failures[title] = failure
        else:
            del failures[title]

    for _ in range(TELLINGS):
        async with asyncio.TaskGroup() as players:
            for title in tuple(failures):
                players.create_task(tell(title))
    if failures:
        raise ExceptionGroup("the real controllers do otherwise than recorded", list(failures.values()))


@pytest.mark.judge
@pytest.mark.parametrize("title", [title for title in PROGRAMME if title not in IN_EVERY_RUN])
async def test_the_real_controllers_tell_the_other_stories_as_well(
    title: str, control_plane: ControlPlane
) -> None:
    """Whatever the real ones leave to chance, they do tell each story as it is recorded."""
    for telling in range(1, TELLINGS + 1):
        try:
            await played_by_the_real_ones(title, control_plane)
        except (AssertionError, ExceptionGroup):  # a stage has a group of its own
            if telling == TELLINGS:
                raise
        else:
            return

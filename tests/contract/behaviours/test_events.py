"""What users are told in Events: by our behaviours the same as by the real controllers and scheduler.

The recordings of the stories hold what controllers tell; here the scheduler is heard as well.

Kubelets are left out: KWOK, which stands in for them beside the real controllers, tells nothing.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from contextlib import aclosing, suppress
from typing import Any

import pytest

from testbed.controlplane import ControlPlane
from tests.contract.behaviours.stage import REST, RealTime, Stage, in_memory, staged
from tests.contract.behaviours.stories import STORIES
from tests.kube.world import connect_to
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Resource
from trimtab.kube.picture import Complete, Upserted
from trimtab.kube.watch import follow

EVENTS = Resource(group="", version="v1", kind="Event", plural="events", namespaced=True)
TOLD = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "default-scheduler",
)
#: what a scheduler says of a pod that goes before it has a place: chance, on a machine with much to do
TOO_LATE = re.compile("skip schedule deleting pod|is being deleted, cannot be assigned|UID in precondition")
TITLES = (
    "a rollout",
    "a scale",
    "a job that succeeds",
    "a job that fails",
    "a job that waits",
    "a cron job",
    "a stateful set",
    "a daemon set",
)


async def told_in(stage: Stage, cluster: Cluster) -> set[str]:
    """Each Event once, as a line, without what differs between two honest clusters."""
    pages = cluster.list(EVENTS, namespace=stage.namespace)
    found = [each.manifest() async for page in pages for each in page.objects]
    return {line for each in found if (line := _line(each, stage))}


async def heard(stage: Stage, cluster: Cluster, expected: set[str]) -> set[str]:
    """The same, as soon as it is what was expected: the real ones tell in their own time."""
    told: set[str] = set()
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(REST),
            aclosing(follow(cluster, EVENTS, namespace=stage.namespace)) as news,
        ):
            async for each in news:
                if isinstance(each, Complete | Upserted):
                    told = await told_in(stage, cluster)
                if told == expected:
                    break
    return told


def _line(event: dict[str, Any], stage: Stage) -> str:
    by = event.get("reportingComponent") or event["source"].get("component", "")
    about = event["involvedObject"]
    named = stage.audience.names.masked(f"{about['kind']} {about['name']}")
    said = stage.audience.names.masked(event["message"])
    said = re.sub(r"-[a-z0-9]{5}(?=$| )", "-*", said)
    said = re.sub(r"(?<= to )[a-z0-9-]+$", "NODE", said) if event["reason"] == "Scheduled" else said
    named = re.sub(r"-[a-z0-9]{5}$", "-*", named)
    by_chance = by == "default-scheduler" and TOO_LATE.search(said) is not None
    return f"{by}: {event['type']} {named} {event['reason']}: {said}" if by in TOLD and not by_chance else ""


async def ours(title: str) -> set[str]:
    async with (
        in_memory("theatre") as cast,
        staged(cast.cluster, "theatre", cast.time) as stage,
    ):
        await STORIES[title](stage)
        await cast.behaviours.settled()
        return await told_in(stage, cast.cluster)


@pytest.mark.judge
@pytest.mark.parametrize("title", TITLES)
async def test_users_are_told_what_the_real_ones_tell(title: str, control_plane: ControlPlane) -> None:
    expected = await ours(title)
    namespace = f"events-{secrets.token_hex(4)}"
    control_plane.add_namespace(namespace)
    async with (
        connect_to(control_plane) as cluster,
        staged(cluster, namespace, RealTime()) as stage,
    ):
        await STORIES[title](stage)
        seen = await heard(stage, cluster, expected)
    assert sorted(seen) == sorted(expected)

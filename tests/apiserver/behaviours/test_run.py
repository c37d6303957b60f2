"""The doer: what it does about refusals, conflicts, lags and bugs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from tests.apiserver.behaviours.making import at_work, conditions, deployment, made, pod_template
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.changes import Actor, Behaviour, Decision
from trimtab.apiserver.behaviours.kinds import CONFIG_MAP
from trimtab.apiserver.behaviours.manifests import Manifest, Name, full_name, kind_of
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.tasks import ManualClock


async def test_a_rollout_of_an_hour_takes_no_wall_time() -> None:
    async with at_work() as stage:
        await stage.create(deployment(replicas=2, minReadySeconds=1800, progressDeadlineSeconds=3600))
        await stage.wait(1700)
        assert conditions(await stage.get("Deployment", "web"))["Available"][0] == "False"
        await stage.wait(200)
        assert conditions(await stage.get("Deployment", "web"))["Available"][0] == "True"


async def test_pods_that_are_refused_are_told_in_the_status_and_tried_again() -> None:
    async with at_work() as stage:
        await stage.create(deployment(replicas=1, template=pod_template(serviceAccountName="robot")))
        found = await stage.get("Deployment", "web")
        assert conditions(found)["ReplicaFailure"] == ("True", "FailedCreate")
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await stage.create(account)
        await stage.wait(15)
        found = await stage.get("Deployment", "web")
        assert conditions(found) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }


async def test_a_bug_in_one_behaviour_is_told_and_does_not_hang_the_others() -> None:
    def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
        raise ZeroDivisionError("a bug")

    def concerned(world: World, changed: Manifest) -> Iterator[Name]:
        if kind_of(changed) == CONFIG_MAP:
            yield full_name(changed)

    broken = Behaviour(title="broken", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned)
    told: list[str] = []

    def failed(title: str, name: Name, error: Exception) -> None:
        told.append(title)

    clock = ManualClock()
    cluster = MemoryCluster(clock=clock)
    async with behaviours_of(cluster, clock=clock, behaviours=[broken], on_failure=failed) as behaviours:
        config_maps = (await cluster.discover()).preferred("", "ConfigMap")
        assert config_maps is not None
        await cluster.create(config_maps, {"metadata": {"name": "poison"}}, namespace="default")
        await behaviours.settled()
        poison = {"metadata": {"name": "poison"}, "data": {"more": "poison"}}
        await cluster.update(config_maps, "poison", poison, namespace="default")
        await behaviours.settled()
        assert told == ["broken"], "what met a bug sits out"
        await behaviours.advance(clock, 31)
    assert told == ["broken", "broken"]


@pytest.mark.parametrize("newer", [True, False])
def test_of_two_states_the_newer_one_stays(newer: bool) -> None:  # noqa: FBT001 - a parameter of the test
    first = made("v1", "ConfigMap", "a", metadata={"resourceVersion": "5"})
    other = made("v1", "ConfigMap", "a", metadata={"resourceVersion": "9" if newer else "3"})
    world = World([first])
    assert world.put(other) is newer
    assert world.get(CONFIG_MAP, "shop", "a") is (other if newer else first)


def test_what_is_gone_does_not_come_back_by_a_word_that_lags() -> None:
    world = World([made("v1", "ConfigMap", "a")])
    world.drop("uid-of-a")
    assert world.put(made("v1", "ConfigMap", "a")) is False
    assert world.all(CONFIG_MAP) == []
    again = made("v1", "ConfigMap", "a", metadata={"uid": "a second life"})
    assert world.put(again) is True

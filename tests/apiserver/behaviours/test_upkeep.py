"""What is looked after beside workloads: taints, pods of nodes that are gone, budgets, old Events."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.behaviours.making import NOW, after, at_work, made, owner_reference, pod_template
from trimtab.apiserver.behaviours import disruptions, expiry, strays, taints
from trimtab.apiserver.behaviours.changes import NOTHING, Absent, Delete, Update
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.times import seconds_text

Json = dict[str, Any]


def node(*conditions: tuple[str, str], **spec: Any) -> Json:
    status = {"conditions": [{"type": kind, "status": is_so} for kind, is_so in conditions]}
    return made("v1", "Node", "n", namespace="", spec=spec, status=status)


def tainted(found: Json) -> list[str] | None:
    """The keys of the taints that are written, if any are."""
    changes = taints.decide(World([found]), ("", "n"), NOW, Timing()).changes
    match changes:
        case (Update(body=body),):
            return [each["key"].removeprefix("node.kubernetes.io/") for each in body["spec"]["taints"]]
        case _:
            return None


NEW = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OWN = {"key": "example.com/own", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("found", "keys"),
    [
        (node(("Ready", "True")), None),
        (node(("Ready", "True"), taints=[NEW]), []),
        (node(taints=[NEW]), None),
        (node(("Ready", "True"), taints=[OWN], unschedulable=True), ["example.com/own", "unschedulable"]),
        (node(("Ready", "Unknown"), taints=[NEW, OWN]), ["example.com/own", "unreachable"]),
        (node(("Ready", "False"), taints=[NEW]), None),
        (node(("Ready", "True"), ("DiskPressure", "True")), ["disk-pressure"]),
        (node(("Ready", "True"), taints=[{**NEW, "effect": "NoExecute"}]), None),
    ],
)
def test_a_node_has_the_taints_of_its_state_and_those_of_others(found: Json, keys: list[str] | None) -> None:
    assert tainted(found) == keys


def test_a_pod_of_a_node_that_is_gone_has_failed_and_goes_unless_the_node_is_there_after_all() -> None:
    pod = made("v1", "Pod", "p", spec={"nodeName": "n", "containers": []}, status={"phase": "Running"})
    decided = strays.decide(World([pod]), ("shop", "p"), NOW, Timing())
    failed, gone = decided.changes
    assert isinstance(failed, Update)
    assert failed.body["status"]["phase"] == "Failed"
    assert gone == Delete(target=pod, grace_seconds=0)
    assert decided.unless_alive == (Absent(kind="Node", name=("", "n")),)
    assert strays.decide(World([pod, node()]), ("shop", "p"), NOW, Timing()) == NOTHING


async def test_a_pod_on_a_node_that_never_was_goes() -> None:
    async with at_work() as stage:
        pod = {"apiVersion": "v1", "kind": "Pod", **pod_template(nodeName="nowhere")}
        await stage.create({**pod, "metadata": {"name": "stray"}})
        assert await stage.all("Pod") == []


def pods_of(kind: str, *, replicas: int = 3, **parts: Any) -> list[Json]:
    """An owner and three pods of it, two of which are healthy."""
    owner = made("apps/v1", kind, "web", spec={"replicas": replicas})
    reference = owner_reference(owner, controller=True)
    return [
        owner,
        *(
            made(
                "v1", "Pod", f"web-{number}",
                metadata={"labels": {"app": "web"}, "ownerReferences": [reference]},
                spec={}, status={"conditions": [{"type": "Ready", "status": is_ready}]},
            )
            for number, is_ready in enumerate(("True", "True", "False"))
        ),
    ]  # fmt: skip


def budget_after(found: list[Json], **rule: Any) -> Json:
    spec = {"selector": {"matchLabels": {"app": "web"}}, **rule}
    budget = made("policy/v1", "PodDisruptionBudget", "b", spec=spec, status=rule.pop("status", {}))
    (update,) = disruptions.decide(World([budget, *found]), ("shop", "b"), NOW, Timing()).changes
    assert isinstance(update, Update)
    status: Json = update.body["status"]
    return status


@pytest.mark.parametrize(
    ("rule", "wanted", "expected", "allowed"),
    [
        ({"minAvailable": 1}, 1, 3, 1),
        ({"minAvailable": "34%"}, 2, 4, 0),
        ({"maxUnavailable": 3}, 1, 4, 1),
        ({"maxUnavailable": "100%"}, 0, 4, 2),
    ],
)
def test_a_budget_counts_its_pods_or_takes_a_part_of_what_their_owner_asks_for(
    rule: Json, wanted: int, expected: int, allowed: int
) -> None:
    status = budget_after(pods_of("ReplicaSet", replicas=4), **rule)
    counted = (status["desiredHealthy"], status["expectedPods"], status["disruptionsAllowed"])
    assert counted == (wanted, expected, allowed)
    assert status["currentHealthy"] == 2
    reason = "SufficientPods" if allowed else "InsufficientPods"
    assert [each["reason"] for each in status["conditions"]] == [reason]


def test_a_budget_of_pods_whose_owner_has_no_size_allows_nothing_and_says_why() -> None:
    status = budget_after(pods_of("DaemonSet"), maxUnavailable=1)
    (told,) = status["conditions"]
    assert (status["disruptionsAllowed"], told["reason"]) == (0, "SyncFailed")
    assert told["message"] == 'found no controllers for pod "web-0"'


def test_an_eviction_on_its_way_counts_for_two_minutes() -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1}
    noted = {"disruptedPods": {"web-0": seconds_text(NOW)}}
    budget = made("policy/v1", "PodDisruptionBudget", "b", spec=spec, status=noted)
    world = World([budget, *pods_of("ReplicaSet")])
    healthy = []
    for minutes in (0, 3):
        decided = disruptions.decide(world, ("shop", "b"), after(minutes=minutes), Timing())
        (update,) = decided.changes
        assert isinstance(update, Update)
        healthy.append((update.body["status"]["currentHealthy"], decided.again))
    assert healthy == [(1, after(minutes=2)), (2, None)]


async def test_an_event_is_forgotten_an_hour_after_it_was_last_told() -> None:
    old = made("v1", "Event", "old", lastTimestamp=seconds_text(NOW))
    fresh = made("v1", "Event", "fresh", lastTimestamp=seconds_text(after(minutes=30)))
    world, minute = World([old, fresh]), next(expiry.concerned(World([old]), old))
    assert expiry.decide(world, minute, NOW, Timing()).again == after(minutes=61)
    assert expiry.decide(world, minute, after(minutes=61), Timing()).changes == (Delete(target=old),)
    async with at_work() as stage:
        pod = {"apiVersion": "v1", "kind": "Pod", **pod_template()}
        await stage.create({**pod, "metadata": {"name": "lone"}})
        await stage.wait(3500)
        assert len(await stage.all("Event")) == 4
        await stage.wait(200)
        assert await stage.all("Event") == []

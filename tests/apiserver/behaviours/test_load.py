"""What pods ask of nodes, and what a node has too little of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.behaviours.making import made
from trimtab.apiserver.behaviours.load import has_room, requested, room, shortages
from trimtab.apiserver.behaviours.world import World

Json = dict[str, Any]
BILLION = 10**9


def asking(cpu: str = "", *, always: bool = False) -> Json:
    container: Json = {"name": "main", "image": "web:1"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {**container, "restartPolicy": "Always"} if always else container


def pod(*containers: Json, inits: tuple[Json, ...] = (), name: str = "web", **parts: Any) -> Json:
    spec = {"containers": list(containers), "initContainers": list(inits), **parts.pop("spec", {})}
    return made("v1", "Pod", name, spec=spec, **parts)


@pytest.mark.parametrize(
    ("found", "cpu"),
    [
        (pod(asking()), 0),
        (pod(asking("500m"), asking("1")), 1.5),
        (pod(asking("1"), inits=(asking("3"), asking("2"))), 3),
        (pod(asking("2"), inits=(asking("1"),)), 2),
        (pod(asking("2"), inits=(asking("1", always=True),)), 3),
        (pod(asking("1"), inits=(asking("1", always=True), asking("4"))), 5),
        (pod(asking("1"), spec={"overhead": {"cpu": "250m"}}), 1.25),
    ],
)
def test_a_pod_asks_for_all_its_containers_or_for_its_hungriest_init_container(
    found: Json, cpu: float
) -> None:
    assert (requested(found)["cpu"], requested(found)["pods"]) == (cpu * BILLION, BILLION)


def test_a_node_is_short_of_what_is_used_up() -> None:
    node = made("v1", "Node", "n", namespace="", status={"allocatable": {"cpu": "4", "pods": "2"}})
    asked, used = requested(pod(asking("3"))), requested(pod(asking("2")))
    assert list(shortages(asked, {}, room(node))) == []
    assert list(shortages(asked, used, room(node))) == ["cpu"]
    assert list(shortages(asked, {"pods": 2 * BILLION}, room(node))) == ["pods"]
    assert has_room(asked, room(node))
    assert not has_room(requested(pod(asking("5"))), room(node))


def test_a_node_bears_the_pods_that_are_on_it_and_not_over() -> None:
    here = {"nodeName": "n"}
    world = World([pod(asking("1"), name=name, spec=here) for name in ("a", "b")])
    world.put(pod(asking("1"), name="waits"))
    assert (world.load("n")["cpu"], len(world.unplaced())) == (2 * BILLION, 1)
    world.put(pod(asking("1"), name="a", spec=here, status={"phase": "Succeeded"}))
    world.put(pod(asking("1"), name="waits", spec=here))
    assert (world.load("n")["cpu"], world.unplaced()) == (2 * BILLION, [])
    world.drop("uid-of-b")
    assert world.load("n")["cpu"] == BILLION
    assert world.load("elsewhere")["cpu"] == 0

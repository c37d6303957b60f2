"""The order in which a plan was carried out is read off what happened, not off what was planned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab.interfaces.demo.order import in_order, is_well, turns
from trimtab.kube.objects import KubeObject, object_from

COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}
AVAILABLE = {"observedGeneration": 1, "availableReplicas": 2}


def state(version: int, kind: str, name: str, status: dict[str, Any] | None = None) -> KubeObject:
    """An object at one moment."""
    group = {"Job": "batch/v1", "Deployment": "apps/v1"}.get(kind, "v1")
    metadata = {"name": name, "namespace": "shop", "resourceVersion": str(version), "generation": 1}
    body = {"apiVersion": group, "kind": kind, "metadata": metadata, "spec": {"replicas": 2}}
    return object_from(json.dumps({**body, "status": status or {}}).encode())


def step(phase: str, wave: int, group: str, kind: str, name: str) -> dict[str, Any]:
    """One step of a plan, as a verb prints it."""
    key = {"group": group, "kind": kind, "namespace": "shop", "name": name}
    return {"phase": phase, "wave": wave, "object": key}


TURN_OF = turns(
    {
        "steps": [
            step("PreSync", 0, "batch", "Job", "migrate"),
            step("Sync", 0, "", "ConfigMap", "cart"),
            step("Sync", 1, "apps", "Deployment", "cart"),
            step("Sync", 2, "apps", "Deployment", "web"),
        ]
    }
)
RIGHT = (
    state(1, "Job", "migrate"),
    state(2, "Job", "migrate", COMPLETE),
    state(3, "ConfigMap", "cart"),
    state(4, "Deployment", "cart"),
    state(5, "Deployment", "cart", AVAILABLE),
    state(6, "Deployment", "web"),
    state(7, "Deployment", "web", AVAILABLE),
)
MARKS = [
    f"{turn} {mark}" for turn in ("PreSync 0", "Sync 0", "Sync 1", "Sync 2") for mark in ("begun", "well")
]


def test_turns_are_told_as_they_came() -> None:
    assert in_order(TURN_OF, reversed(RIGHT)) == MARKS


def test_what_began_too_early_is_seen() -> None:
    early = state(4, "Deployment", "web")
    states = [state(3, "ConfigMap", "cart"), state(5, "Deployment", "cart"), early]
    found = in_order(TURN_OF, [*states, state(6, "Deployment", "cart", AVAILABLE)])
    assert found == ["Sync 0 begun", "Sync 0 well", "Sync 2 begun", "Sync 1 begun", "Sync 1 well"]


def test_a_turn_is_well_with_the_last_of_its_objects() -> None:
    turn_of = dict.fromkeys(TURN_OF, "Sync 0")
    assert in_order(turn_of, RIGHT) == ["Sync 0 begun", "Sync 0 well"]
    assert in_order(turn_of, RIGHT[:-1]) == ["Sync 0 begun"]


@pytest.mark.parametrize(
    ("kind", "status", "well"),
    [
        ("ConfigMap", {}, True),
        ("Job", {}, False),
        ("Job", {"conditions": [{"type": "Complete", "status": "False"}]}, False),
        ("Job", COMPLETE, True),
        ("Deployment", {"observedGeneration": 1, "availableReplicas": 1}, False),
        ("Deployment", {"observedGeneration": 0, "availableReplicas": 2}, False),
        ("Deployment", AVAILABLE, True),
    ],
)
def test_jobs_are_well_when_complete_and_deployments_with_all_pods(
    kind: str,
    status: dict[str, Any],
    well: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_well(state(1, kind, "any", status).manifest()) is well

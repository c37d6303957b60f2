"""Which nodes a pod may go to, and which pods go first: numbers are compared only where there are some."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.behaviours.making import made
from trimtab.apiserver.behaviours.placement import is_chosen
from trimtab.apiserver.behaviours.readiness import dispensable_first

Json = dict[str, Any]
COST = "controller.kubernetes.io/pod-deletion-cost"


def picky(operator: str, value: str) -> Json:
    terms = [{"matchExpressions": [{"key": "cores", "operator": operator, "values": [value]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return made("v1", "Pod", "p", spec={"affinity": {"nodeAffinity": required}})


@pytest.mark.parametrize(
    ("label", "operator", "value", "chosen"),
    [
        ("4", "Gt", "3", True),
        ("4", "Lt", "3", False),
        ("3", "Lt", "4", True),
        ("4", "Gt", "4", False),
        ("many", "Gt", "3", False),
        ("many", "Lt", "3", False),
        ("\u00b2", "Lt", "3", False),
    ],
)
def test_a_node_is_compared_by_number(label: str, operator: str, value: str, *, chosen: bool) -> None:
    node = made("v1", "Node", "n", metadata={"labels": {"cores": label}})
    assert is_chosen(picky(operator, value), node) is chosen


def test_a_cost_that_is_no_number_is_none() -> None:
    costs = {"a": "\u00b2", "b": "-1", "c": "9" * 4301, "d": "1"}
    pods = [
        made("v1", "Pod", name, metadata={"annotations": {COST: cost}}, spec={}, status={})
        for name, cost in costs.items()
    ]
    assert [pod["metadata"]["name"] for pod in dispensable_first(pods)] == ["b", "a", "c", "d"]

"""Autoscalers in their two versions: nothing that v2 says is lost on the way through v1."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube.schemas.autoscalers import BEHAVIOR, METRICS, in_v2, v1_from_v2, v2_from_v1

CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
PODS = {
    "type": "Pods",
    "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "1"}},
}
OBJECT = {
    "type": "Object",
    "object": {
        "describedObject": {"kind": "Service", "name": "s"},
        "metric": {"name": "x", "selector": {"matchLabels": {"a": "b"}}},
        "target": {"type": "AverageValue", "averageValue": "1"},
    },
}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "x"}, "target": {"type": "Value", "value": "5"}},
}
RULES = {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}


def autoscaler(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "annotations": {"mine": "1"}},
        "spec": {"maxReplicas": 3, **spec},
        "status": {"currentMetrics": None, "desiredReplicas": 0},
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"metrics": [CPU]},
        {"metrics": [PODS, OBJECT, EXTERNAL]},
        {"metrics": [PODS, CPU]},
        {"metrics": [CPU], "behavior": {"scaleUp": RULES, "scaleDown": {**RULES, "tolerance": "1"}}},
    ],
)
def test_what_goes_through_v1_comes_back(spec: dict[str, Any]) -> None:
    assert v2_from_v1(v1_from_v2(autoscaler(**spec))) == autoscaler(**spec)


def test_how_busy_processors_shall_be_has_a_field_of_its_own() -> None:
    old = v1_from_v2(autoscaler(metrics=[CPU]))
    assert old["spec"] == {"maxReplicas": 3, "targetCPUUtilizationPercentage": 80}
    assert old["metadata"]["annotations"] == {"mine": "1"}


def test_the_annotations_of_v1_mean_nothing_in_v2() -> None:
    noted = {"metadata": {"annotations": {METRICS: "[]", BEHAVIOR: "{}", "mine": "1"}}}
    assert in_v2(noted) == {"metadata": {"annotations": {"mine": "1"}}}
    assert in_v2({"metadata": {"annotations": {METRICS: "[]"}}}) == {"metadata": {}}


@pytest.mark.parametrize("text", ["", "x", "1", "[1]", "{"])
def test_an_annotation_that_cannot_be_read_means_nothing(text: str) -> None:
    noted = {"metadata": {"annotations": {METRICS: text, BEHAVIOR: text}}, "spec": {}}
    assert v2_from_v1(noted)["spec"] == {"metrics": [CPU]}

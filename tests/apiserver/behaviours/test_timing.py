"""Whoever asks for trouble in a way that brings none is warned."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours.timing import SIMULATE, Simulation, simulation_warnings

KNOWN = "image-pull-error, crash-loop, never-ready, slow, fail"
UNKNOWN = f"{SIMULATE}: 'crashloop' is not known and changes nothing; known are {KNOWN}"
ELSEWHERE = f"{SIMULATE}: it changes nothing here; put it on the pod template"


def noted(word: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {SIMULATE: word}}}


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"kind": "Pod", **noted("crashloop")}, UNKNOWN),
        ({"kind": "Pod", **noted("crash-loop")}, ""),
        ({"kind": "Deployment", "spec": {"template": noted("crashloop")}}, UNKNOWN),
        ({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": noted("crashloop")}}}}, UNKNOWN),
        ({"kind": "Deployment", **noted("slow"), "spec": {"template": {"spec": {}}}}, ELSEWHERE),
        ({"kind": "Deployment", **noted("slow"), "spec": {"template": noted("slow")}}, ""),
        ({"kind": "ConfigMap", **noted("anything")}, ""),
        ({"kind": "Widget", "metadata": None, "spec": "odd"}, ""),
    ],
)
def test_a_wish_that_nobody_knows_or_that_stands_elsewhere_is_warned_of(
    manifest: dict[str, Any], said: str
) -> None:
    assert simulation_warnings(manifest) == ((said,) if said else ())


def test_every_wish_that_is_known_is_heard() -> None:
    assert [simulation_warnings({"kind": "Pod", **noted(each.value)}) for each in Simulation] == [()] * len(
        Simulation
    )


async def test_the_server_warns_when_such_a_wish_is_written_and_not_again_while_it_stands() -> None:
    cluster = MemoryCluster()
    kind = (await cluster.discover()).preferred("apps", "Deployment")
    assert kind is not None
    template = {**noted("crashloop"), "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    template["metadata"]["labels"] = {"app": "web"}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    made = await cluster.apply(kind, "web", web, namespace="default")
    again = await cluster.apply(kind, "web", {**web, "spec": {**spec, "replicas": 3}}, namespace="default")
    assert (made.warnings, again.warnings) == ((UNKNOWN,), ())

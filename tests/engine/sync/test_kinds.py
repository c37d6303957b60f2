"""How kinds are found while an operation runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.sync.leaping import Leaping
from tests.engine.views import DISCOVERY, Case, manifest, served
from trimtab.engine.sync.kinds import Kinds, defined_resources
from trimtab.engine.sync.steps import Apply
from trimtab.kube.discovery import Discovery
from trimtab.kube.failures import Forbidden, ServerFailed, Status, Unauthenticated
from trimtab.tasks import Clock, SystemClock

CRD = manifest(
    "CustomResourceDefinition",
    "widgets.example.com",
    api="apiextensions.k8s.io/v1",
    spec={
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [{"name": "v1", "served": True}, {"name": "v2", "served": False}, {"name": "v3"}],
    },
)


class Answers:
    """A cluster that only answers discovery, as it was told to."""

    def __init__(self, *answers: Discovery | Exception) -> None:
        self.answers, self.asked = list(answers), 0

    async def discover(self) -> Discovery:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def kinds_of(cluster: Any, *steps: Any, clock: Clock | None = None) -> Kinds:
    return Kinds(cluster, clock or SystemClock(), DISCOVERY, steps)


def step(kind: str, name: str = "x") -> Any:
    plan = Case().missing(manifest(kind, name, api="example.com/v1", annotations=SKIP)).plan()
    return plan.steps[0]


SKIP = {"trimtab.dev/sync-options": "SkipDryRunOnMissingResource=true"}
REFUSED = Unauthenticated("discovery", "who are you?", status=Status(code=401))
WIDGETS = Discovery(resources=(*DISCOVERY.resources, served("example.com/v1", "Widget", "widgets")))


def test_a_definition_tells_how_each_version_it_serves_is_addressed() -> None:
    found = list(defined_resources(CRD))
    assert [(each.api_version, each.plural, each.namespaced) for each in found] == [
        ("example.com/v1", "widgets", False),
        ("example.com/v3", "widgets", False),
    ]
    assert list(defined_resources({**CRD, "kind": "ConfigMap"})) == []
    assert list(defined_resources({**CRD, "spec": {"group": 1, "names": [], "versions": {}}})) == []


async def test_a_kind_that_the_plan_defines_is_addressed_without_asking() -> None:
    cluster = Answers(DISCOVERY)
    plan = Case().missing(CRD, manifest("Widget", "w", api="example.com/v1")).plan()
    kinds = kinds_of(cluster, *plan.steps)
    await kinds.learn(plan.steps)
    assert (cluster.asked, kinds.is_new("example.com/v1", "Widget")) == (0, True)
    found = kinds.resource("example.com/v1", "Widget")
    assert found is not None
    assert found.plural == "widgets"


@pytest.mark.fact("S14")
async def test_discovery_is_asked_again_when_the_credentials_were_refused_up_to_five_times() -> None:
    late = Answers(REFUSED, REFUSED, WIDGETS)
    kinds = kinds_of(late)
    await kinds.learn([step("Widget")])
    assert (late.asked, kinds.resource("example.com/v1", "Widget") is not None) == (3, True)
    never = Answers(REFUSED)
    await kinds_of(never).learn([step("Widget")])
    assert never.asked == 5


@pytest.mark.fact("S14", "S15")
async def test_other_refusals_are_not_asked_again_and_are_told() -> None:
    strict = Answers(Forbidden("discovery", "not for you", status=Status(code=403)))
    kinds = kinds_of(strict)
    await kinds.learn([step("Widget")])
    assert (strict.asked, kinds.problem("example.com/v1", "Widget")) == (1, "not for you")


@pytest.mark.fact("S15")
async def test_a_server_that_is_away_is_asked_again_for_a_while_and_then_what_it_lacks_is_told() -> None:
    down = ServerFailed("discovery", "etcd is down", status=Status(code=500))
    back, gone = Answers(down, down, WIDGETS), Answers(down)
    kinds = kinds_of(back, clock=Leaping())
    await kinds.learn([step("Widget")])
    assert (back.asked, kinds.resource("example.com/v1", "Widget") is not None) == (3, True)
    kinds = kinds_of(gone, clock=Leaping())
    await kinds.learn([step("Widget")])
    assert kinds.problem("example.com/v1", "Widget") == "etcd is down"


@pytest.mark.fact("S16")
async def test_a_kind_that_cannot_be_found_is_asked_for_once_for_all_its_objects() -> None:
    cluster = Answers(DISCOVERY)
    kinds = kinds_of(cluster)
    for name in "abc":
        await kinds.learn([step("Widget", name), step("Widget", name * 2)])
    assert cluster.asked == 1
    assert kinds.problem("example.com/v1", "Widget") == "the server serves no Widget in example.com/v1"
    assert isinstance(step("Widget"), Apply)

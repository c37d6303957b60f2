"""What budgets say to evictions; scenes beside the real server compare the words of every answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from trimtab.apiserver.budgets import MOST_UNSEEN, asked_for, spent
from trimtab.kube.refusals import Refused

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(*, phase: str = "Running", ready: bool = True, going: bool = False) -> dict[str, Any]:
    ended = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if going else {}
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"name": "a", "labels": {"app": "a"}, **ended},
        "status": {"phase": phase, "conditions": conditions},
    }


def budget(*, app: str = "a", policy: str = "IfHealthyBudget", **status: Any) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": app}}, "unhealthyPodEvictionPolicy": policy}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "generation": 1},
        "spec": spec,
        "status": {"observedGeneration": 1, **status},
    }


@pytest.mark.parametrize(
    ("evicted", "minding", "asked"),
    [
        (pod(), budget(), True),
        (pod(), budget(app="other"), False),
        (pod(phase="Pending"), budget(), False),
        (pod(phase="Failed"), budget(), False),
        (pod(phase="Succeeded"), budget(), False),
        (pod(going=True), budget(), False),
        (pod(ready=False), budget(currentHealthy=1, desiredHealthy=2), True),
        (pod(ready=False), budget(currentHealthy=2, desiredHealthy=2), False),
        (pod(ready=False), budget(currentHealthy=0, desiredHealthy=0), True),
        (pod(ready=False), budget(policy="AlwaysAllow"), False),
    ],
)
def test_a_budget_is_asked_for_pods_that_it_counts(
    evicted: dict[str, Any], minding: dict[str, Any], *, asked: bool
) -> None:
    assert asked_for(evicted, [minding]) == (minding if asked else None)


def test_two_budgets_for_one_pod_are_refused() -> None:
    with pytest.raises(Refused) as refused:
        asked_for(pod(), [budget(), budget()])
    assert refused.value.code == 500


def test_an_eviction_is_noted_and_the_last_one_shuts_the_budget() -> None:
    opened = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": ""}
    first = spent(budget(disruptionsAllowed=2, conditions=[opened]), "a", NOW)
    assert first["status"]["conditions"] == [opened]
    last = spent(first, "b", NOW)["status"]
    noted = "2026-01-01T00:00:00Z"
    assert (last["disruptionsAllowed"], last["disruptedPods"]) == (0, {"a": noted, "b": noted})
    shut = {"status": "False", "reason": "InsufficientPods", "observedGeneration": 1}
    assert last["conditions"] == [{**opened, **shut, "lastTransitionTime": noted}]


@pytest.mark.parametrize(
    ("minding", "code"),
    [
        (budget(disruptionsAllowed=0), 429),
        (budget(disruptionsAllowed=1, observedGeneration=0), 429),
        (budget(disruptionsAllowed=1, disruptedPods={str(each): "" for each in range(MOST_UNSEEN + 1)}), 403),
    ],
    ids=["nothing left", "not counted yet", "too many under way"],
)
def test_a_budget_refuses(minding: dict[str, Any], code: int) -> None:
    with pytest.raises(Refused) as refused:
        spent(minding, "a", NOW)
    assert refused.value.code == code

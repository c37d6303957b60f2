"""A rolling update never goes above its surge nor below what must be available, and always ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apiserver.behaviours.making import made
from trimtab.apiserver.behaviours.rollouts import (
    Rollout,
    is_scaling,
    revision_of,
    rolling_sizes,
    rollout_of,
    scaled_sizes,
    superfluous,
)

Json = dict[str, Any]


def deployment(
    replicas: int, surge: Any = "25%", unavailable: Any = "25%", tag: str = "2", **spec: Any
) -> Json:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    wish = {"replicas": replicas, "strategy": strategy, "template": _template(tag), **spec}
    return made("apps/v1", "Deployment", "web", spec=wish)


def _template(tag: str) -> Json:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"image": tag}}


def replica_set(tag: str, size: int, available: int | None = None, **annotations: str) -> Json:
    marks = {f"deployment.kubernetes.io/{key}-replicas": value for key, value in annotations.items()}
    marks["deployment.kubernetes.io/revision"] = tag
    status = {"availableReplicas": size if available is None else available, "observedGeneration": 1}
    return made(
        "apps/v1", "ReplicaSet", f"web-{tag}",
        metadata={"annotations": marks, "creationTimestamp": f"2026-01-0{tag}T00:00:00Z"},
        spec={"replicas": size, "template": _template(tag)}, status=status,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (4, "25%", "25%", (1, 1)),
        (3, "25%", "25%", (1, 0)),
        (10, 0, 0, (0, 1)),
        (2, 0, 5, (0, 2)),
        (0, 1, 1, (1, 0)),
    ],
)
def test_the_limits_of_a_rollout(
    replicas: int, surge: Any, unavailable: Any, expected: tuple[int, int]
) -> None:
    rollout = rollout_of(deployment(replicas, surge, unavailable), [])
    assert (rollout.max_surge, rollout.max_unavailable) == expected


def test_pods_that_are_not_available_are_given_up_first() -> None:
    rollout = rollout_of(deployment(4), [replica_set("1", 4, available=3), replica_set("2", 1)])
    assert rolling_sizes(rollout) == {"uid-of-web-1": 2}


def test_a_new_set_that_is_stuck_costs_no_old_pod() -> None:
    rollout = rollout_of(deployment(3), [replica_set("1", 3), replica_set("2", 1, available=0)])
    assert rolling_sizes(rollout) == {}


@given(
    replicas=st.integers(1, 30),
    surge=st.one_of(st.integers(0, 10), st.integers(0, 100).map(lambda share: f"{share}%")),
    unavailable=st.one_of(st.integers(0, 10), st.integers(0, 100).map(lambda share: f"{share}%")),
)
def test_a_rolling_update_keeps_within_its_limits_and_ends(
    replicas: int, surge: Any, unavailable: Any
) -> None:
    wish = deployment(replicas, surge, unavailable)
    old, new = replicas, 0
    for _ in range(200):
        rollout = rollout_of(wish, [replica_set("1", old), replica_set("2", new)])
        sizes = rolling_sizes(rollout)
        if not sizes:
            break
        old, new = sizes.get("uid-of-web-1", old), sizes.get("uid-of-web-2", new)
        assert old + new <= replicas + rollout.max_surge
        still_there = min(old, replicas) + min(new, replicas)  # everything that was there is available
        assert still_there >= replicas - rollout.max_unavailable
    assert (old, new) == (0, replicas)


def test_sets_share_a_change_of_the_wish_by_their_size() -> None:
    sets = [replica_set("1", 8, desired="10", max="13"), replica_set("2", 5, desired="10", max="13")]
    rollout = rollout_of(deployment(20, 3, 2), sets)
    assert is_scaling(rollout)
    sizes = scaled_sizes(rollout)
    assert sum(sizes.values()) == 23
    assert sizes["uid-of-web-1"] > sizes["uid-of-web-2"]


def test_the_only_set_takes_the_whole_change() -> None:
    rollout = rollout_of(deployment(5), [replica_set("2", 2, desired="2", max="3")])
    assert scaled_sizes(rollout) == {"uid-of-web-2": 5}


def test_of_the_empty_old_sets_only_the_newest_are_kept() -> None:
    wish = deployment(1, tag="5", revisionHistoryLimit=1)
    sets = [replica_set(tag, 0) for tag in "123"] + [replica_set("5", 1)]
    rollout: Rollout = rollout_of(wish, sets)
    assert [each["metadata"]["name"] for each in superfluous(rollout)] == ["web-1", "web-2"]


@pytest.mark.parametrize("text", ["\u00b2", "9" * 4301, "many", ""])
def test_annotations_that_are_no_numbers_say_nothing(text: str) -> None:
    marked = replica_set("1", 3, desired=text, max=text)
    marked["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = text
    assert revision_of(marked) == 0
    assert not is_scaling(rollout_of(deployment(5, tag="1"), [marked]))

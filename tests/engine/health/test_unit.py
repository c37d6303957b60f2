"""A unit is as well as the worst of its objects."""

from __future__ import annotations

import pytest

from trimtab.engine.health import Health, HealthStatus, Part, UnitHealth, worst_of
from trimtab.engine.health.unit import is_excluded
from trimtab.resources.keys import ResourceKey

H, P, D, U, M = (
    HealthStatus.HEALTHY,
    HealthStatus.PROGRESSING,
    HealthStatus.DEGRADED,
    HealthStatus.UNKNOWN,
    HealthStatus.MISSING,
)


def key(name: str, kind: str = "Deployment", group: str = "apps") -> ResourceKey:
    return ResourceKey(group, kind, "shop", name)


def part(
    name: str,
    status: HealthStatus | None = None,
    message: str = "",
    *,
    is_live: bool = True,
    counts: bool = True,
) -> Part:
    health = None if status is None else Health(status, message)
    return Part(key=key(name), is_live=is_live, health=health, counts=counts)


@pytest.mark.fact("H16")
def test_a_unit_is_as_bad_as_its_worst_object_and_heals_with_it() -> None:
    sick = [part("a", H), part("b", P, "slow"), part("c", D, "broken"), part("d")]
    assert worst_of(sick) == UnitHealth(
        health=Health(D, "Deployment.apps shop/c: broken"), culprits=(key("c"),)
    )
    better = [*sick[:2], part("c", H), sick[3]]
    assert worst_of(better) == UnitHealth(
        health=Health(P, "Deployment.apps shop/b: slow"), culprits=(key("b"),)
    )


def test_the_order_is_healthy_suspended_progressing_missing_degraded_unknown() -> None:
    assert [status.rank for status in HealthStatus] == [0, 1, 2, 3, 4, 5]
    assert [status.value for status in HealthStatus] == [
        *("Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown")
    ]


@pytest.mark.fact("H17")
def test_a_unit_without_objects_or_with_hooks_alone_is_healthy() -> None:
    assert worst_of([]) == UnitHealth(health=Health(H))
    assert worst_of([part("hook", D, counts=False)]) == UnitHealth(health=Health(H))
    assert worst_of([part("hook", is_live=False, counts=False)]) == UnitHealth(health=Health(H))


@pytest.mark.fact("H18")
def test_one_missing_object_does_not_count_but_all_missing_does() -> None:
    gone = part("gone", M, is_live=False)
    assert worst_of([gone, part("a", H)]) == UnitHealth(health=Health(H))
    assert worst_of([gone, gone]).health.status is M


@pytest.mark.fact("H19")
def test_an_object_may_ask_not_to_be_counted() -> None:
    assert is_excluded({"metadata": {"annotations": {"argocd.argoproj.io/ignore-healthcheck": "true"}}})
    assert not is_excluded({"metadata": {"annotations": {"argocd.argoproj.io/ignore-healthcheck": "yes"}}})
    assert not is_excluded({"metadata": {"annotations": []}})
    assert not is_excluded({})
    assert worst_of([part("a", D, counts=False), part("b", H)]).health.status is H


@pytest.mark.fact("H20")
def test_a_child_application_counts_only_when_it_is_degraded() -> None:
    def child(status: HealthStatus) -> Part:
        return Part(key=key("child", "Application", "argoproj.io"), is_live=True, health=Health(status))

    assert worst_of([child(M)]).health.status is H
    assert worst_of([child(U)]).health.status is H
    assert worst_of([child(D)]).health.status is D


@pytest.mark.fact("H21")
def test_three_culprits_are_named_and_the_rest_counted() -> None:
    parts = [part(name, D, "x") for name in "abcde"]
    found = worst_of(parts)
    assert found.health.message == (
        "Deployment.apps shop/a: x; Deployment.apps shop/b: x; Deployment.apps shop/c: x; and 2 more"
    )
    assert len(found.culprits) == 5
    assert worst_of(parts[:3]).health.message.endswith("shop/c: x")


@pytest.mark.fact("H22")
def test_an_object_that_stands_for_the_unit_does_not_affect_it() -> None:
    assert worst_of([part("self", D), part("a", H)], itself=key("self")).health.status is H

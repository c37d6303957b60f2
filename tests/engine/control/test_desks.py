"""Ways: what settings mean for reading and comparing."""

from __future__ import annotations

import pytest

from trimtab.engine.compare.ignoring import IgnoreRule
from trimtab.engine.compare.matching import Role
from trimtab.engine.compare.tracking import ArgoTracking, OwnerAnnotation
from trimtab.engine.control.desks import role_of, ways_of
from trimtab.engine.health import Health, HealthStatus, health_of
from trimtab.engine.units import ReconciliationSettings, ResourceOverride

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "a"},
    "status": {"phase": "Lost"},
}


def override(status: HealthStatus, *pointers: str) -> ResourceOverride:
    rules = (IgnoreRule(kind="*", json_pointers=pointers),) if pointers else ()
    return ResourceOverride(health=lambda _: Health(status), ignore_differences=rules)


@pytest.mark.fact("H9")
@pytest.mark.parametrize("pattern", ["Persistent*", "?ersistentVolumeClaim", "[A-Z]ersistentVolumeClaim"])
def test_a_users_rule_for_one_kind_beats_his_rule_for_many_which_beats_ours(pattern: str) -> None:
    many = {pattern: override(HealthStatus.SUSPENDED)}
    both = {**many, "PersistentVolumeClaim": override(HealthStatus.PROGRESSING)}
    found = [
        health_of(
            CLAIM,
            ways_of(ReconciliationSettings(resource_overrides=rules), OwnerAnnotation("x")).health_rules,
        )
        for rules in ({}, many, both)
    ]
    assert [each.status if each else None for each in found] == [
        HealthStatus.DEGRADED,
        HealthStatus.SUSPENDED,
        HealthStatus.PROGRESSING,
    ]


def test_ignored_differences_of_all_kinds_add_up() -> None:
    overrides = {"*": override(HealthStatus.HEALTHY, "/a"), "ConfigMap": override(HealthStatus.HEALTHY, "/b")}
    ways = ways_of(ReconciliationSettings(resource_overrides=overrides), OwnerAnnotation("x"))
    assert [rule.json_pointers for rule in ways.ignored] == [("/b",), ("/a",)]


@pytest.mark.parametrize(
    ("pattern", "about"),
    [
        ("ConfigMap", ("", "ConfigMap")),
        ("apps/Deployment", ("apps", "Deployment")),
        ("*/*", ("*", "*")),
        ("*", ("*", "*")),
    ],
)
def test_a_rule_that_names_no_kind_is_about_those_of_its_override(
    pattern: str, about: tuple[str, str]
) -> None:
    overrides = {pattern: ResourceOverride(ignore_differences=(IgnoreRule(json_pointers=("/a",)),))}
    ways = ways_of(ReconciliationSettings(resource_overrides=overrides), OwnerAnnotation("x"))
    assert [(rule.group, rule.kind) for rule in ways.ignored] == [about]


def test_the_label_key_is_that_of_the_settings() -> None:
    settings = ReconciliationSettings(app_instance_label_key="example.com/app")
    assert ways_of(settings, ArgoTracking()).tracking == ArgoTracking(label="example.com/app")
    assert ways_of(settings, OwnerAnnotation("x")).tracking == OwnerAnnotation("x")


@pytest.mark.parametrize(
    ("annotations", "role"),
    [
        ({}, Role.RESOURCE),
        ({"argocd.argoproj.io/hook": "PreSync"}, Role.HOOK),
        ({"argocd.argoproj.io/hook": "Skip"}, Role.IGNORED),
    ],
)
def test_an_object_is_a_resource_a_hook_or_neither(annotations: dict[str, str], role: Role) -> None:
    assert role_of({"metadata": {"annotations": annotations}}) is role

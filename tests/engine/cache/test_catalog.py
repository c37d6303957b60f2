"""Which kinds there are, as discovery and the objects that declare kinds tell it."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from tests.engine.cache.objects import kind
from trimtab.engine.cache.catalog import (
    ApiService,
    Catalog,
    Definition,
    api_service_from,
    catalog_of,
    definition_from,
    plain_version,
    priority,
    with_definitions,
)
from trimtab.errors import Missing
from trimtab.kube.discovery import Discovery

V1, BETA, ALPHA = (kind("Widget", "example.com", each) for each in ("v1", "v1beta1", "v1alpha1"))
CONFIG_MAPS = kind("ConfigMap")


def versions(catalog: Catalog) -> list[str]:
    return [each.version for each in catalog.kinds.get(("example.com", "Widget"), ())]


def catalog(*resources: Any, **failed: str) -> Catalog:
    return catalog_of(Discovery(resources=resources, failed=failed))


@pytest.mark.fact("C17")
def test_learning_of_a_version_twice_is_the_same_as_learning_of_it_once() -> None:
    once = catalog(V1, BETA, CONFIG_MAPS)
    assert catalog(V1, V1, BETA, CONFIG_MAPS, BETA) == once
    told = Definition("example.com", "Widget", (V1, BETA))
    assert with_definitions(with_definitions(once, [told]), [told, told]) == once


@pytest.mark.fact("C18")
def test_forgetting_one_version_of_a_kind_keeps_the_others() -> None:
    before = catalog(V1, BETA, CONFIG_MAPS)
    after = with_definitions(before, [Definition("example.com", "Widget", (V1,))])
    assert versions(after) == ["v1"]
    assert after.preferred("", "ConfigMap") == CONFIG_MAPS
    assert versions(before) == ["v1", "v1beta1"], "the catalog before is as it was"


def test_a_definition_that_serves_nothing_takes_its_kind_away() -> None:
    assert versions(with_definitions(catalog(V1), [Definition("example.com", "Widget", ())])) == []


def test_a_definition_that_serves_nothing_hides_no_other_that_declares_the_same_kind() -> None:
    serving, refused = (Definition("example.com", "Widget", each) for each in ((V1,), ()))
    for told in ([serving, refused], [refused, serving]):
        assert versions(with_definitions(catalog(), told)) == ["v1"]


def test_the_first_version_a_server_lists_is_the_one_it_prefers() -> None:
    found = catalog(BETA, V1)
    assert found.preferred("example.com", "Widget") == BETA
    assert found.resource("example.com/v1", "Widget") == V1
    assert [each.api_version for each in found.preferred_ones()] == ["example.com/v1beta1"]


def test_groups_that_do_not_answer_keep_what_was_known_of_them() -> None:
    before = catalog(V1, BETA, CONFIG_MAPS)
    after = catalog_of(
        Discovery(resources=(CONFIG_MAPS,), failed={"example.com/v1beta1": "no answer"}), before
    )
    assert versions(after) == ["v1beta1"]


def test_an_unknown_kind_is_missing_and_its_scope_is_nobody_s_guess() -> None:
    found = catalog(V1)
    assert found.namespaced("example.com", "Unicorn") is None
    assert found.namespaced("example.com", "Widget") is True
    with pytest.raises(Missing, match="no such kind"):
        found.resource("example.com/v1", "Unicorn")
    with pytest.raises(Missing, match=r"served as example\.com/v1 only"):
        found.resource("example.com/v2", "Widget")


def declared(*served: tuple[str, bool], established: str = "True", scope: str = "Namespaced") -> bytes:
    return msgspec.json.encode(
        {
            "spec": {
                "group": "example.com",
                "scope": scope,
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]},
                "versions": [
                    {"name": name, "served": is_served, "storage": True, "subresources": {"status": {}}}
                    for name, is_served in served
                ],
            },
            "status": {"conditions": [{"type": "Established", "status": established}]},
        }
    )


def test_a_definition_says_itself_what_it_makes_the_server_serve() -> None:
    found = definition_from(declared(("v1beta1", True), ("v1", True), ("v1alpha1", False), scope="Cluster"))
    assert [each.api_version for each in found.resources] == ["example.com/v1", "example.com/v1beta1"]
    first = found.resources[0]
    assert (first.plural, first.singular, first.short_names, first.namespaced, first.subresources) == (
        "widgets",
        "widget",
        ("wd",),
        False,
        ("status",),
    )
    assert {"list", "watch"} <= set(first.verbs)


@pytest.mark.parametrize("established", ["False", "Unknown"])
def test_a_definition_that_is_not_established_serves_nothing(established: str) -> None:
    assert definition_from(declared(("v1", True), established=established)).resources == ()


def test_a_definition_without_a_status_serves_nothing() -> None:
    assert definition_from(b'{"spec": {"group": "example.com", "names": {"kind": "Widget"}}}').resources == ()


def test_versions_rank_as_a_server_ranks_them() -> None:
    ranked = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    shuffled = random.Random(1).sample(ranked, len(ranked))
    assert sorted(shuffled, key=priority, reverse=True) == ranked


def service(conditions: list[dict[str, str]], **spec: Any) -> ApiService:
    spec = {"group": "metrics.example.com", "version": "v1", **spec}
    return api_service_from(msgspec.json.encode({"spec": spec, "status": {"conditions": conditions}}))


@pytest.mark.fact("C19")
@pytest.mark.parametrize(
    ("conditions", "available"),
    [
        ([{"type": "Available", "status": "True"}], True),
        ([{"type": "Available", "status": "False"}], False),
        ([{"type": "Available", "status": "Unknown"}], False),
        ([{"type": "Other", "status": "True"}], False),
        ([], False),
    ],
)
def test_an_api_service_is_available_only_if_it_says_so(
    conditions: list[dict[str, str]], *, available: bool
) -> None:
    found = service(conditions, service={"name": "metrics", "namespace": "kube-system"})
    assert found == ApiService("metrics.example.com", "v1", is_local=False, is_available=available)


@pytest.mark.parametrize("spec", [{}, {"service": None}])
def test_an_api_service_without_a_service_is_the_server_s_own(spec: dict[str, Any]) -> None:
    assert service([], **spec).is_local


@pytest.mark.fact("C38")
@pytest.mark.parametrize(
    ("told", "plain"),
    [
        ("v1.36.3", "v1.36.3"),
        ("v1.29.4-eks-036c24b", "v1.29.4"),
        ("v1.28.9-gke.1000000", "v1.28.9"),
        ("v1.27.3+k3s1", "v1.27.3"),
        ("1.30.1", "v1.30.1"),
        ("who knows", "who knows"),
    ],
)
def test_a_server_s_version_is_told_without_what_vendors_append(told: str, plain: str) -> None:
    assert plain_version(told) == plain

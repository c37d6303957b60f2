"""How far into a cluster we see, and what is refused for lying outside."""

from __future__ import annotations

import pytest

from tests.engine.cache.objects import CONFIG_MAPS, NAMESPACES, key
from trimtab.engine.cache.catalog import Catalog
from trimtab.engine.cache.filters import ResourceFilter, Rule
from trimtab.engine.cache.index import Scope
from trimtab.engine.cache.reach import EVERYWHERE, OutsideReach, Reach, check_reach, wanted
from trimtab.engine.places import Place
from trimtab.resources.keys import ResourceKey

SOME = Reach(namespaces=("a", "b", "a"))
SOME_AND_WIDE = Reach(namespaces=("a",), cluster_resources=True)
NAMESPACE = key("a", "Namespace")
CATALOG = Catalog({("", "ConfigMap"): (CONFIG_MAPS,), ("", "Namespace"): (NAMESPACES,)})
MAPS = Place("", "ConfigMap", "a")


@pytest.mark.parametrize(
    ("reach", "scopes"),
    [
        (EVERYWHERE, [("ConfigMap", ""), ("Namespace", "")]),
        (SOME, [("ConfigMap", "a"), ("ConfigMap", "b")]),
        (SOME_AND_WIDE, [("ConfigMap", "a"), ("Namespace", "")]),
        (Reach(cluster_resources=True), [("ConfigMap", ""), ("Namespace", "")]),
        (Reach(places=frozenset()), []),
        (Reach(places=frozenset({MAPS, Place("", "Namespace")})), [("ConfigMap", "a"), ("Namespace", "")]),
        (Reach(places=frozenset({MAPS, Place("", "ConfigMap")})), [("ConfigMap", "")]),
        (
            Reach(namespaces=("b", "a"), places=frozenset({MAPS, Place("", "ConfigMap", "c")})),
            [("ConfigMap", "a")],
        ),
    ],
)
def test_a_kind_is_watched_once_per_named_namespace_or_everywhere(
    reach: Reach, scopes: list[tuple[str, str]]
) -> None:
    found = wanted(CATALOG, reach, ResourceFilter(), "")
    assert sorted(found) == [Scope("", of, namespace) for of, namespace in scopes]
    assert {scope.kind: resource.kind for scope, resource in found.items()} == {of: of for of, _ in scopes}


def test_what_the_filter_leaves_out_is_not_watched() -> None:
    chosen = ResourceFilter(exclusions=(Rule(kinds=("Namespace",)),))
    assert list(wanted(CATALOG, EVERYWHERE, chosen, "")) == [Scope("", "ConfigMap")]


@pytest.mark.fact("C6", "C7")
@pytest.mark.parametrize(
    ("reach", "target"),
    [
        (EVERYWHERE, key("x", namespace="anywhere")),
        (EVERYWHERE, NAMESPACE),
        (SOME, key("x", namespace="b")),
        (SOME_AND_WIDE, NAMESPACE),
    ],
)
def test_what_lies_within_the_reach_is_fine(reach: Reach, target: ResourceKey) -> None:
    check_reach(reach, [target])


@pytest.mark.fact("C5")
def test_a_cluster_wide_target_without_cluster_resources_is_an_error_that_names_it() -> None:
    with pytest.raises(OutsideReach, match=r"Namespace a: .* Allow cluster-scoped resources"):
        check_reach(SOME, [NAMESPACE])


@pytest.mark.fact("C8")
def test_targets_in_other_namespaces_are_an_error_that_names_them() -> None:
    outside = [key(f"x{number:02}", namespace="c") for number in range(12)]
    with pytest.raises(OutsideReach) as caught:
        check_reach(SOME, [key("fine", namespace="a"), *outside])
    assert "ConfigMap c/x00, ConfigMap c/x01" in caught.value.subject
    assert caught.value.subject.endswith("ConfigMap c/x09 and 2 more")
    assert "fine" not in str(caught.value)

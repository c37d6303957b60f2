"""Keys name objects, sort, and read as people write them."""

from __future__ import annotations

import pytest

from trimtab.resources.keys import ResourceKey


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (ResourceKey("apps", "Deployment", "shop", "web"), "Deployment.apps shop/web"),
        (ResourceKey("", "Service", "shop", "web"), "Service shop/web"),
        (ResourceKey("", "Namespace", "", "shop"), "Namespace shop"),
        (
            ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", "a:b"),
            "ClusterRole.rbac.authorization.k8s.io a:b",
        ),
    ],
)
def test_a_key_reads_as_people_write_it(key: ResourceKey, text: str) -> None:
    assert str(key) == text


def test_keys_sort_by_group_kind_namespace_and_name() -> None:
    keys = [ResourceKey("b", "A", "", ""), ResourceKey("a", "B", "", ""), ResourceKey("a", "A", "z", "b")]
    assert sorted([*keys, ResourceKey("a", "A", "z", "a")]) == [
        ResourceKey("a", "A", "z", "a"),
        ResourceKey("a", "A", "z", "b"),
        ResourceKey("a", "B", "", ""),
        ResourceKey("b", "A", "", ""),
    ]

"""Families of objects: trees, climbs, orphans."""

from __future__ import annotations

import pytest

from tests.engine.cache.objects import Shelved, key, manifest, reference
from trimtab.engine.cache.trees import Branch, ancestors, children, claimant, orphans, tree
from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.resources.keys import ResourceKey

WEB = key("web", "Deployment", "apps")
SET = key("web-1", "ReplicaSet", "apps")
PODS = [key(f"web-1-{letter}", "Pod") for letter in "ab"]


def rollout() -> Shelved:
    shelved = Shelved()
    shelved.put(manifest(WEB, unit="shop"), manifest(SET, owners=[WEB]))
    shelved.put(*(manifest(pod, owners=[SET]) for pod in PODS))
    return shelved


def shape(branches: tuple[Branch, ...]) -> list[tuple[str, str, int]]:
    return [(each.live.key.name, each.parent.name if each.parent else "", each.depth) for each in branches]


@pytest.mark.fact("C3")
def test_descendants_are_found_through_the_identity_of_their_owners_over_two_generations() -> None:
    assert shape(tree(rollout().index, [WEB])) == [
        ("web", "", 0),
        ("web-1", "web", 1),
        ("web-1-a", "web-1", 2),
        ("web-1-b", "web-1", 2),
    ]


@pytest.mark.fact("C10", "C12")
def test_a_child_hangs_below_its_owner_when_it_comes_and_no_longer_when_it_goes() -> None:
    shelved = rollout()
    new = key("web-1-c", "Pod")
    shelved.put(manifest(new, owners=[SET]))
    assert new in [each.live.key for each in tree(shelved.index, [WEB])]
    shelved.remove(new)
    assert new not in [each.live.key for each in tree(shelved.index, [WEB])]


@pytest.mark.fact("C20")
@pytest.mark.parametrize(
    ("stop", "seen"),
    [
        ("Deployment", ["web"]),
        ("ReplicaSet", ["web", "web-1"]),
        ("Pod", ["web", "web-1", "web-1-a", "web-1-b"]),
    ],
)
def test_a_walk_may_stop_below_any_node(stop: str, seen: list[str]) -> None:
    found = tree(rollout().index, [WEB], lambda live: live.key.kind != stop)
    assert [each.live.key.name for each in found] == seen


@pytest.mark.fact("C21")
def test_walking_from_several_roots_visits_what_they_share_once() -> None:
    found = [each.live.key for each in tree(rollout().index, [WEB, SET, *PODS])]
    assert sorted(found) == sorted({WEB, SET, *PODS})


def twins() -> tuple[Shelved, ResourceKey, ResourceKey]:
    """A ReplicaSet that two groups serve, as one object."""
    shelved = Shelved()
    old = key("web-1", "ReplicaSet", "extensions")
    shelved.put(manifest(WEB), manifest(SET, uid="set", owners=[WEB]), manifest(old, uid="set", owners=[WEB]))
    pod = manifest(PODS[0])
    pod["metadata"]["ownerReferences"] = [reference(SET, uid="set")]
    shelved.put(pod)
    return shelved, SET, old


@pytest.mark.fact("C15")
def test_one_object_served_by_two_groups_is_shown_once_by_the_same_name() -> None:
    shelved, new, old = twins()
    for _ in range(2):
        assert [each.live.key for each in tree(shelved.index, [WEB])] == [WEB, min(new, old), PODS[0]]
        shelved.put(manifest(old, uid="set", owners=[WEB], version="2"))


@pytest.mark.fact("C22")
def test_starting_from_an_object_s_other_name_finds_what_is_below_it() -> None:
    shelved, _, old = twins()
    assert [each.live.key for each in tree(shelved.index, [old])] == [old, PODS[0]]


@pytest.mark.fact("C23")
def test_walks_at_the_same_time_over_owners_known_by_name_do_not_disturb_each_other() -> None:
    shelved = Shelved()
    service, endpoints = key("web", "Service"), key("web", "Endpoints")
    shelved.put(manifest(service), manifest(endpoints))
    inner: list[list[ResourceKey]] = []

    def descend(_: Live) -> bool:
        inner.append([each.live.key for each in tree(shelved.index, [service])])
        return True

    assert [each.live.key for each in tree(shelved.index, [service], descend)] == [service, endpoints]
    assert inner == [[service, endpoints]] * 2


CLOUD = key("cloud", "Provider", "example.com")
ZONE = key("zone", "Namespace")


@pytest.mark.fact("C24")
def test_a_cluster_wide_owner_s_children_are_found_in_every_namespace() -> None:
    shelved = Shelved()
    below = [key("x", namespace=where) for where in ("bank", "shop")]
    shelved.put(manifest(CLOUD), *(manifest(each, owners=[CLOUD]) for each in below))
    assert [each.live.key for each in tree(shelved.index, [CLOUD])] == [CLOUD, *below]


@pytest.mark.fact("C25")
def test_cluster_wide_objects_below_cluster_wide_ones_lead_on_into_namespaces() -> None:
    shelved = Shelved()
    leaf = key("x", namespace="bank")
    shelved.put(manifest(CLOUD), manifest(ZONE, owners=[CLOUD]), manifest(leaf, owners=[ZONE]))
    assert shape(tree(shelved.index, [CLOUD])) == [("cloud", "", 0), ("zone", "cloud", 1), ("x", "zone", 2)]


@pytest.mark.fact("C26")
def test_a_cluster_wide_owner_known_by_its_name_alone_is_found() -> None:
    shelved = Shelved()
    child = manifest(key("x"))
    child["metadata"]["ownerReferences"] = [reference(CLOUD, uid="")]
    shelved.put(manifest(CLOUD), child)
    assert shape(tree(shelved.index, [CLOUD])) == [("cloud", "", 0), ("x", "cloud", 1)]


@pytest.mark.fact("C29")
def test_objects_that_own_themselves_or_each_other_are_visited_once() -> None:
    shelved = Shelved()
    narcissus, chicken, egg = key("n"), key("chicken"), key("egg")
    shelved.put(
        manifest(narcissus, owners=[narcissus]),
        manifest(chicken, owners=[egg]),
        manifest(egg, owners=[chicken]),
    )
    assert [each.live.key for each in tree(shelved.index, [narcissus])] == [narcissus]
    assert [each.live.key for each in tree(shelved.index, [chicken])] == [chicken, egg]
    assert [each.key for each in ancestors(shelved.index, egg)] == [egg, chicken]
    held = shelved.index.get(narcissus)
    assert held is not None
    assert children(shelved.index, held) == ()


@pytest.mark.fact("C41")
def test_an_object_s_unit_is_found_by_climbing_its_owners_and_the_nearest_wins() -> None:
    shelved = rollout()
    assert claimant(shelved.index, PODS[0]) == Mark("trimtab", "here/shop")
    near, far, both = key("near"), key("far"), key("both")
    shelved.put(
        manifest(near, unit="near"), manifest(far, unit="far"), manifest(both, owners=[near, far]),
    )  # fmt: skip
    assert claimant(shelved.index, both) == Mark("trimtab", "here/near")
    chicken, egg = key("chicken"), key("egg")
    shelved.put(manifest(chicken, owners=[egg]), manifest(egg, owners=[chicken]))
    assert claimant(shelved.index, chicken) is None
    assert claimant(shelved.index, key("nowhere")) is None


def test_a_root_that_is_not_there_has_no_tree() -> None:
    assert tree(rollout().index, [key("nowhere")]) == ()


def test_orphans_are_what_nobody_owns_and_nobody_claims_but_for_what_every_namespace_has() -> None:
    shelved = rollout()
    lost = [key("b"), key("a")]
    everybodys = [
        key("kube-root-ca.crt"),
        key("default", "ServiceAccount"),
        key("kubernetes", "Service", namespace="default"),
    ]
    shelved.put(*map(manifest, [*lost, *everybodys, key("c", namespace="bank")]))
    assert [each.key.name for each in orphans(shelved.index, "shop")] == ["a", "b"]
    assert orphans(shelved.index, "default") == ()
    shelved.put(manifest(key("kubernetes", "Service"), version="2"))
    assert [each.key.name for each in orphans(shelved.index, "shop")] == ["a", "b", "kubernetes"]

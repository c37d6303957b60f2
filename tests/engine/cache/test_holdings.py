"""Records and bodies together, and the account of what they take."""

from __future__ import annotations

import gc
import tracemalloc

from tests.engine.cache.objects import CONFIG_MAPS, TRACKING, Shelved, key, manifest, told
from trimtab.engine.cache.index import Scope

SCOPE = Scope("", "ConfigMap")


def filled(count: int, limit: int | None = None) -> Shelved:
    shelved = Shelved(limit)
    for number in range(count):
        shelved.put(manifest(key(f"c-{number}"), unit="shop", data={"x": str(number)}))
    return shelved


def test_a_body_goes_with_the_mark_and_with_the_object() -> None:
    shelved = Shelved()
    name = key("a")
    shelved.put(manifest(name, unit="shop", data={"x": "1"}))
    assert shelved.holdings.manifest(name) == manifest(name, unit="shop", data={"x": "1"})
    shelved.put(manifest(name, version="2"))
    assert shelved.holdings.manifest(name) is None
    shelved.put(manifest(name, version="3", unit="shop"))
    shelved.remove(name)
    assert shelved.holdings.manifest(name) is None
    assert (shelved.holdings.memory().total, len(shelved.holdings.bodies)) == (0, 0)


def test_of_children_no_body_is_kept_even_if_they_carry_the_mark() -> None:
    shelved = Shelved()
    parent, child = key("web", "Deployment", "apps"), key("web-1", "ReplicaSet", "apps")
    shelved.put(manifest(parent, unit="shop"), manifest(child, unit="shop", owners=[parent]))
    assert shelved.holdings.manifest(parent) is not None
    assert shelved.holdings.manifest(child) is None


def test_definitions_are_kept_whole_whoever_they_belong_to() -> None:
    shelved = Shelved()
    crd = key("widgets.example.com", "CustomResourceDefinition", "apiextensions.k8s.io")
    shelved.put(manifest(crd))
    assert shelved.holdings.manifest(crd) is not None


def test_a_claim_of_a_set_keeps_its_body_but_is_nobody_s_root() -> None:
    """It may be declared in Git, so it is compared; it is never pruned, since a set owns it."""
    shelved = Shelved()
    claim = key("data-db-0", "PersistentVolumeClaim")
    shelved.put(manifest(claim, unit="shop"))
    templates = [{"metadata": {"name": "data"}}]
    shelved.put(manifest(key("db", "StatefulSet", "apps"), spec={"volumeClaimTemplates": templates}))
    held = shelved.index.get(claim)
    assert held is not None
    assert (held.is_root, shelved.holdings.manifest(claim) is not None) == (False, True)


def test_items_of_lists_get_back_the_kind_that_lists_leave_out() -> None:
    shelved, whole = Shelved(), manifest(key("a"), unit="shop")
    bare = told({name: value for name, value in whole.items() if name not in ("apiVersion", "kind")})
    shelved.holdings.put(SCOPE, CONFIG_MAPS, bare)
    assert shelved.holdings.manifest(key("a")) == whole


def test_what_another_watch_covers_now_stays_and_the_rest_is_forgotten() -> None:
    shelved = Shelved()
    ours, others = key("a"), key("a", namespace="bank")
    shelved.put(manifest(ours, unit="shop"), manifest(others, unit="shop"), manifest(key("p", "Pod")))
    narrow = {Scope("", "ConfigMap", "shop")}
    forgotten = shelved.holdings.rearrange(narrow)
    assert sorted(each.key for each in forgotten) == sorted([others, key("p", "Pod")])
    assert shelved.index.scopes() == tuple(narrow)
    assert shelved.holdings.manifest(ours) is not None
    assert shelved.holdings.rearrange({Scope("", "ConfigMap")}) == ()
    assert [live.key for live in shelved.index.roots(TRACKING.mark_for("shop"))] == [ours]
    shelved.remove(ours)
    assert shelved.index.is_empty()


def test_beyond_the_limit_bodies_are_given_up_and_records_never() -> None:
    whole = filled(100).holdings.memory()
    limit = whole.records + whole.bodies // 2
    shelved = filled(100, limit)
    memory = shelved.holdings.memory()
    assert memory.total <= limit
    assert not memory.is_over
    assert 0 < memory.given_up < 100
    assert len(shelved.index) == 100
    least = filled(100, 100).holdings.memory()
    assert (least.bodies, least.given_up, least.records, least.is_over) == (0, 100, whole.records, True)


def test_a_lower_limit_holds_at_once() -> None:
    shelved = filled(100)
    whole = shelved.holdings.memory()
    shelved.holdings.limit_to(whole.records)
    assert shelved.holdings.memory().bodies == 0
    assert shelved.holdings.memory().given_up == 100
    shelved.put(manifest(key("c-0"), unit="shop", version="2"))
    shelved.remove(key("c-1"))
    assert shelved.holdings.memory().given_up == 99


def test_the_account_is_near_the_truth() -> None:
    tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        shelved = Shelved()
        owner = key("web", "ReplicaSet", "apps")
        for number in range(2000):
            shelved.put(manifest(key(f"config-of-some-length-{number:05}"), unit=f"unit-{number % 20}"))
            shelved.put(manifest(key(f"pod-of-some-length-{number:05}", "Pod"), owners=[owner]))
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0.75 < shelved.holdings.memory().total / taken < 1.35

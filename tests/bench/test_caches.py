"""What is measured of the cache, and of which objects."""

from __future__ import annotations

from collections import Counter

import msgspec

from bench.caches import SIZES, fills, marks, storm
from bench.caching import Unmarked, synthetic
from bench.client import CONFIG_MAPS, PODS
from bench.measures import Aim, Quantity
from bench.shapes import deployment, replica_set, workload_status
from bench.synthetic import DEPLOYMENTS, synthetic_pages
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.health import HealthStatus, health_of
from trimtab.resources.keys import ResourceKey

FULL = SIZES["full"]


def test_the_full_size_is_what_the_peer_was_measured_with() -> None:
    assert FULL.objects == 48_000
    assert {name: size.judged for name, size in SIZES.items()} == {"full": True, "small": False}


def test_filling_is_judged_by_time_processor_and_memory() -> None:
    plain, kept = fills(FULL)
    assert plain.aims[Quantity.HELD] == Aim(at_most=0.6)
    assert kept.aims[Quantity.HELD] == Aim(at_most=0.3)
    for scenario in (plain, kept):
        assert scenario.aims[Quantity.SECONDS] == Aim(at_most=0.4)
        assert scenario.aims[Quantity.CPU] == Aim(at_most=0.25)
    assert storm(FULL).aims[Quantity.CPU] == Aim(at_most=1.0)


def test_an_object_is_marked_for_both_sides_with_the_same_unit() -> None:
    (go, ours) = marks(107).values()
    assert (go, ours) == ("unit-07", "bench/unit-07")


def test_a_deployment_with_its_status_is_healthy_and_owns_its_replica_set() -> None:
    web, below = deployment(3), replica_set(3, "uid")
    health = health_of({**web, **workload_status()})
    assert health is not None
    assert health.status is HealthStatus.HEALTHY
    (owner,) = below["metadata"]["ownerReferences"]
    assert (owner["name"], owner["uid"]) == (web["metadata"]["name"], "uid")
    assert "nodeName" not in web["spec"]["template"]["spec"]


def test_made_up_objects_are_of_three_kinds_and_every_one_is_its_own() -> None:
    told = [(resource, each) for resource, objects in synthetic_pages(5000) for each in objects]
    assert Counter(resource.kind for resource, _ in told) == {
        PODS.kind: 3000,
        DEPLOYMENTS.kind: 1000,
        CONFIG_MAPS.kind: 1000,
    }
    assert len({each.metadata.uid for _, each in told}) == 5000
    assert len({each.key for _, each in told}) == 5000
    assert all(b"@" not in each.raw.replace(b"web@sha256", b"") for _, each in told)
    assert msgspec.json.decode(told[0][1].raw)["metadata"]["managedFields"]


def test_what_is_made_up_is_kept_and_answers_for_one_unit() -> None:
    found = synthetic(5000)
    assert (found.objects, found.answered) == (5000, 40)
    assert found.accounted_bytes > 5000 * 500


def test_whoever_keeps_no_manifests_sees_no_marks() -> None:
    key = ResourceKey("", "ConfigMap", "shop", "a")
    assert OwnerAnnotation("bench").mark_of(key, {}, marks(1)) is not None
    assert Unmarked("bench").mark_of(key, {}, marks(1)) is None

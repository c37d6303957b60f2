"""The records of a shard: what an engine writes into them says where objects of their units are."""

from __future__ import annotations

import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.app.running.store import ShardStore
from trimtab.app.shards import Shard
from trimtab.engine import Keyring, RecordStore
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import Operation
from trimtab.engine.places import Place
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Destination, ResourceSummary, SyncUnit, UnitStatus
from trimtab.errors import ClusterUnreachable
from trimtab.resources.keys import ResourceKey

SECRETS, MAPS, PODS = Place("", "Secret", "shop"), Place("", "ConfigMap", "shop"), Place("", "Pod", "shop")
WANTED = ResourceSummary(
    key=ResourceKey("", "ConfigMap", "shop", "web"),
    version="v1",
    verdict=Verdict.OUT_OF_SYNC,
    health=Health(HealthStatus.MISSING),
)


@pytest.fixture
async def store() -> ShardStore:
    records = RecordStore(MemoryCluster(), namespace="default", keys=Keyring(b"k" * 32))
    await records.create(SyncUnit(id="web", source={}, destination=Destination(cluster="here")))
    return ShardStore(records, Shard(0, 1))


async def test_what_is_seen_of_a_unit_and_what_it_is_about_to_write_is_recorded_with_its_status(
    store: ShardStore,
) -> None:
    store.learn_places(lambda _: (SECRETS,))
    after = await store.set_status("web", UnitStatus(resources=(WANTED,)))
    assert after.places == (MAPS, SECRETS)


async def test_what_is_seen_of_a_unit_is_recorded_with_what_is_asked_of_it(store: ShardStore) -> None:
    store.learn_places(lambda _: (SECRETS,))
    assert (await store.set_operation("web", Operation())).places == (SECRETS,)
    store.learn_places(lambda _: (PODS,))
    assert (await store.set_operation("web", None)).places == (SECRETS,), "a record knows all of them"


async def test_of_a_cluster_that_was_not_read_whole_nothing_is_recorded(store: ShardStore) -> None:
    def unreachable(_unit: str) -> tuple[Place, ...]:
        raise ClusterUnreachable("cluster here", "no route to it")

    for places_of in (lambda _: None, unreachable):
        store.learn_places(places_of)
        assert (await store.set_status("web", UnitStatus(resources=(WANTED,)))).places is None

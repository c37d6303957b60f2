"""An installation is made once, by whoever records first, and read by all after."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tests.kube.world import NAMESPACES
from trimtab.apiserver import MemoryCluster
from trimtab.app.installation import NAME, find_installation, record_installation
from trimtab.engine import Keyring, RecordStore
from trimtab.engine.stores.records import SECRETS
from trimtab.engine.units import Destination, SyncUnit
from trimtab.errors import Conflict, InvalidSpec
from trimtab.kube.failures import NotFound


async def test_looking_for_an_installation_writes_nothing() -> None:
    cluster = MemoryCluster()
    fresh = await find_installation(cluster, "records")
    assert (fresh.namespace, fresh.recorded, len(fresh.key)) == ("records", False, 32)
    with pytest.raises(NotFound):
        await cluster.get(NAMESPACES, "records")


async def test_what_was_recorded_is_found_again_with_the_same_key_and_identity() -> None:
    cluster = MemoryCluster()
    made = await record_installation(cluster, await find_installation(cluster, "records"))
    assert await find_installation(cluster, "records") == made
    assert await record_installation(cluster, made) == made


async def test_renders_are_named_alike_within_an_installation_and_by_no_key_that_seals_records() -> None:
    cluster = MemoryCluster()
    made = await record_installation(cluster, await find_installation(cluster, "records"))
    again, other = await find_installation(cluster, "records"), await find_installation(cluster, "others")
    assert again.rendering_key == made.rendering_key
    assert len({made.key, made.rendering_key, other.rendering_key}) == 3


async def test_a_machine_names_renders_by_its_own_key_until_an_installation_is_recorded_and_after() -> None:
    cluster, mine, others = MemoryCluster(), bytes(32), bytes([1]) * 32
    planned = await find_installation(cluster, "records", own_key=mine)
    begun = await find_installation(cluster, "records", own_key=mine)
    elsewhere = await find_installation(MemoryCluster(), "records", own_key=mine)
    anothers = await find_installation(cluster, "records", own_key=others)
    assert planned.rendering_key == begun.rendering_key
    assert len({mine, begun.rendering_key, elsewhere.rendering_key, anothers.rendering_key}) == 4
    await record_installation(cluster, begun)
    found = await find_installation(cluster, "records", own_key=others)
    assert (found.rendering_key, found.recorded) == (planned.rendering_key, True)


async def test_of_two_who_record_at_once_the_second_is_told_to_begin_again() -> None:
    cluster = MemoryCluster()
    first, second = await find_installation(cluster, "records"), await find_installation(cluster, "records")
    await record_installation(cluster, first)
    with pytest.raises(Conflict, match="Run the command again"):
        await record_installation(cluster, second)


GOOD = {
    "id": b64encode(b"134af4a4-7f0e-4a53-8a9c-3f6f1c0a2b11").decode(),
    "key": b64encode(bytes(32)).decode(),
}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"id": "bm9uZQ==", "key": "c2hvcnQ="},
        {"id": "bm9uZQ=="},
        {"key": "AAAA"},
        {**GOOD, "renders": "c2hvcnQ="},
    ],
)
async def test_a_damaged_installation_is_named_and_its_key_is_not_shown(data: dict[str, str]) -> None:
    cluster = MemoryCluster()
    await cluster.create(NAMESPACES, {"metadata": {"name": "records"}})
    await cluster.create(SECRETS, {"metadata": {"name": NAME}, "data": data}, namespace="records")
    with pytest.raises(InvalidSpec) as caught:
        await find_installation(cluster, "records")
    assert caught.value.subject == f"Secret records/{NAME}"
    assert "c2hvcnQ" not in str(caught.value)


async def test_an_installation_does_not_print_its_key() -> None:
    found = await find_installation(MemoryCluster(), "records")
    assert repr(found) == f"<installation {found.id} in records>"


async def test_where_apps_are_recorded_a_lost_installation_is_not_made_anew() -> None:
    cluster = MemoryCluster()
    made = await record_installation(cluster, await find_installation(cluster, "records"))
    store = RecordStore(cluster, namespace="records", keys=Keyring(made.key))
    await store.create(SyncUnit(id="web", source={}, destination=Destination(cluster="here")))
    await cluster.delete(SECRETS, NAME, namespace="records")
    with pytest.raises(Conflict, match=f"Secret records/{NAME}: it is gone: apps are recorded beside it"):
        await find_installation(cluster, "records")
    await store.delete("web")
    assert not (await find_installation(cluster, "records")).recorded

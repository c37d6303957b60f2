"""An installation goes as it came, in the reverse order; what is recorded stays unless somebody says so."""

from __future__ import annotations

import asyncio

import pytest

from tests.app.install.test_installing import EVERYWHERE, NAMESPACES, SHOP, installed
from tests.app.world import Json, World, config_map
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.app.install.installing import Act
from trimtab.app.install.manifests import INSTALL_LABEL, NAME, Install, objects_of
from trimtab.app.install.removing import Removal, StillEnding, plan_removal, take_out
from trimtab.kube.discovery import Resource
from trimtab.resources.manifests import key_of
from trimtab.tasks import ManualClock

SPACE = "trimtab-system"


async def removed(world: World, *, records: bool) -> Removal:
    removal = await plan_removal(world.cluster, "trimtab-system", records=records)
    await take_out(world.cluster, removal, tell=lambda _item: None, waits=print, seconds=60)
    return removal


async def test_the_runner_goes_first_and_what_is_recorded_stays() -> None:
    world = World()
    await installed(world.cluster, EVERYWHERE)
    await installed(world.cluster, Install(namespace="other"))
    await world.sync("shop", config_map("settings"))
    removal = await removed(world, records=False)
    gone = [str(each.key) for each in removal.items if each.act is Act.DELETE]
    assert gone[0] == "Deployment.apps trimtab-system/trimtab-runner"
    assert set(gone) == {str(key_of(each)) for each in objects_of(EVERYWHERE)} - {"Namespace trimtab-system"}
    assert removal.apps == 1
    assert [each.id for each in await (await world.apps()).all()] == ["shop"]
    again = await plan_removal(world.cluster, "trimtab-system", records=False)
    assert {each.act for each in again.items} == {Act.KEEP}
    assert await world.names("Deployment", "other") == ["trimtab-runner"]


async def test_records_go_on_demand_and_the_objects_of_apps_stay() -> None:
    world = World()
    await installed(world.cluster, SHOP)
    await world.sync("shop", config_map("settings"))
    async with behaviours_of(world.cluster):  # which empty a namespace that goes
        removal = await removed(world, records=True)
    assert {each.act for each in removal.items} == {Act.DELETE}
    assert str(removal.items[-1].key) == "Namespace trimtab-system"
    assert await world.get("ConfigMap", "settings") is not None
    assert SPACE not in await world.names("Namespace", "")
    assert await world.names("Role") == []


async def test_a_namespace_that_somebody_else_made_stays() -> None:
    world = World()
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "trimtab-system"}}
    await world.cluster.create(NAMESPACES, space)
    await world.sync("shop", config_map("settings"))
    removal = await removed(world, records=True)
    assert removal.items[-1].act is Act.KEEP
    assert await world.names("Secret", "trimtab-system") == []


def runners_pod(name: str) -> Json:
    metadata = {"name": name, "labels": {INSTALL_LABEL: SPACE}}
    spec = {"serviceAccountName": NAME, "containers": [{"name": "runner", "image": "example/trimtab:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def world_with_pods(*names: str) -> tuple[World, Resource]:
    """An installation whose pods end when somebody deletes them."""
    world = World()
    await installed(world.cluster, EVERYWHERE)
    pods = await world.resource("Pod")
    for name in names:
        await world.cluster.create(pods, runners_pod(name), namespace=SPACE)
    return world, pods


async def test_pods_are_waited_for_by_name_and_have_their_rights_until_they_have_ended() -> None:
    world, pods = await world_with_pods("runner-1", "runner-2")
    removal = await plan_removal(world.cluster, SPACE, records=False)
    said, rights = asyncio.Queue[str](), list[list[str]]()

    async def end_pods() -> None:
        assert await said.get() == "2 pods have yet to end: runner-1, runner-2"
        rights.append(await world.names("RoleBinding", SPACE))
        await world.cluster.delete(pods, "runner-1", namespace=SPACE)
        assert await said.get() == "1 pod has yet to end: runner-2"
        await world.cluster.delete(pods, "runner-2", namespace=SPACE)

    async with asyncio.TaskGroup() as group:
        group.create_task(end_pods())
        await take_out(world.cluster, removal, tell=lambda _: None, waits=said.put_nowait, seconds=60)
    assert rights == [["trimtab-runner"]]
    assert await world.names("RoleBinding", SPACE) == []


async def test_what_does_not_end_in_time_is_named_and_the_next_one_goes_on() -> None:
    (world, pods), clock, waits = await world_with_pods("runner-1"), ManualClock(), asyncio.Event()
    removal = await plan_removal(world.cluster, SPACE, records=False)

    async def lose_patience() -> None:
        await waits.wait()
        await clock.advance(60)

    async with asyncio.TaskGroup() as group:
        group.create_task(lose_patience())
        with pytest.raises(StillEnding) as told:
            await take_out(
                world.cluster,
                removal,
                tell=lambda _: None,
                waits=lambda _: waits.set(),
                seconds=60,
                clock=clock,
            )
    assert told.value.reason == "after 60 s 1 pod has yet to end: runner-1"
    assert (await world.names("Deployment", SPACE), await world.names("Role", SPACE)) == ([], [NAME])
    await world.cluster.delete(pods, "runner-1", namespace=SPACE)
    await removed(world, records=False)
    assert await world.names("Role", SPACE) == []

"""An installation goes as it came, in the reverse order; what is recorded stays unless somebody says so."""

from __future__ import annotations

from tests.app.install.test_installing import EVERYWHERE, NAMESPACES, SHOP, installed
from tests.app.world import World, config_map
from trimtab.app.install.installing import Act, carry_out
from trimtab.app.install.manifests import Install, objects_of
from trimtab.app.install.removing import Removal, plan_removal
from trimtab.resources.manifests import key_of


async def removed(world: World, *, records: bool) -> Removal:
    removal = await plan_removal(world.cluster, "trimtab-system", records=records)
    await carry_out(world.cluster, removal.items, lambda _item: None)
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
    removal = await removed(world, records=True)
    assert {each.act for each in removal.items} == {Act.DELETE}
    assert str(removal.items[-1].key) == "Namespace trimtab-system"
    assert await world.values() == {"settings": "1"}
    assert await world.names("Secret", "trimtab-system") == []
    assert await world.names("Role") == []


async def test_a_namespace_that_somebody_else_made_stays() -> None:
    world = World()
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "trimtab-system"}}
    await world.cluster.create(NAMESPACES, space)
    await world.sync("shop", config_map("settings"))
    removal = await removed(world, records=True)
    assert removal.items[-1].act is Act.KEEP
    assert await world.names("Secret", "trimtab-system") == []

"""Who goes when an owner goes?"""

from __future__ import annotations

from typing import Any

from tests.apiserver.behaviours.making import NOW, at_work, made, owner_reference
from trimtab.apiserver.behaviours.changes import NOTHING, Decision, Delete, Update
from trimtab.apiserver.behaviours.garbage import concerned, decide
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.cluster import Deletion, Propagation
from trimtab.kube.discovery import Resource

Json = dict[str, Any]
CONFIG_MAPS = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True)
NODES = Resource(group="", version="v1", kind="Node", plural="nodes", namespaced=False)


def world_of(*objects: Json) -> World:
    world = World(objects)
    world.served = {"ConfigMap": CONFIG_MAPS, "Node": NODES}
    world.known_kinds = {"ConfigMap", "Node"}
    return world


def config_map(name: str, *owners: Json, **metadata: Any) -> Json:
    references = {"ownerReferences": list(owners)} if owners else {}
    return made("v1", "ConfigMap", name, metadata={**references, **metadata})


def fate(world: World, name: str) -> Decision:
    return decide(world, ("", f"uid-of-{name}"), NOW, Timing())


GONE = owner_reference(made("v1", "ConfigMap", "gone"))


def test_an_object_goes_with_its_last_owner_once_the_server_says_that_it_is_gone() -> None:
    child = config_map("child", GONE)
    decided = fate(world_of(child), "child")
    assert decided.changes == (Delete(target=child, propagation=Propagation.BACKGROUND),)
    assert decided.unless_alive == (("ConfigMap", ("shop", "gone")),)


def test_an_owner_of_a_kind_that_is_not_served_or_not_read_yet_decides_nothing() -> None:
    world = world_of(config_map("child", {**GONE, "kind": "Mystery"}))
    assert fate(world, "child") == NOTHING
    world = world_of(config_map("child", GONE))
    world.known_kinds.clear()
    assert fate(world, "child") == NOTHING


def test_a_second_owner_keeps_the_object_and_the_absent_one_is_forgotten() -> None:
    owner = config_map("owner")
    child = config_map("child", owner_reference(owner), GONE)
    (change,) = fate(world_of(owner, child), "child").changes
    assert isinstance(change, Update)
    assert change.body["metadata"]["ownerReferences"] == [owner_reference(owner)]


def test_a_namesake_of_the_owner_is_not_the_owner() -> None:
    namesake = made("v1", "ConfigMap", "gone", metadata={"uid": "another"})
    assert isinstance(fate(world_of(namesake, config_map("child", GONE)), "child").changes[0], Delete)


def test_an_owner_in_another_namespace_counts_as_absent() -> None:
    owner = made("v1", "ConfigMap", "owner", namespace="elsewhere")
    child = config_map("child", owner_reference(owner))
    assert isinstance(fate(world_of(owner, child), "child").changes[0], Delete)


def test_a_cluster_wide_object_with_an_owner_in_a_namespace_is_left_alone() -> None:
    node = made("v1", "Node", "worker", namespace="", metadata={"ownerReferences": [GONE]})
    assert fate(world_of(node), "worker") == NOTHING


def going(*finalizers: str) -> Json:
    return {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": list(finalizers)}


def test_an_owner_that_goes_in_the_foreground_waits_for_those_that_block_it() -> None:
    owner = config_map("owner", **going("foregroundDeletion"))
    blocker = config_map("blocker", owner_reference(owner, blockOwnerDeletion=True))
    world = world_of(owner, blocker)
    assert fate(world, "owner") == NOTHING
    assert isinstance(fate(world, "blocker").changes[0], Delete)
    world.drop("uid-of-blocker")
    (change,) = fate(world, "owner").changes
    assert isinstance(change, Update)
    assert "finalizers" not in change.body["metadata"]


def test_a_dependent_with_dependents_goes_in_the_foreground_too() -> None:
    owner = config_map("owner", **going("foregroundDeletion"))
    middle = config_map("middle", owner_reference(owner, blockOwnerDeletion=True))
    leaf = config_map("leaf", owner_reference(middle, blockOwnerDeletion=True))
    (change,) = fate(world_of(owner, middle, leaf), "middle").changes
    assert change == Delete(target=middle, propagation=Propagation.FOREGROUND)


def test_an_owner_that_orphans_frees_its_dependents_first() -> None:
    owner = config_map("owner", **going("orphan"))
    child = config_map("child", owner_reference(owner))
    world = world_of(owner, child)
    (freed,) = fate(world, "owner").changes
    assert isinstance(freed, Update)
    assert freed.body["metadata"]["name"] == "child"
    assert "ownerReferences" not in freed.body["metadata"]
    world.drop("uid-of-child")
    (done,) = fate(world, "owner").changes
    assert isinstance(done, Update)
    assert done.body["metadata"]["name"] == "owner"


def test_what_lives_among_the_living_costs_no_look() -> None:
    owner = config_map("owner")
    child = config_map("child", owner_reference(owner))
    assert list(concerned(world_of(owner, child), child)) == []


async def test_objects_of_custom_kinds_own_and_are_owned() -> None:
    kind = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": kind, "versions": [version]},
    }
    async with at_work() as stage:
        await stage.create(definition)
        gadgets = (await stage.cluster.discover()).preferred("example.com", "Gadget")
        assert gadgets is not None
        gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "owner"}}
        owner = (await stage.cluster.create(gadgets, gadget, namespace="default")).object
        await stage.behaviours.settled()
        child = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "child", "ownerReferences": [owner_reference(owner.manifest())]},
        }
        await stage.create(child)
        assert (await stage.get("ConfigMap", "child"))["metadata"]["name"] == "child"
        await stage.cluster.delete(gadgets, "owner", namespace="default", how=Deletion())
        await stage.behaviours.settled()
        assert [each["metadata"]["name"] for each in await stage.all("ConfigMap")] == ["kube-root-ca.crt"]
        await stage.delete("CustomResourceDefinition", "gadgets.example.com")
        await stage.create({**child, "metadata": {"name": "later"}})
        assert (await stage.get("ConfigMap", "later"))["metadata"]["name"] == "later", "work goes on"

"""Deleting: finalizers, propagation, preconditions, grace, collections, dry runs."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    JOBS,
    NAMESPACES,
    PODS,
    SERVICES,
    config_map,
    deployment,
    gadget,
    job,
    named,
    pod,
    service,
    with_metadata,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PLAINLY, Deletion, PatchType, Propagation, Selection
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
KINDS: tuple[tuple[Resource, dict[str, Any]], ...] = (
    (CONFIG_MAPS, config_map("a")),
    (DEPLOYMENTS, deployment("a")),
    (SERVICES, service("a")),
    (GADGETS, gadget("a")),
    (JOBS, job("a")),
    (PODS, pod("a")),
)


def _held(body: dict[str, Any], *finalizers: str) -> dict[str, Any]:
    return with_metadata(body, finalizers=list(finalizers) or ["trimtab.dev/hold"])


def _for_each(feature: str, name: str, play: Any) -> None:
    for resource, body in KINDS:
        TABLE.add(
            "delete",
            feature,
            f"{resource.kind}: {name}",
            play,
            resource,
            body,
        )


async def _plainly(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    await stage.get(kind, "a")
    await stage.delete(kind, "a")
    await stage.get(kind, "a")
    await stage.delete(kind, "a")


async def _finalized(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, _held(body))
    await stage.delete(kind, "a")
    await stage.get(kind, "a")
    await stage.delete(kind, "a")
    await stage.patch(kind, "a", {"metadata": {"labels": {"still": "here"}}}, how=PatchType.MERGE)
    await stage.patch(kind, "a", {"metadata": {"finalizers": None}}, how=PatchType.MERGE)
    await stage.get(kind, "a")


def _propagated(policy: Propagation) -> Any:
    async def play(stage: Stage, kind: Resource, body: Any) -> None:
        await stage.given(kind, body)
        await stage.delete(kind, "a", how=Deletion(propagation=policy))
        await stage.get(kind, "a")

    return play


async def _preconditions(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    uid, version = await stage.uid_of(kind, "a"), await stage.version_of(kind, "a")
    await stage.get(kind, "a")
    await stage.delete(kind, "a", how=Deletion(uid="another"))
    await stage.delete(kind, "a", how=Deletion(resource_version="1"))
    await stage.delete(kind, "a", how=Deletion(uid=uid, resource_version="1"))
    await stage.delete(kind, "a", how=Deletion(uid=uid, resource_version=version))


async def _dry(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    await stage.delete(kind, "a", how=Deletion(dry_run=True))
    await stage.get(kind, "a")


_for_each("plain", "a delete answers once and then not found", _plainly)
_for_each("finalizers", "a finalizer keeps it until it goes", _finalized)
_for_each("preconditions", "another uid or version is refused", _preconditions)
_for_each("dry run", "a dry run deletes nothing", _dry)
for policy_ in Propagation:
    _for_each("propagation", f"{policy_.value.lower()}", _propagated(policy_))


@case("delete", "missing objects")
async def what_is_not_there_cannot_be_deleted(stage: Stage) -> None:
    for kind in (CONFIG_MAPS, GADGETS, DEPLOYMENTS):
        await stage.delete(kind, "a")
        await stage.delete(kind, "a", how=Deletion(uid="x"))
    await stage.delete(CONFIG_MAPS, "a", namespace="nowhere")


@case("delete", "finalizers")
async def a_deleted_object_takes_no_new_finalizer(stage: Stage) -> None:
    for kind, body in ((CONFIG_MAPS, config_map("a")), (GADGETS, gadget("a"))):
        await stage.given(kind, _held(body))
        await stage.delete(kind, "a")
        patch = {"metadata": {"finalizers": ["trimtab.dev/hold", "trimtab.dev/more"]}}
        await stage.patch(kind, "a", patch, how=PatchType.MERGE)
        await stage.update(kind, "a", with_metadata(body, finalizers=["trimtab.dev/other"]))


@case("delete", "finalizers")
async def a_name_held_by_a_finalizer_cannot_be_taken(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, _held(config_map("a")))
    await stage.delete(CONFIG_MAPS, "a")
    await stage.create(CONFIG_MAPS, config_map("a"))


@case("delete", "finalizers")
async def an_update_without_finalizers_ends_it(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, _held(config_map("a")))
    await stage.delete(CONFIG_MAPS, "a")
    await stage.update(CONFIG_MAPS, "a", config_map("a"))
    await stage.get(CONFIG_MAPS, "a")


@case("delete", "finalizers")
async def a_finalizer_may_go_before_the_deletion(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, _held(config_map("a"), "trimtab.dev/1", "trimtab.dev/2"))
    patch = {"metadata": {"finalizers": ["trimtab.dev/2"]}}
    await stage.patch(CONFIG_MAPS, "a", patch, how=PatchType.MERGE)
    await stage.delete(CONFIG_MAPS, "a")
    await stage.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": []}}, how=PatchType.STRATEGIC)
    patch_away = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["trimtab.dev/2"]}}
    await stage.patch(CONFIG_MAPS, "a", patch_away, how=PatchType.STRATEGIC)
    await stage.get(CONFIG_MAPS, "a")


@case("delete", "propagation")
async def orphaning_then_deleting_in_the_foreground(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.delete(DEPLOYMENTS, "a", how=Deletion(propagation=Propagation.ORPHAN))
    await stage.delete(DEPLOYMENTS, "a", how=Deletion(propagation=Propagation.FOREGROUND))
    await stage.delete(DEPLOYMENTS, "a", how=Deletion(propagation=Propagation.BACKGROUND))
    await stage.get(DEPLOYMENTS, "a")


@case("delete", "grace")
async def grace_matters_to_pods_alone(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.delete(CONFIG_MAPS, "a", how=Deletion(grace_seconds=30))
    await stage.given(PODS, pod("unscheduled"), pod("a", nodeName="n"), pod("b", nodeName="n"))
    await stage.delete(PODS, "unscheduled")
    await stage.delete(PODS, "a")
    await stage.get(PODS, "a")
    await stage.delete(PODS, "a", how=Deletion(grace_seconds=5))
    await stage.delete(PODS, "b", how=Deletion(grace_seconds=0))
    await stage.delete(PODS, "a", how=Deletion(grace_seconds=0))
    await stage.get(PODS, "a")


@case("delete", "grace")
async def a_negative_grace(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.delete(CONFIG_MAPS, "a", how=Deletion(grace_seconds=-1))
    await stage.given(PODS, pod("a", nodeName="n"))
    await stage.delete(PODS, "a", how=Deletion(grace_seconds=-1))


async def _collection(stage: Stage, select: Selection, how: Deletion) -> None:
    bodies = (
        config_map("red", {"colour": "red"}),
        config_map("blue", {"colour": "blue"}),
        _held(config_map("held", {"colour": "red"})),
    )
    await stage.given(CONFIG_MAPS, *bodies)
    await stage.delete_all(CONFIG_MAPS, select=select, how=how)
    await stage.list(CONFIG_MAPS, whole=True)


COLLECTIONS: dict[str, tuple[Selection, Deletion]] = {
    "everything": (Selection(), PLAINLY),
    "by label": (Selection(labels="colour=red"), PLAINLY),
    "by field": (Selection(fields="metadata.name=blue"), PLAINLY),
    "nothing": (Selection(labels="colour=green"), PLAINLY),
    "a dry run": (Selection(), Deletion(dry_run=True)),
    "in the foreground": (Selection(labels="colour=blue"), Deletion(propagation=Propagation.FOREGROUND)),
    "with another uid": (Selection(labels="colour=blue"), Deletion(uid="another")),
    "a bad selector": (Selection(labels="colour in red"), PLAINLY),
    "a bad field": (Selection(fields="data.x=1"), PLAINLY),
}
for what, (select_, how_) in COLLECTIONS.items():
    TABLE.add(
        "deletecollection",
        "selections",
        what,
        _collection,
        select_,
        how_,
    )


@case("deletecollection", "custom objects")
async def custom_objects_are_deleted_together(stage: Stage) -> None:
    await stage.given(GADGETS, gadget("a", {"x": "1"}), gadget("b", {"x": "1"}), gadget("c"))
    await stage.delete_all(GADGETS, select=Selection(labels="x=1"))
    await stage.list(GADGETS)
    await stage.delete_all(GADGETS)
    await stage.list(GADGETS)


@case("deletecollection", "kinds without it")
async def services_are_deleted_together_too(stage: Stage) -> None:
    await stage.given(SERVICES, service("a"), service("b"))
    await stage.delete_all(SERVICES)
    await stage.list(SERVICES)


@case("delete", "namespaces")
async def a_namespace_waits_for_its_finalizer(stage: Stage) -> None:
    await stage.given(NAMESPACES, named(NAMESPACES, "delete-me"))
    await stage.delete(NAMESPACES, "delete-me")
    await stage.get(NAMESPACES, "delete-me")


@case("delete", "namespaces")
async def nothing_new_in_a_namespace_that_goes(stage: Stage) -> None:
    await stage.given(NAMESPACES, named(NAMESPACES, "delete-going"))
    await stage.cluster.create(CONFIG_MAPS, config_map("old"), namespace="delete-going")
    await stage.cluster.delete(NAMESPACES, "delete-going")
    await stage.create(CONFIG_MAPS, config_map("new"), namespace="delete-going")


@case("delete", "namespaces")
async def namespaces_are_not_deleted_together(stage: Stage) -> None:
    await stage.delete_all(NAMESPACES, select=Selection(labels="nobody=here"))


@case("delete", "namespaces")
async def some_namespaces_are_for_ever(stage: Stage) -> None:
    for name in ("default", "kube-system", "kube-public"):
        await stage.delete(NAMESPACES, name)

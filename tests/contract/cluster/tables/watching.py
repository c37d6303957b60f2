"""Watching: from versions, from the beginning, with selectors, and what ends a watch."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    PODS,
    SERVICES,
    config_map,
    deployment,
    gadget,
    pod,
    service,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import Deletion, PatchType, Propagation, Selection
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
KINDS: tuple[tuple[Resource, dict[str, Any], dict[str, Any]], ...] = (
    (CONFIG_MAPS, config_map("a", k="1"), {"data": {"k": "2"}}),
    (DEPLOYMENTS, deployment("a"), {"spec": {"replicas": 2}}),
    (SERVICES, service("a"), {"spec": {"ports": [{"port": 81}]}}),
    (GADGETS, gadget("a", size=1), {"spec": {"size": 2}}),
)


async def _life(stage: Stage, kind: Resource, body: Any, change: Any) -> None:
    await stage.given(
        kind, with_metadata(body, name="before") if kind is CONFIG_MAPS else body | _called("before")
    )
    since = await stage.version_of(kind, "before")
    async with stage.watching(kind, since=since) as ear:
        await stage.given(kind, body)
        await stage.cluster.patch(kind, "a", change, how=PatchType.MERGE, namespace=stage.namespace)
        await stage.cluster.patch(kind, "a", change, how=PatchType.MERGE, namespace=stage.namespace)
        await stage.cluster.delete(kind, "a", namespace=stage.namespace)
        await ear.hear(3)
    async with stage.watching(kind, since=since) as ear:
        await ear.hear(3)


def _called(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


async def _beginning(stage: Stage, kind: Resource, body: Any, change: Any) -> None:
    await stage.given(kind, body, body | _called("b"))
    async with stage.watching(kind, initial=True) as ear:
        await ear.hear_the_beginning()
        await stage.cluster.patch(kind, "a", change, how=PatchType.MERGE, namespace=stage.namespace)
        await ear.hear(1)


for kind_, body_, change_ in KINDS:
    TABLE.add(
        "watch",
        "from a version",
        f"the life of a {kind_.kind}, live and from history",
        _life,
        kind_,
        body_,
        change_,
    )
    TABLE.add(
        "watch",
        "initial events",
        f"what {kind_.plural} exist, a bookmark, and then what changes",
        _beginning,
        kind_,
        body_,
        change_,
    )


@case("watch", "from a version")
async def without_a_version_a_watch_begins_with_what_exists(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    for since in ("", "0"):
        async with stage.watching(CONFIG_MAPS, since=since) as ear:
            await ear.hear(1)


@case("watch", "from a version")
async def versions_that_are_none(stage: Stage) -> None:
    for since in ("nonsense", "-1"):
        async with stage.watching(CONFIG_MAPS, since=since) as ear:
            await ear.hear(1)


@case("watch", "initial events")
async def nothing_exists(stage: Stage) -> None:
    async with stage.watching(CONFIG_MAPS, initial=True) as ear:
        await ear.hear_the_beginning()
    async with stage.watching(GADGETS, initial=True) as ear:
        await ear.hear_the_beginning()


@case("watch", "initial events")
async def the_beginning_of_a_selection(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", {"x": "1"}), config_map("b", {"x": "2"}))
    async with stage.watching(CONFIG_MAPS, initial=True, select=Selection(labels="x=2")) as ear:
        await ear.hear_the_beginning()
    async with stage.watching(CONFIG_MAPS, initial=True, select=Selection(fields="metadata.name=a")) as ear:
        await ear.hear_the_beginning()


@case("watch", "initial events")
async def the_beginning_as_of_a_version(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    since = await stage.version_of(CONFIG_MAPS, "a")
    await stage.given(CONFIG_MAPS, config_map("b"))
    async with stage.watching(CONFIG_MAPS, initial=True, since=since) as ear:
        await ear.hear_the_beginning()


@case("watch", "selectors")
async def an_object_that_comes_and_goes_by_its_labels(stage: Stage) -> None:
    for kind, body in ((CONFIG_MAPS, config_map("a", {"x": "1"})), (GADGETS, gadget("a", {"x": "1"}))):
        await stage.given(kind, body)
        since = await stage.version_of(kind, "a")
        async with stage.watching(kind, since=since, select=Selection(labels="x=2")) as ear:
            for value in ("2", "2", "3", "2", None):
                patch = {"metadata": {"labels": {"x": value}, "annotations": {"v": value or ""}}}
                await stage.cluster.patch(kind, "a", patch, how=PatchType.MERGE, namespace=stage.namespace)
            await ear.hear(4)
        async with stage.watching(kind, since=since, select=Selection(labels="x=2")) as ear:
            await ear.hear(4)


@case("watch", "selectors")
async def deletion_of_what_was_never_selected_is_not_told(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", {"x": "1"}), config_map("b", {"x": "2"}))
    since = await stage.version_of(CONFIG_MAPS, "b")
    async with stage.watching(CONFIG_MAPS, since=since, select=Selection(labels="x=2")) as ear:
        await stage.cluster.delete(CONFIG_MAPS, "a", namespace=stage.namespace)
        await stage.cluster.delete(CONFIG_MAPS, "b", namespace=stage.namespace)
        await ear.hear(1)


@case("watch", "selectors")
async def a_pod_that_comes_and_goes_by_its_fields(stage: Stage) -> None:
    await stage.given(PODS, pod("a", nodeName="n"))
    since = await stage.version_of(PODS, "a")
    async with stage.watching(PODS, since=since, select=Selection(fields="status.phase=Running")) as ear:
        for phase in ("Running", "Succeeded"):
            await stage.cluster.patch(
                PODS,
                "a",
                {"status": {"phase": phase}},
                how=PatchType.MERGE,
                namespace=stage.namespace,
                subresource="status",
            )
        await ear.hear(2)


@case("watch", "selectors")
async def one_object_by_its_name(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    since = await stage.version_of(CONFIG_MAPS, "a")
    async with stage.watching(CONFIG_MAPS, since=since, select=Selection(fields="metadata.name=c")) as ear:
        await stage.given(CONFIG_MAPS, config_map("b"), config_map("c"))
        await ear.hear(1)


@case("watch", "bad selectors")
async def bad_selectors_are_refused(stage: Stage) -> None:
    for select in (Selection(labels="x in y"), Selection(fields="data.x=1"), Selection(fields="x")):
        async with stage.watching(CONFIG_MAPS, since="", select=select) as ear:
            await ear.hear(1)


@case("watch", "unknown kinds")
async def unknown_kinds_cannot_be_watched(stage: Stage) -> None:
    nobody = Resource(group="nobody.example", version="v1", kind="Thing", plural="things", namespaced=True)
    async with stage.watching(nobody) as ear:
        await ear.hear(1)


@case("watch", "namespaces")
async def all_namespaces_are_watched_together(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    since = await stage.version_of(CONFIG_MAPS, "a")
    select = Selection(labels=f"here={stage.namespace}")
    async with stage.watching(CONFIG_MAPS, since=since, namespace="", select=select) as ear:
        await stage.given(CONFIG_MAPS, config_map("b", {"here": stage.namespace}))
        await ear.hear(1)


@case("watch", "finalizers")
async def a_deletion_is_told_when_its_finalizers_are_gone(stage: Stage) -> None:
    for kind, body in ((CONFIG_MAPS, config_map("a")), (GADGETS, gadget("a"))):
        await stage.given(kind, with_metadata(body, finalizers=["trimtab.dev/hold"]))
        since = await stage.version_of(kind, "a")
        async with stage.watching(kind, since=since) as ear:
            await stage.cluster.delete(kind, "a", namespace=stage.namespace)
            await stage.cluster.delete(kind, "a", namespace=stage.namespace)
            patch: dict[str, Any] = {"metadata": {"finalizers": None}}
            await stage.cluster.patch(kind, "a", patch, how=PatchType.MERGE, namespace=stage.namespace)
            await ear.hear(2)


@case("watch", "propagation")
async def a_foreground_deletion_is_a_change(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    since = await stage.version_of(DEPLOYMENTS, "a")
    async with stage.watching(DEPLOYMENTS, since=since) as ear:
        how = Deletion(propagation=Propagation.FOREGROUND)
        await stage.cluster.delete(DEPLOYMENTS, "a", namespace=stage.namespace, how=how)
        await ear.hear(1)


@case("watch", "dry run")
async def dry_runs_and_no_ops_are_not_told(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    since = await stage.version_of(DEPLOYMENTS, "a")
    async with stage.watching(DEPLOYMENTS, since=since) as ear:
        manifest = await stage.manifest_of(DEPLOYMENTS, "a")
        await stage.cluster.update(DEPLOYMENTS, "a", manifest, namespace=stage.namespace)
        await stage.cluster.update(
            DEPLOYMENTS, "a", with_spec(deployment("a"), replicas=4), namespace=stage.namespace
        )
        await ear.hear(1)


@case("watch", "deletecollection")
async def a_collection_is_deleted_one_by_one(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    since = await stage.version_of(CONFIG_MAPS, "a")
    async with stage.watching(CONFIG_MAPS, since=since) as ear:
        await stage.cluster.delete_all(CONFIG_MAPS, namespace=stage.namespace)
        await ear.hear(1)

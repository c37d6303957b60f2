"""Watching: from versions, from the beginning, with selectors, and what ends a watch."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    BOOLEAN,
    CONFIG_MAPS,
    CONTROLLERS,
    DEFINITIONS,
    DEPLOYMENTS,
    EVENTS,
    GADGETS,
    INTEGER,
    JOBS,
    PODS,
    SECRETS,
    SERVICES,
    STRING,
    config_map,
    definition,
    deployment,
    gadget,
    is_established,
    job,
    named,
    pod,
    service,
    templated,
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
            await ear.hear_the_beginning()
            await stage.given(CONFIG_MAPS, config_map(f"b{since}"))
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


def _labelled(value: str) -> tuple[str, dict[str, Any]]:
    return "", {"metadata": {"labels": {"x": value}}}


def _reported(**status: Any) -> tuple[str, dict[str, Any]]:
    return "status", {"status": status}


#: a kind, an object of it, a selection, changes (of a subresource or of the object), and how many are told
COMING_AND_GOING: dict[str, tuple[Resource, dict[str, Any], str, list[tuple[str, dict[str, Any]]], int]] = {
    "a Pod by the node that it is to run on": (
        PODS,
        pod("a", nodeName="n"),
        "spec.nodeName=n,status.phase!=Failed",
        [_reported(phase="Running"), _reported(phase="Failed"), _labelled("1"), _reported(phase="Running")],
        3,
    ),
    "a Pod by its address": (
        PODS,
        pod("a"),
        "status.podIP=10.0.0.1",
        [_reported(podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}]), _reported(phase="Running")],
        2,
    ),
    "a Service by its type": (
        SERVICES,
        named(SERVICES, "a", spec={"ports": [{"port": 80}]}),
        "spec.type=NodePort",
        [("", {"spec": {"type": "NodePort"}}), _labelled("1"), ("", {"spec": {"type": "ClusterIP"}})],
        3,
    ),
    "a Secret by its type": (
        SECRETS,
        named(SECRETS, "a", type="example.com/x"),
        "type!=Opaque",
        [_labelled("1"), ("", {"data": {"k": "dg=="}})],
        2,
    ),
    "an Event by its reason": (
        EVENTS,
        named(EVENTS, "a", involvedObject={"kind": "Pod", "name": "p"}, reason="Began", type="Normal"),
        "reason=Ended,involvedObject.kind=Pod",
        [("", {"reason": "Ended"}), ("", {"count": 2}), ("", {"reason": "Began"})],
        3,
    ),
    "a Job by how often it succeeded": (
        JOBS,
        job("a"),
        "status.successful=0",
        [_labelled("1"), _reported(succeeded=1), _labelled("2")],
        2,
    ),
    "a controller by its replicas": (
        CONTROLLERS,
        templated(CONTROLLERS, "a", selector={"app": "a"}),
        "status.replicas=1",
        [_reported(replicas=1), _reported(replicas=1, readyReplicas=1), _reported(replicas=2)],
        3,
    ),
}


async def _selected(
    stage: Stage,
    kind: Resource,
    body: dict[str, Any],
    fields: str,
    changes: list[tuple[str, dict[str, Any]]],
    told: int,
) -> None:
    """Listen in every way to an object that comes into a selection of fields, leaves it, and goes."""
    if kind is EVENTS:
        body = {**body, "involvedObject": {**body["involvedObject"], "namespace": stage.namespace}}
    await stage.given(kind, body)
    since, select = await stage.version_of(kind, "a"), Selection(fields=fields)
    async with (
        stage.watching(kind, since=since, select=select) as ear,
        stage.watching(kind, since="0", select=select) as at_hand,
        stage.watching(kind, initial=True, select=select) as anew,
    ):
        for late in (at_hand, anew):
            await late.hear_the_beginning()
        for subresource, patch in changes:
            await stage.cluster.patch(
                kind, "a", patch, how=PatchType.MERGE, namespace=stage.namespace, subresource=subresource
            )
        for each in (ear, at_hand, anew):
            await each.hear(told)
    async with stage.watching(kind, since=since, select=select) as ear:
        await ear.hear(told)
    for again in ("0", ""):
        async with stage.watching(kind, since=again, select=select) as ear:
            await ear.hear_the_beginning()


for name_, given_ in COMING_AND_GOING.items():
    TABLE.add("watch", "field selectors", f"{name_} comes and goes", _selected, *given_)


def _valves() -> dict[str, Any]:
    """A kind whose objects may be selected by fields of their own, in two versions by others."""
    spec = {"type": "object", "properties": {"s": {"default": "d", **STRING}, "n": INTEGER, "b": BOOLEAN}}
    made = definition(
        "Valve",
        "selected.trimtab.dev",
        spec=spec,
        subresources={"status": {}},
        selectableFields=[
            {"jsonPath": path} for path in (".spec.s", ".spec.n", ".spec.b", ".status.selector")
        ],
    )
    (first,) = made["spec"]["versions"]
    root = {**first["schema"]["openAPIV3Schema"], "description": "The same, selected otherwise."}
    second = {"name": "v2", "storage": False, "schema": {"openAPIV3Schema": root}}
    fewer = {"selectableFields": [{"jsonPath": ".spec.s"}]}
    return with_spec(made, versions=[first, {**first, **second, **fewer}])


@case("watch", "field selectors")
async def a_custom_object_comes_and_goes_by_fields_of_its_own(stage: Stage) -> None:
    body = _valves()
    await stage.given(DEFINITIONS, body)
    await stage.until(DEFINITIONS, body["metadata"]["name"], is_established)
    await stage.served(body)
    old, new = (
        Resource(
            group="selected.trimtab.dev", version=version, kind="Valve", plural="valves", namespaced=True
        )
        for version in ("v1", "v2")
    )
    changes: list[tuple[str, dict[str, Any]]] = [
        ("", {"spec": {"s": "x", "n": 1, "b": True}}),
        _labelled("1"),
        ("", {"spec": {"s": None, "n": None, "b": None}}),
        _reported(selector="on"),
        ("", {"spec": {"s": "", "n": 0, "b": False}}),
        _reported(selector=None),
    ]
    for kind, fields, told in (
        (old, "spec.s=x", 3),
        (old, "spec.s=d", 4),
        (old, "spec.s=", 2),
        (old, "spec.n=1,spec.b=true", 3),
        (old, "spec.n=", 4),
        (old, "spec.n!=0", 5),
        (old, "spec.b=false,status.selector=on", 2),
        (old, "status.selector=", 5),
        (new, "spec.s!=d", 5),
    ):
        await _selected(stage, kind, named(kind, "a", spec={}), fields, changes, told)
        await stage.cluster.delete(kind, "a", namespace=stage.namespace)
    for fields in ("spec.n=1", ".spec.s=x", "spec=x", "status.selector=on"):
        async with stage.watching(new, select=Selection(fields=fields)) as ear:
            await ear.hear(1)
    await stage.cluster.delete(DEFINITIONS, body["metadata"]["name"])


@case("watch", "selectors")
async def labels_and_fields_together_in_every_way_of_listening(stage: Stage) -> None:
    """Two objects, of which each comes into view, leaves it by the one or by the other, and goes."""
    await stage.given(PODS, with_metadata(pod("a", nodeName="n"), labels={"x": "1"}), pod("b", nodeName="n"))
    since = await stage.version_of(PODS, "b")
    select = Selection(labels="x in (1,2),!y", fields="status.phase!=Failed,spec.nodeName=n")
    changes = [
        ("b", *_labelled("2")),
        ("a", *_reported(phase="Running")),
        ("a", *_reported(phase="Failed")),
        ("a", *_labelled("3")),
        ("a", *_reported(phase="Running")),
        ("a", *_labelled("1")),
        ("b", "", {"metadata": {"labels": {"y": ""}}}),
        ("b", "", {"metadata": {"labels": {"x": "3", "y": None}}}),
        ("b", *_labelled("2")),
    ]
    async with (
        stage.watching(PODS, since=since, select=select) as ear,
        stage.watching(PODS, since="0", select=select) as at_hand,
        stage.watching(PODS, initial=True, select=select) as anew,
        stage.watching(PODS, initial=True, since=since, select=select) as not_older,
    ):
        for late in (at_hand, anew, not_older):
            await late.hear_the_beginning()
        for name, subresource, patch in changes:
            await stage.cluster.patch(
                PODS, name, patch, how=PatchType.MERGE, namespace=stage.namespace, subresource=subresource
            )
        for name in ("a", "b"):
            await stage.cluster.delete(PODS, name, namespace=stage.namespace, how=Deletion(grace_seconds=0))
        for each in (ear, at_hand, anew, not_older):
            await each.hear(8)
    async with stage.watching(PODS, since=since, select=select) as ear:
        await ear.hear(8)


@case("watch", "field selectors")
async def a_deletion_is_told_to_whom_the_object_was_in_view(stage: Stage) -> None:
    await stage.given(PODS, pod("a", nodeName="n"), pod("b", nodeName="n"))
    since = await stage.version_of(PODS, "b")
    select = Selection(fields="status.phase=Running")
    async with stage.watching(PODS, since=since, select=select) as ear:
        subresource, patch = _reported(phase="Running")
        await stage.cluster.patch(
            PODS, "b", patch, how=PatchType.MERGE, namespace=stage.namespace, subresource=subresource
        )
        for name in ("a", "b"):
            await stage.cluster.delete(PODS, name, namespace=stage.namespace, how=Deletion(grace_seconds=0))
        await ear.hear(2)


@case("watch", "field selectors")
async def all_namespaces_are_narrowed_to_one(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    since = await stage.version_of(CONFIG_MAPS, "a")
    for fields in (f"metadata.namespace={stage.namespace}", "metadata.name=z", "metadata.namespace=Not One"):
        select = Selection(fields=fields, labels=f"here={stage.namespace}")
        async with stage.watching(CONFIG_MAPS, since=since, namespace="", select=select) as ear:
            if "Not" not in fields:
                await stage.cluster.apply(
                    CONFIG_MAPS,
                    "z",
                    config_map("z", {"here": stage.namespace}, k=fields),
                    namespace=stage.namespace,
                )
                await ear.hear(1)


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

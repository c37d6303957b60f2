"""Status, scale and the other subresources."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    NAMESPACES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
    config_map,
    deployment,
    gadget,
    named,
    pod,
    service,
    templated,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
SCALABLE: tuple[tuple[Resource, dict[str, Any]], ...] = (
    (DEPLOYMENTS, with_spec(deployment("a"), replicas=2)),
    (STATEFUL_SETS, templated(STATEFUL_SETS, "a", serviceName="s", replicas=2)),
    (REPLICA_SETS, templated(REPLICA_SETS, "a", replicas=2)),
    (GADGETS, gadget("a", replicas=2)),
)


async def _scaled(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    scale = await stage.get(kind, "a", subresource="scale")
    assert scale is not None
    changed = with_spec({**scale.manifest(), "spec": {}}, replicas=5)
    await stage.update(kind, "a", changed, subresource="scale", write=Write(manager="scaler"))
    await stage.patch(kind, "a", {"spec": {"replicas": 0}}, how=PatchType.MERGE, subresource="scale")
    await stage.patch(
        kind,
        "a",
        [{"op": "replace", "path": "/spec/replicas", "value": 3}],
        how=PatchType.JSON,
        subresource="scale",
    )
    await stage.get(kind, "a")


async def _badly_scaled(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    await stage.patch(kind, "a", {"spec": {"replicas": -1}}, how=PatchType.MERGE, subresource="scale")
    await stage.patch(kind, "a", {"spec": {"replicas": "x"}}, how=PatchType.MERGE, subresource="scale")
    old = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "resourceVersion": "1"}}
    await stage.update(kind, "a", old | {"spec": {"replicas": 1}}, subresource="scale")
    await stage.update(kind, "a", body, subresource="scale")
    await stage.get(kind, "missing", subresource="scale")


async def _dry_scaled(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    patch = {"spec": {"replicas": 9}}
    await stage.patch(kind, "a", patch, how=PatchType.MERGE, subresource="scale", write=Write(dry_run=True))
    await stage.get(kind, "a", subresource="scale")


for kind_, body_ in SCALABLE:
    for feature_, name_, play_ in (
        ("scale", "is scaled", _scaled),
        ("scale", "is not scaled badly", _badly_scaled),
        ("scale", "is scaled in a dry run", _dry_scaled),
    ):
        TABLE.add(
            "subresource",
            feature_,
            f"{kind_.kind} {name_}",
            play_,
            kind_,
            body_,
        )

CONDITION = {"type": "Ready", "status": "True", "reason": "x", "message": "y"}
WITH_STATUS: tuple[tuple[Resource, dict[str, Any], dict[str, Any]], ...] = (
    (DEPLOYMENTS, deployment("a"), {"replicas": 2, "observedGeneration": 1, "updatedReplicas": 1}),
    (GADGETS, gadget("a", size=1), {"replicas": 2, "conditions": [{"type": "Ready", "status": "True"}]}),
    (SERVICES, service("a"), {"conditions": [CONDITION | {"lastTransitionTime": "2001-01-01T00:00:00Z"}]}),
    (PODS, pod("a"), {"phase": "Running", "podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.1"}]}),
)


async def _status_updated(stage: Stage, kind: Resource, body: Any, status: Any) -> None:
    await stage.given(kind, body)
    await stage.get(kind, "a", subresource="status")
    manifest = await stage.manifest_of(kind, "a")
    changed = with_metadata({**manifest, "status": status}, labels={"l": "1"}, finalizers=["t.dev/1"])
    await stage.update(kind, "a", changed, subresource="status", write=Write(manager="reporter"))
    await stage.update(kind, "a", {**body, "status": status}, subresource="status")
    await stage.get(kind, "a")


async def _status_patched(stage: Stage, kind: Resource, body: Any, status: Any) -> None:
    await stage.given(kind, body)
    patch = {"status": status, "spec": {"replicas": 9, "size": 9}, "metadata": {"annotations": {"n": "1"}}}
    reporter = Write(manager="reporter")
    await stage.patch(kind, "a", patch, how=PatchType.MERGE, subresource="status", write=reporter)
    await stage.patch(kind, "a", patch, how=PatchType.MERGE, subresource="status", write=reporter)
    await stage.patch(kind, "a", {"status": None}, how=PatchType.MERGE, subresource="status", write=reporter)
    await stage.get(kind, "a")


async def _status_locked(stage: Stage, kind: Resource, body: Any, status: Any) -> None:
    await stage.given(kind, body)
    stale = with_metadata({**body, "status": status}, resourceVersion="1")
    await stage.update(kind, "a", stale, subresource="status")
    await stage.update(kind, "missing", {**body, "metadata": {"name": "missing"}}, subresource="status")
    await stage.patch(kind, "missing", {"status": status}, how=PatchType.MERGE, subresource="status")


for kind_, body_, status_ in WITH_STATUS:
    for name_, told_ in (
        ("status is updated", _status_updated),
        ("status is patched", _status_patched),
        ("status is locked", _status_locked),
    ):
        TABLE.add(
            "subresource",
            "status",
            f"{kind_.kind} {name_}",
            told_,
            kind_,
            body_,
            status_,
        )


@case("subresource", "status")
async def a_bad_status_is_refused(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.given(GADGETS, gadget("a"))
    patches = ({"status": {"replicas": -1}}, {"status": {"replicas": "x"}}, {"status": {"nothing": 1}})
    for patch in patches:
        await stage.patch(DEPLOYMENTS, "a", patch, how=PatchType.MERGE, subresource="status")
        await stage.patch(GADGETS, "a", patch, how=PatchType.MERGE, subresource="status")


@case("subresource", "status")
async def strategic_patches_merge_conditions(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    for type_, status in (("Available", "True"), ("Progressing", "True"), ("Available", "False")):
        patch = {"status": {"conditions": [{"type": type_, "status": status}]}}
        await stage.patch(DEPLOYMENTS, "a", patch, how=PatchType.STRATEGIC, subresource="status")


@case("subresource", "finalize")
async def a_namespace_is_finalized(stage: Stage) -> None:
    await stage.given(NAMESPACES, named(NAMESPACES, "finalize-me"))
    await stage.delete(NAMESPACES, "finalize-me")
    manifest = await stage.manifest_of(NAMESPACES, "finalize-me")
    await stage.update(
        NAMESPACES, "finalize-me", {**manifest, "spec": {"finalizers": []}}, subresource="finalize"
    )
    await stage.get(NAMESPACES, "finalize-me")


@case("subresource", "kinds without it")
async def kinds_without_a_status(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.update(CONFIG_MAPS, "a", config_map("a"), subresource="status")
    await stage.patch(CONFIG_MAPS, "a", {"status": {}}, how=PatchType.MERGE, subresource="status")
    await stage.apply(CONFIG_MAPS, "a", config_map("a"), subresource="status")
    await stage.patch(CONFIG_MAPS, "a", {"spec": {}}, how=PatchType.MERGE, subresource="scale")


SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 5}}
ODD_SCALES: dict[str, Any] = {
    "another uid": {**SCALE, "metadata": {"name": "a", "uid": "x"}},
    "another name": {**SCALE, "metadata": {"name": "b"}},
    "no name": {**SCALE, "metadata": {}},
    "another namespace": {**SCALE, "metadata": {"name": "a", "namespace": "x"}},
    "another kind": {**SCALE, "kind": "Foo"},
    "another version": {**SCALE, "apiVersion": "autoscaling/v2"},
    "no kind": {"metadata": {"name": "a"}, "spec": {"replicas": 6}},
    "an unknown field": {**SCALE, "spec": {"replica": 5}},
    "a wrong type": {**SCALE, "spec": {"replicas": "5"}},
    "owners": {**SCALE, "metadata": {"name": "a", "managedFields": []}},
    "no JSON": b"{",
}


async def _oddly_scaled(stage: Stage, kind: Resource, body: Any, scale: Any) -> None:
    await stage.given(kind, body)
    await stage.update(kind, "a", scale, subresource="scale", write=Write(manager="scaler"))
    await stage.get(kind, "a")


async def _scale_patched(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    for patch in (
        {"spec": {"replicas": 2}},
        {"spec": {"replica": 4}},
        {"metadata": {"resourceVersion": "1"}},
        {"metadata": {"uid": "x"}},
    ):
        await stage.patch(kind, "a", patch, how=PatchType.MERGE, subresource="scale")
        await stage.get(kind, "a")
    await stage.patch(kind, "a", {"spec": {"replicas": 7}}, how=PatchType.STRATEGIC, subresource="scale")
    await stage.patch(kind, "missing", {"spec": {"replicas": 1}}, how=PatchType.MERGE, subresource="scale")


async def _scale_applied(stage: Stage, kind: Resource, body: Any) -> None:
    await stage.given(kind, body)
    for manager, force, scale in (
        ("one", False, SCALE),
        ("one", True, SCALE),
        ("one", False, {**SCALE, "spec": {"replicas": 2}}),
        ("two", False, {**SCALE, "spec": {"replicas": 7}}),
        ("two", False, {**SCALE, "spec": {"replica": 7}}),
        ("two", False, {**SCALE, "kind": "Foo"}),
        ("one", False, {**SCALE, "spec": {}}),
    ):
        await stage.apply(kind, "a", scale, subresource="scale", manager=manager, force=force)
        await stage.get(kind, "a")
    missing = {**SCALE, "metadata": {"name": "missing"}}
    await stage.apply(kind, "missing", missing, subresource="scale")
    await stage.update(kind, "missing", missing, subresource="scale")


for kind_, body_ in (SCALABLE[0], SCALABLE[-1]):
    for what, scale_ in ODD_SCALES.items():
        TABLE.add(
            "subresource", "scale", f"{kind_.kind} scaled by {what}", _oddly_scaled, kind_, body_, scale_
        )
    TABLE.add("subresource", "scale", f"{kind_.kind}: the scale is patched", _scale_patched, kind_, body_)
    TABLE.add("subresource", "scale", f"{kind_.kind}: the scale is applied", _scale_applied, kind_, body_)


@case("subresource", "scale")
async def replicas_that_nobody_has_cannot_be_applied(stage: Stage) -> None:
    await stage.given(GADGETS, gadget("a"))
    await stage.apply(GADGETS, "a", SCALE, subresource="scale")
    await stage.apply(GADGETS, "a", {**SCALE, "kind": "Foo"}, subresource="scale")


@case("subresource", "status")
async def counts_that_cannot_be(stage: Stage) -> None:
    for kind, body in (*SCALABLE, (SERVICES, service("a"))):
        await stage.given(kind, body)
        for status in (
            {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3},
            {"observedGeneration": -1, "collisionCount": 2},
            {"collisionCount": 1},
            {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
        ):
            await stage.patch(kind, "a", {"status": status}, how=PatchType.MERGE, subresource="status")


@case("subresource", "status")
async def the_status_of_a_service_that_is_not_there(stage: Stage) -> None:
    await stage.apply(SERVICES, "a", named(SERVICES, "a", status={}), subresource="status")
    whole = service("b", clusterIPs=["None"], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    await stage.update(SERVICES, "b", whole, subresource="status")
    await stage.get(SERVICES, "b")

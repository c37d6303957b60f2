"""Storage: what claims are filled from, and how drivers and their like are judged, counted and replaced."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    ATTRIBUTES_CLASSES,
    CAPACITIES,
    CLAIMS,
    DRIVER_NODES,
    DRIVERS,
    PODS,
    RUNTIME_CLASSES,
    VOLUME_ATTACHMENTS,
    container,
    named,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
DRY = Write(dry_run=True)
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
OTHER = {"apiGroup": "example.com", "kind": "Other", "name": "s"}


def _claim(name: str, **spec: Any) -> dict[str, Any]:
    return named(CLAIMS, name, spec={**CLAIM, **spec})


# -- what a claim is filled from --------------------------------------------------------------------------

SOURCES: dict[str, tuple[dict[str, Any], ...]] = {
    "either field of a claim says what it is filled from": (
        {"dataSource": SNAPSHOT},
        {"dataSourceRef": SNAPSHOT},
        {"dataSource": {"kind": "PersistentVolumeClaim", "name": "s"}},
        {"dataSourceRef": OTHER},
        {"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "namespace": ""}},
    ),
    "what the older field cannot say is dropped": (
        {"dataSource": OTHER},
        {"dataSource": {"kind": "Other", "name": "s"}},
        {"dataSource": OTHER, "dataSourceRef": OTHER},
        {"dataSourceRef": {**SNAPSHOT, "namespace": "other"}},
        {"dataSource": SNAPSHOT, "dataSourceRef": {**OTHER, "namespace": "other"}},
    ),
    "what a claim cannot be filled from": (
        {"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "name": "t"}},
        {"dataSource": {"kind": "PersistentVolumeClaim", "name": ""}},
        {"dataSourceRef": {"kind": "", "name": ""}},
        {"dataSourceRef": {"kind": "Other", "name": "s"}},
        {"dataSourceRef": {**OTHER, "apiGroup": "A b"}},
        {"dataSource": OTHER, "dataSourceRef": SNAPSHOT},
        {"dataSource": OTHER, "dataSourceRef": {}},
        {"dataSource": {}, "dataSourceRef": {}},
    ),
    "nothing is no source": ({"dataSource": {}}, {"dataSource": None, "dataSourceRef": None}),
}


async def _claimed(stage: Stage, *specs: dict[str, Any]) -> None:
    for spec in specs:
        await stage.create(CLAIMS, _claim("a", **spec), write=DRY)


for _name, _specs in SOURCES.items():
    TABLE.add("create", "sources of claims", _name, _claimed, *_specs)


@case("patch merge", "sources of claims")
async def a_claim_keeps_what_it_is_filled_from(stage: Stage) -> None:
    await stage.given(CLAIMS, _claim("a", dataSourceRef=OTHER), _claim("b"), _claim("c", dataSource=SNAPSHOT))
    for name, spec in (
        ("a", {"dataSource": None}),
        ("a", {"dataSourceRef": None}),
        ("a", {"dataSource": None, "dataSourceRef": None}),
        ("b", {"dataSource": OTHER}),
        ("b", {"dataSource": SNAPSHOT}),
        ("b", {"dataSourceRef": {**OTHER, "namespace": "other"}}),
        ("c", {"dataSource": {"name": "t"}}),
        ("c", {"dataSourceRef": {"namespace": "other"}}),
        ("c", {"dataSource": None, "dataSourceRef": {"namespace": "A b"}}),
    ):
        await stage.patch(CLAIMS, name, {"spec": spec}, how=PatchType.MERGE, write=DRY)


@case("create", "sources of claims")
async def a_claim_of_a_pod_is_filled(stage: Stage) -> None:
    templates = [
        {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {**CLAIM, "dataSource": source}}}}
        for name, source in (("a", SNAPSHOT), ("b", {**OTHER, "name": ""}))
    ]
    for volumes in (templates[:1], templates):
        spec = {"automountServiceAccountToken": False, "containers": [container()], "volumes": volumes}
        await stage.create(PODS, named(PODS, "a", spec=spec), write=DRY)


# -- what becomes of a claim ------------------------------------------------------------------------------


@case("update", "no-ops")
async def the_first_write_of_a_claim_keeps_its_phase(stage: Stage) -> None:
    """A new claim is kept without its phase, which every reading brings: the next write writes it."""
    await stage.given(CLAIMS, _claim("a"), _claim("b"), _claim("c"))
    for name in ("a", "b", "c"):
        await stage.get(CLAIMS, name)
    await stage.patch(CLAIMS, "a", {}, how=PatchType.MERGE, write=DRY)
    await stage.get(CLAIMS, "a")
    for _ in range(2):
        await stage.update(CLAIMS, "a", await stage.manifest_of(CLAIMS, "a"), write=Write(manager="setup"))
        await stage.patch(CLAIMS, "b", {}, how=PatchType.MERGE, subresource="status")
        await stage.patch(CLAIMS, "c", {"status": {"phase": ""}}, how=PatchType.MERGE)


@case("update", "immutable fields")
async def what_may_change_in_a_claim(stage: Stage) -> None:
    await stage.given(CLAIMS, _claim("a"))
    specs: tuple[dict[str, Any], ...] = (
        {"accessModes": []},
        {"resources": {"requests": {}}},
        {"resources": {"requests": {"storage": "1Gi"}, "limits": {}}},
        {"resources": {"requests": {"storage": "1073741824"}}},
        {"resources": {"requests": {"storage": "2Gi"}, "limits": {}}},
        {"accessModes": ["ReadWriteOnce", "x", "ReadWriteOncePod"]},
        {"accessModes": ["x", "ReadWriteOncePod"]},
        {"selector": {}},
    )
    for spec in specs:
        await stage.update(CLAIMS, "a", _claim("a", **spec), write=DRY)


@case("subresource", "status")
async def what_the_status_of_a_claim_cannot_be(stage: Stage) -> None:
    await stage.given(CLAIMS, _claim("a", volumeAttributesClassName="v"))
    for status in (
        {"capacity": {"storage": "-1"}},
        {"capacity": {"storage": "-1500m"}},
        {"allocatedResourceStatuses": {"storage": "x"}},
        {"allocatedResourceStatuses": {"cpu": "NodeResizePending"}},
        {"allocatedResources": {"storage": "-1"}},
        {"allocatedResources": {"a b": "1"}},
        {"allocatedResources": {"example.com/a": "1"}},
    ):
        await stage.patch(
            CLAIMS, "a", {"status": status}, how=PatchType.MERGE, subresource="status", write=DRY
        )
    bound = {"phase": "Bound", "currentVolumeAttributesClassName": "v"}
    await stage.patch(CLAIMS, "a", {"status": bound}, how=PatchType.MERGE, subresource="status")
    for attributes in (None, "", "A b", "w"):
        spec = {"volumeAttributesClassName": attributes}
        await stage.patch(CLAIMS, "a", {"spec": spec}, how=PatchType.MERGE, write=DRY)


# -- drivers, classes and attachments ---------------------------------------------------------------------


@case("update", "generation")
async def a_driver_counts_its_changes_alone(stage: Stage) -> None:
    name = f"{stage.namespace}-a"
    await stage.create(DRIVERS, named(DRIVERS, name, spec={}))
    for change in (
        {"spec": {"requiresRepublish": True}},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"attachRequired": False}},
        {"spec": {"tokenRequests": [{"audience": "a"}], "fsGroupPolicy": "File"}},
    ):
        await stage.patch(DRIVERS, name, change, how=PatchType.MERGE)
    await stage.delete(DRIVERS, name)


@case("patch merge", "judged like new")
async def a_class_of_attributes_is_told_first_what_may_not_change(stage: Stage) -> None:
    kind, name = ATTRIBUTES_CLASSES, f"{stage.namespace}-a"
    await stage.given(kind, named(kind, name, driverName="a.example", parameters={"a": "b"}))
    for change in (
        {"driverName": "b.example", "parameters": {"a": "c"}},
        {"driverName": "", "parameters": None},
        {"driverName": "A b", "parameters": {"": "b"}},
    ):
        await stage.patch(kind, name, change, how=PatchType.MERGE, write=DRY)
        whole: dict[str, Any] = {"driverName": "a.example", "parameters": {"a": "b"}, **change}
        await stage.create(kind, named(kind, f"{name}-new", **whole), write=DRY)
    await stage.patch(kind, name, {"metadata": {"finalizers": None}}, how=PatchType.MERGE)
    await stage.delete(kind, name)


REPLACED: tuple[tuple[Resource, dict[str, Any]], ...] = (
    (DRIVERS, {"spec": {}}),
    (DRIVER_NODES, {"spec": {"drivers": [{"name": "a.example", "nodeID": "a"}]}}),
    (CAPACITIES, {"storageClassName": "a", "capacity": "1Gi"}),
    (
        VOLUME_ATTACHMENTS,
        {"spec": {"attacher": "a.example", "nodeName": "a", "source": {"persistentVolumeName": "a"}}},
    ),
    (RUNTIME_CLASSES, {"handler": "a"}),
)


async def _replaced(stage: Stage, kind: Resource, fields: dict[str, Any]) -> None:
    """Replace an object that is not there, then one that is: without its version, and with it."""
    name = f"{stage.namespace}-a"
    await stage.update(kind, name, named(kind, name, **fields))
    await stage.create(kind, named(kind, name, **fields))
    changed = named(kind, name, {"a": "b"}, **fields)
    await stage.update(kind, name, changed)
    version = await stage.version_of(kind, name)
    changed["metadata"]["resourceVersion"] = version
    await stage.update(kind, name, changed)
    await stage.delete(kind, name)


for _kind, _fields in REPLACED:
    TABLE.add(
        "update",
        "optimistic locking",
        f"{_kind.kind}: a replacement says which version it replaces",
        _replaced,
        _kind,
        _fields,
    )

"""JSON patches and merge patches on every shape of list and map, and what is refused of them."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    SERVICES,
    config_map,
    container,
    deployment,
    gadget,
    service,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import FieldValidation, PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
SHAPES: dict[str, tuple[Resource, dict[str, Any]]] = {
    "map": (CONFIG_MAPS, with_metadata(config_map("a", one="1", two="2"), labels={"x/y": "1"})),
    "primitive merge list": (CONFIG_MAPS, with_metadata(config_map("a"), finalizers=["t.dev/1", "t.dev/2"])),
    "merge-key list": (
        DEPLOYMENTS,
        deployment("a", container("one", env=[{"name": "A", "value": "1"}]), container("two")),
    ),
    "port list": (SERVICES, service("a", {"name": "http", "port": 80}, {"name": "tls", "port": 443})),
    "atomic list": (DEPLOYMENTS, deployment("a", container(args=["x", "y"]), tolerations=[{"key": "k"}])),
    "custom map list": (GADGETS, gadget("a", parts=[{"name": "x", "count": 2}, {"name": "y"}])),
    "custom set": (GADGETS, gadget("a", tags=["x", "y"])),
    "custom atomic list": (GADGETS, gadget("a", steps=[{"run": "x"}, {"run": "y"}], plain=["p"])),
    "custom map": (GADGETS, gadget("a", limits={"cpu": 1, "mem": "2", "z~": 3}, whole={"a": "1", "b": "2"})),
    "free form": (GADGETS, gadget("a", free={"x": {"y": [1, 2]}, "n": 1})),
}


async def _patched(stage: Stage, shape: str, how: PatchType, patch: Any) -> None:
    resource, body = SHAPES[shape]
    await stage.given(resource, body)
    await stage.patch(resource, "a", patch, how=how, write=Write(manager="patcher"))
    await stage.get(resource, "a")


def _add(how: PatchType, shape: str, name: str, patch: Any) -> None:
    TABLE.add(
        f"patch {how.name.lower()}",
        shape,
        f"{how.name.lower()} on {shape}: {name}",
        _patched,
        shape,
        how,
        patch,
    )


def _pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


MERGES: dict[str, dict[str, Any]] = {
    "map": {
        "a key changes": {"data": {"one": "9"}},
        "a key is added": {"data": {"three": "3"}},
        "a key is removed": {"data": {"one": None}},
        "everything is removed": {"data": None},
        "an unknown key is removed": {"data": {"nine": None}},
        "a label is removed": {"metadata": {"labels": {"x/y": None}}},
        "nothing changes": {"data": {"one": "1"}},
        "an empty patch": {},
        "a value of another type": {"data": {"one": 1}},
        "a map becomes a list": {"data": ["x"]},
        "nulls in new maps are dropped": {"metadata": {"annotations": {"a": None, "b": "1"}}},
        "the name changes": {"metadata": {"name": "b"}},
        "the namespace changes": {"metadata": {"namespace": "elsewhere"}},
        "the kind changes": {"kind": "Secret"},
        "the uid changes": {"metadata": {"uid": "another"}},
        "an old version": {"metadata": {"resourceVersion": "1"}},
        "the creation time changes": {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}},
        "the generation changes": {"metadata": {"generation": 9}},
        "an unknown field": {"dta": {"x": "y"}},
    },
    "primitive merge list": {
        "the list is replaced": {"metadata": {"finalizers": ["t.dev/3"]}},
        "the list is removed": {"metadata": {"finalizers": None}},
        "the list is emptied": {"metadata": {"finalizers": []}},
        "the order changes": {"metadata": {"finalizers": ["t.dev/2", "t.dev/1"]}},
    },
    "merge-key list": {
        "the list is replaced": _pod(containers=[container("three")]),
        "the list is emptied": _pod(containers=[]),
        "the list is removed": _pod(containers=None),
        "an element without its key": _pod(containers=[{"image": "x"}]),
        "the order changes": _pod(containers=[container("two"), container("one")]),
    },
    "port list": {
        "the list is replaced": {"spec": {"ports": [{"port": 81}]}},
        "a port is repeated": {"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}},
        "the list is removed": {"spec": {"ports": None}},
    },
    "atomic list": {
        "the lists are replaced": _pod(tolerations=[], containers=[container(args=["z"])]),
        "the list is removed": _pod(tolerations=None),
    },
    "custom map list": {
        "the list is replaced": {"spec": {"parts": [{"name": "z"}]}},
        "the list is removed": {"spec": {"parts": None}},
        "a key is repeated": {"spec": {"parts": [{"name": "z"}, {"name": "z"}]}},
        "an element without its key": {"spec": {"parts": [{"count": 1}]}},
        "an unknown field inside": {"spec": {"parts": [{"name": "z", "nam": 1}]}},
    },
    "custom set": {
        "the list is replaced": {"spec": {"tags": ["y", "z"]}},
        "a value is repeated": {"spec": {"tags": ["y", "y"]}},
        "the list is emptied": {"spec": {"tags": []}},
    },
    "custom atomic list": {
        "the lists are replaced": {"spec": {"steps": [{"run": "z", "as": "me"}], "plain": ["q"]}},
        "too many items": {"spec": {"steps": [{"run": str(number)} for number in range(5)]}},
        "a null inside": {"spec": {"steps": [{"run": None}]}},
    },
    "custom map": {
        "keys change": {"spec": {"limits": {"cpu": None, "mem": 3, "disk": "4"}, "whole": {"a": None}}},
        "a value of a wrong type": {"spec": {"limits": {"cpu": True}}},
        "a defaulted field is removed": {"spec": {"colour": None, "nested": None}},
        "a value not allowed": {"spec": {"colour": "pink", "size": 11, "word": "UPPER"}},
    },
    "free form": {
        "anything goes": {"spec": {"free": {"x": {"y": None, "z": [{"deep": True}]}, "n": "text"}}},
        "it may be removed": {"spec": {"free": None}},
    },
}
for shape_, patches in MERGES.items():
    for name_, patch_ in patches.items():
        _add(PatchType.MERGE, shape_, name_, patch_)


def op(name: str, path: str, **rest: Any) -> dict[str, Any]:
    """One operation of a JSON patch."""
    return {"op": name, "path": path, **({"from": rest.pop("from_")} if "from_" in rest else {}), **rest}


CONTAINERS = "/spec/template/spec/containers"
OPERATIONS: dict[str, dict[str, Any]] = {
    "map": {
        "a key changes": [op("replace", "/data/one", value="9")],
        "a key is added": [op("add", "/data/three", value="3")],
        "a key is added over another": [op("add", "/data/one", value="3")],
        "a key is removed": [op("remove", "/data/one")],
        "a missing key is removed": [op("remove", "/data/nine")],
        "a missing key is replaced": [op("replace", "/data/nine", value="9")],
        "a key below a missing one": [op("add", "/binaryData/x", value="eA==")],
        "a key moves": [op("move", "/data/three", from_="/data/one")],
        "a missing key moves": [op("move", "/data/three", from_="/data/nine")],
        "a key is copied": [op("copy", "/data/three", from_="/data/one")],
        "a test holds": [op("test", "/data/one", value="1"), op("remove", "/data/one")],
        "a test fails": [op("test", "/data/one", value="2"), op("remove", "/data/one")],
        "a test of a missing key": [op("test", "/data/nine", value="2")],
        "a test of null on a missing key": [op("test", "/data/nine", value=None)],
        "a key with a slash": [op("replace", "/metadata/labels/x~1y", value="9")],
        "everything is replaced": [op("replace", "", value=config_map("a", new="1"))],
        "everything is removed": [op("remove", "")],
        "the data are removed": [op("remove", "/data")],
        "nothing changes": [op("replace", "/data/one", value="1")],
        "no operation": [],
        "an unknown operation": [op("mend", "/data/one", value="1")],
        "no operation named": [{"path": "/data/one", "value": "1"}],
        "no path": [{"op": "remove"}],
        "no value": [{"op": "add", "path": "/data/three"}],
        "a path without its slash": [op("remove", "data/one")],
        "a value of another type": [op("replace", "/data/one", value=1)],
        "an object for a list": op("remove", "/data/one"),
        "a string": b'"x"',
        "no JSON": b"nonsense",
        "the name changes": [op("replace", "/metadata/name", value="b")],
        "the uid changes": [op("replace", "/metadata/uid", value="b")],
        "an old version": [op("replace", "/metadata/resourceVersion", value="1")],
        "the managed fields are reset": [op("replace", "/metadata/managedFields", value=[{}])],
    },
    "primitive merge list": {
        "an element is added at the end": [op("add", "/metadata/finalizers/-", value="t.dev/3")],
        "an element is added at the front": [op("add", "/metadata/finalizers/0", value="t.dev/3")],
        "an element is removed": [op("remove", "/metadata/finalizers/0")],
    },
    "merge-key list": {
        "an image changes": [op("replace", f"{CONTAINERS}/0/image", value="x:2")],
        "a container is added": [op("add", f"{CONTAINERS}/-", value=container("three"))],
        "a container is put in between": [op("add", f"{CONTAINERS}/1", value=container("three"))],
        "a container is removed": [op("remove", f"{CONTAINERS}/1")],
        "all containers are removed": [op("remove", CONTAINERS)],
        "an index too large": [op("replace", f"{CONTAINERS}/5/image", value="x")],
        "an index too large to add": [op("add", f"{CONTAINERS}/5", value=container("three"))],
        "a negative index": [op("remove", f"{CONTAINERS}/-1")],
        "a word for an index": [op("remove", f"{CONTAINERS}/one")],
        "an index with a leading zero": [op("remove", f"{CONTAINERS}/01")],
        "the end is replaced": [op("replace", f"{CONTAINERS}/-", value=container("three"))],
        "a variable is added": [op("add", f"{CONTAINERS}/0/env/-", value={"name": "B", "value": "2"})],
        "a variable below nothing": [op("add", f"{CONTAINERS}/1/env/-", value={"name": "B"})],
        "containers swap": [op("move", f"{CONTAINERS}/1", from_=f"{CONTAINERS}/0")],
        "a container is copied": [op("copy", f"{CONTAINERS}/-", from_=f"{CONTAINERS}/0")],
        "the status changes": [op("add", "/status/replicas", value=4)],
    },
    "port list": {
        "a port changes": [op("replace", "/spec/ports/0/port", value=81)],
        "a port is removed": [op("remove", "/spec/ports/0")],
    },
    "atomic list": {
        "an argument changes": [op("replace", f"{CONTAINERS}/0/args/1", value="z")],
        "an argument is put in between": [op("add", f"{CONTAINERS}/0/args/1", value="z")],
        "a toleration is removed": [op("remove", "/spec/template/spec/tolerations/0")],
    },
    "custom map list": {
        "a field changes": [op("replace", "/spec/parts/0/count", value=5)],
        "an element is added": [op("add", "/spec/parts/-", value={"name": "z"})],
        "an element is added twice": [op("add", "/spec/parts/-", value={"name": "x"})],
        "an element is removed": [op("remove", "/spec/parts/0")],
    },
    "custom set": {
        "a value is added": [op("add", "/spec/tags/-", value="z")],
        "a value is repeated": [op("add", "/spec/tags/-", value="x")],
        "a value is removed": [op("remove", "/spec/tags/0")],
    },
    "custom atomic list": {"a step changes": [op("add", "/spec/steps/0/as", value="me")]},
    "custom map": {
        "a key with a tilde": [op("remove", "/spec/limits/z~0")],
        "a limit changes": [op("replace", "/spec/limits/cpu", value="3")],
        "a defaulted field is removed": [op("remove", "/spec/colour")],
        "an unknown field is added": [op("add", "/spec/sizes", value=3)],
    },
    "free form": {"deep inside": [op("add", "/spec/free/x/y/1", value={"z": None})]},
}
for shape_, patches in OPERATIONS.items():
    for name_, patch_ in patches.items():
        _add(PatchType.JSON, shape_, name_, patch_)


async def _broken(stage: Stage, how: PatchType, body: bytes) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", one="1"))
    await stage.patch(CONFIG_MAPS, "a", body, how=how)


BROKEN = {"nothing": b"", "no JSON": b"nonsense", "a list": b"[]", "null": b"null", "a string": b'"x"'}
for how_ in (PatchType.MERGE, PatchType.STRATEGIC):
    for name_, body_ in BROKEN.items():
        TABLE.add(
            f"patch {how_.name.lower()}",
            "bad bodies",
            f"{how_.name.lower()}: {name_}",
            _broken,
            how_,
            body_,
        )


@case("patch json", "missing objects")
async def a_patch_of_nothing(stage: Stage) -> None:
    await stage.patch(CONFIG_MAPS, "a", {"data": {"a": "1"}}, how=PatchType.MERGE)
    await stage.patch(CONFIG_MAPS, "a", [op("remove", "/data")], how=PatchType.JSON)
    await stage.patch(CONFIG_MAPS, "a", {"data": {"a": "1"}}, how=PatchType.STRATEGIC)
    await stage.patch(GADGETS, "a", {"spec": {"size": 1}}, how=PatchType.MERGE)


@case("patch strategic", "custom objects")
async def a_strategic_patch_of_a_custom_object_is_refused(stage: Stage) -> None:
    await stage.given(GADGETS, gadget("a"))
    await stage.patch(GADGETS, "a", {"spec": {"size": 1}}, how=PatchType.STRATEGIC)


async def _dry(stage: Stage, how: PatchType, patch: Any) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", one="1"))
    await stage.patch(CONFIG_MAPS, "a", patch, how=how, write=Write(dry_run=True))
    await stage.get(CONFIG_MAPS, "a")


DRY_PATCHES: dict[PatchType, Any] = {
    PatchType.JSON: [op("remove", "/data/one")],
    PatchType.MERGE: {"data": {"one": None}},
    PatchType.STRATEGIC: {"data": {"one": None}},
}
for how_, patch_ in DRY_PATCHES.items():
    TABLE.add(
        f"patch {how_.name.lower()}",
        "dry run",
        f"a dry run of a {how_.name.lower()} patch changes nothing",
        _dry,
        how_,
        patch_,
    )


async def _mistaken(stage: Stage, how: PatchType, patch: Any, validation: FieldValidation) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.patch(DEPLOYMENTS, "a", patch, how=how, write=Write(validation=validation))


MISTAKEN: dict[PatchType, Any] = {
    PatchType.JSON: [op("add", "/spec/replica", value=2)],
    PatchType.MERGE: {"spec": {"replica": 2}},
    PatchType.STRATEGIC: {"spec": {"replica": 2, "template": {"spec": {"hostNetwrk": True}}}},
}
for how_, patch_ in MISTAKEN.items():
    for validation_ in FieldValidation:
        TABLE.add(
            f"patch {how_.name.lower()}",
            f"field validation {validation_.name.lower()}",
            f"an unknown field of a {how_.name.lower()} patch: {validation_.name.lower()}",
            _mistaken,
            how_,
            patch_,
            validation_,
        )


@case("patch merge", "metadata")
async def labels_become_an_empty_map(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.given(CONFIG_MAPS, with_metadata(config_map("b"), labels={"x": "1"}))
    await stage.given(GADGETS, gadget("a"))
    for resource, name in ((CONFIG_MAPS, "a"), (CONFIG_MAPS, "b"), (GADGETS, "a")):
        patch: dict[str, Any] = {"metadata": {"labels": {}, "annotations": {}}}
        await stage.patch(resource, name, patch, how=PatchType.MERGE, write=Write(manager="patcher"))
        await stage.get(resource, name)


@case("patch json", "metadata")
async def labels_are_replaced_by_an_empty_map(stage: Stage) -> None:
    for resource, body in (
        (CONFIG_MAPS, with_metadata(config_map("a"), labels={"x": "1"})),
        (GADGETS, with_metadata(gadget("a"), labels={"x": "1"})),
    ):
        await stage.given(resource, body)
        patch = [op("replace", "/metadata/labels", value={}), op("add", "/metadata/annotations", value={})]
        await stage.patch(resource, "a", patch, how=PatchType.JSON, write=Write(manager="patcher"))
        await stage.get(resource, "a")


async def _headless(stage: Stage, validation: FieldValidation) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", one="1"))
    for path in ("/apiVersion", "/kind"):
        await stage.patch(
            CONFIG_MAPS, "a", [op("remove", path)], how=PatchType.JSON, write=Write(validation=validation)
        )


for validation_ in FieldValidation:
    TABLE.add(
        "patch json",
        f"field validation {validation_.name.lower()}",
        f"apiVersion and kind are removed: {validation_.name.lower()}",
        _headless,
        validation_,
    )


@case("patch merge", "generation")
async def only_a_changed_spec_moves_the_generation(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    for patch in (
        {"metadata": {"labels": {"a": "1"}}},
        {"spec": {"replicas": 2}},
        {"spec": {"replicas": 2}},
        {"metadata": {"annotations": {"a": "1"}}},
        {"status": {"replicas": 2}},
    ):
        await stage.patch(DEPLOYMENTS, "a", patch, how=PatchType.MERGE)


@case("patch merge", "generation")
async def only_a_changed_spec_moves_the_generation_of_a_custom_object(stage: Stage) -> None:
    await stage.given(GADGETS, gadget("a", size=1))
    for patch in (
        {"metadata": {"labels": {"a": "1"}}},
        {"spec": {"size": 2}},
        {"spec": {"size": 2}},
        {"spec": {"size": None}},
        {"status": {"replicas": 2}},
    ):
        await stage.patch(GADGETS, "a", patch, how=PatchType.MERGE)


@case("patch merge", "immutable fields")
async def immutable_fields_are_refused(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.given(SERVICES, with_spec(service("a"), clusterIP="10.96.0.77"))
    selector = {"spec": {"selector": {"matchLabels": {"app": "b"}}}}
    await stage.patch(DEPLOYMENTS, "a", selector, how=PatchType.MERGE)
    await stage.patch(SERVICES, "a", {"spec": {"clusterIP": "10.96.0.78"}}, how=PatchType.MERGE)


@case("patch merge", "managed fields")
async def managed_fields_may_be_reset_but_not_forged(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", one="1"))
    await stage.patch(CONFIG_MAPS, "a", {"metadata": {"managedFields": [{}]}}, how=PatchType.MERGE)
    await stage.patch(CONFIG_MAPS, "a", {"data": {"one": "2"}}, how=PatchType.MERGE)
    await stage.patch(CONFIG_MAPS, "a", {"metadata": {"managedFields": None}}, how=PatchType.MERGE)
    await stage.patch(
        CONFIG_MAPS, "a", {"metadata": {"managedFields": [{"manager": "x"}]}}, how=PatchType.MERGE
    )


@case("patch merge", "optimistic locking")
async def a_patch_with_the_right_version_passes(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", one="1"))
    version = await stage.version_of(CONFIG_MAPS, "a")
    patch = {"metadata": {"resourceVersion": version}, "data": {"one": "2"}}
    await stage.patch(CONFIG_MAPS, "a", patch, how=PatchType.MERGE)
    await stage.patch(CONFIG_MAPS, "a", patch, how=PatchType.MERGE)

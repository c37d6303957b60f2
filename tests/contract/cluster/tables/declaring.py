"""The finer points of apply: what a declaration may hold, and how the shapes of lists behave one by one."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    SECRETS,
    SERVICES,
    config_map,
    container,
    deployment,
    gadget,
    named,
    service,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import FieldValidation, PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
ENTRY = {"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
REFUSED: dict[str, tuple[Resource, Any]] = {
    "managed fields": (CONFIG_MAPS, with_metadata(config_map("a"), managedFields=[ENTRY])),
    "another name": (CONFIG_MAPS, config_map("b")),
    "another namespace": (CONFIG_MAPS, with_metadata(config_map("a"), namespace="elsewhere")),
    "another kind": (CONFIG_MAPS, config_map("a") | {"kind": "Secret"}),
    "another version": (CONFIG_MAPS, config_map("a") | {"apiVersion": "v2"}),
    "no kind": (CONFIG_MAPS, {"apiVersion": "v1", "metadata": {"name": "a"}}),
    "no version": (CONFIG_MAPS, {"kind": "ConfigMap", "metadata": {"name": "a"}}),
    "no metadata": (CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}),
    "a uid for a new object": (CONFIG_MAPS, with_metadata(config_map("a"), uid="x")),
    "a version for a new object": (CONFIG_MAPS, with_metadata(config_map("a"), resourceVersion="5")),
    "an unknown field": (CONFIG_MAPS, config_map("a") | {"dta": {"x": "y"}}),
    "an unknown field deep inside": (DEPLOYMENTS, deployment("a", container(imag="x"))),
    "an unknown field of a custom object": (GADGETS, gadget("a", sizes=1)),
    "a wrong type": (DEPLOYMENTS, with_spec(deployment("a"), replicas="two")),
    "a wrong type in a custom object": (GADGETS, gadget("a", size="two")),
    "a value not allowed in a custom object": (GADGETS, gadget("a", size=11)),
    "an invalid object": (DEPLOYMENTS, with_spec(deployment("a"), replicas=-1)),
    "a container without its name": (DEPLOYMENTS, deployment("a", {"image": "x"})),
    "a container twice": (DEPLOYMENTS, deployment("a", container("x"), container("x"))),
    "a set with a value twice": (GADGETS, gadget("a", tags=["x", "x"])),
    "a list map with a key twice": (GADGETS, gadget("a", parts=[{"name": "x"}, {"name": "x"}])),
    "a list map without its key": (GADGETS, gadget("a", parts=[{"count": 1}])),
    "a port twice": (SERVICES, service("a", {"name": "x", "port": 80}, {"name": "y", "port": 80})),
    "a port with its default and without": (
        SERVICES,
        service("a", {"name": "x", "port": 80}, {"name": "y", "port": 80, "protocol": "TCP"}),
    ),
    "two protocols of one port": (
        SERVICES,
        service("a", {"name": "x", "port": 80}, {"name": "y", "port": 80, "protocol": "UDP"}),
    ),
    "a finalizer twice": (CONFIG_MAPS, with_metadata(config_map("a"), finalizers=["t.dev/1", "t.dev/1"])),
    "nothing": (CONFIG_MAPS, b""),
    "no YAML": (CONFIG_MAPS, b"{{{"),
    "a list": (CONFIG_MAPS, b"[]"),
    "a string": (CONFIG_MAPS, b"text"),
    "null": (CONFIG_MAPS, b"null"),
    "YAML": (CONFIG_MAPS, b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: 'on'\n"),
    "a key twice in YAML": (
        CONFIG_MAPS,
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: a\n  k: b\n",
    ),
    "a number for a string in YAML": (
        CONFIG_MAPS,
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: 1\n",
    ),
    "a null value": (CONFIG_MAPS, {**config_map("a"), "data": {"x": None}}),
    "a null map": (CONFIG_MAPS, {**config_map("a"), "data": None}),
    "an empty map": (CONFIG_MAPS, {**config_map("a"), "data": {}}),
    "empty and null in a custom object": (GADGETS, gadget("a", tags=[], parts=None, limits={}, nothing=None)),
    "a null list item": (GADGETS, gadget("a", tags=[None])),
    "a status": (DEPLOYMENTS, deployment("a") | {"status": {"replicas": 2}}),
    "a status of a custom object": (GADGETS, gadget("a") | {"status": {"replicas": 2}}),
    "only a name": (CONFIG_MAPS, named(CONFIG_MAPS, "a")),
    "string data": (SECRETS, named(SECRETS, "a", stringData={"k": "v"}, data={"l": "MQ=="})),
    "labels, annotations, owners and finalizers": (
        CONFIG_MAPS,
        with_metadata(
            config_map("a"),
            labels={"a.b/c": "1"},
            annotations={"d": "2"},
            finalizers=["t.dev/1"],
            ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}],
        ),
    ),
    "quantities and int-or-strings": (
        DEPLOYMENTS,
        with_spec(
            deployment("a", container(resources={"limits": {"cpu": 0.5, "memory": "1024Mi"}})),
            strategy={"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 1}},
        ),
    ),
    "a generated name": (CONFIG_MAPS, with_metadata(config_map("a"), generateName="x-")),
}


async def _declared(stage: Stage, resource: Resource, body: Any) -> None:
    await stage.apply(resource, "a", body)
    await stage.apply(resource, "a", body, manager="two")


for what, (kind_, body_) in REFUSED.items():
    TABLE.add(
        "apply",
        "declarations",
        f"declared: {what}",
        _declared,
        kind_,
        body_,
    )


async def _validated(stage: Stage, resource: Resource, body: Any, validation: FieldValidation) -> None:
    await stage.apply(resource, "a", body, write=Write(validation=validation))


MISSPELT: dict[str, tuple[Resource, Any]] = {
    "a built-in object": (CONFIG_MAPS, config_map("a") | {"dta": {"x": "y"}}),
    "a custom object": (GADGETS, gadget("a", sizes=1)),
    "a key twice": (
        CONFIG_MAPS,
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: a, k: b}\n",
    ),
}
for what, (kind_, body_) in MISSPELT.items():
    for asked in FieldValidation:
        TABLE.add(
            "apply",
            f"field validation {asked.name.lower()}",
            f"misspelt {what}: {asked.name.lower()}",
            _validated,
            kind_,
            body_,
            asked,
        )

LISTS: dict[str, tuple[Resource, list[tuple[str, dict[str, Any]]]]] = {
    "a set grows and shrinks": (
        GADGETS,
        [
            ("one", gadget("a", tags=["a", "b"])),
            ("two", gadget("a", tags=["c", "a"])),
            ("one", gadget("a", tags=["b"])),
            ("two", gadget("a", tags=[])),
        ],
    ),
    "a set is declared in another order": (
        GADGETS,
        [("one", gadget("a", tags=["a", "b", "c"])), ("one", gadget("a", tags=["c", "a", "b"]))],
    ),
    "a new value is put in between": (
        GADGETS,
        [("one", gadget("a", tags=["a", "c"])), ("two", gadget("a", tags=["a", "b", "c"]))],
    ),
    "elements are put in between": (
        GADGETS,
        [
            ("one", gadget("a", parts=[{"name": "a"}, {"name": "d"}])),
            ("two", gadget("a", parts=[{"name": "b"}, {"name": "d"}, {"name": "e"}])),
            ("one", gadget("a", parts=[{"name": "d"}, {"name": "a"}])),
        ],
    ),
    "an element is shared by its fields": (
        GADGETS,
        [
            ("one", gadget("a", parts=[{"name": "a", "count": 2}])),
            ("two", gadget("a", parts=[{"name": "a", "notes": ["x"]}])),
            ("one", gadget("a", parts=[])),
            ("two", gadget("a")),
        ],
    ),
    "an element keeps what another owns": (
        GADGETS,
        [
            ("one", gadget("a", parts=[{"name": "a", "spare": {"left": 1, "right": 2}}])),
            ("two", gadget("a", parts=[{"name": "a", "spare": {"left": 1}}])),
            ("one", gadget("a", size=1)),
        ],
    ),
    "an atomic list belongs to one": (
        GADGETS,
        [
            ("one", gadget("a", steps=[{"run": "x"}])),
            ("two", gadget("a", steps=[{"run": "x"}])),
            ("two", gadget("a", steps=[{"run": "x"}, {"run": "y"}])),
            ("one", gadget("a")),
            ("two", gadget("a", steps=[{"run": "y"}])),
        ],
    ),
    "a list without a type is atomic": (
        GADGETS,
        [("one", gadget("a", plain=["x"])), ("two", gadget("a", plain=["y"])), ("one", gadget("a"))],
    ),
    "an atomic map belongs to one": (
        GADGETS,
        [
            ("one", gadget("a", whole={"a": "1"})),
            ("two", gadget("a", whole={"b": "1"})),
            ("one", gadget("a")),
        ],
    ),
    "a map is shared by its keys": (
        GADGETS,
        [
            ("one", gadget("a", limits={"a": 1})),
            ("two", gadget("a", limits={"b": "x"})),
            ("one", gadget("a", limits={})),
            ("two", gadget("a")),
        ],
    ),
    "free form is shared by its keys": (
        GADGETS,
        [
            ("one", gadget("a", free={"x": {"y": 1}, "l": [1]})),
            ("two", gadget("a", free={"x": {"z": 1}, "l": [1]})),
            ("two", gadget("a", free={"l": [2]})),
            ("one", gadget("a")),
        ],
    ),
    "a defaulted key is part of the key": (
        GADGETS,
        [
            ("one", gadget("a", ports=[{"port": 1, "name": "x"}])),
            ("two", gadget("a", ports=[{"port": 1, "protocol": "TCP", "name": "x"}])),
            ("one", gadget("a")),
        ],
    ),
    "a defaulted field can be declared": (
        GADGETS,
        [("one", gadget("a", colour="red")), ("two", gadget("a", colour="blue")), ("one", gadget("a"))],
    ),
    "environment variables": (
        DEPLOYMENTS,
        [
            (
                "one",
                deployment("a", container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])),
            ),
            (
                "two",
                deployment("a", container(env=[{"name": "C", "value": "3"}, {"name": "A", "value": "1"}])),
            ),
            ("one", deployment("a", container())),
        ],
    ),
    "volumes and their mounts": (
        DEPLOYMENTS,
        [
            (
                "one",
                deployment(
                    "a",
                    container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
                    volumes=[{"name": "v", "emptyDir": {}}],
                ),
            ),
            (
                "one",
                deployment(
                    "a",
                    container(volumeMounts=[{"name": "v", "mountPath": "/w"}]),
                    volumes=[{"name": "v", "configMap": {"name": "c"}}],
                ),
            ),
        ],
    ),
    "tolerations are atomic": (
        DEPLOYMENTS,
        [
            ("one", deployment("a", tolerations=[{"key": "k", "operator": "Exists"}])),
            ("two", deployment("a", tolerations=[{"key": "l", "operator": "Exists"}])),
        ],
    ),
    "finalizers are a set": (
        CONFIG_MAPS,
        [
            ("one", with_metadata(config_map("a"), finalizers=["t.dev/1"])),
            ("two", with_metadata(config_map("a"), finalizers=["t.dev/2"])),
            ("one", config_map("a")),
        ],
    ),
    "external addresses are atomic": (
        SERVICES,
        [("one", service("a", externalIPs=["192.0.2.1"])), ("two", service("a", externalIPs=["192.0.2.2"]))],
    ),
    "a selector is atomic": (
        SERVICES,
        [("one", service("a", selector={"x": "1"})), ("two", service("a", selector={"y": "1"}))],
    ),
}


async def _in_turn(stage: Stage, resource: Resource, turns: list[tuple[str, dict[str, Any]]]) -> None:
    for manager, body in turns:
        await stage.apply(resource, "a", body, manager=manager)


for what, (kind_, turns_) in LISTS.items():
    TABLE.add(
        "apply",
        "shapes of lists",
        what,
        _in_turn,
        kind_,
        turns_,
    )


@case("apply", "preconditions")
async def versions_and_uids_in_a_declaration(stage: Stage) -> None:
    await stage.apply(CONFIG_MAPS, "a", config_map("a", one="1"))
    version, uid = await stage.version_of(CONFIG_MAPS, "a"), await stage.uid_of(CONFIG_MAPS, "a")
    right = with_metadata(config_map("a", one="2"), resourceVersion=version, uid=uid)
    await stage.apply(CONFIG_MAPS, "a", right)
    await stage.apply(CONFIG_MAPS, "a", right)
    await stage.apply(CONFIG_MAPS, "a", with_metadata(config_map("a", one="3"), uid="another"))


@case("apply", "subresources")
async def a_status_is_applied_apart(stage: Stage) -> None:
    await stage.given(GADGETS, gadget("a", size=1))
    ready = [{"type": "Ready", "status": "True"}]
    await stage.apply(GADGETS, "a", named(GADGETS, "a", status={"conditions": ready}), subresource="status")
    done = [{"type": "Done", "status": "False"}]
    body = named(GADGETS, "a", status={"conditions": done}, spec={"size": 5})
    await stage.apply(GADGETS, "a", body, subresource="status", manager="two")
    rival = [{"type": "Ready", "status": "False"}]
    await stage.apply(
        GADGETS, "a", named(GADGETS, "a", status={"conditions": rival}), subresource="status", manager="two"
    )
    await stage.apply(GADGETS, "a", named(GADGETS, "a", status={}), subresource="status")


@case("apply", "subresources")
async def a_deployments_status_is_applied_apart(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    body = named(DEPLOYMENTS, "a", status={"replicas": 3, "observedGeneration": 1})
    await stage.apply(DEPLOYMENTS, "a", body, subresource="status")
    await stage.apply(DEPLOYMENTS, "missing", named(DEPLOYMENTS, "missing", status={}), subresource="status")


@case("apply", "subresources")
async def a_scale_owns_the_replicas(stage: Stage) -> None:
    await stage.apply(DEPLOYMENTS, "a", with_spec(deployment("a"), replicas=1))
    patch = {"spec": {"replicas": 4}}
    await stage.patch(
        DEPLOYMENTS, "a", patch, how=PatchType.MERGE, subresource="scale", write=Write(manager="scaler")
    )
    await stage.get(DEPLOYMENTS, "a")
    await stage.apply(DEPLOYMENTS, "a", with_spec(deployment("a"), replicas=1))
    await stage.apply(DEPLOYMENTS, "a", deployment("a"))


@case("apply", "managers")
async def managers_that_are_none(stage: Stage) -> None:
    for manager in ("", "x" * 129, "tab\there"):
        await stage.apply(CONFIG_MAPS, "a", config_map("a", one="1"), manager=manager)
        await stage.create(CONFIG_MAPS, config_map("b"), write=Write(manager=manager, dry_run=True))


@case("apply", "generation")
async def the_generation_moves_with_the_spec(stage: Stage) -> None:
    await stage.apply(DEPLOYMENTS, "a", deployment("a"))
    await stage.apply(DEPLOYMENTS, "a", with_metadata(deployment("a"), labels={"x": "1"}))
    await stage.apply(DEPLOYMENTS, "a", with_spec(deployment("a"), replicas=2))
    await stage.apply(GADGETS, "a", gadget("a"))
    await stage.apply(GADGETS, "a", gadget("a", {"x": "1"}))
    await stage.apply(GADGETS, "a", gadget("a", size=2))


@case("apply", "finalizers")
async def an_apply_to_a_deleted_object(stage: Stage) -> None:
    await stage.apply(CONFIG_MAPS, "a", with_metadata(config_map("a"), finalizers=["t.dev/1"]))
    await stage.delete(CONFIG_MAPS, "a")
    await stage.apply(CONFIG_MAPS, "a", config_map("a", late="1"), manager="two")
    await stage.apply(CONFIG_MAPS, "a", config_map("a"))
    await stage.get(CONFIG_MAPS, "a")


@case("apply", "one manager")
async def empty_maps_declared_again(stage: Stage) -> None:
    empty: dict[str, Any] = {"labels": {}, "annotations": {}}
    for kind, body in (
        (CONFIG_MAPS, config_map("a")),
        (GADGETS, gadget("a")),
        (DEPLOYMENTS, deployment("a")),
    ):
        declared = with_metadata(body, **empty)
        await stage.apply(kind, "a", declared)
        # Whether an empty map counts as a change depends on where the server reads the object from.
        await stage.caught_up(kind)
        await stage.apply(kind, "a", declared)
        await stage.apply(kind, "a", declared, manager="two")
        await stage.apply(kind, "a", declared, manager="two")

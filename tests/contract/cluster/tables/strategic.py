"""Strategic merge patches: every shape of list they know, and all their directives."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SERVICES,
    config_map,
    container,
    deployment,
    service,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
OWNERS = [
    {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": "uid-one"},
    {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": "uid-two"},
]
SHAPES: dict[str, tuple[Resource, dict[str, Any]]] = {
    "map": (CONFIG_MAPS, config_map("a", {"x": "1"}, one="1", two="2")),
    "primitive merge list": (CONFIG_MAPS, with_metadata(config_map("a"), finalizers=["t.dev/1", "t.dev/2"])),
    "owner list": (CONFIG_MAPS, with_metadata(config_map("a"), ownerReferences=OWNERS)),
    "containers": (
        DEPLOYMENTS,
        deployment("a", container("one", args=["x", "y"], command=["run"]), container("two")),
    ),
    "env": (
        DEPLOYMENTS,
        deployment(
            "a",
            container(
                "one",
                env=[
                    {"name": "A", "value": "1"},
                    {"name": "B", "value": "2"},
                    {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
            ),
        ),
    ),
    "container ports": (
        DEPLOYMENTS,
        deployment(
            "a",
            container(
                "one",
                ports=[
                    {"containerPort": 80, "name": "http"},
                    {"containerPort": 53, "protocol": "UDP"},
                    {"containerPort": 53, "protocol": "TCP"},
                ],
            ),
        ),
    ),
    "volumes": (
        DEPLOYMENTS,
        deployment(
            "a",
            container(volumeMounts=[{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}]),
            volumes=[{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
        ),
    ),
    "atomic list": (
        DEPLOYMENTS,
        deployment("a", tolerations=[{"key": "k", "operator": "Exists"}], imagePullSecrets=[{"name": "s"}]),
    ),
    "service ports": (
        SERVICES,
        service("a", {"name": "http", "port": 80}, {"name": "tls", "port": 443, "targetPort": "tls"}),
    ),
    "strategy": (
        DEPLOYMENTS,
        with_spec(deployment("a"), strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}),
    ),
}


def pod(**spec: Any) -> dict[str, Any]:
    """A patch of the pod template's spec."""
    return {"spec": {"template": {"spec": spec}}}


def one(**fields: Any) -> dict[str, Any]:
    """A patch of the container called one."""
    return pod(containers=[{"name": "one", **fields}])


def metadata(**fields: Any) -> dict[str, Any]:
    """A patch of metadata."""
    return {"metadata": fields}


PATCHES: dict[str, dict[str, Any]] = {
    "map": {
        "keys change": {"data": {"one": "9", "two": None, "three": "3"}},
        "a map is replaced": {"data": {"$patch": "replace", "three": "3"}},
        "a map is deleted": {"data": {"$patch": "delete"}},
        "a map is merged as asked": {"data": {"$patch": "merge", "three": "3"}},
        "keys are retained": {"data": {"$retainKeys": ["one", "three"], "three": "3"}},
        "retained keys have to hold what is given": {"data": {"$retainKeys": ["one"], "three": "3"}},
        "everything is replaced": {"$patch": "replace", "metadata": {"name": "a"}, "data": {"x": "1"}},
        "everything is deleted": {"$patch": "delete"},
        "an unknown directive": {"data": {"$patch": "mend"}},
        "a directive that is no string": {"data": {"$patch": 5}},
        "an empty patch": {},
        "a null for everything": {"data": None},
        "labels merge": metadata(labels={"y": "2"}, annotations={"z": "3"}),
        "a value of another type": {"data": {"one": 1}},
        "a map becomes a list": {"data": ["x"]},
    },
    "primitive merge list": {
        "values are added": metadata(finalizers=["t.dev/3"]),
        "values there are not doubled": metadata(finalizers=["t.dev/1"]),
        "values are deleted": metadata(**{"$deleteFromPrimitiveList/finalizers": ["t.dev/1"]}),
        "missing values are deleted": metadata(**{"$deleteFromPrimitiveList/finalizers": ["t.dev/9"]}),
        "values are deleted and added": metadata(
            **{"$deleteFromPrimitiveList/finalizers": ["t.dev/1"]}, finalizers=["t.dev/3"]
        ),
        "the order is set": metadata(
            **{"$setElementOrder/finalizers": ["t.dev/3", "t.dev/2", "t.dev/1"]}, finalizers=["t.dev/3"]
        ),
        "the list is removed": metadata(finalizers=None),
        "the list is replaced by a directive": metadata(finalizers=["t.dev/9", {"$patch": "replace"}]),
        "a deletion list that is none": metadata(**{"$deleteFromPrimitiveList/finalizers": "t.dev/1"}),
        "a deletion list of a list that merges otherwise": metadata(
            **{"$deleteFromPrimitiveList/ownerReferences": ["x"]}
        ),
    },
    "owner list": {
        "an owner is added": metadata(ownerReferences=[{**OWNERS[0], "name": "three", "uid": "uid-three"}]),
        "an owner is changed": metadata(ownerReferences=[{"uid": "uid-one", "name": "other"}]),
        "an owner is deleted": metadata(ownerReferences=[{"$patch": "delete", "uid": "uid-one"}]),
        "the list is emptied": metadata(ownerReferences=[]),
    },
    "containers": {
        "an image changes": one(image="x:2"),
        "a container is added": pod(containers=[container("three")]),
        "a name is a number": pod(containers=[{"name": 1, "image": "x:2"}]),
        "a container is deleted": pod(containers=[{"name": "two", "$patch": "delete"}]),
        "a missing container is deleted": pod(containers=[{"name": "nine", "$patch": "delete"}]),
        "the list is replaced": pod(containers=[container("three"), {"$patch": "replace"}]),
        "the list is replaced by nothing": pod(containers=[{"$patch": "replace"}]),
        "a container is replaced": pod(containers=[{"name": "one", "image": "x:2", "$patch": "replace"}]),
        "the order is set": pod(**{"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]}),
        "the order is set with a change": pod(
            **{"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]},
            containers=[{"name": "one", "image": "x:2"}],
        ),
        "the order names a new one": pod(
            **{"$setElementOrder/containers": [{"name": "three"}, {"name": "one"}, {"name": "two"}]},
            containers=[container("three")],
        ),
        "the order misses one that is given": pod(
            **{"$setElementOrder/containers": [{"name": "two"}]}, containers=[container("three")]
        ),
        "an atomic list inside is replaced": one(args=["z"]),
        "an atomic list inside is removed": one(args=None),
        "an element without its key": pod(containers=[{"image": "x:2"}]),
        "a null in the list": pod(containers=[None]),
        "a string in the list": pod(containers=["one"]),
        "the list is removed": pod(containers=None),
        "the list is emptied": pod(containers=[]),
        "the same key twice": pod(
            containers=[{"name": "one", "image": "x:2"}, {"name": "one", "image": "x:3"}]
        ),
        "an object for the list": pod(containers={"name": "one"}),
        "keys of a container are retained": one(**{"$retainKeys": ["name", "image"]}),
        "an unknown field": one(imag="x"),
        "a probe is added": one(livenessProbe={"httpGet": {"path": "/", "port": 80}}),
    },
    "env": {
        "a variable changes": one(env=[{"name": "A", "value": "9"}]),
        "a variable is added": one(env=[{"name": "D", "value": "4"}]),
        "a variable is deleted": one(env=[{"name": "A", "$patch": "delete"}]),
        "a variable gets another source": one(env=[{"name": "C", "value": "3"}]),
        "a variable gets another source, the old one removed": one(
            env=[{"name": "C", "value": "3", "valueFrom": None}]
        ),
        "the variables are replaced": one(env=[{"$patch": "replace"}, {"name": "D", "value": "4"}]),
        "the order is set": one(**{"$setElementOrder/env": [{"name": "C"}, {"name": "A"}, {"name": "B"}]}),
    },
    "container ports": {
        "a port gets a name": one(ports=[{"containerPort": 80, "name": "web"}]),
        "a port is added": one(ports=[{"containerPort": 81}]),
        "a port is deleted": one(ports=[{"containerPort": 80, "$patch": "delete"}]),
        "a port that is there twice is deleted": one(ports=[{"containerPort": 53, "$patch": "delete"}]),
        "a port that is there twice changes": one(ports=[{"containerPort": 53, "name": "dns"}]),
        "the order is set": one(**{"$setElementOrder/ports": [{"containerPort": 53}, {"containerPort": 80}]}),
    },
    "volumes": {
        "a volume gets another source": pod(volumes=[{"name": "v", "configMap": {"name": "c"}}]),
        "a volume keeps only its new source": pod(
            volumes=[{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]
        ),
        "a volume is added": pod(volumes=[{"name": "x", "emptyDir": {}}]),
        "a volume in use is deleted": pod(volumes=[{"name": "v", "$patch": "delete"}]),
        "a mount moves": pod(
            containers=[{"name": "web", "volumeMounts": [{"mountPath": "/v", "name": "w"}]}]
        ),
        "a mount is deleted": pod(
            containers=[{"name": "web", "volumeMounts": [{"mountPath": "/v", "$patch": "delete"}]}]
        ),
    },
    "atomic list": {
        "tolerations are replaced": pod(tolerations=[{"key": "l", "operator": "Exists"}]),
        "a directive in an atomic list": pod(
            tolerations=[{"$patch": "replace"}, {"key": "l", "operator": "Exists"}]
        ),
        "secrets merge by name": pod(imagePullSecrets=[{"name": "t"}]),
        "a selector merges": {"spec": {"template": {"metadata": {"labels": {"more": "1"}}}}},
    },
    "service ports": {
        "a port changes": {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}},
        "a port is added": {"spec": {"ports": [{"name": "more", "port": 81}]}},
        "a port is deleted": {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}},
        "a port is given by its name alone": {"spec": {"ports": [{"name": "http", "targetPort": 8080}]}},
        "the order is set": {"spec": {"$setElementOrder/ports": [{"port": 443}, {"port": 80}]}},
        "the selector is replaced": {"spec": {"selector": {"$patch": "replace", "x": "1"}}},
        "the selector merges": {"spec": {"selector": {"x": "1"}}},
    },
    "strategy": {
        "another type without the old settings": {
            "spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
        },
        "another type with the old settings": {"spec": {"strategy": {"type": "Recreate"}}},
        "another type with the old settings removed": {
            "spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}
        },
    },
}


async def _patched(stage: Stage, shape: str, patch: Any) -> None:
    resource, body = SHAPES[shape]
    await stage.given(resource, body)
    await stage.patch(resource, "a", patch, how=PatchType.STRATEGIC, write=Write(manager="patcher"))
    await stage.get(resource, "a")


for shape_, patches in PATCHES.items():
    for name_, patch_ in patches.items():
        TABLE.add(
            "patch strategic",
            shape_,
            f"{shape_}: {name_}",
            _patched,
            shape_,
            patch_,
        )

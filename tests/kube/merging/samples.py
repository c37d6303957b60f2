"""Kinds and random objects for comparing our merging with a real server's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from msgspec import Struct

from tests.kube.merging.openapi import OpenApiShape, blank_of, shape_from_openapi
from tests.kube.servers import Server
from trimtab.kube.merging.apply import Target
from trimtab.kube.merging.fields import EMPTY, FieldSet, path

GROUP = "merging.example.com"
KIND_OF = "x-kubernetes-group-version-kind"
STATUS = FieldSet.of(path("status"))
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def _record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


GADGET_SPEC = _record(
    size=NUMBER,
    title=TEXT,
    on={"type": "boolean"},
    ratio={"type": "number"},
    amount={"x-kubernetes-int-or-string": True},
    inner=_record(a=TEXT, b=NUMBER, deeper=_record(c=TEXT)),
    tags={"type": "object", "additionalProperties": TEXT},
    parts={"type": "object", "additionalProperties": _record(x=NUMBER, y=TEXT)},
    selector={"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": TEXT},
    pair={**_record(left=TEXT, right=TEXT), "x-kubernetes-map-type": "atomic"},
    colors={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
    steps={"type": "array", "items": _record(run=TEXT)},
    ports={
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            **_record(port=NUMBER, protocol={**TEXT, "default": "TCP"}, name=TEXT),
            "required": ["port"],
        },
    },
    items={
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            **_record(
                name=TEXT,
                image=TEXT,
                args={"type": "array", "items": TEXT},
                flags={"type": "array", "items": NUMBER, "x-kubernetes-list-type": "set"},
                env={"type": "object", "additionalProperties": TEXT},
            ),
            "required": ["name"],
        },
    },
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
)
#: the part of ObjectMeta that tests without a server need, in the server's own words
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
META_TYPES: dict[str, Any] = {
    OBJECT_META: _record(
        **dict.fromkeys(("name", "namespace", "uid", "resourceVersion", "creationTimestamp"), TEXT),
        generation=NUMBER,
        labels={"type": "object", "additionalProperties": TEXT},
        annotations={"type": "object", "additionalProperties": TEXT},
        finalizers={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        managedFields={"type": "array", "items": _record(manager=TEXT)},
    )
}
GADGET_SCHEMA = _record(spec=GADGET_SPEC, status=_record(phase=TEXT, seen=NUMBER))
GADGET_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": GADGET_SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


class Sample(Struct, frozen=True):
    """A kind, where its objects live, and how to make up one's fields."""

    target: Target
    folder: str
    fill: Callable[[Random], dict[str, Any]]

    @property
    def is_built_in(self) -> bool:
        """Whether a Go struct stands behind it, in which empty things vanish and others appear."""
        return self.target.kind != "Gadget"

    def named(self, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """An object of this kind."""
        fields = dict(fields)
        metadata = {"name": name, **fields.pop("metadata", {})}
        target = self.target
        return {"apiVersion": target.api_version, "kind": target.kind, "metadata": metadata, **fields}


def some(random: Random, **choices: Callable[[], Any]) -> dict[str, Any]:
    """About half of these fields."""
    return {name: make() for name, make in choices.items() if random.random() < 0.5}


def _subset(random: Random, values: list[Any]) -> list[Any]:
    chosen = [value for value in values if random.random() < 0.5]
    random.shuffle(chosen)
    return chosen


def _texts(random: Random, *names: str) -> dict[str, str]:
    return {name: random.choice("xyz") for name in _subset(random, list(names))}


def metadata(random: Random) -> dict[str, Any]:
    return some(
        random,
        labels=lambda: _texts(random, "a", "b", "c.d/e"),
        annotations=lambda: _texts(random, "p", "q"),
        finalizers=lambda: _subset(random, ["x.io/1", "x.io/2", "x.io/3"]),
    )


def gadget(random: Random) -> dict[str, Any]:
    """A Gadget that uses every list and map type."""
    pick = random.choice

    def part() -> dict[str, Any]:
        return some(random, x=lambda: pick([1, 2]), y=lambda: pick("xy"))

    def thing(name: str) -> dict[str, Any]:
        rest = some(
            random,
            image=lambda: pick("ij"),
            args=lambda: _subset(random, ["-a", "-b"]),
            flags=lambda: _subset(random, [1, 2, 30]),
            env=lambda: _texts(random, "A", "B"),
        )
        return {"name": name, **rest}

    def port(number: int) -> dict[str, Any]:
        return {
            "port": number,
            "protocol": pick(["TCP", "UDP"]),
            **some(random, name=lambda: pick("mn")),
        }

    def inner() -> dict[str, Any]:
        return some(random, a=lambda: pick("xy"), b=lambda: pick([1, 2]), deeper=lambda: _texts(random, "c"))

    spec = some(
        random,
        size=lambda: pick([0, 1, 2]),
        title=lambda: pick(["", "t", "u"]),
        on=lambda: pick([True, False]),
        ratio=lambda: pick([0.5, 1, 2.25]),
        amount=lambda: pick([1, "1", "50%"]),
        inner=inner,
        tags=lambda: _texts(random, "k", "l", "m"),
        parts=lambda: {name: part() for name in _subset(random, ["p", "q"])},
        selector=lambda: _texts(random, "s", "t"),
        pair=lambda: _texts(random, "left", "right"),
        colors=lambda: _subset(random, ["red", "green", "blue", "1"]),
        steps=lambda: [{"run": pick("ab")} for _ in range(random.randrange(3))],
        ports=lambda: [port(number) for number in _subset(random, [80, 81, 443])],
        items=lambda: [thing(name) for name in _subset(random, ["a", "b", "c", "d"])],
        free=lambda: {"deep": _texts(random, "u", "v"), "list": _subset(random, [1, 2])},
    )
    return {"metadata": metadata(random), **some(random, spec=lambda: spec)}


def config_map(random: Random) -> dict[str, Any]:
    return {"metadata": metadata(random), **some(random, data=lambda: _texts(random, "k", "l", "m"))}


def deployment(random: Random) -> dict[str, Any]:
    """A valid Deployment in fields that get no defaults beneath them."""
    pick = random.choice

    def container(name: str) -> dict[str, Any]:
        rest = some(
            random,
            image=lambda: pick("ij"),
            args=lambda: ["-a", "-b"][: random.randrange(1, 3)],
            env=lambda: [{"name": each, "value": pick("xy")} for each in _subset(random, ["A", "B", "C"])],
            ports=lambda: [{"containerPort": each} for each in _subset(random, [80, 81])],
            workingDir=lambda: pick(["/a", "/b"]),
            resources=lambda: {"limits": {"cpu": pick(["1", "250m"])}},
        )
        return {"name": name, "image": "i", **rest}

    pod = {
        "containers": [container(name) for name in ["main", *_subset(random, ["side", "extra"])]],
        **some(
            random,
            nodeSelector=lambda: _texts(random, "n", "o"),
            tolerations=lambda: [{"key": pick("kl"), "operator": "Exists"}],
            hostAliases=lambda: [{"ip": "10.0.0.1", "hostnames": ["h"]}],
            serviceAccountName=lambda: pick("st"),
        ),
    }
    template = {"metadata": {"labels": {"app": "web", **_texts(random, "t")}}, "spec": pod}
    spec = some(random, replicas=lambda: pick([1, 2]), minReadySeconds=lambda: pick([1, 2]))
    selector = {"matchLabels": {"app": "web"}}
    return {"metadata": metadata(random), "spec": {**spec, "selector": selector, "template": template}}


def service(random: Random) -> dict[str, Any]:
    """A valid Service; ports always state what would be filled in."""

    def port(number: int) -> dict[str, Any]:
        protocol = random.choice(["TCP", "UDP"])
        name = f"{protocol.lower()}{number}"
        return {"port": number, "protocol": protocol, "name": name, "targetPort": number}

    ports = [port(number) for number in [80, *_subset(random, [81, 443])]]
    rest = some(random, selector=lambda: _texts(random, "s", "t"))
    return {"metadata": metadata(random), "spec": {"ports": ports, **rest}}


def prepare(server: Server) -> None:
    """Make the Gadget kind known and wait until it is served."""
    server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", GADGET_CRD)
    for _ in range(2000):
        code, found = server.send("GET", f"/apis/{GROUP}/v1/namespaces/default/gadgets")
        if code == 200 and found["kind"] == "GadgetList":
            return
    raise AssertionError("the Gadget kind is not served")


def gadget_shape(types: Mapping[str, Any]) -> OpenApiShape:
    """The shape of a Gadget; `types` hold ObjectMeta."""
    properties = {
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": {"$ref": f"#/{OBJECT_META}"},
        **GADGET_SCHEMA["properties"],
    }
    return OpenApiShape({**GADGET_SCHEMA, "properties": properties}, types)


def gadget_target(types: Mapping[str, Any] = META_TYPES, subresource: str = "") -> Target:
    """Gadgets, or their status."""
    reset = FieldSet.of(*(path(name) for name in ("metadata", "spec"))) if subresource else STATUS
    return Target(
        shape=gadget_shape(types),
        api_version=f"{GROUP}/v1",
        kind="Gadget",
        subresource=subresource,
        reset=reset,
    )


def samples(server: Server, namespace: str) -> dict[str, Sample]:
    """The sample kinds as this server knows them."""
    core, apps = (server.get(f"/openapi/v3/{folder}") for folder in ("api/v1", "apis/apps/v1"))
    places = f"namespaces/{namespace}"
    return {
        "gadget": Sample(
            gadget_target(core["components"]["schemas"]), f"/apis/{GROUP}/v1/{places}/gadgets", gadget
        ),
        "configmap": Sample(target_of(core, "v1", "ConfigMap"), f"/api/v1/{places}/configmaps", config_map),
        "deployment": Sample(
            target_of(apps, "apps/v1", "Deployment"),
            f"/apis/apps/v1/{places}/deployments",
            deployment,
        ),
        "service": Sample(target_of(core, "v1", "Service"), f"/api/v1/{places}/services", service),
    }


def target_of(document: Mapping[str, Any], version: str, kind: str) -> Target:
    """A built-in kind, from the document of its group and version."""
    group, _, number = version.rpartition("/")
    wanted = {"group": group, "kind": kind, "version": number}
    types = document["components"]["schemas"]
    name = next(name for name, node in types.items() if wanted in node.get(KIND_OF, ()))
    shape = shape_from_openapi(document, name)
    reset = STATUS if "status" in shape.properties else EMPTY
    return Target(shape=shape, api_version=version, kind=kind, reset=reset, blank=blank_of(shape))

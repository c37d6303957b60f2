"""Random but sensible objects of the four kinds that the state machine plays with."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.contract.cluster.kinds import CONFIG_MAPS, DEPLOYMENTS, GADGETS, SERVICES, named
from trimtab.kube.discovery import Resource

KINDS = (CONFIG_MAPS, SERVICES, DEPLOYMENTS, GADGETS)
BUILT_IN = KINDS[:3]
VALUES = st.sampled_from(["1", "2"])
NUMBERS = st.integers(1, 3)


def some_of(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A map with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def few_of(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A map with at least one of these fields, where an empty one would be refused."""
    return some_of(**fields).filter(bool)


def seldom(odd: Any, usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The usual, and once in a while something odd."""
    return st.integers(0, 9).flatmap(lambda chance: usual if chance else st.just(odd))


def some_keyed(key: str, keys: list[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """A list of elements with different keys, in any order."""
    element = st.fixed_dictionaries({key: st.sampled_from(keys)}, optional=fields)
    return st.lists(element, unique_by=lambda each: str(each[key]), max_size=3)


LABELS = some_of(x=VALUES, y=VALUES)
VARIABLES = some_keyed("name", ["A", "B", "C"], value=VALUES)
TOLERATIONS = st.lists(
    st.sampled_from([{"key": "k", "operator": "Exists"}, {"key": "l", "operator": "Exists"}]),
    max_size=2,
)
CONTAINER = some_of(
    env=VARIABLES,
    args=st.lists(VALUES, max_size=2),
    resources=some_of(limits=some_of(cpu=st.sampled_from(["1", "500m", "0.5"]))),
    securityContext=some_of(runAsNonRoot=st.booleans()),
)
PORTS = {  # each container has its own: a port defined twice is warned of
    name: some_of(
        ports=some_keyed("containerPort", numbers, name=st.sampled_from([f"{name}-x", f"{name}-y"]))
    )
    for name, numbers in {"web": [80, 81], "aid": [90, 91]}.items()
}
SERVICE_PORTS = st.lists(
    st.sampled_from(
        [
            {"name": "http", "port": 80},
            {"name": "tls", "port": 443, "targetPort": "tls"},
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53},
        ]
    ),
    unique_by=lambda port: str(port["name"]),
    min_size=1,
)
DATA = some_of(one=VALUES, two=VALUES, three=VALUES)
ANYTHING = st.sampled_from([1, "x", None, [], {}, [1], [None], [{"z": None}], {"y": 1}, {"y": {"z": [2]}}])
GADGET_SPEC = some_of(
    size=seldom(11, seldom(None, NUMBERS)),
    replicas=NUMBERS,
    colour=seldom(None, st.sampled_from(["red", "blue"])),
    nothing=st.sampled_from(["x", None]),
    either=st.sampled_from([1, "2"]),
    tags=seldom(None, st.lists(st.sampled_from(["r", "s", "t"]), unique=True)),
    parts=some_keyed(
        "name",
        ["p", "q"],
        count=seldom(None, NUMBERS),
        notes=st.lists(VALUES, max_size=2),
        spare=some_of(left=NUMBERS, right=seldom(None, NUMBERS)),
    ),
    ports=some_keyed("port", [1, 2], protocol=st.sampled_from(["TCP", "UDP"]), name=VALUES),
    steps=st.lists(some_of(run=VALUES), max_size=2),
    plain=st.lists(VALUES, max_size=2),
    limits=seldom(None, some_of(cpu=NUMBERS, mem=VALUES)),
    whole=some_of(a=VALUES, b=VALUES),
    free=some_of(any=ANYTHING, other=ANYTHING),
    nested=some_of(depth=seldom(None, NUMBERS)),
)
CONDITIONS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["Ready", "Done"]), "status": st.sampled_from(["True", "False"])}
    ),
    unique_by=lambda each: str(each["type"]),
)
STATUSES: dict[Resource, st.SearchStrategy[dict[str, Any]]] = {
    GADGETS: some_of(replicas=seldom(-1, NUMBERS), selector=VALUES, conditions=CONDITIONS),
    DEPLOYMENTS: some_of(
        replicas=NUMBERS, readyReplicas=NUMBERS, observedGeneration=NUMBERS, conditions=CONDITIONS
    ),
    SERVICES: some_of(
        loadBalancer=some_of(ingress=st.just([{"ip": "192.0.2.1"}])),
        conditions=st.just(
            [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "x",
                    "message": "",
                    "lastTransitionTime": "2001-01-01T00:00:00Z",
                }
            ]
        ),
    ),
}
SCALED = (DEPLOYMENTS, GADGETS)


@st.composite
def deployment_specs(draw: st.DrawFn) -> dict[str, Any]:
    """The spec of a Deployment; the images are there, so that it can be created."""
    names = draw(st.lists(st.sampled_from(["web", "aid"]), unique=True, min_size=1))
    containers = [
        {"name": name, "image": f"{name}:{draw(VALUES)}", **draw(CONTAINER), **draw(PORTS[name])}
        for name in names
    ]
    pod = {"containers": containers, **draw(some_of(tolerations=TOLERATIONS))}
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    scaled = draw(some_of(replicas=NUMBERS, minReadySeconds=NUMBERS))
    return {"selector": {"matchLabels": labels}, "template": template, **scaled}


@st.composite
def service_specs(draw: st.DrawFn) -> dict[str, Any]:
    """The spec of a headless Service.

    It begins with a selector: one that begins without becomes dual-stack, whatever the cluster can, and where
    the cluster cannot, it is refused every later change that gives it a selector.
    """
    rest = draw(some_of(publishNotReadyAddresses=st.booleans()))
    selector = {"app": "a", **draw(LABELS)}
    return {"clusterIP": "None", "ports": draw(SERVICE_PORTS), "selector": selector, **rest}


@st.composite
def fields_of(draw: st.DrawFn, kind: Resource) -> dict[str, Any]:
    """Everything but kind and name: what one manager wants of an object."""
    metadata = draw(some_of(labels=LABELS, annotations=some_of(n=VALUES)))
    if kind in (CONFIG_MAPS, GADGETS):
        finalizers = st.lists(st.sampled_from(["t.dev/1", "t.dev/2"]), unique=True)
        metadata |= draw(some_of(finalizers=seldom(["t"], finalizers) if kind is GADGETS else finalizers))
    if kind is CONFIG_MAPS:
        return {"metadata": metadata, **draw(some_of(data=DATA, binaryData=some_of(b=st.just("MQ=="))))}
    specs = {SERVICES: service_specs(), DEPLOYMENTS: deployment_specs(), GADGETS: GADGET_SPEC}
    return {"metadata": metadata, "spec": draw(specs[kind])}


@st.composite
def bodies(draw: st.DrawFn, kind: Resource, name: str) -> dict[str, Any]:
    """A whole object of a kind."""
    fields = draw(fields_of(kind))
    return {**named(kind, name), **fields, "metadata": {"name": name, **fields["metadata"]}}


def without(path: tuple[str, ...]) -> dict[str, Any]:
    """A merge patch that takes one field away."""
    patch: Any = None
    for name in reversed(path):
        patch = {name: patch}
    result: dict[str, Any] = patch
    return result


REMOVALS: dict[Resource, tuple[dict[str, Any], ...]] = {
    CONFIG_MAPS: (without(("data", "one")), without(("data",)), without(("metadata", "finalizers"))),
    SERVICES: (without(("spec", "selector")), without(("metadata", "labels"))),
    DEPLOYMENTS: (without(("spec", "replicas")), without(("spec", "template", "spec", "tolerations"))),
    GADGETS: (without(("spec", "parts")), without(("spec", "limits", "cpu")), without(("spec",))),
}


def merge_patches(kind: Resource) -> st.SearchStrategy[dict[str, Any]]:
    """A merge patch that sets or removes something."""
    return st.one_of(fields_of(kind), st.sampled_from(REMOVALS[kind]))


def statuses(kind: Resource, name: str) -> st.SearchStrategy[dict[str, Any]]:
    """What somebody reports of an object."""
    return STATUSES[kind].map(lambda status: {**named(kind, name), "status": status})


def scales(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """A Scale, at times one that says nothing."""
    head = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}}
    return some_of(replicas=st.integers(0, 3)).map(lambda spec: {**head, "spec": spec})


JSON_PATHS: dict[Resource, tuple[str, ...]] = {
    CONFIG_MAPS: ("/data/one", "/data/two"),
    SERVICES: ("/spec/ports/0", "/spec/selector/x"),
    DEPLOYMENTS: ("/spec/template/spec/containers/1", "/spec/template/spec/containers/0/env/0"),
    GADGETS: ("/spec/tags/0", "/spec/parts/0", "/spec/limits/cpu", "/spec/size"),
}


def json_patches(kind: Resource) -> st.SearchStrategy[list[dict[str, Any]]]:
    """A JSON patch that removes or labels."""
    removal = st.sampled_from(JSON_PATHS[kind]).map(lambda path: {"op": "remove", "path": path})
    label = VALUES.map(lambda value: {"op": "add", "path": "/metadata/labels", "value": {"x": value}})
    return st.lists(st.one_of(removal, label), min_size=1, max_size=2)

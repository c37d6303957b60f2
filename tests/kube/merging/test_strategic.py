"""Strategic merge patches: a table of facts, held by us and by a real server alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kube.merging.openapi import OpenApiShape
from tests.kube.merging.samples import Sample
from tests.kube.servers import STRATEGIC, Server
from trimtab.kube.merging.strategic import strategic_patch
from trimtab.kube.refusals import Refused

TEXT = {"type": "string"}


def _record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _merging(key: str, items: Any, strategy: str = "merge") -> dict[str, Any]:
    extensions = {"x-kubernetes-patch-strategy": strategy, "x-kubernetes-patch-merge-key": key}
    return {"type": "array", "items": items, **extensions}


_ENV = _record(name=TEXT, value=TEXT)
_CONTAINER = _record(
    name=TEXT,
    image=TEXT,
    args={"type": "array", "items": TEXT},
    env=_merging("name", _ENV),
)
_POD = _record(
    containers=_merging("name", _CONTAINER),
    volumes=_merging(
        "name", _record(name=TEXT, emptyDir=_record(), configMap=_record(name=TEXT)), "merge,retainKeys"
    ),
    nodeSelector={"type": "object", "additionalProperties": TEXT},
)
TYPES = {"io.k8s.api.core.v1.PodSpec": _POD}
#: the part of a Deployment that the facts are about, in the server's own words
DEPLOYMENT = _record(
    metadata=_record(
        labels={"type": "object", "additionalProperties": TEXT},
        finalizers={"type": "array", "items": TEXT, "x-kubernetes-patch-strategy": "merge"},
    ),
    spec=_record(
        strategy={**_record(type=TEXT, rollingUpdate=_record()), "x-kubernetes-patch-strategy": "retainKeys"},
        template=_record(spec={"$ref": "#/io.k8s.api.core.v1.PodSpec"}),
    ),
)
SHAPE = OpenApiShape(DEPLOYMENT, TYPES)


def container(name: str, **rest: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", **rest}


LIVE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "strategic", "labels": {"one": "1"}, "finalizers": ["x.io/a", "x.io/b"]},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    container("a", env=[{"name": "A", "value": "1"}]),
                    container("b"),
                    container("c"),
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
        },
    },
}


def pod(**fields: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {name.replace("__", "/"): part for name, part in fields.items()}}}}


def ordered(order: str, *containers: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {"$setElementOrder/containers": [{"name": name} for name in order]}
    return pod(**fields, **({"containers": list(containers)} if containers else {}))


def gone(name: str) -> dict[str, Any]:
    return {"name": name, "$patch": "delete"}


#: a patch, and the names of the containers it leaves, in order
ORDERS: list[tuple[dict[str, Any], str]] = [
    (pod(containers=[]), "abc"),
    (pod(containers=[container("d")]), "dabc"),
    (pod(containers=[container("c"), container("a")]), "bca"),
    (pod(containers=[gone("a")]), "bc"),
    (pod(containers=[gone("a"), container("d")]), "dbc"),
    (pod(containers=[{"$patch": "replace"}, container("d"), container("a")]), "da"),
    (ordered("cba"), "cba"),
    (ordered("c"), "abc"),
    (ordered("ca"), "bca"),
    (ordered("da", container("d"), container("a")), "dabc"),
    (ordered("d", gone("a"), container("d")), "bcd"),
    (ordered("dc", gone("a"), gone("b"), container("d"), container("c")), "dc"),
    (ordered("bd", gone("a"), container("d")), "bcd"),
    (ordered("cad", {"$patch": "replace"}, gone("a"), container("c"), container("a"), container("d")), "cad"),
    (ordered("bcd", gone("a"), {"$patch": "replace"}, container("d")), "d"),
    (pod(**{"$setElementOrder/Containers": [{"name": "c"}, {"name": "a"}]}), "abc"),
]


def names(deployment: dict[str, Any]) -> str:
    return "".join(each["name"] for each in deployment["spec"]["template"]["spec"]["containers"])


#: a patch, the place of what it changes, and what is there afterwards
CHANGES: list[tuple[dict[str, Any], tuple[str | int, ...], Any]] = [
    ({"metadata": {"labels": {"two": "2"}}}, ("metadata", "labels"), {"one": "1", "two": "2"}),
    ({"metadata": {"labels": {"one": None}}}, ("metadata", "labels"), None),
    ({"metadata": {"labels": {"$patch": "replace", "x": "y"}}}, ("metadata", "labels"), {"x": "y"}),
    ({"metadata": {"labels": {"$patch": "delete"}}}, ("metadata", "labels"), None),
    ({"metadata": {"finalizers": ["x.io/c"]}}, ("metadata", "finalizers"), ["x.io/c", "x.io/a", "x.io/b"]),
    (
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a", "x.io/z"]}},
        ("metadata", "finalizers"),
        ["x.io/b"],
    ),
    (
        {"metadata": {"$setElementOrder/finalizers": ["x.io/b", "x.io/a"]}},
        ("metadata", "finalizers"),
        ["x.io/b", "x.io/a"],
    ),
    (
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        ("spec", "strategy"),
        {"type": "Recreate"},
    ),
    (
        pod(volumes=[{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "m"}}]),
        ("spec", "template", "spec", "volumes", 0, "emptyDir"),
        None,
    ),
    (
        pod(
            containers=[
                {"name": "a", "env": [{"name": "A", "$patch": "delete"}, {"name": "B", "value": "2"}]}
            ]
        ),
        ("spec", "template", "spec", "containers", 0, "env"),
        [{"name": "B", "value": "2"}],
    ),
    (
        pod(containers=[{"name": "a", "env": [{"name": "A", "value": None}]}]),
        ("spec", "template", "spec", "containers", 0, "env"),
        [{"name": "A"}],
    ),
    (
        pod(containers=[{"name": "a", "args": ["x", "y"]}]),
        ("spec", "template", "spec", "containers", 0, "args"),
        ["x", "y"],
    ),
    (pod(nodeSelector={"x": "y", "z": None}), ("spec", "template", "spec", "nodeSelector"), {"x": "y"}),
    (pod(nodeSelector={"$patch": "replace", "x": "y"}), ("spec", "template", "spec", "nodeSelector"), None),
]
RETAIN, PRIMITIVE, ORDER = (
    f"invalid patch format of {what}" for what in ("retainKeys", "primitive list", "setElementOrder list")
)
DISORDER = (
    "The order in patch list:\n[map[image:i name:a]]\n doesn't match $setElementOrder list:\n[map[name:z]]\n"
)
REFUSALS: list[tuple[Any, int, str]] = [
    ({"$patch": "foo"}, 500, "unknown patch type: foo in map: map[$patch:foo]"),
    ({"spec": {"$patch": "merge"}}, 500, "unknown patch type: merge in map: map[$patch:merge]"),
    (
        pod(containers=[{"name": "c", "$patch": "merge"}]),
        500,
        "merging lists cannot yet be specified in the patch",
    ),
    (
        pod(containers=[{"name": "c", "$patch": "bogus"}]),
        500,
        "unknown patch type: bogus in map: map[$patch:bogus name:c]",
    ),
    (
        pod(containers=[{"$patch": "delete"}]),
        500,
        "map: map[$patch:delete] does not contain declared merge key: name",
    ),
    (pod(containers=[{"image": "x"}]), 500, "map: map[image:x] does not contain declared merge key: name"),
    ({"spec": {"strategy": {"$retainKeys": "x"}}}, 400, RETAIN),
    ({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}}, 400, RETAIN),
    ({"metadata": {"$deleteFromPrimitiveList": ["x"]}}, 400, PRIMITIVE),
    (pod(**{"$setElementOrder": []}), 400, ORDER),
    (pod(**{"$setElementOrder/containers": "x"}), 500, "expected a []interface {}, but received a string"),
    (
        ordered("z", container("a")),
        500,
        DISORDER,
    ),
    (
        pod(**{"$setElementOrder/containers": [{"x": "z"}], "containers": [container("a")]}),
        500,
        "map: map[x:z] does not contain declared merge key: name",
    ),
    (
        pod(**{"$setElementOrder/bogus": [{"x": "z"}], "bogus": [{"name": "c"}]}),
        500,
        'unable to find api field in struct PodSpec for the json field "bogus"',
    ),
    (
        {"metadata": {"finalizers": [1]}},
        500,
        "list element types are not identical: [[x.io/a x.io/b] [1]]",
    ),
    ([], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
]


def patched(patch: Any) -> dict[str, Any]:
    before = json.dumps([LIVE, patch])
    result = strategic_patch(LIVE, patch, SHAPE)
    assert json.dumps([LIVE, patch]) == before, "what is given is never changed"
    return result


def at(value: Any, place: tuple[str | int, ...]) -> Any:
    """What is there; nothing counts as null, as it does to Go."""
    for step in place:
        value = value[step] if isinstance(step, int) else (value or {}).get(step)
    return value or None


@pytest.mark.parametrize(("patch", "expected"), ORDERS)
def test_containers_come_in_the_order_that_a_patch_sets(patch: Any, expected: str) -> None:
    assert names(patched(patch)) == expected


@pytest.mark.parametrize(("patch", "place", "expected"), CHANGES)
def test_a_patch_changes_what_it_says(patch: Any, place: tuple[str | int, ...], expected: Any) -> None:
    assert at(patched(patch), place) == expected


@pytest.mark.parametrize(("patch", "code", "message"), REFUSALS)
def test_a_patch_is_refused(patch: Any, code: int, message: str) -> None:
    with pytest.raises(Refused) as refused:
        patched(patch)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_the_facts_about_strategic_patches_hold_on_a_real_server(
    server: Server, kinds: dict[str, Sample]
) -> None:
    deployments = kinds["deployment"]
    code, live = server.send("POST", deployments.folder, LIVE)
    assert code == 201, live
    path = f"{deployments.folder}/strategic?dryRun=All"
    for patch, expected in ORDERS:
        code, after = server.send("PATCH", path, patch, STRATEGIC)
        assert (code, names(after)) == (200, expected), patch
    for patch, place, expected in CHANGES:
        code, after = server.send("PATCH", path, patch, STRATEGIC)
        assert (code, at(after, place)) == (200, expected), patch
    for patch, code, message in REFUSALS:
        assert _refusal(*server.send("PATCH", path, patch, STRATEGIC)) == (code, message), patch


def _refusal(code: int, answer: dict[str, Any]) -> tuple[int, str]:
    return code, answer.get("message", "")


def test_null_patches_nothing() -> None:
    assert patched(None) == LIVE


def test_lists_of_lists_cannot_be_merged() -> None:
    shape = OpenApiShape(_record(a={"type": "array", "x-kubernetes-patch-strategy": "merge"}), {})
    with pytest.raises(Refused) as refused:
        strategic_patch({"a": [[1]]}, {"a": [[2]]}, shape)
    assert (refused.value.code, refused.value.hint) == (422, "lists of lists are not supported")


def test_a_list_of_objects_without_a_merge_key_cannot_be_merged() -> None:
    shape = OpenApiShape(_record(a={"type": "array", "x-kubernetes-patch-strategy": "merge"}), {})
    with pytest.raises(Refused, match="cannot merge lists without merge key"):
        strategic_patch({"a": [{}]}, {"a": [{}]}, shape)

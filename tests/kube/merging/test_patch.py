"""Merge and JSON patches: a table of facts, held by us and by a real server alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.servers import JSON_PATCH, MERGE, Server
from trimtab.kube.merging.patch import json_patch, merge_patch
from trimtab.kube.refusals import Refused

FINALIZERS = ["x.io/a", "x.io/b"]
DATA = {"x": "1", "y": "2"}
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "patched", "labels": {"a": "b"}, "finalizers": FINALIZERS},
    "data": DATA,
}
REJECTED = (422, "the server rejected our request due to an error in our request")
CANNOT = "error decoding patch: json: cannot unmarshal"
LIST = "/metadata/finalizers"


def op(kind: str, path: str, value: Any = None, source: str = "") -> list[dict[str, Any]]:
    operation = {"op": kind, "path": path}
    return [{**operation, "from": source} if source else {**operation, "value": value}]


#: operations, and the data and finalizers that they leave, or the code and message of the refusal
JSON_FACTS: list[tuple[Any, Any]] = [
    ([], (DATA, FINALIZERS)),
    (None, (DATA, FINALIZERS)),
    (op("test", "/data/x", "1"), (DATA, FINALIZERS)),
    (op("test", "/data/x", "2"), REJECTED),
    (op("test", "/data/q", None), (DATA, FINALIZERS)),
    (op("test", "/data/q", "a"), REJECTED),
    (op("test", "/nope/q", "a"), REJECTED),
    (op("test", "", "a"), REJECTED),
    (op("test", f"{LIST}/5", "a"), REJECTED),
    (op("test", f"{LIST}/x", "a"), REJECTED),
    (op("test", LIST, FINALIZERS), (DATA, FINALIZERS)),
    (op("test", LIST, ["x.io/b", "x.io/a"]), REJECTED),
    (op("test", "/data", {"y": "2", "x": "1"}), (DATA, FINALIZERS)),
    (op("add", "/data/q", "v"), ({**DATA, "q": "v"}, FINALIZERS)),
    (op("add", "/data/x", "v"), ({**DATA, "x": "v"}, FINALIZERS)),
    (op("add", "/nope/q", "v"), REJECTED),
    (op("add", "/data/x/y", "v"), REJECTED),
    (op("add", "", "v"), REJECTED),
    (op("add", "data", "v"), REJECTED),
    (op("add", f"{LIST}/-", "x.io/c"), (DATA, [*FINALIZERS, "x.io/c"])),
    (op("add", f"{LIST}/0", "x.io/c"), (DATA, ["x.io/c", *FINALIZERS])),
    (op("add", f"{LIST}/2", "x.io/c"), (DATA, [*FINALIZERS, "x.io/c"])),
    (op("add", f"{LIST}/-1", "x.io/c"), (DATA, [*FINALIZERS, "x.io/c"])),
    (op("add", f"{LIST}/-3", "x.io/c"), (DATA, ["x.io/c", *FINALIZERS])),
    (op("add", f"{LIST}/-4", "x.io/c"), REJECTED),
    (op("add", f"{LIST}/3", "x.io/c"), REJECTED),
    (op("add", f"{LIST}/x", "x.io/c"), REJECTED),
    (op("add", f"{LIST}/01", "x.io/c"), (DATA, ["x.io/a", "x.io/c", "x.io/b"])),
    (op("add", f"{LIST}/+1", "x.io/c"), (DATA, ["x.io/a", "x.io/c", "x.io/b"])),
    (op("add", f"{LIST}/99999999999999999999", "x.io/c"), REJECTED),
    (op("remove", "/data/x"), ({"y": "2"}, FINALIZERS)),
    (op("remove", "/data/q"), REJECTED),
    (op("remove", "/nope/x"), REJECTED),
    (op("remove", ""), REJECTED),
    (op("remove", f"{LIST}/0"), (DATA, ["x.io/b"])),
    (op("remove", f"{LIST}/-1"), (DATA, ["x.io/a"])),
    (op("remove", f"{LIST}/2"), REJECTED),
    (op("remove", f"{LIST}/-"), REJECTED),
    (op("remove", f"{LIST}/-3"), REJECTED),
    (op("replace", "/data/x", "9"), ({**DATA, "x": "9"}, FINALIZERS)),
    (op("replace", "/data/q", "9"), ({**DATA, "q": "9"}, FINALIZERS)),
    (op("replace", "/nope/x", "9"), REJECTED),
    (op("replace", f"{LIST}/0", "x.io/z"), (DATA, ["x.io/z", "x.io/b"])),
    (op("replace", f"{LIST}/2", "x.io/z"), REJECTED),
    (op("replace", f"{LIST}/-", "x.io/z"), REJECTED),
    (op("replace", "", "x"), REJECTED),
    (op("move", "/data/w", source="/data/x"), ({"w": "1", "y": "2"}, FINALIZERS)),
    (op("move", "/data/w", source="/data/q"), REJECTED),
    (op("move", "/nope/w", source="/data/x"), REJECTED),
    (op("move", "/data/w", source="/data"), REJECTED),
    (op("move", "/data/w", source=f"{LIST}/7"), REJECTED),
    (op("move", f"{LIST}/1", source=f"{LIST}/0"), (DATA, ["x.io/b", "x.io/a"])),
    (op("copy", "/data/w", source="/data/x"), ({**DATA, "w": "1"}, FINALIZERS)),
    (op("copy", "/nope/w", source="/data/x"), REJECTED),
    (op("copy", "/data/w", source="/nope/x"), REJECTED),
    (op("copy", "/data/w", source=f"{LIST}/7"), REJECTED),
    (op("copy", f"{LIST}/9", source="/data/x"), REJECTED),
    ([{"op": "move", "path": "/data/w"}], REJECTED),
    ([{"op": "copy", "from": "/data/x"}], REJECTED),
    ([{"op": "add", "value": 1}], REJECTED),
    ([{"op": "foo", "path": "/data/w"}], REJECTED),
    ([{"path": "/data/w"}], REJECTED),
    ([None], REJECTED),
    (
        [{"op": 1, "path": "/a"}],
        (
            400,
            f"{CANNOT} number into Go struct field jsonPatchOp.op of type string",
        ),
    ),
    (
        [{"op": "add", "path": ["a"]}],
        (
            400,
            f"{CANNOT} array into Go struct field jsonPatchOp.path of type string",
        ),
    ),
    (
        {"a": 1},
        (
            400,
            f"{CANNOT} object into Go value of type []handlers.jsonPatchOp",
        ),
    ),
    (
        [True],
        (400, f"{CANNOT} bool into Go value of type handlers.jsonPatchOp"),
    ),
    (op("test", "/data/x", "1") * 10_000, (DATA, FINALIZERS)),
    (
        op("test", "/data/x", "1") * 10_001,
        (413, "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"),
    ),
    ([*op("add", "/data/a", "x" * 200_000), *op("copy", "/data/b", source="/data/a") * 20], REJECTED),
]
MERGE_FACTS: list[tuple[Any, Any]] = [
    ({}, (DATA, FINALIZERS)),
    ({"data": {"x": None, "q": "v"}}, ({"y": "2", "q": "v"}, FINALIZERS)),
    ({"data": None}, (None, FINALIZERS)),
    ({"data": {"q": None}}, (DATA, FINALIZERS)),
    ({"metadata": {"finalizers": ["x.io/z"]}}, (DATA, ["x.io/z"])),
    (None, (400, "Invalid JSON Patch")),
    (
        [],
        (
            400,
            f"{CANNOT} array into Go value of type map[string]interface {{}}",
        ),
    ),
    (
        "x",
        (
            400,
            f"{CANNOT} string into Go value of type map[string]interface {{}}",
        ),
    ),
]


def outcome(code: int, answer: dict[str, Any]) -> Any:
    if code >= 400:
        return code, answer["message"]
    return answer.get("data"), answer["metadata"].get("finalizers")


def _ours(patch: Any, patched: Any) -> Any:
    before = json.dumps([CONFIG_MAP, patch])
    try:
        found = outcome(200, patched(CONFIG_MAP, patch))
    except Refused as exc:
        found = outcome(exc.code, exc.status())
    assert json.dumps([CONFIG_MAP, patch]) == before, "what is given is never changed"
    return found


@pytest.mark.parametrize(("patch", "expected"), JSON_FACTS)
def test_a_json_patch_leaves_or_is_refused(patch: Any, expected: Any) -> None:
    assert _ours(patch, json_patch) == expected


@pytest.mark.parametrize(("patch", "expected"), MERGE_FACTS)
def test_a_merge_patch_leaves_or_is_refused(patch: Any, expected: Any) -> None:
    assert _ours(patch, merge_patch) == expected


def test_the_facts_about_patches_hold_on_a_real_server(server: Server) -> None:
    folder = "/api/v1/namespaces/default/configmaps"
    code, answer = server.send("POST", folder, CONFIG_MAP)
    assert code == 201, answer
    for kind, facts in ((JSON_PATCH, JSON_FACTS), (MERGE, MERGE_FACTS)):
        for patch, expected in facts:
            answer = server.send("PATCH", f"{folder}/patched?dryRun=All", json.dumps(patch), kind)
            assert outcome(*answer) == expected, str(patch)[:200]


def test_a_refused_json_patch_hints_at_the_reason() -> None:
    with pytest.raises(Refused) as refused:
        json_patch(CONFIG_MAP, op("test", "/data/x", "2"))
    assert refused.value.status()["details"] == {}
    assert str(refused.value) == f"{REJECTED[1]} (the test of /data/x failed)"


def test_keys_of_pointers_are_unescaped() -> None:
    assert json_patch({"a/b": 1, "m~n": {"": 2}}, [*op("remove", "/a~1b"), *op("add", "/m~0n/", 3)]) == {
        "m~n": {"": 3}
    }


def test_a_copied_value_is_a_value_of_its_own() -> None:
    operations = [*op("copy", "/b", source="/a"), *op("add", "/b/x", 2)]
    assert json_patch({"a": {"x": 1}}, operations) == {"a": {"x": 1}, "b": {"x": 2}}


def test_a_value_of_an_operation_is_not_shared_between_two_places() -> None:
    value: dict[str, Any] = {"x": 1}
    operations = [*op("add", "/a", value), *op("add", "/b", value), *op("replace", "/b/x", 2)]
    assert json_patch({}, operations) == {"a": {"x": 1}, "b": {"x": 2}}
    assert value == {"x": 1}


def test_numbers_of_different_types_are_not_the_same_to_a_test() -> None:
    with pytest.raises(Refused):
        json_patch({"a": 1}, op("test", "/a", 1.0))
    assert json_patch({"a": [{"b": 1}]}, op("test", "/a", [{"b": 1}])) == {"a": [{"b": 1}]}


def test_the_whole_can_be_replaced_and_tested() -> None:
    assert json_patch({"a": 1}, [*op("test", "", {"a": 1}), *op("replace", "", [1])]) == [1]


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (
            {"a": 1},
            {"b": {"c": None, "d": [{"e": None, "f": 1}, None]}},
            {"a": 1, "b": {"d": [{"f": 1}, None]}},
        ),
        ({"a": {"b": 1}}, {"a": [{"c": None}]}, {"a": [{"c": None}]}),
        ({"a": [1]}, {"a": {"b": None}}, {"a": {}}),
        ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
    ],
)
def test_nulls_in_what_a_merge_patch_brings(before: Any, patch: Any, after: Any) -> None:
    assert merge_patch(before, patch) == after


JSON_VALUES = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=2), JSON_VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_without_nulls_is_idempotent(document: Any, patch: Any) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(OBJECTS)
def test_adding_and_removing_leaves_the_document(document: dict[str, Any]) -> None:
    assert json_patch(document, [*op("add", "/fresh", 1), *op("remove", "/fresh")]) == document

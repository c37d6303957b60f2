"""Fields that stand twice in a body are read as Go reads them: over what the first one left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab.apiserver.repeated import Pairs, merged
from trimtab.kube.schemas.kinds import built_in

CASES: dict[str, tuple[str, Any]] = {
    "maps are completed": ('{"data":{"a":"1","b":"1"},"data":{"b":"2"}}', {"data": {"a": "1", "b": "2"}}),
    "null empties a map": ('{"data":{"a":"1"},"data":null}', {"data": None}),
    "structs are completed": (
        '{"metadata":{"name":"a"},"metadata":{"labels":{"l":"1"}}}',
        {"metadata": {"name": "a", "labels": {"l": "1"}}},
    ),
    "null leaves a struct alone": ('{"metadata":{"name":"a"},"metadata":null}', {"metadata": {"name": "a"}}),
    "null leaves a text alone": (
        '{"metadata":{"name":"a","name":null}}',
        {"metadata": {"name": "a"}},
    ),
    "null empties a pointer": ('{"immutable":true,"immutable":null}', {"immutable": None}),
    "lists of plain values are replaced": (
        '{"metadata":{"finalizers":["a","b"],"finalizers":["c"]}}',
        {"metadata": {"finalizers": ["c"]}},
    ),
    "elements are read over those before them": (
        '{"metadata":{"ownerReferences":[{"name":"a","kind":"K"}],"ownerReferences":[{"name":"b"},{"uid":"u"}]}}',
        {"metadata": {"ownerReferences": [{"name": "b", "kind": "K"}, {"uid": "u"}]}},
    ),
    "a value of another type replaces": ('{"data":{"a":"1"},"data":"x"}', {"data": "x"}),
    "what no schema knows is read last": ('{"x":{"a":1},"x":{"b":2}}', {"x": {"b": 2}}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_given_twice_is_read_onto_what_was_there(case: str) -> None:
    text, expected = CASES[case]
    written = json.loads(text, object_pairs_hook=Pairs)
    assert merged(written, built_in().schema("", "v1", "ConfigMap")) == expected

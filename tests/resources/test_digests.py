"""Digests: same content, same name; what moves by itself does not count."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.resources.digests import DIGEST_LENGTH, canonical, digest, live_digest
from trimtab.resources.yaml import load

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


def test_the_canonical_text_is_sorted_and_without_spaces() -> None:
    assert (
        canonical({"b": [1, None, True], "a": {"é": "x y"}}) == '{"a":{"é":"x y"},"b":[1,null,true]}'.encode()
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 1),
        (-0.0, 0),
        (1e5, 100000),
        (2**63, float(2**63)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([{"a": [2.0]}], [{"a": [2]}]),
    ],
)
def test_what_kubernetes_cannot_tell_apart_has_one_digest(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (True, 1), (None, {}), ({}, []), ("", None), ([1, 2], [2, 1]), (1.5, 1), ({"a": None}, {})],
)
def test_what_differs_has_two_digests(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_a_digest_is_as_long_as_a_commit_id() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc2"
    assert len(digest({})) == DIGEST_LENGTH


@settings(deadline=None)
@given(VALUES)
def test_the_canonical_text_is_the_value(value: Any) -> None:
    assert canonical(load(canonical({"v": value}), "x")) == canonical({"v": value})


@settings(deadline=None)
@given(VALUES)
def test_taking_a_digest_leaves_the_value_alone(value: Any) -> None:
    before = copy.deepcopy(value)
    digest(value)
    assert value == before


@pytest.mark.parametrize("value", [math.nan, math.inf, [10**400]])
def test_numbers_beyond_json_are_refused(value: Any) -> None:
    with pytest.raises(InvalidSpec, match="a number does not fit 64 bits"):
        digest(value)


def test_nesting_without_end_is_refused() -> None:
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"a": value}
    with pytest.raises(InvalidSpec, match="nested deeper than 256"):
        digest(value)


def live(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "uid": "u-1",
            "resourceVersion": "1",
            "generation": 1,
            "managedFields": [
                entry("trimtab", "Apply", "1"),
                entry("kube", "Update", "2", subresource="status"),
            ],
            **metadata,
        },
        "spec": {"replicas": 1},
        "status": {"replicas": 0},
    }


def entry(manager: str, operation: str, time: str, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    return {"manager": manager, "operation": operation, "time": time, "fieldsV1": fields, **more}


@pytest.mark.parametrize(
    "later",
    [
        {**live(), "status": {"replicas": 1}},
        {key: value for key, value in live().items() if key != "status"},
        live(resourceVersion="2"),
        live(generation=2),
        live(managedFields=[entry("trimtab", "Apply", "9")]),
        live(
            managedFields=[entry("kube", "Update", "9", subresource="status"), entry("trimtab", "Apply", "9")]
        ),
        live(
            managedFields=[
                entry("trimtab", "Apply", "1"),
                {"manager": "old", "operation": "Update", "fieldsV1": {"f:status": {"f:replicas": {}}}},
            ]
        ),
    ],
    ids=["status", "no status", "version", "generation", "times", "order", "status without subresource"],
)
def test_what_moves_by_itself_does_not_change_the_live_digest(later: dict[str, Any]) -> None:
    assert live_digest(later) == live_digest(live())


@pytest.mark.parametrize(
    "later",
    [
        {**live(), "spec": {"replicas": 2}},
        live(uid="u-2"),
        live(labels={"a": "b"}),
        live(managedFields=[entry("somebody", "Apply", "1")]),
        live(managedFields=[]),
    ],
    ids=["spec", "another object", "label", "another owner of fields", "no owner of fields"],
)
def test_what_somebody_changed_changes_the_live_digest(later: dict[str, Any]) -> None:
    assert live_digest(later) != live_digest(live())


def test_status_fields_beside_others_do_not_count() -> None:
    with_status: dict[str, Any] = {"f:spec": {"f:replicas": {}}, "f:status": {"f:replicas": {}}}
    first = live(managedFields=[entry("old", "Update", "1")])
    later = live(managedFields=[{**entry("old", "Update", "2"), "fieldsV1": with_status}])
    assert live_digest(first) == live_digest(later)


@pytest.mark.parametrize("metadata", [None, "x", {"managedFields": "x"}, {"managedFields": [None, "x", {}]}])
def test_malformed_live_objects_have_a_digest_too(metadata: Any) -> None:
    assert len(live_digest({"metadata": metadata})) == DIGEST_LENGTH

"""Manifests answer questions, or say in one sentence what is wrong with them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.resources import manifests
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import OwnerReference, flattened, found_in, key_of, taken_apart
from trimtab.resources.yaml import documents

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "7",
        "labels": {"app": "web", "empty": None},
        "annotations": {"note": "hi"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "App", "name": "shop", "uid": "u-0", "controller": True},
        ],
    },
}


def with_metadata(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **fields}}


def test_a_manifest_tells_what_it_is() -> None:
    assert manifests.api_version(WEB) == "apps/v1"
    assert manifests.kind(WEB) == "Deployment"
    assert manifests.group(WEB) == "apps"
    assert manifests.version(WEB) == "v1"
    assert manifests.name(WEB) == "web"
    assert manifests.namespace(WEB) == "shop"
    assert manifests.uid(WEB) == "u-1"
    assert manifests.resource_version(WEB) == "7"
    assert manifests.labels(WEB) == {"app": "web", "empty": ""}
    assert manifests.annotations(WEB) == {"note": "hi"}
    assert manifests.owner_references(WEB) == (
        OwnerReference(api_version="v1", kind="App", name="shop", uid="u-0", controller=True),
    )
    assert key_of(WEB) == ResourceKey("apps", "Deployment", "shop", "web")


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {}}])
def test_what_is_absent_or_null_is_empty(metadata: dict[str, Any]) -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", **metadata}
    assert (manifests.group(bare), manifests.version(bare)) == ("", "v1")
    assert (manifests.name(bare), manifests.namespace(bare), manifests.generate_name(bare)) == ("", "", "")
    assert (manifests.uid(bare), manifests.resource_version(bare)) == ("", "")
    assert (manifests.labels(bare), manifests.annotations(bare)) == ({}, {})
    assert manifests.owner_references(bare) == ()


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (None, "a manifest is null, not a map"),
        ("text", "a manifest is text, not a map"),
        ([1], "a manifest is a list, not a map"),
        ({"kind": "Pod", "metadata": {"name": "a"}}, "apiVersion is missing"),
        ({"apiVersion": "v1", "metadata": {"name": "a"}}, "kind is missing"),
        ({"apiVersion": "v1", "kind": "", "metadata": {"name": "a"}}, "kind is missing"),
        ({"apiVersion": 1, "kind": "Pod", "metadata": {"name": "a"}}, "apiVersion is a number, not text"),
        ({"apiVersion": "v1", "kind": ["Pod"], "metadata": {"name": "a"}}, "kind is a list, not text"),
        ({"apiVersion": "a/b/c", "kind": "Pod", "metadata": {"name": "a"}}, "apiVersion is not `version`"),
        ({"apiVersion": "/v1", "kind": "Pod", "metadata": {"name": "a"}}, "apiVersion is not `version`"),
        ({"apiVersion": "../v1", "kind": "Pod", "metadata": {"name": "a"}}, "apiVersion is not `version`"),
        ({"apiVersion": "v1", "kind": "Pod/x", "metadata": {"name": "a"}}, "kind is not one word"),
        ({"apiVersion": "v1", "kind": "Pod"}, "metadata.name is missing"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": "web"}, "metadata is text, not a map"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": []}, "metadata is a list, not a map"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": ""}, "metadata is text, not a map"),
        (with_metadata(name=5), "metadata.name is a number, not text"),
        (with_metadata(name=True), "metadata.name is a boolean, not text"),
        (with_metadata(name=""), "metadata.name is missing"),
        (with_metadata(name="", generateName="a-"), "metadata.generateName alone does not name an object"),
        (with_metadata(name="../../pods"), "metadata.name is `.` or `..` or contains `/` or `%`"),
        (with_metadata(name=".."), "metadata.name is `.` or `..` or contains `/` or `%`"),
        (with_metadata(namespace="a%2fb"), "metadata.namespace is `.` or `..` or contains `/` or `%`"),
        (with_metadata(namespace={}), "metadata.namespace is a map, not text"),
    ],
)
def test_what_has_no_key_says_why(manifest: Any, reason: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        key_of(manifest, "app.yaml, document 2, line 14")
    assert caught.value.subject == "app.yaml, document 2, line 14"
    assert caught.value.reason.startswith(reason)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("question", "fields", "reason"),
    [
        (manifests.labels, {"labels": ["a"]}, "metadata.labels is a list, not a map"),
        (manifests.labels, {"labels": {"a": 1}}, "metadata.labels['a'] is a number, not text"),
        (manifests.annotations, {"annotations": "a"}, "metadata.annotations is text, not a map"),
        (manifests.annotations, {"annotations": {"a": True}}, "metadata.annotations['a'] is a boolean"),
        (
            manifests.owner_references,
            {"ownerReferences": {}},
            "metadata.ownerReferences is a map, not a list",
        ),
        (manifests.owner_references, {"ownerReferences": ["a"]}, "an owner reference is text, not a map"),
        (manifests.owner_references, {"ownerReferences": [{}]}, "apiVersion is missing"),
    ],
)
def test_fields_of_the_wrong_type_are_named(
    question: Callable[[dict[str, Any]], object], fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        question(with_metadata(**fields))
    assert caught.value.reason.startswith(reason)


def test_a_list_becomes_its_items_in_order_each_with_its_place() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [with_metadata(name="b"), with_metadata(name="c")]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [with_metadata(), inner, with_metadata(name="d")]}
    assert [(found.manifest["metadata"]["name"], found.where) for found in flattened(outer, "x")] == [
        ("a", "x, item 1"),
        ("b", "x, item 2, item 1"),
        ("c", "x, item 2, item 2"),
        ("d", "x, item 3"),
    ]


def test_items_of_a_typed_list_inherit_its_kind() -> None:
    listed = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "a"}}]}
    assert [found.manifest for found in flattened(listed)] == [with_metadata()]


def test_a_kind_that_only_sounds_like_a_list_is_an_object() -> None:
    manifest = {
        "apiVersion": "x.dev/v1",
        "kind": "AllowList",
        "metadata": {"name": "a"},
        "spec": {"items": []},
    }
    assert [found.manifest for found in flattened(manifest)] == [manifest]


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ({"apiVersion": "v1", "kind": "List"}, "a List has no items"),
        ({"apiVersion": "v1", "kind": "List", "items": {"a": 1}}, "items is a map, not a list"),
        ({"apiVersion": "v1", "kind": "List", "items": ["a"]}, "a manifest is text, not a map"),
        ({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}, {}]}, "kind is missing"),
    ],
)
def test_a_broken_list_is_never_an_empty_list(listed: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        flattened(listed)
    assert caught.value.reason.startswith(reason)


def test_an_item_that_cannot_be_read_is_named_by_what_can_be_and_the_others_are_taken() -> None:
    broken = [
        {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}},
        {"kind": "List", "apiVersion": "v1", "metadata": {"name": "b"}},
        {"metadata": {"name": "c"}},
        {"metadata": {"name": ["d"]}},
        None,
    ]
    found, errors = taken_apart({"apiVersion": "v1", "kind": "List", "items": broken}, "x")
    assert [each.where for each in found] == ["x, item 1"]
    assert [(each.subject, each.reason) for each in errors] == [
        ("x, item 2 (List b)", "a List has no items"),
        ("x, item 3 (named c)", "kind is missing"),
        ("x, item 4", "kind is missing"),
        ("x, item 5", "a manifest is null, not a map"),
    ]


def test_manifests_of_a_file_know_their_documents() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n"
    )
    assert [found.where for found in found_in(documents(text, "app.yaml"))] == [
        "app.yaml, document 1, line 1",
        "app.yaml, document 2, line 4, item 1",
    ]


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["v1", "List"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "apiVersion",
                    "kind",
                    "metadata",
                    "name",
                    "labels",
                    "annotations",
                    "ownerReferences",
                    "items",
                    "uid",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)
QUESTIONS: list[Callable[[Any], object]] = [
    key_of,
    flattened,
    taken_apart,
    manifests.api_version,
    manifests.kind,
    manifests.labels,
    manifests.annotations,
    manifests.owner_references,
    manifests.uid,
    manifests.generate_name,
]


@settings(deadline=None)
@given(ANYTHING)
def test_nothing_makes_a_question_fail_but_with_invalid_spec(value: Any) -> None:
    for question in QUESTIONS:
        with contextlib.suppress(InvalidSpec):
            assert question(value) is not None

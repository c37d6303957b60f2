"""What each verb asks for: how it is spoken of, what is struck out of answers, what a deletion left."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.kube.world import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, PODS, SECRETS
from trimtab.errors import InvalidSpec
from trimtab.kube import calls
from trimtab.kube.calls import Call
from trimtab.kube.cluster import (
    EVERYTHING,
    FOR_REAL,
    NEWEST,
    PLAINLY,
    AsOf,
    Deletion,
    PatchType,
    Propagation,
    Selection,
    VersionMatch,
    Write,
)
from trimtab.kube.objects import object_from


def creation(body: Any, resource: Any = CONFIG_MAPS) -> Call:
    return calls.create(resource, body, namespace="shop", name="", subresource="", write=FOR_REAL)


@pytest.mark.parametrize(
    ("call", "subject"),
    [
        (calls.get(PODS, "a", namespace="shop", subresource=""), "get Pod shop/a"),
        (
            calls.get(DEPLOYMENTS, "a", namespace="shop", subresource="scale"),
            "get Deployment.apps shop/a scale",
        ),
        (calls.get(NAMESPACES, "shop", namespace="", subresource=""), "get Namespace shop"),
        (
            calls.page(PODS, namespace="shop", select=EVERYTHING, as_of=NEWEST, size=5),
            "list Pod in shop",
        ),
        (
            calls.watch(PODS, since="", namespace="", select=EVERYTHING, initial=False),
            "watch Pod",
        ),
        (creation({"metadata": {"name": "a"}}), "create ConfigMap shop/a"),
        (creation({"metadata": {"generateName": "a-"}}), "create ConfigMap shop/a-"),
        (creation(b"nonsense"), "create ConfigMap in shop"),
        (calls.delete(PODS, "a", namespace="shop", how=PLAINLY), "delete Pod shop/a"),
        (calls.delete_all(PODS, namespace="shop", select=EVERYTHING, how=PLAINLY), "delete all Pod in shop"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_call_says_what_it_is_about(call: Call, subject: str) -> None:
    assert call.subject == subject


def test_the_first_page_says_how_fresh_and_the_next_ones_where_to_go_on() -> None:
    as_of = AsOf(resource_version="7", match=VersionMatch.EXACT)
    select = Selection(labels="a=b", fields="metadata.name=c")
    chosen = {"labelSelector": "a=b", "fieldSelector": "metadata.name=c", "limit": "5"}
    first = calls.page(PODS, namespace="", select=select, as_of=as_of, size=5)
    second = calls.page(PODS, namespace="", select=select, as_of=as_of, size=5, following="token")
    assert first.query == {**chosen, "resourceVersion": "7", "resourceVersionMatch": "Exact"}
    assert second.query == {**chosen, "continue": "token"}


def test_an_apply_may_be_repeated_and_no_other_write() -> None:
    where: dict[str, Any] = {"namespace": "shop", "subresource": "", "write": Write(dry_run=True)}
    applied = calls.apply(CONFIG_MAPS, "a", {}, force=True, **where)
    patched = calls.patch(CONFIG_MAPS, "a", {}, how=PatchType.MERGE, **where)
    assert (applied.repeatable, patched.repeatable) == (True, False)
    assert (applied.content_type, patched.content_type) == (calls.APPLY, PatchType.MERGE.value)
    assert applied.query == {
        "fieldManager": "trimtab",
        "fieldValidation": "Warn",
        "dryRun": "All",
        "force": "true",
    }


def test_an_object_without_a_name_is_refused_before_it_becomes_the_collection() -> None:
    with pytest.raises(InvalidSpec, match="its name is empty"):
        calls.delete(PODS, "", namespace="shop", how=PLAINLY)


def test_the_options_of_a_deletion_travel_in_its_body() -> None:
    how = Deletion(propagation=Propagation.ORPHAN, uid="", grace_seconds=3, dry_run=True)
    assert msgspec.json.decode(calls.delete(PODS, "a", namespace="shop", how=how).body or b"") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": ""},
        "propagationPolicy": "Orphan",
        "gracePeriodSeconds": 3,
        "dryRun": ["All"],
    }


@pytest.mark.parametrize(
    ("body", "secrets"),
    [
        ({"data": {"k": "Y2FuYXJ5"}, "stringData": {"l": "canary"}}, ("Y2FuYXJ5", "canary")),
        ({"metadata": {"annotations": {"applied": "canary"}}}, ("canary",)),
        ({"data": {"k": {"deep": ["canary", 7, True, None]}}}, ("canary", "7")),
        (b'{"data":{"k":"canary"}}', ("canary",)),
    ],
)
def test_the_values_of_a_secret_are_known_to_its_call(body: Any, secrets: tuple[str, ...]) -> None:
    assert creation(body, SECRETS).secrets == secrets
    assert "canary" not in repr(creation(body, SECRETS))
    assert creation(body).secrets is None


def test_what_is_nested_beyond_reason_is_not_sent() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(InvalidSpec, match="nested too deeply"):
        creation({"metadata": {"name": "a"}, "data": deep})


def test_a_secret_whose_values_cannot_be_known_is_not_sent() -> None:
    with pytest.raises(InvalidSpec, match="not JSON"):
        creation(b"data: canary", SECRETS)


ENDING = "2026-01-01T00:00:00Z"
NAMESPACE = {"kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}}


@pytest.mark.parametrize(
    ("metadata", "more", "left"),
    [
        ({}, {}, "gone"),
        ({}, {"kind": "Status"}, "gone"),
        ({"finalizers": ["a/b"], "deletionTimestamp": ENDING}, {}, "kept"),
        ({"finalizers": ["a/b"]}, {}, "gone"),
        ({"deletionTimestamp": ENDING, "deletionGracePeriodSeconds": 30}, {}, "kept"),
        ({"deletionTimestamp": ENDING, "deletionGracePeriodSeconds": 0}, {}, "gone"),
        ({"deletionTimestamp": ENDING}, NAMESPACE, "kept"),
        ({"deletionTimestamp": ENDING}, {**NAMESPACE, "spec": {}}, "gone"),
        ({"deletionTimestamp": ENDING}, {**NAMESPACE, "apiVersion": "mine/v1", "spec": []}, "gone"),
    ],
)
def test_an_object_is_there_while_something_keeps_it(
    metadata: dict[str, Any], more: dict[str, Any], left: str
) -> None:
    raw = msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **more})
    answer = object_from(raw)
    assert calls.left_by(answer) == (answer if left == "kept" else None)

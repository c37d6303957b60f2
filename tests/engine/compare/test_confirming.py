"""What a dry-run says: only what is ours counts."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.engine.compare.confirming import changes
from trimtab.kube.merging.typed import ABSENT
from trimtab.resources.manifests import Manifest


def entry(fields: dict[str, Any], manager: str = "trimtab") -> dict[str, Any]:
    return {"manager": manager, "operation": "Apply", "apiVersion": "example.com/v1", "fieldsV1": fields}


def gadget(spec: Any, *entries: dict[str, Any], **metadata: Any) -> Manifest:
    held = {"name": "g", "managedFields": list(entries), **metadata}
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": held, "spec": spec}


def told(desired: Manifest, live: Manifest, predicted: Manifest) -> list[tuple[str, Any, Any, str]]:
    def shown(value: Any) -> Any:
        return None if value is ABSENT else value

    found = changes(desired, live, predicted, manager="trimtab")
    return [("/".join(each.pointer), shown(each.desired), shown(each.live), each.rule) for each in found]


OWNED: dict[str, Any] = {"f:spec": {"f:size": {}, "f:items": {'k:{"name":"a"}': {".": {}, "f:image": {}}}}}


def test_a_changed_field_of_ours_counts() -> None:
    wanted = gadget({"size": 2})
    assert told(wanted, gadget({"size": 1}, entry(OWNED)), gadget({"size": 2}, entry(OWNED))) == [
        ("spec/size", 2, 1, "server")
    ]


@pytest.mark.fact("D25")
def test_what_admission_adds_or_changes_beside_it_does_not() -> None:
    wanted, live = gadget({"size": 1}), gadget({"size": 1, "seen": "1"}, entry(OWNED), labels={"x": "1"})
    predicted = gadget({"size": 1, "seen": "2", "more": {}}, entry(OWNED), labels={"x": "2", "y": "1"})
    assert told(wanted, live, predicted) == []
    everybodys = changes(wanted, live, predicted, manager="trimtab", of_anybody=True)
    assert sorted("/".join(each.pointer) for each in everybodys) == [
        *("metadata/labels/x", "metadata/labels/y", "spec/more", "spec/seen")
    ]


def test_what_was_ours_and_goes_counts() -> None:
    live = gadget({"size": 1, "items": [{"name": "a", "image": "i"}]}, entry(OWNED))
    predicted = gadget({"size": 1}, entry({"f:spec": {"f:size": {}}}))
    assert told(gadget({"size": 1}), live, predicted) == [
        ("spec/items", None, [{"name": "a", "image": "i"}], "server")
    ]


def test_items_are_told_apart_by_their_keys() -> None:
    live = gadget({"items": [{"name": "x"}, {"name": "a", "image": "i"}]}, entry(OWNED))
    predicted = gadget({"items": [{"name": "x"}, {"name": "a", "image": "j"}]}, entry(OWNED))
    assert told(gadget({}), live, predicted) == [("spec/items/1/image", "j", "i", "server")]


def test_another_order_counts() -> None:
    owned: dict[str, Any] = {"f:spec": {"f:items": {'k:{"name":"a"}': {}, 'k:{"name":"b"}': {}}}}
    a, b = {"name": "a"}, {"name": "b"}
    found = told(gadget({}), gadget({"items": [a, b]}, entry(owned)), gadget({"items": [b, a]}, entry(owned)))
    assert found == [("spec/items", [b, a], [a, b], "reordered")]


def test_a_list_that_is_owned_as_a_whole_is_told_as_a_whole() -> None:
    owned: dict[str, Any] = {"f:spec": {"f:steps": {}}}
    found = told(gadget({}), gadget({"steps": [1]}, entry(owned)), gadget({"steps": [1, 2]}, entry(owned)))
    assert found == [("spec/steps", [1, 2], [1], "server")]


def test_an_empty_map_is_nobodys_but_wanted() -> None:
    wanted = gadget({"tags": {}, "items": [{"name": "a", "env": {}}]})
    live = gadget({"items": [{"name": "a"}]}, entry({}))
    predicted = gadget({"tags": {}, "items": [{"name": "a", "env": {}}]}, entry({}))
    assert {where for where, *_ in told(wanted, live, predicted)} == {"spec/tags", "spec/items"}


@pytest.mark.fact("D29")
def test_versions_owners_and_status_never_count() -> None:
    live = {**gadget({"size": 1}, entry(OWNED), resourceVersion="1", generation=1), "status": {"a": 1}}
    predicted = {**gadget({"size": 1}, entry(OWNED), resourceVersion="2", generation=2), "status": {"a": 2}}
    assert told(gadget({"size": 1}), live, predicted) == []
    exported = gadget({"size": 1}, resourceVersion="1", generation=1)
    assert told(exported, live, predicted) == []
    assert changes(exported, live, predicted, manager="trimtab", of_anybody=True) == ()


@pytest.mark.fact("D29")
def test_what_kubectl_noted_on_a_secret_does_not_count_when_admission_touches_it() -> None:
    noted = "kubectl.kubernetes.io/last-applied-configuration"
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA=="}}
    owned = entry({"f:data": {"f:a": {}}})
    live, predicted = (
        {**secret, "metadata": {"name": "s", "managedFields": [owned], "annotations": {noted: text}}}
        for text in ("{}", '{"a": 1}')
    )
    assert told({**secret, "metadata": {"name": "s"}}, live, predicted) == []


def test_null_and_absent_are_the_same() -> None:
    assert told(gadget({"a": None}), gadget({}, entry({})), gadget({"a": None}, entry({}))) == []

"""Fingerprints: moved by decisions, unmoved by what happens by itself."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.cache.objects import told
from trimtab.engine.cache.fingerprints import fingerprint

Json = dict[str, Any]
APPLIED = {
    "manager": "trimtab",
    "operation": "Apply",
    "apiVersion": "apps/v1",
    "time": "2026-01-01T00:00:00Z",
}
UPDATED = {"manager": "kcm", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:01Z"}
WEB: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
        "managedFields": [
            {**APPLIED, "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            {**UPDATED, "subresource": "status", "fieldsV1": {"f:status": {"f:replicas": {}}}},
        ],
    },
    "spec": {"replicas": 1},
    "status": {"replicas": 1},
}


def changed(change: Callable[[Json], object]) -> Json:
    whole = copy.deepcopy(WEB)
    change(whole)
    return whole


def meta(**fields: Any) -> Callable[[Json], object]:
    return lambda whole: whole["metadata"].update(fields)


def entry(number: int, **fields: Any) -> Callable[[Json], object]:
    return lambda whole: whole["metadata"]["managedFields"][number].update(fields)


@pytest.mark.parametrize(
    "change",
    [
        meta(resourceVersion="2"),
        meta(generation=2),
        meta(uid="v", creationTimestamp="2027-01-01T00:00:00Z"),
        lambda whole: whole.update(status={"replicas": 2}),
        lambda whole: whole.pop("status"),
        lambda whole: (whole.pop("apiVersion"), whole.pop("kind")),
        entry(0, time="2027-01-01T00:00:00Z"),
        entry(1, fieldsV1={"f:status": {"f:conditions": {}}}),
        entry(1, fieldsV1={"f:metadata": {"f:annotations": {}}, "f:status": {}}),
        lambda whole: whole["metadata"]["managedFields"].pop(1),
        lambda whole: whole["metadata"]["managedFields"].reverse(),
        lambda whole: whole["metadata"]["managedFields"].append(
            {**UPDATED, "fieldsV1": {"f:status": {"f:replicas": {}}}}
        ),
        lambda whole: whole.update(dict(reversed(list(whole.items())))),
    ],
)
def test_what_happens_by_itself_does_not_move_a_fingerprint(change: Callable[[Json], object]) -> None:
    assert fingerprint(told(changed(change))) == fingerprint(told(WEB))


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: whole["spec"].update(replicas=2),
        lambda whole: whole.update(extra={}),
        meta(labels={"app": "other"}),
        meta(annotations={"note": "y"}),
        meta(labels={"note": "x"}, annotations={"app": "web"}),
        meta(finalizers=["example.com/stay"]),
        meta(deletionTimestamp="2027-01-01T00:00:00Z"),
        meta(ownerReferences=[{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x"}]),
        entry(0, manager="somebody"),
        entry(0, operation="Update"),
        entry(0, fieldsV1={"f:spec": {}}),
        lambda whole: whole["metadata"]["managedFields"].pop(0),
        lambda whole: whole["metadata"].pop("managedFields"),
        lambda whole: whole["metadata"]["managedFields"].append(
            {**UPDATED, "fieldsV1": {"f:status": {}, "f:spec": {"f:paused": {}}}}
        ),
    ],
)
def test_what_somebody_decides_moves_it(change: Callable[[Json], object]) -> None:
    assert fingerprint(told(changed(change))) != fingerprint(told(WEB))


def test_a_manager_that_also_writes_status_is_known_by_its_other_fields() -> None:
    def with_fields(**fields: Json) -> bytes:
        return fingerprint(told(changed(entry(0, fieldsV1={"f:spec": {}, **fields}))))

    assert with_fields() == with_fields(**{"f:status": {"f:replicas": {}}})


def test_with_a_key_nobody_without_it_gets_the_same() -> None:
    plain, keyed = fingerprint(told(WEB)), fingerprint(told(WEB), b"secret")
    assert len({plain, keyed, fingerprint(told(WEB), b"other")}) == 3
    assert keyed == fingerprint(told(changed(meta(resourceVersion="2"))), b"secret")


def test_an_object_without_metadata_has_one_too() -> None:
    assert fingerprint(told({"kind": "X"})) == fingerprint(told({"kind": "Y", "status": 1}))

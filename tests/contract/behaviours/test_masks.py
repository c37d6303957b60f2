"""What is compared of an object, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.behaviours.masks import Names, final_objects, managers_of

Json = dict[str, Any]
STATUS: Json = {"f:status": {"f:phase": {}}}


def pod(*managers: Json, **status: Any) -> Json:
    metadata = {"name": "a", "managedFields": list(managers)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": "Running", **status}}


def written_by(manager: str, fields: Json, **more: str) -> Json:
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsV1": fields, **more}


def test_who_wrote_an_object_is_told_with_every_field_as_a_path() -> None:
    fields = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:replicas": {}}}
    told = managers_of(pod(written_by("trimtab", fields)))
    assert told == {
        "trimtab Update v1": ["/f:metadata/f:labels", "/f:metadata/f:labels/f:app", "/f:spec/f:replicas"]
    }


def test_of_kubelets_whoever_plays_them_only_that_they_wrote_is_told() -> None:
    ours = managers_of(pod(written_by("kubelet", STATUS, subresource="status")))
    theirs = managers_of(pod(written_by("kwok", {"f:status": {}}, subresource="status")))
    assert ours == theirs == {"KUBELET Update v1 status": ["FIELDS"]}


@pytest.mark.parametrize(
    "other",
    [
        written_by("somebody", STATUS, subresource="status"),
        written_by("kube-scheduler", STATUS),
        written_by("kube-scheduler", {"f:status": {"f:conditions": {}}}, subresource="status"),
        {**written_by("kube-scheduler", STATUS, subresource="status"), "operation": "Apply"},
    ],
    ids=["manager", "subresource", "fields", "operation"],
)
def test_objects_that_differ_in_who_wrote_what_are_not_the_same(other: Json) -> None:
    one = written_by("kube-scheduler", STATUS, subresource="status")
    assert final_objects([pod(one)], Names("theatre")) != final_objects([pod(other)], Names("n"))


def test_what_a_container_does_is_told_without_since_when() -> None:
    waiting = {"name": "b", "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}
    over = {"name": "c", "state": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "now"}}}
    (told,) = final_objects([pod(containerStatuses=[waiting, over])], Names("theatre"))
    assert told["status"]["containers"] == ["b waiting ErrImagePull", "c terminated Error 1"]

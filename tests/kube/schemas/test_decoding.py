"""What cannot be read at all; most cases are in the recorded refusals."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube.schemas.decoding import unconvertible, unreadable
from trimtab.kube.schemas.kinds import built_in


def problem(manifest: dict[str, Any]) -> str | None:
    group, _, version = manifest["apiVersion"].rpartition("/")
    schema = built_in().schema(group, version, manifest["kind"])
    assert schema is not None
    return unreadable(manifest, schema)


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}


def test_nulls_and_unknown_fields_can_be_read() -> None:
    assert problem(pod(containers=None, nodeName=None, whatever={"a": 1})) is None


def test_the_first_of_several_mismatches_is_told() -> None:
    told = problem(pod(nodeName=1, hostNetwork="yes"))
    assert told is not None
    assert told.endswith("cannot unmarshal number into Go struct field PodSpec.spec.nodeName of type string")


def test_a_value_that_reads_itself_stops_the_reading_and_is_told_instead() -> None:
    told = problem(pod(nodeName=1, volumes=[{"name": "v", "emptyDir": {"sizeLimit": "lots"}}]))
    assert told is not None
    assert "quantities must match" in told


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("YQ==", None),
        ("YWI=", None),
        ("YWJj", None),
        ("YQ\n==", None),
        ("", None),
        ("Y", 0),
        ("YQ", 0),
        ("YWJjYQ", 4),
    ],
)
def test_base64_is_read_as_the_server_reads_it(value: str, at: int | None) -> None:
    told = problem({"apiVersion": "v1", "kind": "Secret", "data": {"a": value}})
    assert told == (None if at is None else _illegal(at))


def _illegal(at: int) -> str:
    return f'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte {at}'


def deployment(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"replicas": 2, "paused": None}, None),
        ({"replicas": 2.0}, None),
        ({"replicas": 2.5}, "cannot convert float64 to int32"),
        ({"replicas": "2"}, "unrecognized type: int32"),
        ({"paused": "yes"}, "unrecognized type: bool"),
        ({"selector": []}, "cannot restore struct from: slice"),
        ({"selector": {"matchLabels": "x"}}, "cannot restore map from string"),
        ({"selector": {"matchLabels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"selector": {"matchExpressions": {}}}, "cannot restore slice from map"),
        ({"strategy": {"type": 1}}, "cannot convert int64 to v1.DeploymentStrategyType"),
        (
            {"paused": 1, "replicas": "x"},
            "unrecognized type: int32",
        ),  # fields come in the order of the struct
    ],
)
def test_the_result_of_a_strategic_patch_is_refused_in_words_of_its_own(
    spec: dict[str, Any], told: str | None
) -> None:
    schema = built_in().schema("apps", "v1", "Deployment")
    assert schema is not None
    assert unconvertible(deployment(**spec), schema) == told

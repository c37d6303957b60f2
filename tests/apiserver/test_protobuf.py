"""Protobuf bodies, as Go clients send them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.apiserver.protobuf import MAGIC, BadProtobuf, manifest_from, messages


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return bytes([number << 3]) + varint(content)
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    result = b""
    while number > 127:
        result += bytes([number & 127 | 128])
        number >>= 7
    return result + bytes([number])


def body(version: str, kind: str, content: bytes) -> bytes:
    head = field(1, version.encode()) + field(2, kind.encode())
    return MAGIC + field(1, head) + field(2, content)


def named(name: str) -> bytes:
    return field(1, field(1, name.encode()))


def test_an_object_is_read_with_its_maps_and_bytes() -> None:
    pair = field(2, field(1, b"key") + field(2, b"value"))
    raw = field(3, field(1, b"raw") + field(2, b"\x00\x01"))
    assert manifest_from(body("v1", "ConfigMap", named("a") + pair + raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"key": "value"},
        "binaryData": {"raw": "AAE="},
    }


def test_what_json_writes_inline_is_written_inline() -> None:
    volume = field(1, b"v") + field(2, field(6, field(1, b"secret-name")))  # a Volume holds a VolumeSource
    manifest = manifest_from(body("v1", "Pod", named("a") + field(2, field(1, volume))))
    assert manifest["spec"]["volumes"] == [{"name": "v", "secret": {"secretName": "secret-name"}}]


def test_special_values_are_written_as_in_json() -> None:
    port = field(1, b"http") + field(3, 80) + field(4, field(1, 1) + field(3, b"web"))
    manifest = manifest_from(body("v1", "Service", named("a") + field(2, field(1, port))))
    assert manifest["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "web"}]
    stamped = field(1, field(8, field(1, 1_600_000_000)))
    assert manifest_from(body("v1", "ConfigMap", stamped))["metadata"] == {
        "creationTimestamp": "2020-09-13T12:26:40Z"
    }
    unset = field(1, field(8, b""))
    assert manifest_from(body("v1", "ConfigMap", unset))["metadata"] == {"creationTimestamp": None}


def test_negative_numbers_are_read() -> None:
    content = named("a") + field(2, field(1, 2**64 - 3))
    assert manifest_from(body("apps/v1", "Deployment", content))["spec"] == {"replicas": -3}


@pytest.mark.parametrize(
    "bad", [b"", b"nope", MAGIC, MAGIC + b"\xff", body("v1", "Nothing", b""), body("v1", "Pod", b"\x0a\x7f")]
)
def test_what_is_no_object_is_refused(bad: bytes) -> None:
    with pytest.raises(BadProtobuf):
        manifest_from(bad)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for kind in ("Pod", "Service"):
        with contextlib.suppress(BadProtobuf):
            manifest_from(body("v1", kind, content))


def test_every_built_in_kind_that_has_a_message_is_known() -> None:
    assert {"io.k8s.api.core.v1.Pod", "io.k8s.api.apps.v1.Deployment"} <= messages().keys()

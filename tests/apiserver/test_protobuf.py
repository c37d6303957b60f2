"""Reading protocol buffers: the wire by hand, every kind as a real server writes it, and anything at all."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.learning import manifests, path_of
from scripts.make_wire import DATA, known_shapes
from testbed.controlplane import ControlPlane
from trimtab.apiserver.protobuf import MAGIC, BadProtobuf, manifest_from, shapes
from trimtab.kube.schemas.kinds import built_in

MANIFESTS = Path(__file__).parents[1] / "kube" / "manifests"
PROTOBUF = "application/vnd.kubernetes.protobuf"
#: What differs from answer to answer.
MASKED = (
    "uid",
    "creationTimestamp",
    "resourceVersion",
    "time",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
)
#: when the server found something out: two answers may be a second apart
STAMPED = {"lastTransitionTime", "lastPhaseTransitionTime"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def part(number: int, content: bytes | int) -> bytes:
    """One part of a message; numbers and lengths stay below 128 here."""
    if isinstance(content, int):
        return bytes((number << 3, content))
    return bytes((number << 3 | 2, len(content))) + content


def sent(api_version: str, kind: str, message: bytes) -> bytes:
    meta = part(1, api_version.encode()) + part(2, kind.encode())
    return MAGIC + part(1, meta) + part(2, message)


METADATA = part(1, part(1, b"colours") + part(3, b"default"))
PORT = part(1, b"http") + part(2, b"TCP") + part(3, 80) + part(4, part(1, 1) + part(2, 0) + part(3, b"web"))
CREATED = part(1, part(8, part(1, 1)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            sent("v1", "ConfigMap", METADATA + part(2, part(1, b"sky") + part(2, b"blue"))),
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "colours", "namespace": "default"},
                "data": {"sky": "blue"},
            },
        ),
        (
            sent("v1", "Secret", part(2, part(1, b"key") + part(2, b"\x00\xff"))),
            {"apiVersion": "v1", "kind": "Secret", "data": {"key": "AP8="}},
        ),
        (
            sent("v1", "Service", part(2, part(1, PORT))),
            {
                "apiVersion": "v1",
                "kind": "Service",
                "spec": {"ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": "web"}]},
            },
        ),
        (
            sent("v1", "Namespace", CREATED),
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"creationTimestamp": "1970-01-01T00:00:01Z"},
            },
        ),
        (
            sent("v1", "Pod", part(2, part(1, part(1, b"v") + part(2, part(6, part(1, b"s")))))),
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "spec": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            },
        ),
        (
            sent("v1", "DeleteOptions", part(1, 0) + part(5, b"All")),
            {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "dryRun": ["All"]},
        ),
    ],
    ids=["texts", "bytes", "port by name", "time", "inline", "options"],
)
def test_a_message_is_read_as_the_json_that_it_means(body: bytes, expected: dict[str, Any]) -> None:
    assert manifest_from(body) == expected


def test_negative_numbers_keep_their_sign() -> None:
    minus_one = bytes((1 << 3,)) + b"\xff" * 9 + b"\x01"
    body = sent("v1", "DeleteOptions", minus_one)
    assert manifest_from(body)["gracePeriodSeconds"] == -1


def test_fields_that_are_not_known_are_passed_over() -> None:
    body = sent("v1", "ConfigMap", METADATA + part(15, b"news from a later version"))
    assert manifest_from(body) == manifest_from(sent("v1", "ConfigMap", METADATA))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (sent("v9", "Nothing", b""), 'no kind "Nothing" is known for version "v9"'),
        (MAGIC + b"\x0a\x09abc", "unexpected EOF"),
        (MAGIC + b"\x08" + b"\xff" * 10, "proto: integer overflow"),
        (MAGIC + b"\x0b", "proto: illegal wireType 3"),
        (sent("v1", "ConfigMap", part(1, 7)), "a number where bytes belong"),
    ],
)
def test_what_is_no_message_is_refused(body: bytes, told: str) -> None:
    with pytest.raises(BadProtobuf) as caught:
        manifest_from(body)
    assert str(caught.value) == told


@given(st.sampled_from(sorted(shapes().kinds)), st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(name: str, message: bytes) -> None:
    version, _, kind = name.rpartition("/")
    with contextlib.suppress(BadProtobuf):
        assert manifest_from(sent(version, kind, message))["kind"] == kind


def test_a_message_without_end_is_refused_before_the_stack_is() -> None:
    nested = b""
    for _ in range(5000):
        entry = part(1, b"x") + _long(b"\x12", nested)
        nested = _long(b"\xea\x01", entry)  # a property of a property of a property
    message = _long(b"\x12", _long(b"\x3a", _long(b"\x22", _long(b"\x0a", nested))))
    meta = part(1, b"apiextensions.k8s.io/v1") + part(2, b"CustomResourceDefinition")
    with pytest.raises(BadProtobuf, match="too many messages within messages"):
        manifest_from(MAGIC + part(1, meta) + _long(b"\x12", message))


def _long(tag: bytes, content: bytes) -> bytes:
    """A part of any length."""
    size, length = len(content), bytearray()
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((*tag, *length, size)) + content


# -- as a real server writes it ---------------------------------------------------------------------------


def test_the_shapes_are_what_the_go_types_say_today(go_tool: Callable[[str], Path]) -> None:
    assert known_shapes(go_tool("wireshapes")) == json.loads(zlib.decompress(DATA.read_bytes()))


def dry_created(plane: ControlPlane, manifest: dict[str, Any]) -> Iterator[bytes]:
    """The answer to a dry-run create, as protocol buffers and as JSON; nothing if it is refused."""
    path = f"{path_of(built_in(), manifest)}?dryRun=All"
    trust = ssl.create_default_context(cafile=str(plane.ca_file))
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, timeout=30, context=trust)
    with contextlib.closing(connection):
        for accept in (PROTOBUF, "application/json"):
            headers = {"Authorization": f"Bearer {plane.token()}", "Accept": accept}
            connection.request(
                "POST", path, json.dumps(manifest), {**headers, "Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            said = answer.read()
            if answer.status == http.HTTPStatus.CREATED:
                yield said


def plain(value: Any) -> Any:
    """The value without what says nothing: empty values, and what differs from answer to answer."""
    if isinstance(value, dict):
        kept = {name: plain(each) for name, each in value.items() if name not in MASKED}
        kept |= {name: "a time" for name in STAMPED & kept.keys() if TIME.fullmatch(str(kept[name]))}
        return {name: each for name, each in kept.items() if each not in (None, "", 0, False, [], {})}
    return [plain(each) for each in value] if isinstance(value, list) else value


def test_every_kind_is_read_as_the_json_of_a_real_server(api_server: ControlPlane) -> None:
    kinds, different = set(), []
    for manifest in manifests(MANIFESTS):
        answers = list(dry_created(api_server, manifest))
        if len(answers) == 2:
            binary, text = answers
            kinds.add(manifest["kind"])
            ours, theirs = plain(manifest_from(binary)), plain(json.loads(text))
            for claim in theirs.get("spec", {}).get("volumeClaimTemplates", ()):
                del claim["kind"], claim["apiVersion"]  # not on the wire: the server fills them in
            different += [manifest["kind"]] if ours != theirs else []
    assert different == []
    assert len(kinds) > 30, "too few kinds to prove anything"

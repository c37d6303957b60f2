"""Lines out of chunks, events out of lines."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.cluster import EventType, WatchEvent
from trimtab.kube.failures import Expired, Refusal, status_from
from trimtab.kube.frames import Lines, event_from

lines = st.lists(st.binary(max_size=50).map(lambda line: line.replace(b"\n", b" ")), max_size=10)


@given(lines, st.binary(max_size=20), st.lists(st.integers(1, 30), max_size=40))
def test_lines_come_out_whole_wherever_the_chunks_end(
    whole: list[bytes], rest: bytes, sizes: list[int]
) -> None:
    rest = rest.replace(b"\n", b" ")
    stream = b"".join(line + b"\n" for line in whole) + rest
    reader, told = Lines(limit=1000), []
    for size in [*sizes, len(stream)]:
        chunk, stream = stream[:size], stream[size:]
        told += list(reader.feed(chunk))
    assert told == whole
    assert reader.rest == len(rest)


def test_a_line_past_the_limit_is_noticed_before_it_ends() -> None:
    reader = Lines(limit=10)
    assert list(reader.feed(b"x" * 11)) == []
    assert reader.overlong


def read(line: bytes) -> object:
    return event_from(line, api_version="v1", kind="ConfigMap", subject="watch ConfigMap")


def test_an_event_carries_its_object() -> None:
    event = read(b'{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}')
    assert isinstance(event, WatchEvent)
    assert event.type is EventType.MODIFIED
    assert (event.object.kind, event.object.metadata.resource_version) == ("ConfigMap", "7")
    assert event.object.raw == b'{"metadata":{"name":"a","resourceVersion":"7"}}'


def test_an_error_frame_is_an_error() -> None:
    error = read(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}')
    assert isinstance(error, Expired)
    assert error.reason == "too old"


def test_what_an_error_frame_says_is_repeated_within_bounds_like_any_refusal() -> None:
    said = {"code": 500, "message": "x" * 100_000, "details": {"causes": [{"message": "y" * 100_000}] * 1000}}
    error = read(msgspec.json.encode({"type": "ERROR", "object": said}))
    assert isinstance(error, Refusal)
    assert error.status == status_from(500, msgspec.json.encode(said))
    assert len(msgspec.json.encode(error.status)) < 2_000_000


def test_an_error_frame_that_holds_no_status_makes_no_sense() -> None:
    with pytest.raises(msgspec.ValidationError):
        read(b'{"type":"ERROR","object":{"code":"many"}}')

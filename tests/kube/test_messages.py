"""HTTP/1.1 as bytes: however they are cut into pieces, the same is read; what is not HTTP is refused."""

from __future__ import annotations

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from trimtab.kube.messages import (
    LONGEST_HEAD,
    Body,
    Chunked,
    Head,
    NotHttp,
    Sized,
    Unpacking,
    body_of,
    head_in,
    request,
    unpacking_of,
)

ANSWER = b'HTTP/1.1 201 Created\r\nWarning: 299 - "a"\r\nwarning: 299 - "b"\r\nX-Empty:\r\n\r\nbody'


def head(*headers: tuple[str, str], status: int = 200) -> Head:
    return Head(status, CIMultiDict(headers), stays=True)


def fed(body: Body, data: bytes, cuts: list[int]) -> bytes:
    """What a body gives of bytes that come in pieces."""
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    found = b""
    for begin, end in pairwise(places):
        if body.is_whole:
            break
        found += body.feed(data[begin:end])
    return found


def test_a_request_says_how_long_it_is_and_ends_before_its_body() -> None:
    said = request("PATCH", "/api?a=b", [("Host", "c:6443"), ("Accept", "x")], b"{}")
    assert said == b"PATCH /api?a=b HTTP/1.1\r\nHost: c:6443\r\nAccept: x\r\nContent-Length: 2\r\n\r\n"
    assert request("GET", "/", [], None) == b"GET / HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("value", ["a\r\nX: b", "a\nb", "a\x00"])
def test_nothing_is_smuggled_into_a_request(value: str) -> None:
    with pytest.raises(NotHttp, match="line break, Authorization"):
        request("GET", "/", [("Authorization", value)], None)


def test_an_answer_begins_once_all_of_its_head_is_there() -> None:
    end = ANSWER.index(b"body")
    assert {head_in(ANSWER[:size]) for size in range(end)} == {None}
    found, rest = head_in(ANSWER) or pytest.fail("it is there")
    assert (found.status, found.headers.getall("Warning"), found.headers["x-empty"], rest) == (
        201,
        ['299 - "a"', '299 - "b"'],
        "",
        b"body",
    )


@pytest.mark.parametrize(
    ("said", "stays"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 200\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", True),
    ],
)
def test_whether_a_connection_stays_is_said_by_the_server(said: bytes, *, stays: bool) -> None:
    found, _ = head_in(said) or pytest.fail("it is there")
    assert found.stays is stays


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.7\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * LONGEST_HEAD,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * LONGEST_HEAD + b"\r\n\r\n",
    ],
)
def test_what_does_not_begin_as_http_is_refused(said: bytes) -> None:
    with pytest.raises(NotHttp):
        head_in(said)


@given(pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=6), cuts=st.lists(st.integers(0, 400)))
def test_chunks_are_put_together_however_they_come(pieces: list[bytes], cuts: list[int]) -> None:
    chunks = b"".join(b"%x;a=b\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    body = Chunked()
    assert fed(body, chunks + b"0\r\nTrailer: x\r\n\r\n", cuts) == b"".join(pieces)
    assert (body.is_whole, body.rest) == (True, b"")


@given(content=st.binary(max_size=60), cuts=st.lists(st.integers(0, 400)))
def test_what_comes_after_a_body_is_not_of_it(content: bytes, cuts: list[int]) -> None:
    body = Sized(len(content))
    assert fed(body, content, cuts) == content
    assert body.is_whole
    other = Sized(3)
    assert (other.feed(b"abcdef"), other.rest, other.is_whole) == (b"abc", b"def", True)
    chunked = Chunked()
    assert (chunked.feed(b"1\r\na\r\n0\r\n\r\nmore"), chunked.rest, chunked.is_whole) == (b"a", b"more", True)


@pytest.mark.parametrize("said", [b"x\r\n", b"\r\n", b"+1\r\na", b"1\r\nabc\r\n", b"1" * 9000, b"0x1\r\n"])
def test_chunks_that_do_not_say_their_size_are_refused(said: bytes) -> None:
    with pytest.raises(NotHttp):
        Chunked().feed(said)


def test_how_a_body_comes_is_said_by_its_head() -> None:
    assert isinstance(body_of(head(("Transfer-Encoding", "Chunked"), ("Content-Length", "3"))), Chunked)
    assert body_of(head(("Content-Length", "5"), status=204)).is_whole
    assert body_of(head(("Content-Length", "0"))).is_whole
    assert body_of(head()).is_open


@pytest.mark.parametrize(
    "headers",
    [
        (("Content-Length", "3"), ("Content-Length", "4")),
        (("Content-Length", "-3"),),
        (("Content-Length", "3a"),),
        (("Transfer-Encoding", "gzip, chunked"),),
    ],
)
def test_a_body_of_unknown_length_is_refused(headers: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(NotHttp):
        body_of(head(*headers))


@pytest.mark.parametrize("packed", [gzip.compress, zlib.compress])
def test_what_was_compressed_is_unpacked_in_bounded_pieces(packed: type) -> None:
    unpacking = unpacking_of(head(("Content-Encoding", "gzip"))) or pytest.fail("it is compressed")
    pieces = list(unpacking.feed(packed(bytes(5_000_000))))
    assert (sum(map(len, pieces)), max(map(len, pieces)) <= 1 << 18, unpacking.is_whole) == (
        5_000_000,
        True,
        True,
    )


def test_what_is_not_compressed_as_it_says_is_refused() -> None:
    assert unpacking_of(head()) is None
    with pytest.raises(NotHttp):
        unpacking_of(head(("Content-Encoding", "br")))
    with pytest.raises(NotHttp):
        list(Unpacking().feed(b"plain text"))

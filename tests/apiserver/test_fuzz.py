"""The embedded cluster under random bad requests: it stays up, answers, and keeps its memory."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import count

import pytest

from testbed.embedded import Embedded
from tests.apiserver.bad_requests import MAPS, PREPARED, Client, Reply, Request, post
from tests.apiserver.fuzzing import Fuzzer, creations, list_paths
from trimtab.apiserver.handling import DEFECT

ROOM = 128 << 20  # bytes that the server may grow by, however long it is asked
UNREAD = 20  # how many clients ask for much, and do not read it
TIDY_EVERY = 400  # requests; what they create is no leak


@pytest.fixture
def server() -> Iterator[Embedded]:
    """An embedded cluster of its own process, to be treated badly."""
    with Embedded() as server:
        yield server


def is_answer(reply: Reply) -> bool:
    """Whether this is how a server speaks: an object, a Status with its code, or a line of text.

    A Status may say 500: a real server says so of some patches, too. A defect is known by its words.
    """
    if reply.code < http.HTTPStatus.INTERNAL_SERVER_ERROR and reply.media != "application/json":
        return True
    if reply.code < http.HTTPStatus.BAD_REQUEST:
        return True
    if reply.media != "application/json" or DEFECT in reply.said["message"]:
        return False
    return (reply.said["kind"], reply.said["code"]) == ("Status", reply.code)


def asked(client: Client, request: Request) -> Reply | None:
    """The answer; none to a watch, which may last, nor to a request that is no HTTP."""
    if "watch" in request.path:
        with client.answered(request):
            return None
    try:
        return client.send(request)
    except (http.client.HTTPException, ValueError, UnicodeEncodeError):
        return None


def tidy(client: Client) -> None:
    """Take away what requests have made, and bring back what they are about, where they left room for it."""
    for path in list_paths():
        client.send(Request(method="DELETE", path=f"{path}?gracePeriodSeconds=0"))
    for path, body in PREPARED:
        client.send(post(json.dumps(body).encode(), path=path))
    for request in creations():
        client.send(request)


def check(server: Embedded, before: int, when: str) -> None:
    """The server is up, has met nothing that it did not expect, and has not grown."""
    log = server.server.log.read_text(errors="replace")
    assert server.server.running, f"{when}: {log[-4000:]}"
    assert "Traceback" not in log, f"{when}: {log[-4000:]}"
    assert server.resident_bytes() - before < ROOM, when


@pytest.mark.timeout(300)
@pytest.mark.parametrize("others", ["nobody else", "controllers"])
def test_random_bad_requests_are_answered_without_a_defect(
    others: str, fuzz_seconds: float, fuzz_seed: int
) -> None:
    with Embedded(controllers=others == "controllers") as server:
        client = Client(server.kubeconfig)
        client.prepare()
        tidy(client)
        before, end = server.resident_bytes(), time.monotonic() + fuzz_seconds / 2
        for number, request in zip(count(1), Fuzzer(fuzz_seed)):
            reply = asked(client, request)
            assert reply is None or is_answer(reply), (
                f"request {number}: {request}\n{reply}\n{server.server.log_tail()}"
            )
            if number % TIDY_EVERY == 0:
                tidy(client)
                check(server, before, f"up to request {number}")
            if time.monotonic() > end:
                break
        check(server, before, "at the end")
        assert client.send(Request(path=MAPS)).code == http.HTTPStatus.OK


RAW = {
    "nothing": b"",
    "no HTTP": b"\x16\x03\x01\x00\xff" * 20,
    "half a line": b"GET /api",
    "a line without end": b"GET /" + b"a" * (3 << 20),
    "a header without end": b"GET /api HTTP/1.1\r\nX: " + b"a" * (3 << 20),
    "very many headers": b"GET /api HTTP/1.1\r\n" + b"X: a\r\n" * 200_000,
    "a length that is none": b"POST /api HTTP/1.1\r\nContent-Length: many\r\n\r\n",
    "two lengths": b"POST /api HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
    "a chunk that is none": b"POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a body that never comes": b"POST /api/v1/namespaces HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
}


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_request_do_no_harm(server: Embedded, name: str) -> None:
    client = Client(server.kubeconfig)
    before = server.resident_bytes()
    with (
        socket.create_connection(("127.0.0.1", client.port), timeout=30) as plain,
        client.trust.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped,
        suppress(OSError),  # hung up on, or left waiting for the rest: both are right
    ):
        wrapped.sendall(RAW[name])
        wrapped.settimeout(0.3)
        wrapped.recv(4096)
    assert client.send(Request(path="/api")).code == http.HTTPStatus.OK
    assert server.resident_bytes() - before < ROOM
    assert "Traceback" not in server.server.log.read_text(errors="replace")


def test_long_headers_and_addresses_are_read_as_a_real_server_reads_them(server: Embedded) -> None:
    client = Client(server.kubeconfig)
    long = "x" * 100_000
    assert client.send(Request(path="/api", headers=(("X-Long", long),))).code == http.HTTPStatus.OK
    assert client.send(Request(path=f"/api?unknown={long}")).code == http.HTTPStatus.OK


def test_bodies_beyond_the_limit_are_not_kept(server: Embedded) -> None:
    client = Client(server.kubeconfig)
    client.prepare()
    before = server.resident_bytes()
    for _ in range(20):
        reply = client.send(post(b'{"data":{"a":"' + b"x" * (4 << 20) + b'"}}'))
        assert reply.code == http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert server.resident_bytes() - before < ROOM


@pytest.mark.parametrize("query", ["", "?watch=1"], ids=["lists", "watches"])
def test_answers_that_nobody_reads_are_not_kept_over_and_over(server: Embedded, query: str) -> None:
    client = Client(server.kubeconfig)
    client.prepare()
    for number in range(16):
        body = {"metadata": {"name": f"large{number}"}, "data": {"a": "x" * 900_000}}
        assert client.send(post(json.dumps(body).encode())).code == http.HTTPStatus.CREATED
    before = server.resident_bytes()
    head = f"Host: a\r\nAuthorization: Bearer {client.token}\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(UNREAD):
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=30))
            line = stack.enter_context(client.trust.wrap_socket(plain, server_hostname="127.0.0.1"))
            line.sendall(f"GET {MAPS}{query} HTTP/1.1\r\n{head}".encode())
            assert line.recv(12) == b"HTTP/1.1 200"
        assert client.send(Request(path="/api")).code == http.HTTPStatus.OK
        assert server.resident_bytes() - before < UNREAD * (20 << 20)  # one copy of each, not three

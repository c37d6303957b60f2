"""Requests of the testbed share connections, and notice when the other side has hung up."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.certificates import Authority
from testbed.requests import Requests


class Server(http.server.ThreadingHTTPServer):
    """Answers with the number of the connection that asks; connections end when they are told to."""

    def __init__(self, keys: Authority) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        pair, context = keys.server("server"), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.connections = 0
        self.ended = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        told = str(self.server.connections).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)
        self.close_connection = self.path == "/last"

    def finish(self) -> None:
        super().finish()
        self.connection.close()
        self.server.ended.set()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def keys(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def server(keys: Authority) -> Iterator[Server]:
    with Server(keys) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def requests(server: Server, keys: Authority) -> Iterator[Requests]:
    requests = Requests(server.server_port, keys.certificate, limit=30)
    yield requests
    requests.close()


def test_one_connection_serves_many_requests(requests: Requests) -> None:
    assert [requests.send("GET", "/", None, {}) for _ in range(3)] == [(200, b"1")] * 3


def test_a_connection_that_the_server_has_ended_is_not_used_again(requests: Requests, server: Server) -> None:
    assert requests.send("GET", "/last", None, {}) == (200, b"1")
    assert server.ended.wait(30)
    assert requests.send("GET", "/", None, {}) == (200, b"2")

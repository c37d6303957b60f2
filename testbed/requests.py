"""Requests over connections that are kept: a handshake costs both sides more than what is asked.

A connection that the server has given up, because it was killed or restarted, is found out before it is used.
"""

from __future__ import annotations

import contextlib
import http.client
import select
import ssl
from collections.abc import Mapping
from pathlib import Path


class Requests:
    """Speaks to one HTTPS server on loopback; several threads may do so at once."""

    def __init__(self, port: int, ca_file: Path, *, limit: float) -> None:
        """One request may take `limit` seconds."""
        self._port, self._limit = port, limit
        self._trust = ssl.create_default_context(cafile=str(ca_file))
        self._idle: list[http.client.HTTPSConnection] = []

    def send(self, verb: str, path: str, body: str | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """One request: the status and what was said."""
        connection = self._connection()
        with contextlib.ExitStack() as unless_answered:
            unless_answered.callback(connection.close)
            connection.request(verb, path, body, dict(headers))
            answer = connection.getresponse()
            told = answer.status, answer.read()
            unless_answered.pop_all()
        self._idle.append(connection)
        return told

    def _connection(self) -> http.client.HTTPSConnection:
        while self._idle:
            connection = self._idle.pop()
            if _open(connection):
                return connection
            connection.close()
        return http.client.HTTPSConnection("127.0.0.1", self._port, timeout=self._limit, context=self._trust)

    def close(self) -> None:
        """Hang up."""
        while self._idle:
            self._idle.pop().close()


def _open(connection: http.client.HTTPSConnection) -> bool:
    """Whether the other side still listens: nothing is told unasked but the end."""
    return connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]

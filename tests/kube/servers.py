"""Speaking to a real API server: every patch type, every manager, answers as they are."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from typing import Any

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
PLAIN = "application/json"


class Server:
    """One connection to an API server."""

    def __init__(self, port: int, trust: ssl.SSLContext, token: str) -> None:
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=trust)
        self._token = token

    @classmethod
    def of(cls, plane: ControlPlane) -> Server:
        return cls(plane.port, ssl.create_default_context(cafile=plane.ca_file), plane.token())

    @classmethod
    def of_embedded(cls, embedded: Embedded) -> Server:
        config = json.loads(embedded.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        port = int(cluster["server"].rpartition(":")[2])
        return cls(port, ssl.create_default_context(cadata=authority), user["token"])

    def send(
        self, verb: str, path: str, body: Any = None, content_type: str = PLAIN, agent: str = "tests/1.0"
    ) -> tuple[int, Any]:
        """One request: the code and the object or Status of the answer."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": content_type,
            "Accept": PLAIN,
            "User-Agent": agent,
        }
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        answer = self._answer(verb, path, text, headers)
        said = answer.read().decode()
        is_json = answer.headers.get_content_type() == PLAIN
        return answer.status, json.loads(said) if is_json else {"kind": "Text", "message": said}

    def _answer(
        self, verb: str, path: str, text: str | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        """The answer, over a new connection if the server has closed the idle one."""
        try:
            self._connection.request(verb, path, text, headers)
            return self._connection.getresponse()
        except (ConnectionError, ssl.SSLEOFError):
            self._connection.close()
            self._connection.request(verb, path, text, headers)
            return self._connection.getresponse()

    def get(self, path: str) -> Any:
        code, answer = self.send("GET", path)
        assert code == 200, answer
        return answer

    def close(self) -> None:
        self._connection.close()

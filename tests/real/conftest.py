"""The servers that real clients judge, and the clients.

Every story is told to the embedded cluster and to a real API server: no test knows which it talks to.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from testbed.embedded import Embedded

LIMIT = 100.0  # seconds that one call may take on a busy machine
PATH = "/usr/local/bin:/usr/bin:/bin"  # where kubectl finds `diff`


class Server(Protocol):
    """A Kubernetes API and how to reach it."""

    kubeconfig: Path
    folder: Path


class Kubectl:
    """The real kubectl, in one namespace of one server."""

    def __init__(self, program: Path, server: Server, namespace: str) -> None:
        self._program = program
        self._server = server
        self.namespace = namespace

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """What kubectl prints; it must end with this code, and a failure tells on the error channel."""
        done = run(self._program, self._server, "--namespace", self.namespace, *arguments, stdin=stdin)
        assert done.returncode == code, f"kubectl {' '.join(arguments)}: {done.returncode}\n{done.stderr}"
        return done.stderr if code and not done.stdout else done.stdout

    def read(self, *arguments: str) -> Any:
        """What `kubectl get ARGUMENTS` shows as YAML."""
        return yaml.safe_load(self("get", *arguments, "-o", "yaml"))

    def until_served(self, group: str) -> None:
        """Return when the Widgets of a group are served, found by discovery and explained.

        The real server learns of a definition in parts: each of them a moment after it is established.
        """
        self("wait", f"crd/widgets.{group}", "--for=condition=Established", "--timeout=60s")
        until(lambda: self._found(group) == f"widgets.{group}\n", f"{group} is discovered")
        until(lambda: f"apis/{group}/v1" in self("get", "--raw", "/openapi/v3"), f"{group} is explained")

    def until_forgotten(self, group: str) -> None:
        """Return when discovery no longer tells of the Widgets of a group."""
        until(lambda: self._found(group) == "", f"{group} is forgotten")

    def _found(self, group: str) -> str:
        """The kinds of a group that discovery tells of now."""
        return self("api-resources", f"--api-group={group}", "-o", "name")


def until(holds: Callable[[], bool], what: str) -> None:
    """Ask again until it is so."""
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, f"it never came that {what}"


def run(program: Path, server: Server, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a client of a server; its home is the server's folder, where it may keep what it learns."""
    return subprocess.run(
        [program, *arguments],
        input=stdin,
        env={"HOME": str(server.folder), "KUBECONFIG": str(server.kubeconfig), "PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )


@pytest.fixture(scope="session")
def embedded() -> Iterator[Embedded]:
    """The embedded cluster, shared by all tests that keep to a namespace of their own."""
    with Embedded() as server:
        yield server


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
def server(request: pytest.FixtureRequest) -> Server:
    """Each kind of server in turn."""
    found: Server = request.getfixturevalue({"embedded": "embedded", "real": "api_server"}[request.param])
    return found


@pytest.fixture
def in_namespace(kubectl: Path) -> Callable[[Server], Kubectl]:
    """Makes a namespace of a server, and kubectl speak of it."""

    def made(server: Server) -> Kubectl:
        own = Kubectl(kubectl, server, f"test-{secrets.token_hex(4)}")
        assert own("create", "namespace", own.namespace) == f"namespace/{own.namespace} created\n"
        return own

    return made


@pytest.fixture
def ctl(server: Server, in_namespace: Callable[[Server], Kubectl]) -> Kubectl:
    """kubectl in a fresh namespace."""
    return in_namespace(server)

"""User stories are told through the command, to the embedded cluster and to a real one alike."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from testbed.embedded import Embedded
from testbed.terminals import Terminal
from tests.features.calling import Call, Caller, Heard

LIMIT = 120.0
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the stories: they take longest, so no worker is left with them while the others are done.

    One that begins with them also keeps them: what is set up for many of them is then set up once.
    """
    items.sort(key=lambda item: not item.path.is_relative_to(HERE))


class Server(Protocol):
    """A Kubernetes API and how to reach it."""

    kubeconfig: Path


class Person:
    """Somebody at a terminal: runs `trimtab` and `kubectl` against one cluster, with a home of their own."""

    def __init__(self, caller: Caller, server: Server, home: Path, path: str) -> None:
        self._caller = caller
        self._home = home
        #: made for this person alone, so that nobody meets anybody else's objects
        self.namespace = f"shop-{secrets.token_hex(4)}"
        self._environment = {
            "HOME": str(home),
            "KUBECONFIG": str(server.kubeconfig),
            "PATH": path,
            "USER": "ann",
            "TRIMTAB_APPS__NAMESPACE": f"{self.namespace}-records",
        }

    def trimtab(self, *arguments: str, **environment: str) -> Heard:
        """Run the command to its end."""
        surroundings = {**self._environment, **environment}
        return self._caller.call(Call(arguments=arguments, environment=surroundings, folder=str(self._home)))

    @contextmanager
    def begun(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The command under way, its words to be read as they come; it ends with the block at the latest."""
        with subprocess.Popen(
            [sys.executable, "-m", "trimtab", *arguments],
            env={**self._environment, **environment},
            cwd=self._home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def at_terminal(self, *arguments: str, columns: int = 100) -> Terminal:
        """The command under way on a terminal."""
        command = [sys.executable, "-m", "trimtab", *arguments]
        return Terminal(command, environment=self._environment, folder=self._home, columns=columns)

    def kubectl(self, *arguments: str) -> str:
        """What kubectl prints, in this person's namespace."""
        done = subprocess.run(
            ["kubectl", "--namespace", self.namespace, *arguments],
            env=self._environment,
            cwd=self._home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def caller() -> Iterator[Caller]:
    """Whoever calls the command."""
    found = Caller()
    yield found
    found.close()


@pytest.fixture(scope="session")
def embedded_with_controllers() -> Iterator[Embedded]:
    with Embedded(controllers=True) as server:
        yield server


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
def person(
    request: pytest.FixtureRequest, caller: Caller, tmp_path: Path, kubectl: Path, helm: Path, kustomize: Path
) -> Person:
    """Somebody with a cluster."""
    fixture = {"embedded": "embedded_with_controllers", "real": "control_plane"}[request.param]
    server: Server = request.getfixturevalue(fixture)
    folders = dict.fromkeys(str(each.parent) for each in (kubectl, helm, kustomize))
    return Person(caller, server, tmp_path, ":".join([*folders, "/usr/local/bin", "/usr/bin", "/bin"]))

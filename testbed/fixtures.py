"""Pytest fixtures of the real parts, and the rule for machines that lack them.

A test that needs a part which is neither here nor can be made here is skipped, and the run closes with one
line that counts such tests and says what to do. With `TRIMTAB_REQUIRE_REAL=1` it fails instead.
Programs are built before the first test starts, so that no test's time limit pays for a compiler.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from testbed.builds import CONTROL_PLANE, Builder
from testbed.controlplane import ROOMY, ControlPlane, User
from testbed.postgres import Database, Postgres
from testbed.problems import PartMissing
from testbed.shells import PACKAGES, Shell, Shells
from trimtab.errors import TrimtabError

if TYPE_CHECKING:  # its libraries take a third of a second to import, and most runs do not need them
    from testbed.gitserver import GitServer, HttpRepository, SshRepository

REQUIRE = "TRIMTAB_REQUIRE_REAL"
SKIPPED = "real part missing: "
REAL = ("control_plane", "control_planes", "api_server")
NEEDS: dict[str, tuple[str, ...]] = {
    "kubectl": ("kubectl",),
    "kustomize": ("kustomize",),
    "helm": ("helm",),
    "own_builds": ("trimtab-helm", "trimtab-kustomize"),
}
#: our own Go programs that tests ask `go_tool` for
TOOLS = ("innershapes", "kindshapes", "kubepeer", "wireshapes", "yamloracle")


class Parts(Builder):
    """A builder for tests: what is missing skips the test, or fails it where real parts are required."""

    def __init__(self) -> None:
        super().__init__()
        self._shells = Shells()
        self._failed: dict[str, TrimtabError] = {}

    def prepare(self, names: Iterable[str]) -> None:
        """Build what is missing, remembering what cannot be built for the tests that ask for it."""
        for name in self.missing(names):
            try:
                super().program(name)
            except TrimtabError as exc:
                self._failed[name] = exc

    def prepare_tools(self) -> None:
        """Build our own Go tools that are missing; one that cannot be built says so to who asks for it."""
        for name in TOOLS:
            with contextlib.suppress(TrimtabError):
                super().tool(name)

    def prepare_shells(self) -> None:
        """Fetch the shells that are missing; what cannot be fetched is told to who asks for it."""
        for name in PACKAGES:
            try:
                self._shells.shell(name)
            except TrimtabError as exc:
                self._failed[name] = exc

    def shell(self, name: str) -> Shell:
        """A shell, or the end of this test."""
        with missing_parts_skip():
            if name in self._failed:
                raise self._failed[name]
            return self._shells.shell(name)

    def program(self, name: str) -> Path:
        """A pinned program, or the end of this test."""
        with missing_parts_skip():
            if name in self._failed:
                raise self._failed[name]
            return super().program(name)

    def tool(self, name: str) -> Path:
        """One of our own Go tools, or the end of this test."""
        with missing_parts_skip():
            return super().tool(name)


@contextlib.contextmanager
def missing_parts_skip() -> Iterator[None]:
    """Skip the test for a part that is missing, or fail it where real parts are required."""
    try:
        yield
    except PartMissing as exc:
        if os.environ.get(REQUIRE) == "1":
            pytest.fail(str(exc), pytrace=False)
        pytest.skip(f"{SKIPPED}{exc}")


PARTS = pytest.StashKey[Parts]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long random bad input is tried, and which."""
    longer = os.environ.get("CI") == "true"
    parser.addoption("--fuzz-seconds", type=float, default=60.0 if longer else 10.0, help="how long to fuzz")
    parser.addoption("--fuzz-seed", type=int, help="try the bad input of this seed, not that of the commit")


def pytest_configure(config: pytest.Config) -> None:
    """Make the one holder of parts of this run.

    A run in the background is started with Ctrl-C ignored, and so would be all that it starts.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[PARTS] = Parts()
    # On a busy machine a slow draw says nothing about a property.
    settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`, two workers more than cores: a test waits for two fifths of its time for its parts."""
    return len(os.sched_getaffinity(0)) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses a control plane as `real`."""
    for item in items:
        if not {*REAL}.isdisjoint(_fixtures_of(item)):
            item.add_marker("real")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what the chosen tests need before any of them starts its clock."""
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items for name in _programs_for(item)}
    session.config.stash[PARTS].prepare(wanted)
    if any("go_tool" in _fixtures_of(item) for item in session.items):
        session.config.stash[PARTS].prepare_tools()
    if any("shells" in _fixtures_of(item) for item in session.items):
        session.config.stash[PARTS].prepare_shells()


def _programs_for(item: pytest.Item) -> Iterator[str]:
    """What a test needs, by its fixtures and by being marked `real`."""
    if item.get_closest_marker("real"):
        yield from CONTROL_PLANE
    for fixture in _fixtures_of(item):
        yield from NEEDS.get(fixture, ())


def _fixtures_of(item: pytest.Item) -> Sequence[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else ()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Close the run with one line about tests that were skipped for want of real parts."""
    reasons = [_reason(report) for report in terminalreporter.stats.get("skipped", [])]
    line = closing_line([reason for reason in reasons if reason])
    if line:
        terminalreporter.write_line(line, yellow=True)


def _reason(report: pytest.TestReport) -> str:
    """Why a test was skipped, if it was for want of a part."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    found = re.search(rf"{SKIPPED}(.*)", text)
    return found.group(1) if found else ""


def closing_line(reasons: Sequence[str]) -> str:
    """One line that counts the tests skipped for want of parts, with every reason and remedy."""
    if not reasons:
        return ""
    told = "; ".join(f"{count} because {reason}" for reason, count in Counter(reasons).most_common())
    number = f"{len(reasons)} test{'s' if len(reasons) > 1 else ''}"
    return f"testbed: {number} skipped for want of real parts: {told} ({REQUIRE}=1 makes this a failure)"


@pytest.fixture(scope="session")
def fuzz_seconds(pytestconfig: pytest.Config) -> float:
    """How long random bad input is tried: ten seconds, a minute in CI, or what `--fuzz-seconds` says."""
    seconds: float = pytestconfig.getoption("--fuzz-seconds")
    return seconds


@pytest.fixture
def fuzz_seed(pytestconfig: pytest.Config) -> int:
    """Which random bad input is tried, told on failure: what `--fuzz-seed` says, or else another by commit.

    Every commit meets other input, and a run of the same one what it has met before.
    """
    given: int | None = pytestconfig.getoption("--fuzz-seed")
    seed = _of_commit(pytestconfig.rootpath) if given is None else given
    print(f"The same requests again: --fuzz-seed {seed}")
    return seed


def _of_commit(root: Path) -> int:
    """A number that follows from the commit that is checked out; drawn where there is none."""
    asked = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, check=False)
    return int(asked.stdout[:8], 16) if asked.returncode == 0 else secrets.randbelow(1 << 32)


@pytest.fixture(scope="session")
def parts(pytestconfig: pytest.Config) -> Parts:
    """The holder of built programs, for fixtures of a room's own: `ControlPlane(builder=parts)`."""
    return pytestconfig.stash[PARTS]


@pytest.fixture(scope="session")
def kubectl(parts: Parts) -> Path:
    """The real kubectl."""
    return parts.program("kubectl")


@pytest.fixture(scope="session")
def kustomize(parts: Parts) -> Path:
    """The real kustomize."""
    return parts.program("kustomize")


@pytest.fixture(scope="session")
def helm(parts: Parts) -> Path:
    """The real helm."""
    return parts.program("helm")


@pytest.fixture(scope="session")
def own_builds(parts: Parts) -> str:
    """A PATH with our own builds of helm and kustomize, and nothing else."""
    return ":".join(str(parts.program(name).parent) for name in NEEDS["own_builds"])


@pytest.fixture(scope="session")
def go_tool(parts: Parts) -> Callable[[str], Path]:
    """Says where `testbed/go/<name>` is, a Go program of our own, built before the first test."""

    def found(name: str) -> Path:
        if name not in TOOLS:
            pytest.fail(f"name {name} in TOOLS: no test's time limit pays for a compiler")
        return parts.tool(name)

    return found


@pytest.fixture(scope="session")
def shells(parts: Parts) -> Callable[[str], Shell]:
    """Gives a shell by its name: `shells("zsh")`, `shells("fish")`."""
    return parts.shell


@pytest.fixture(scope="session")
def control_plane(parts: Parts) -> Iterator[ControlPlane]:
    """The control plane that most tests share; keep to your own `namespace` in it and do not disturb it."""
    with ControlPlane(builder=parts, nodes=2, gogc=ROOMY) as plane:
        yield plane


@pytest.fixture(scope="session")
def api_server(parts: Parts) -> Iterator[ControlPlane]:
    """An etcd and an API server alone, shared: nothing changes here but what tests write."""
    with ControlPlane(builder=parts, controllers=False, gogc=ROOMY) as plane:
        yield plane


class ControlPlanes:
    """Starts private control planes for tests that pause, kill or compact."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._started: list[ControlPlane] = []

    def start(
        self,
        *,
        controllers: bool = False,
        nodes: int = 1,
        watch_cache: bool = True,
        users: Sequence[User] = (),
        apiserver_flags: Sequence[str] = (),
    ) -> ControlPlane:
        """A control plane of this test's own; by default only etcd and the API server, the quickest."""
        plane = ControlPlane(
            builder=self._parts,
            controllers=controllers,
            nodes=nodes,
            watch_cache=watch_cache,
            users=users,
            apiserver_flags=apiserver_flags,
            gogc=ROOMY,
        )
        self._started.append(plane)
        return plane.start()

    def stop(self) -> None:
        """End them all."""
        for plane in self._started:
            plane.stop()


@pytest.fixture
def control_planes(parts: Parts) -> Iterator[ControlPlanes]:
    """Private control planes: `plane = control_planes.start(watch_cache=False)`."""
    for name in CONTROL_PLANE:
        parts.program(name)
    planes = ControlPlanes(parts)
    yield planes
    planes.stop()


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace of the shared control plane, ready for pods; deleted afterwards without waiting."""
    name = f"test-{secrets.token_hex(4)}"
    control_plane.add_namespace(name)
    yield name
    control_plane.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """The PostgreSQL server that tests share; most want `postgres`, a database of their own."""
    with missing_parts_skip():
        server = Postgres()
    with server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> Iterator[Database]:
    """A fresh database, owned by a role of its own."""
    database = postgres_server.create_database()
    yield database
    postgres_server.drop_database(database)


@pytest.fixture(scope="session")
def git_server() -> Iterator[GitServer]:
    """The Git server that tests share; most want `git_http` or `git_ssh`, a repository of their own."""
    from testbed.gitserver import GitServer

    with missing_parts_skip():
        server = GitServer()
    with server:
        yield server


@pytest.fixture
def git_http(git_server: GitServer) -> HttpRepository:
    """A fresh bare repository behind smart HTTP and HTTPS with a password."""
    return git_server.over_http(git_server.create_repository())


@pytest.fixture
def git_ssh(git_server: GitServer) -> SshRepository:
    """A fresh bare repository behind SSH with a key."""
    with missing_parts_skip():
        return git_server.over_ssh(git_server.create_repository())

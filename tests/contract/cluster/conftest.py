"""Fixtures of the contract suite: the worlds, and the recording of their answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from testbed.controlplane import ROOMY, ControlPlane
from tests.contract.cluster.cases import Case, all_cases, tables
from tests.contract.cluster.comparing import differences
from tests.contract.cluster.differing import KNOWN, OPEN_FILE, open_cases
from tests.contract.cluster.plays import Plays
from tests.contract.cluster.recordings import EMBEDDED, FOLDER, record, recorded
from tests.contract.cluster.worlds import embedded_world, real_world

if TYPE_CHECKING:
    from testbed.fixtures import Parts
    from tests.contract.cluster.stage import Observation

WORLDS = (pytest.param("real", marks=pytest.mark.real), "memory", "http")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let answers be recorded anew, and more histories be played."""
    parser.addoption("--record", action="store_true", help="record the answers of the worlds anew")
    parser.addoption("--examples", type=int, default=0, help="play this many random histories")


class Recorder:
    """New answers of this run, written when it ends."""

    def __init__(self, *, active: bool) -> None:
        self.active = active
        self._real: dict[str, dict[str, list[Observation]]] = defaultdict(dict)
        self._embedded: dict[str, dict[str, list[Observation]]] = defaultdict(dict)
        self._open = set(open_cases())

    def keep(self, world: str, case: Case, seen: list[Observation] | None) -> None:
        """Remember what a world said, or that it broke."""
        if world == "real":
            assert seen is not None
            self._real[case.table][case.name] = seen
        elif case.id in KNOWN:
            assert seen is not None
            self._embedded[case.table][case.name] = seen
        elif seen is None or differences(seen, self._expected(case)):
            self._open.add(f"{world}/{case.id}")
        else:
            self._open.discard(f"{world}/{case.id}")

    def _expected(self, case: Case) -> Sequence[Observation]:
        new = self._real[case.table].get(case.name)
        return recorded(case.table)[case.name] if new is None else new

    def write(self) -> None:
        """Write what was remembered."""
        for table in tables():
            names = [each.name for each in table.cases]
            record(table.name, self._real[table.name], names, FOLDER)
            known = [each.name for each in table.cases if each.id in KNOWN]
            record(table.name, self._embedded[table.name], known, EMBEDDED)
        ids = {case.id for case in all_cases()} - set(KNOWN)
        still = sorted(each for each in self._open if each.partition("/")[2] in ids)
        OPEN_FILE.write_text("".join(f"{each}\n" for each in still), encoding="utf-8")


@pytest.fixture(scope="session")
def recorder(pytestconfig: pytest.Config) -> Iterator[Recorder]:
    """Keeps answers with `--record`."""
    kept = Recorder(active=bool(pytestconfig.getoption("record", default=False)))
    yield kept
    if kept.active:
        kept.write()


@pytest.fixture(scope="session")
def quiet_plane(parts: Parts) -> Iterator[ControlPlane]:
    """A real API server to which nobody else writes: no controllers run."""
    with ControlPlane(builder=parts, controllers=False, gogc=ROOMY) as plane:
        yield plane


@pytest.fixture(scope="session")
def forgetful_plane(parts: Parts) -> Iterator[ControlPlane]:
    """A real API server of its own, which may be restarted: what it has watched it forgets with that."""
    with ControlPlane(builder=parts, controllers=False, gogc=ROOMY) as plane:
        yield plane


# A worker may come back to a world that it has left, and must not play its cases there a second time: so each
# world is opened once, by a fixture of its own, and only chosen by the one that tests ask for.


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def real_plays(request: pytest.FixtureRequest, quiet_plane: ControlPlane) -> AsyncIterator[Plays]:
    """What a real API server tells the chosen cases."""
    async with real_world(quiet_plane) as world:
        yield Plays("real", world, _chosen(request.session.items))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def memory_plays(request: pytest.FixtureRequest) -> AsyncIterator[Plays]:
    """What the embedded cluster tells them in process."""
    async with embedded_world("memory") as world:
        yield Plays("memory", world, _chosen(request.session.items))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def http_plays(request: pytest.FixtureRequest) -> AsyncIterator[Plays]:
    """What it tells them over HTTPS."""
    async with embedded_world("http") as world:
        yield Plays("http", world, _chosen(request.session.items))


@pytest.fixture(params=WORLDS, scope="session")
def plays(request: pytest.FixtureRequest) -> Plays:
    """Each implementation of `Cluster` in turn, with what it tells the chosen cases."""
    found: Plays = request.getfixturevalue(f"{request.param}_plays")
    return found


@pytest_asyncio.fixture(params=WORLDS, scope="session", loop_scope="session")
async def forgetful_plays(request: pytest.FixtureRequest) -> AsyncIterator[Plays]:
    """The same for the cases that end the history of their world, one after another; they may be repeated."""
    plane = request.getfixturevalue("forgetful_plane") if request.param == "real" else None
    async with real_world(plane) if plane else embedded_world(request.param) as world:
        yield Plays(request.param, world, _chosen(request.session.items), side_by_side=1)


def _chosen(items: list[pytest.Item]) -> Iterator[Case]:
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            case = item.callspec.params.get("case")
            if isinstance(case, Case):
                yield case

"""Fixtures of the contract suite: the worlds, and the recording of the real one's answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from testbed.controlplane import ControlPlane
from tests.contract.cluster.cases import Case, tables
from tests.contract.cluster.recordings import FOLDER, record
from tests.contract.cluster.worlds import World, embedded_world, real_world

if TYPE_CHECKING:
    from testbed.fixtures import Parts
    from tests.contract.cluster.stage import Observation

WORLDS = (pytest.param("real", marks=pytest.mark.real), "memory", "http")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the real server's answers be recorded anew."""
    parser.addoption("--record", action="store_true", help="record the real server's answers anew")
    parser.addoption("--examples", type=int, default=0, help="play this many random histories")


class Recorder:
    """New answers of this run, written when it ends."""

    def __init__(self, *, active: bool) -> None:
        self.active = active
        self._answers: dict[str, dict[str, list[Observation]]] = defaultdict(dict)

    def keep(self, case: Case, seen: list[Observation]) -> None:
        """Remember what the real server said."""
        self._answers[case.table][case.name] = seen

    def write(self) -> None:
        """Write what was remembered."""
        for table in tables():
            if table.name in self._answers:
                record(table.name, self._answers[table.name], [each.name for each in table.cases], FOLDER)


@pytest.fixture(scope="session")
def recorder(pytestconfig: pytest.Config) -> Iterator[Recorder]:
    """Keeps answers with `--record`."""
    kept = Recorder(active=bool(pytestconfig.getoption("record", default=False)))
    yield kept
    kept.write()


@pytest.fixture(scope="session")
def quiet_plane(parts: Parts) -> Iterator[ControlPlane]:
    """A real API server to which nobody else writes: no controllers run."""
    with ControlPlane(builder=parts, controllers=False) as plane:
        yield plane


@pytest_asyncio.fixture(params=WORLDS, scope="session", loop_scope="session")
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Each implementation of `Cluster` in turn."""
    plane = request.getfixturevalue("quiet_plane") if request.param == "real" else None
    async with real_world(plane) if plane else embedded_world(request.param) as made:
        yield made

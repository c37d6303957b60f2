"""Fixtures of the tests of `kube`: ways into real control planes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.kube.merging.samples import Sample, prepare, samples
from tests.kube.servers import Server
from tests.kube.world import connect_to

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane
    from trimtab.kube.http import HttpCluster


@pytest.fixture
async def cluster(control_plane: ControlPlane) -> AsyncIterator[HttpCluster]:
    """The shared control plane, as its admin."""
    async with connect_to(control_plane) as connected:
        yield connected


@pytest.fixture(scope="session")
def server(api_server: ControlPlane) -> Iterator[Server]:
    """A connection to an API server beside which nothing runs; the Gadget kind is known to it."""
    server = Server.of(api_server)
    prepare(server)
    yield server
    server.close()


@pytest.fixture(scope="session")
def kinds(server: Server) -> dict[str, Sample]:
    """The sample kinds, in the default namespace."""
    return samples(server, "default")

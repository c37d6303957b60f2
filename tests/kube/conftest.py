"""A real API server for tests of merging, with the Gadget kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.controlplane import ControlPlane
from tests.kube.samples import Sample, prepare, samples
from tests.kube.servers import Server


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

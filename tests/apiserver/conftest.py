"""Fixtures of the tests of the embedded cluster."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from testbed.embedded import Embedded
from tests.apiserver.bad_requests import Client
from tests.apiserver.conversation import Speaker
from tests.clocks import HurriedClock
from tests.kube.world import TokenAccess, trusting
from trimtab.apiserver import MemoryCluster, serve
from trimtab.kube.http import HttpCluster, connect
from trimtab.tasks.clock import ManualClock

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> MemoryCluster:
    """A fresh cluster in memory, on a clock that stands still."""
    return MemoryCluster(clock=clock)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client of an embedded cluster that holds what the requests of a test are about."""
    with Embedded() as server:
        made = Client(server.kubeconfig)
        made.prepare()
        yield made


@asynccontextmanager
async def speaking_to_memory(memory: MemoryCluster) -> AsyncIterator[Speaker]:
    async with serve(memory.api) as server:
        tls = ssl.create_default_context(cadata=server.authority)
        async with Speaker.to(server.url, server.token, tls) as speaker:
            yield speaker


@pytest.fixture
async def speaker() -> AsyncIterator[Speaker]:
    """Plain HTTP with an embedded server."""
    async with speaking_to_memory(MemoryCluster(clock=HurriedClock())) as speaker:
        yield speaker


@pytest.fixture
async def real(api_server: ControlPlane) -> AsyncIterator[Speaker]:
    """Plain HTTP with the real API server."""
    async with Speaker.to(api_server.url, api_server.token("admin"), trusting(api_server)) as speaker:
        yield speaker


@pytest.fixture
async def over_http() -> AsyncIterator[HttpCluster]:
    """An embedded server, spoken to by our own client."""
    async with serve(MemoryCluster().api) as server:
        tls = ssl.create_default_context(cadata=server.authority)
        async with connect(TokenAccess(server.url, server.token, tls)) as cluster:
            yield cluster

"""Worlds for syncs: in memory, and the real control plane with KWOK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.contract.behaviours.stage import add_namespace
from tests.engine.sync.world import World, world_of
from tests.kube.world import connect_to
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE


@asynccontextmanager
async def embedded() -> AsyncIterator[World]:
    """An embedded cluster where everything happens at once."""
    cluster = MemoryCluster()
    async with behaviours_of(cluster, timing=AT_ONCE) as behaviours:
        await add_namespace(cluster, "shop")
        await behaviours.settled()
        async with world_of(cluster, "shop") as world:
            yield world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with embedded() as world:
        yield world


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def any_world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Both kinds of world, one after the other."""
    if request.param == "embedded":
        async with embedded() as world:
            yield world
        return
    namespace = request.getfixturevalue("namespace")
    async with (
        connect_to(request.getfixturevalue("control_plane")) as real,
        world_of(real, namespace) as world,
    ):
        yield world

"""Fixtures of the comparing tests: one unit in a cluster."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.engine.compare.world import World
from trimtab.apiserver import MemoryCluster
from trimtab.tasks.clock import ManualClock


@pytest.fixture
async def world() -> World:
    """A unit in a cluster in memory."""
    cluster = MemoryCluster(clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    return World(cluster, await cluster.discover())

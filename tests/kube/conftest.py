"""Fixtures of the tests of `kube`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from tests.kube.world import connect_to

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane
    from trimtab.kube.http import HttpCluster


@pytest.fixture
async def cluster(control_plane: ControlPlane) -> AsyncIterator[HttpCluster]:
    """The shared control plane, as its admin."""
    async with connect_to(control_plane) as connected:
        yield connected

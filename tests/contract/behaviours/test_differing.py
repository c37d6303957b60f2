"""Every difference in the documentation is one: what ours and what the real ones do is pinned beside it."""

from __future__ import annotations

import secrets

import pytest

from testbed.controlplane import ControlPlane
from tests.contract.behaviours.differing import DIFFERENCES
from tests.contract.behaviours.stage import REST, RealTime, in_memory, staged
from tests.kube.world import connect_to

LATER = 60.0  # seconds after which ours would have done what they are going to do


@pytest.mark.parametrize("what", DIFFERENCES)
async def test_ours_still_do_otherwise_than_the_real_ones(what: str) -> None:
    known = DIFFERENCES[what]
    async with (
        in_memory("theatre") as ours,
        staged(ours.cluster, "theatre", ours.time) as stage,
    ):
        await known.story(stage)
        await ours.behaviours.advance(ours.clock, LATER)
        await stage.until(lambda: known.seen(stage) == known.ours, f"ours show {known.ours}", 1)
    assert known.ours != known.real


@pytest.mark.judge
@pytest.mark.parametrize("what", DIFFERENCES)
async def test_the_real_ones_still_do_otherwise_than_ours(what: str, control_plane: ControlPlane) -> None:
    known = DIFFERENCES[what]
    namespace = f"differs-{secrets.token_hex(4)}"
    control_plane.add_namespace(namespace)
    async with (
        connect_to(control_plane) as cluster,
        staged(cluster, namespace, RealTime()) as stage,
    ):
        try:
            await known.story(stage)
            await stage.until(lambda: known.seen(stage) == known.real, f"the real show {known.real}", REST)
        finally:
            await known.after(stage)

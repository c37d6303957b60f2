"""kill -9 after every single write of a sync with hooks, waves and prunes: the next process finishes it.

Units are records in the same cluster, so every note that the engine makes of its own progress is a write,
too, and every moment between two writes is tried.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from testbed.controlplane import ControlPlane
from tests.engine.mortal import Life, Nursery, nursery
from tests.engine.theatre import WANTED, Theatre, hook_runs
from tests.kube.world import connect_to
from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.engine.operations import OperationPhase


class Deaths:
    """Plays the operation in children that die of it."""

    def __init__(self, theatre: Theatre, config: Path, children: Nursery) -> None:
        self._theatre, self._config, self._children = theatre, config, children

    async def prepared(self, namespace: str) -> Life:
        await self._theatre.prepare(namespace)
        return Life(kubeconfig=str(self._config), namespace=namespace, unit=namespace, manifests=WANTED)

    async def play(self, runs: dict[str, Counter[str]], *, step: int) -> int:
        """Kill after every `step`-th write; the answer is how many deaths were survived."""
        end = await self._children.have(await self.prepared("undisturbed"))
        assert (end.signal, end.code) == (0, 0)
        wanted, hooks = await self._theatre.outcome("undisturbed"), runs["undisturbed"]
        assert wanted["phase"] is OperationPhase.SUCCEEDED
        assert hooks == {"pre": 1, "during": 1, "post": 1}
        deaths = 0
        for number in range(1, 1000, step):
            namespace = f"killed-{number}"
            life = await self.prepared(namespace)
            end = await self._children.have(replace(life, dies_after=number))
            if end.signal == 0:
                assert end.code == 0
                break
            assert end.signal == signal.SIGKILL
            deaths += 1
            again = await self._children.have(life)
            assert (again.signal, again.code) == (0, 0), f"after write {number} nobody could finish"
            assert (number, await self._theatre.outcome(namespace)) == (number, wanted)
            assert (number, runs[namespace]) == (number, hooks)
        return deaths


@pytest.mark.timeout(600)
async def test_a_sync_killed_after_any_of_its_writes_is_finished_by_the_next_process(tmp_path: Path) -> None:
    cluster = MemoryCluster()
    async with (
        serve(cluster.api) as served,
        behaviours_of(cluster, timing=AT_ONCE),
        nursery(tmp_path / "tally") as children,
    ):
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(served)))
        theatre = Theatre(cluster, await cluster.discover())
        async with hook_runs(theatre) as runs:
            assert await Deaths(theatre, config, children).play(runs, step=1) > 20


@pytest.mark.real
@pytest.mark.timeout(600)
async def test_the_same_holds_with_the_real_control_plane(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with connect_to(control_plane) as cluster, nursery(tmp_path / "tally") as children:
        theatre = Theatre(cluster, await cluster.discover())
        async with hook_runs(theatre) as runs:
            assert await Deaths(theatre, control_plane.kubeconfig, children).play(runs, step=9) > 2

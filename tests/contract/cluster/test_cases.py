"""Every case of the contract against every implementation of `Cluster`: all say what the real server said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.cluster.cases import Case, Table, all_cases, tables
from tests.contract.cluster.comparing import differences
from tests.contract.cluster.recordings import recorded

if TYPE_CHECKING:
    from tests.contract.cluster.conftest import Recorder
    from tests.contract.cluster.worlds import World


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in all_cases()])
async def test_the_cluster_answers_as_recorded(case: Case, world: World, recorder: Recorder) -> None:
    stage = await world.stage()
    await case.play(stage)
    if recorder.active:
        recorder.keep(case, stage.told)
    else:
        assert differences(stage.told, recorded(case.table)[case.name]) == []


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
def test_there_are_answers_for_exactly_the_cases(table: Table, recorder: Recorder) -> None:
    names = [case.name for case in table.cases]
    assert len(set(names)) == len(names)
    if not recorder.active:
        assert sorted(recorded(table.name)) == sorted(names)

"""Every case of the contract against every implementation of `Cluster`: all say what the real server said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.cluster.cases import Case, Table, all_cases, tables
from tests.contract.cluster.comparing import differences
from tests.contract.cluster.differing import KNOWN, open_cases
from tests.contract.cluster.recordings import EMBEDDED, recorded

if TYPE_CHECKING:
    from tests.contract.cluster.conftest import Recorder
    from tests.contract.cluster.plays import Plays
    from tests.contract.cluster.stage import Observation


def cases(*, forgets: bool) -> list[object]:
    return [pytest.param(case, id=case.id) for case in all_cases() if case.forgets is forgets]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("case", cases(forgets=False))
async def test_the_cluster_answers_as_recorded(
    case: Case, plays: Plays, recorder: Recorder, request: pytest.FixtureRequest
) -> None:
    await judge(case, plays, recorder, request)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("case", cases(forgets=True))
async def test_forgotten_history_is_refused_as_recorded(
    case: Case, forgetful_plays: Plays, recorder: Recorder, request: pytest.FixtureRequest
) -> None:
    await judge(case, forgetful_plays, recorder, request)


async def judge(case: Case, plays: Plays, recorder: Recorder, request: pytest.FixtureRequest) -> None:
    if recorder.active:
        recorder.keep(plays.name, case, await anyhow(plays, case))
        return
    if f"{plays.name}/{case.id}" in open_cases():
        request.node.add_marker(pytest.mark.xfail(reason="open", strict=True))
    folder = {"folder": EMBEDDED} if case.id in KNOWN and plays.name != "real" else {}
    assert differences(await plays.told(case), recorded(case.table, **folder)[case.name]) == []


async def anyhow(plays: Plays, case: Case) -> list[Observation] | None:
    """The story, or None when an embedded cluster broke it; the real one never may."""
    try:
        return await plays.told(case)
    except Exception:
        if plays.name == "real":
            raise
        return None


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
def test_there_are_answers_for_exactly_the_cases(table: Table, recorder: Recorder) -> None:
    names = [case.name for case in table.cases]
    assert len(set(names)) == len(names)
    if not recorder.active:
        assert sorted(recorded(table.name)) == sorted(names)


def test_where_the_embedded_cluster_knowingly_differs_it_still_does() -> None:
    cases = {case.id: case for case in all_cases()}
    assert set(KNOWN) <= set(cases)
    for known in KNOWN:
        case = cases[known]
        own = recorded(case.table, EMBEDDED)[case.name]
        assert differences(own, recorded(case.table)[case.name]) != [], f"{known} is no difference any more"

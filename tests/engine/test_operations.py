"""Operations survive being written down, and say plainly what they mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace

from trimtab.engine.operations import (
    HookRun,
    Operation,
    OperationPhase,
    OperationState,
    RanBefore,
    RetryLimits,
    Selected,
    StepPhase,
    StepResult,
    StepStatus,
    SyncPhase,
    by_our_clock,
    by_whom,
    is_same_request,
    started,
    taken_up,
)
from trimtab.resources.keys import ResourceKey

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEB = ResourceKey("apps", "Deployment", "shop", "web")


def test_a_deletion_knows_which_hooks_the_try_before_it_saw_through() -> None:
    ended = StepResult(
        key=WEB, sync_phase=SyncPhase.PRE_DELETE, hook=True, phase=StepPhase.SUCCEEDED, uid="1"
    )
    runs = replace(ended, key=replace(WEB, name="other"), phase=StepPhase.RUNNING)
    ran = RanBefore(key=WEB, sync_phase=SyncPhase.PRE_DELETE, uid="1")
    deletion = Operation(delete=True)
    failed = OperationState(operation=deletion, started_at=NOON, results=(ended, runs))
    again = taken_up(deletion, failed)
    assert again.ran == (ran,)
    assert is_same_request(again, deletion)
    # A try that came to nothing passes on what it knew; what is no deletion ends all that.
    assert taken_up(deletion, started(again, "", NOON)) == again
    assert taken_up(deletion, replace(failed, operation=Operation())) == deletion
    assert taken_up(Operation(), failed) == Operation()
    assert taken_up(deletion, replace(failed, operation=Operation(delete=True, dry_run=True))) == deletion


def test_a_request_is_the_same_where_an_older_process_has_forgotten_who_made_it() -> None:
    asked = Operation(asked_by="trimtab sync", person="ann@desk")
    written = msgspec.json.encode(asked)
    assert b'"person":"ann@desk"' in written
    # Older processes know no such field, and leave it out when they write.
    forgotten = msgspec.json.decode(written.replace(b'"person"', b'"unheardOf"'), type=Operation)
    assert forgotten.person == ""
    assert is_same_request(forgotten, asked)


def test_who_asked_is_told_with_what_as_far_as_it_is_known() -> None:
    assert by_whom("ann@desk", "trimtab sync") == "ann@desk with trimtab sync"
    assert (by_whom("", "trimtab sync"), by_whom("ann@desk", ""), by_whom("", "")) == (
        "trimtab sync",
        "ann@desk",
        "",
    )


def test_a_state_reads_back_as_it_was_written() -> None:
    state = OperationState(
        operation=Operation(
            revision="4f2c9e1",
            prune=True,
            resources=(Selected(kind="ConfigMap", name="a"),),
            retry=RetryLimits(limit=3),
            timeout=timedelta(minutes=5),
            deletions_approved_at=NOON,
        ),
        started_at=NOON,
        results=(
            StepResult(
                key=WEB, sync_phase=SyncPhase.SYNC, status=StepStatus.SYNCED, phase=StepPhase.RUNNING, order=1
            ),
        ),
        hooks=(HookRun(key=WEB, sync_phase=SyncPhase.PRE_SYNC, replaces="1"),),
        begun=(WEB,),
    )
    assert msgspec.json.decode(msgspec.json.encode(state), type=OperationState) == state


def test_what_was_not_asked_for_is_not_written_down() -> None:
    state = started(Operation(prune=True), "4f2c9e1", NOON)
    assert msgspec.json.decode(msgspec.json.encode(state)) == {
        "operation": {"prune": True},
        "startedAt": "2026-01-01T12:00:00Z",
        "revision": "4f2c9e1",
    }


@pytest.mark.fact("S25")
@pytest.mark.parametrize(
    ("selected", "matches"),
    [
        (Selected(group="apps", kind="Deployment", name="web"), True),
        (Selected(group="apps", kind="Deployment", namespace="shop", name="web"), True),
        (Selected(group="apps", kind="Deployment", namespace="bank", name="web"), False),
        (Selected(kind="Deployment", name="web"), False),
        (Selected(group="apps", kind="Deployment", name="we"), False),
    ],
)
def test_a_selection_names_group_kind_and_name_and_a_namespace_if_it_says_one(
    selected: Selected,
    matches: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert selected.matches(WEB) is matches


def test_the_last_three_phases_are_final() -> None:
    assert [phase.value for phase in OperationPhase if phase.final] == ["Succeeded", "Failed", "Error"]


def test_times_of_a_process_whose_clock_is_ahead_count_as_now_but_for_what_names_hooks() -> None:
    hour = timedelta(hours=1)
    done = StepResult(key=WEB, sync_phase=SyncPhase.SYNC, at=NOON + hour)
    ahead = OperationState(
        operation=Operation(retry=RetryLimits(longest=timedelta(minutes=3))),
        started_at=NOON + hour,
        waiting_since=NOON + hour,
        retry_at=NOON + hour + timedelta(minutes=1),
        results=(done,),
    )
    here = by_our_clock(ahead, NOON)
    assert (here.started_at, here.attempt_at, here.waiting_since) == (NOON + hour, NOON, NOON)
    assert here.retry_at == NOON + timedelta(minutes=3)
    assert [each.at for each in here.results] == [NOON]
    assert by_our_clock(here, NOON) is here


def test_times_that_have_passed_stay_as_they_are() -> None:
    state = OperationState(
        operation=Operation(),
        started_at=NOON - timedelta(hours=1),
        retry_at=NOON + timedelta(seconds=5),
        results=(StepResult(key=WEB, sync_phase=SyncPhase.SYNC, at=NOON),),
    )
    assert by_our_clock(state, NOON) is state

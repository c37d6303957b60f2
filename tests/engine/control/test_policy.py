"""What follows for a unit by itself, decision by decision."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from trimtab.engine.control.policy import (
    AutoSync,
    Later,
    Leave,
    Refresh,
    Refuse,
    Start,
    attempt_at,
    auto_sync,
    check_hold,
    conditions_after,
    declared_digest,
    heal_wait,
    history_after,
    is_overtaken,
    refresh_due,
    rollback,
)
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    OperationState,
    RetryLimits,
    Selected,
    Strategy,
)
from trimtab.engine.rows import Verdict
from trimtab.engine.units import (
    Automated,
    Condition,
    ConditionType,
    Deployed,
    Destination,
    NamespaceMetadata,
    Pause,
    Pin,
    Policy,
    ResourceSummary,
    SyncUnit,
    UnitHeld,
    UnitStatus,
)
from trimtab.errors import Conflict, Missing
from trimtab.resources.keys import ResourceKey

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def row(name: str, verdict: Verdict | None = Verdict.OUT_OF_SYNC, *, prune: bool = False) -> ResourceSummary:
    key = ResourceKey("", "ConfigMap", "shop", name)
    return ResourceSummary(key=key, version="v1", verdict=verdict, prune=prune)


def unit(*rows: ResourceSummary, **changes: Any) -> SyncUnit:
    status = UnitStatus(
        verdict=Verdict.OUT_OF_SYNC, revision="r2", rendered="d2", resources=rows or (row("a"),)
    )
    made = SyncUnit(
        id="web",
        source={"path": "web"},
        destination=Destination(cluster="prod"),
        policy=Policy(automated=Automated(), options=("PruneLast=true",)),
        status=status,
    )
    return replace(made, **changes)


def automated(before: SyncUnit, **changes: bool) -> SyncUnit:
    return replace(before, policy=replace(before.policy, automated=Automated(**changes)))


def with_status(before: SyncUnit, **changes: Any) -> SyncUnit:
    return replace(before, status=replace(before.status, **changes))


def synced_before(
    before: SyncUnit,
    *,
    ended: datetime = NOW,
    phase: OperationPhase = OperationPhase.SUCCEEDED,
    heals: int = 0,
) -> SyncUnit:
    """The unit after a sync to what it wants now."""
    state = OperationState(
        operation=Operation(heal_attempts=heals),
        started_at=ended,
        finished_at=ended,
        phase=phase,
        message="no room",
    )
    return with_status(before, operation_state=state, attempted=attempt_at(before))


def reason(decision: AutoSync) -> str:
    assert isinstance(decision, Leave | Later)
    return decision.reason


@pytest.mark.fact("A1")
def test_auto_sync_asks_for_the_revision_with_the_units_options_and_retry() -> None:
    wanted = automated(unit(), prune=True)
    decision = auto_sync(wanted, NOW)
    assert isinstance(decision, Start)
    assert decision.operation == Operation(
        revision="r2",
        prune=True,
        options=("PruneLast=true",),
        retry=RetryLimits(limit=5),
        automated=True,
    )


@pytest.mark.fact("A2")
@pytest.mark.parametrize(
    ("left", "why"),
    [
        (unit(policy=Policy()), "not automated"),
        (automated(unit(), enabled=False), "not automated"),
        (unit(operation=Operation()), "under way"),
        (with_status(unit(), verdict=Verdict.SYNCED), "Synced"),
        (with_status(unit(), verdict=Verdict.UNKNOWN), "Unknown"),
        (unit(row("a", Verdict.SYNCED), row("old", prune=True)), "pruning is off"),
        (synced_before(unit()), "self-heal is off"),
    ],
)
def test_a_unit_is_left_alone(left: SyncUnit, why: str) -> None:
    assert why in reason(auto_sync(left, NOW))


@pytest.mark.fact("A3")
@pytest.mark.parametrize("phase", [OperationPhase.FAILED, OperationPhase.ERROR])
def test_a_failed_sync_is_said_and_not_repeated(phase: OperationPhase) -> None:
    decision = auto_sync(synced_before(unit(), phase=phase), NOW)
    assert decision == Refuse("the last sync to r2 failed, and is not repeated: no room")


@pytest.mark.fact("A4")
def test_a_changed_source_is_synced_at_the_same_revision() -> None:
    before = synced_before(unit())
    assert isinstance(auto_sync(replace(before, source={"path": "web", "tag": "2"}), NOW), Start)


@pytest.mark.fact("A5")
def test_pruning_everything_is_held_back_unless_the_unit_may_be_empty() -> None:
    emptied = unit(row("a", prune=True), row("b", prune=True), row("copy", None))
    assert isinstance(auto_sync(automated(emptied, prune=True), NOW), Refuse)
    assert isinstance(auto_sync(automated(emptied, prune=True, allow_empty=True), NOW), Start)
    rest = unit(row("a", prune=True), row("b", Verdict.SYNCED))
    assert isinstance(auto_sync(automated(rest, prune=True), NOW), Start)


@pytest.mark.fact("A7")
@pytest.mark.parametrize(
    ("revision", "rendered", "again"),
    [
        ("r2", "d2", False),
        ("r3", "d2", False),  # a commit that changes nothing here
        ("r2", "d3", True),  # the same commit, rendered otherwise
        ("r3", "d3", True),
        ("r2", "", False),  # without a digest the revision has to do
        ("r3", "", True),
    ],
)
def test_something_was_attempted_when_it_rendered_to_the_same(
    *, revision: str, rendered: str, again: bool
) -> None:
    after = with_status(synced_before(unit()), revision=revision, rendered=rendered)
    assert isinstance(auto_sync(after, NOW), Start) is again


@pytest.mark.fact("A8")
def test_healing_waits_ever_longer_up_to_a_cap() -> None:
    assert [heal_wait(n).total_seconds() for n in range(8)] == [0, 2, 6, 18, 54, 162, 300, 300]


@pytest.mark.fact("A8")
@pytest.mark.parametrize(
    ("heals", "since_end", "decision"),
    [(0, 0, Start), (1, 1.9, Later), (1, 2, Start), (3, 17, Later), (3, 18, Start), (9, 299, Later)],
)
def test_healing_counts_from_the_end_of_the_last_sync(
    heals: int, since_end: float, decision: type[AutoSync]
) -> None:
    drifted = automated(synced_before(unit(), ended=NOW - seconds(since_end), heals=heals), self_heal=True)
    assert isinstance(auto_sync(drifted, NOW), decision)


def test_healing_waits_for_no_end_that_lies_far_ahead_by_the_clock_of_another_process() -> None:
    ahead = automated(synced_before(unit(), heals=2, ended=NOW + seconds(3600)), self_heal=True)
    assert isinstance(auto_sync(ahead, NOW), Start)
    nearly = automated(synced_before(unit(), heals=2, ended=NOW + seconds(1)), self_heal=True)
    assert auto_sync(nearly, NOW) == Later(NOW + seconds(7), "healing was tried 2 times, and waits")


def test_healing_later_says_when() -> None:
    drifted = automated(synced_before(unit(), heals=2), self_heal=True)
    assert auto_sync(drifted, NOW) == Later(NOW + seconds(6), "healing was tried 2 times, and waits")


def test_healing_touches_exactly_what_drifted_in_its_namespace() -> None:
    rows = (row("a"), row("b", Verdict.SYNCED), row("old", prune=True))
    drifted = automated(synced_before(unit(*rows), heals=1, ended=NOW - seconds(9)), self_heal=True)
    decision = auto_sync(drifted, NOW)
    assert isinstance(decision, Start)
    selected = Selected(kind="ConfigMap", namespace="shop", name="a")
    assert (decision.operation.resources, decision.operation.heal_attempts) == ((selected,), 2)


def going(name: str) -> ResourceSummary:
    return replace(row(name, prune=True), deleting=True)


@pytest.mark.parametrize("attempted", [False, True])
def test_what_is_being_deleted_already_begins_no_sync(*, attempted: bool) -> None:
    held = unit(going("b"), row("a", Verdict.SYNCED))
    wanted = automated(synced_before(held) if attempted else held, prune=True, self_heal=True)
    decision = auto_sync(wanted, NOW)
    assert decision == Leave("ConfigMap shop/b is being deleted, and is waited for")


def test_what_differs_beside_something_that_is_being_deleted_is_healed_alone() -> None:
    drifted = automated(synced_before(unit(row("a"), going("b"))), prune=True, self_heal=True)
    decision = auto_sync(drifted, NOW)
    assert isinstance(decision, Start)
    assert [each.name for each in decision.operation.resources] == ["a"]


def test_healing_with_hooks_syncs_everything() -> None:
    drifted = automated(synced_before(unit()), self_heal=True, heal_with_hooks=True)
    decision = auto_sync(drifted, NOW)
    assert isinstance(decision, Start)
    assert (decision.operation.resources, decision.operation.heal_attempts) == ((), 1)


def test_a_failed_sync_does_not_end_healing() -> None:
    failed = synced_before(unit(), phase=OperationPhase.FAILED, heals=1, ended=NOW - seconds(2))
    assert isinstance(auto_sync(automated(failed, self_heal=True), NOW), Start)


def test_a_unit_that_was_well_for_long_is_healed_at_once() -> None:
    drifted = automated(synced_before(unit(), heals=9, ended=NOW - seconds(301)), self_heal=True)
    decision = auto_sync(drifted, NOW)
    assert isinstance(decision, Start)
    assert decision.operation.heal_attempts == 1


@given(heals=st.integers(0, 20), since=st.floats(0, 1000), failed=st.booleans(), prune=st.booleans())
def test_healing_never_waits_longer_than_the_cap(
    *, heals: int, since: float, failed: bool, prune: bool
) -> None:
    phase = OperationPhase.FAILED if failed else OperationPhase.SUCCEEDED
    ended = NOW - seconds(since)
    drifted = automated(
        synced_before(unit(), heals=heals, ended=ended, phase=phase), self_heal=True, prune=prune
    )
    decision = auto_sync(drifted, NOW)
    match decision:
        case Later(at=at):
            assert NOW < at <= ended + seconds(300)
        case _:
            assert isinstance(decision, Start)


def ended(operation: Operation, phase: OperationPhase = OperationPhase.SUCCEEDED) -> OperationState:
    return OperationState(
        operation=operation, started_at=NOW, finished_at=NOW + seconds(9), phase=phase, revision="r2"
    )


def entry(number: int, source: Any = None) -> Deployed:
    return Deployed(id=number, revision=f"r{number}", source=source or {}, started_at=NOW, deployed_at=NOW)


PAUSE = Pause(reason="migration", by="ann", since=NOW)
PIN = Pin(entry=3, revision="r3", reason="r4 crashes")


def test_a_unit_that_is_held_is_left_alone_and_says_why() -> None:
    reasons = [
        auto_sync(unit(paused=PAUSE), NOW),
        auto_sync(unit(pinned=PIN), NOW),
        auto_sync(unit(paused=Pause(), pinned=Pin(entry=1, revision="r1", by="bob")), NOW),
    ]
    since = f"since {NOW:%Y-%m-%d %H:%M} UTC"
    assert reasons == [
        Leave(f"the unit is paused by ann {since}: migration"),
        Leave("the unit is pinned to entry 3 of its history (r3): r4 crashes"),
        Leave("the unit is paused; pinned to entry 1 of its history (r1) by bob"),
    ]


def test_a_unit_that_was_deleted_is_not_made_anew_by_itself() -> None:
    gone = with_status(
        unit(), operation_state=OperationState(operation=Operation(delete=True), started_at=NOW)
    )
    assert auto_sync(gone, NOW) == Leave("it was to be deleted: sync it by hand, or delete it to the end")


@pytest.mark.parametrize(
    ("changes", "operation", "is_refused"),
    [
        ({}, Operation(), False),
        ({"paused": PAUSE}, Operation(), True),
        ({"paused": PAUSE}, Operation(dry_run=True), False),
        ({"pinned": PIN}, Operation(), True),
        ({"pinned": PIN}, Operation(entry=2), True),
        ({"pinned": PIN}, Operation(entry=3), False),
        ({"pinned": PIN, "paused": PAUSE}, Operation(entry=3), True),
    ],
)
def test_what_is_asked_of_a_held_unit_is_refused_unless_it_is_what_it_is_held_at(
    changes: dict[str, Any], operation: Operation, *, is_refused: bool
) -> None:
    if not is_refused:
        check_hold(unit(**changes), operation)
        return
    with pytest.raises(UnitHeld, match="Resume it first"):
        check_hold(unit(**changes), operation)


@pytest.mark.fact("A35")
def test_history_grows_at_its_end_and_is_trimmed_at_its_beginning() -> None:
    first = history_after(unit(), ended(Operation(asked_by="a console", person="ada")))
    assert first == (
        Deployed(
            id=1,
            revision="r2",
            source={"path": "web"},
            started_at=NOW,
            deployed_at=NOW + seconds(9),
            asked_by="a console",
            person="ada",
        ),
    )
    full = with_status(unit(policy=Policy(history_limit=2)), history=(entry(6), entry(7)))
    assert [each.id for each in history_after(full, ended(Operation()))] == [7, 8]
    none = with_status(unit(policy=Policy(history_limit=0)), history=(entry(6),))
    assert history_after(none, ended(Operation())) == ()


@pytest.mark.fact("A35")
@pytest.mark.parametrize(
    "state",
    [
        ended(Operation(dry_run=True)),
        ended(Operation(resources=(Selected(kind="ConfigMap", name="a"),))),
        ended(Operation(), OperationPhase.FAILED),
        ended(Operation(), OperationPhase.ERROR),
    ],
)
def test_what_one_cannot_go_back_to_is_no_history(state: OperationState) -> None:
    before = with_status(unit(), history=(entry(1),))
    assert history_after(before, state) == (entry(1),)


@pytest.mark.fact("A35")
def test_a_rollback_goes_to_the_entrys_revision_and_source_and_is_remembered_with_it() -> None:
    before = with_status(unit(policy=Policy()), history=(entry(3, {"path": "old"}), entry(4)))
    operation = rollback(before, 3)
    assert (operation.revision, operation.source) == ("r3", {"path": "old"})
    assert operation.strategy is Strategy.APPLY
    assert history_after(before, ended(operation))[-1].source == {"path": "old"}


def test_a_rollback_is_refused_while_it_would_be_undone_or_has_no_goal() -> None:
    with pytest.raises(Conflict, match="auto-sync"):
        rollback(with_status(unit(), history=(entry(1),)), 1)
    with pytest.raises(Missing, match=r"no entry 9\. It has 1"):
        rollback(with_status(unit(policy=Policy()), history=(entry(1),)), 9)


@pytest.mark.fact("A19")
def test_conditions_of_judged_types_are_replaced_and_the_same_words_keep_their_time() -> None:
    early = NOW - seconds(100)
    before = (
        Condition(type=ConditionType.COMPARISON, message="gone", since=early),
        Condition(type=ConditionType.REPEATED, message="same", since=early),
        Condition(type=ConditionType.SYNC, message="foreign", since=early),
    )
    judged = (ConditionType.COMPARISON, ConditionType.REPEATED)
    found = [
        (ConditionType.REPEATED, "same"),
        (ConditionType.REPEATED, "new"),
        (ConditionType.REPEATED, "new"),
    ]
    assert conditions_after(before, judged, found, NOW) == (
        Condition(type=ConditionType.REPEATED, message="new", since=NOW),
        Condition(type=ConditionType.REPEATED, message="same", since=early),
        Condition(type=ConditionType.SYNC, message="foreign", since=early),
    )


def due(found: SyncUnit, now: datetime, interval: timedelta) -> Refresh | None:
    return refresh_due(found, declared_digest(found), now, interval)


def looked_at(before: SyncUnit) -> SyncUnit:
    return with_status(before, reconciled_at=NOW, declared=declared_digest(before))


@pytest.mark.fact("A17", "A18")
def test_a_unit_is_looked_at_first_of_all_and_then_by_the_interval() -> None:
    minute, none = timedelta(minutes=1), timedelta(0)
    assert due(unit(), NOW, none) is Refresh.USUAL
    assert due(looked_at(unit()), NOW + seconds(59), minute) is None
    assert due(looked_at(unit()), NOW + seconds(60), minute) is Refresh.USUAL
    assert due(looked_at(unit()), NOW + timedelta(days=9), none) is None
    assert due(looked_at(unit()), NOW - seconds(59), minute) is None
    assert due(looked_at(unit()), NOW - timedelta(hours=1), minute) is Refresh.USUAL


@pytest.mark.fact("A17")
@pytest.mark.parametrize(
    "change",
    [
        {"source": {"path": "other"}},
        {"destination": Destination(cluster="test")},
        {"policy": Policy(namespace_metadata=NamespaceMetadata(labels={"a": "b"}))},
        {"policy": Policy(options=("Replace=true",))},
    ],
)
def test_a_change_of_what_is_wanted_has_a_unit_looked_at(change: dict[str, Any]) -> None:
    before = looked_at(unit())
    assert due(replace(before, **change), NOW, timedelta(0)) is Refresh.USUAL


def test_a_look_during_which_an_operation_ended_decides_nothing() -> None:
    idle = SyncUnit(id="app", source={}, destination=Destination(cluster="here"))
    busy = replace(idle, operation=Operation())

    def after(began: datetime) -> SyncUnit:
        state = OperationState(operation=Operation(), started_at=began, phase=OperationPhase.SUCCEEDED)
        return replace(idle, status=UnitStatus(operation_state=state))

    later = NOW + timedelta(seconds=1)
    assert is_overtaken(busy, after(NOW))
    assert is_overtaken(idle, after(NOW))
    assert is_overtaken(after(NOW), after(later))
    assert not is_overtaken(after(NOW), after(NOW))
    assert not is_overtaken(idle, idle)
    assert not is_overtaken(busy, busy)
    assert not is_overtaken(idle, busy)

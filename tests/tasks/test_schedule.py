"""Whose turn it is: fairness, limits, holds and memory, without running anything."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from trimtab.tasks.outcomes import Held, Hold, LookAgain, Outcome, Rate, Settled, WorkPolicy
from trimtab.tasks.schedule import Schedule, WorkState

UNLIMITED = Rate(per_second=1e9, burst=1_000_000)
ONE_AT_A_TIME = WorkPolicy(concurrency=1, rate=UNLIMITED)
QUARANTINE = Held(why=Hold.QUARANTINED, seconds=30, error="a bug: KeyError")


def schedule_of(policy: WorkPolicy, *keys: str, now: float = 0.0) -> Schedule[str]:
    """A schedule offered these keys, each written tenant/key."""
    schedule: Schedule[str] = Schedule(policy)
    for key in keys:
        tenant, _, name = key.partition("/")
        schedule.offer(tenant, name, due=now, now=now)
    return schedule


def run_all(schedule: Schedule[str], now: float = 0.0) -> list[str]:
    """Everything that may run now, each run ending before the next begins, in order."""
    order = []
    while (picked := schedule.pick(now)) is not None:
        order.append("/".join(picked))
        schedule.finish(*picked, Settled(), now=now)
    return order


def states(schedule: Schedule[str], now: float) -> dict[str, WorkState]:
    return {f"{row.tenant}/{row.key}": row.state for row in schedule.rows(None, now)}


def test_tenants_take_turns_and_keys_of_one_tenant_keep_their_order() -> None:
    schedule = schedule_of(ONE_AT_A_TIME, "a/1", "a/2", "a/3", "b/1", "c/1", "c/2")
    assert run_all(schedule) == ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"]


def test_ten_thousand_offers_of_one_tenant_move_another_by_at_most_one_turn() -> None:
    schedule = schedule_of(ONE_AT_A_TIME, *(f"flood/{number}" for number in range(10_000)), "quiet/1")
    assert run_all(schedule).index("quiet/1") <= 1


def test_a_flood_while_others_wait_moves_none_of_them_by_more_than_one_turn() -> None:
    calm = [f"t{tenant}/{key}" for key in range(3) for tenant in range(5)]
    flood = [f"flood/{number}" for number in range(10_000)]
    alone = run_all(schedule_of(ONE_AT_A_TIME, *calm))
    flooded = run_all(schedule_of(ONE_AT_A_TIME, *flood, *calm))
    turns_of_flood = list(itertools.accumulate(key.startswith("flood/") for key in flooded))
    assert [key for key in flooded if not key.startswith("flood/")] == alone
    for round_number in range(3):
        for key in calm[round_number * 5 : round_number * 5 + 5]:
            assert turns_of_flood[flooded.index(key)] <= round_number + 1


def test_offers_of_a_queued_key_merge() -> None:
    assert run_all(schedule_of(ONE_AT_A_TIME, "a/1", "a/1", "a/1")) == ["a/1"]


def test_any_number_of_offers_during_a_run_cause_exactly_one_more() -> None:
    schedule = schedule_of(ONE_AT_A_TIME, "a/1")
    assert schedule.pick(0) == ("a", "1")
    for _ in range(5):
        schedule.offer("a", "1", due=0, now=0)
    assert schedule.pick(0) is None
    schedule.finish("a", "1", Settled(), now=0)
    assert run_all(schedule) == ["a/1"]


def test_a_tenant_without_tokens_is_skipped_and_comes_back_when_one_arrives() -> None:
    schedule = schedule_of(
        WorkPolicy(concurrency=9, rate=Rate(per_second=2, burst=2)), "a/1", "a/2", "a/3", "a/4", "b/1"
    )
    assert run_all(schedule) == ["a/1", "b/1", "a/2"]
    assert states(schedule, 0) == {"a/3": WorkState.LIMITED, "a/4": WorkState.LIMITED}
    assert schedule.next_due() == 0.5
    schedule.wake(0.5, at_most=9)
    assert run_all(schedule, 0.5) == ["a/3"]
    schedule.wake(1.0, at_most=9)
    assert run_all(schedule, 1.0) == ["a/4"]


def test_going_idle_in_between_does_not_refill_the_bucket() -> None:
    schedule = schedule_of(WorkPolicy(rate=Rate(per_second=1, burst=2)))
    started = []
    for tick in range(40):
        now = tick / 10
        schedule.wake(now, at_most=9)
        schedule.offer("a", "1", due=now, now=now)
        started += [now for _ in run_all(schedule, now)]
    assert started == [0.0, 0.1, 1.0, 2.0, 3.0]


def test_slow_runs_of_one_tenant_leave_places_for_others() -> None:
    policy = WorkPolicy(concurrency=3, per_tenant=2, rate=UNLIMITED)
    schedule = schedule_of(policy, "a/1", "a/2", "a/3")
    assert [schedule.pick(0), schedule.pick(0), schedule.pick(0)] == [("a", "1"), ("a", "2"), None]
    assert states(schedule, 0)["a/3"] is WorkState.CROWDED
    schedule.offer("b", "1", due=0, now=0)
    assert schedule.pick(0) == ("b", "1")
    schedule.finish("a", "1", Settled(), now=0)
    assert schedule.pick(0) == ("a", "3")


def test_a_delayed_offer_waits_and_an_earlier_one_brings_it_forward() -> None:
    schedule = schedule_of(ONE_AT_A_TIME)
    schedule.offer("a", "1", due=50, now=0)
    schedule.offer("a", "1", due=90, now=0)
    assert (schedule.next_due(), run_all(schedule)) == (50, [])
    schedule.offer("a", "1", due=10, now=0)
    assert schedule.next_due() == 10
    schedule.offer("a", "1", due=5, now=5)
    assert (run_all(schedule, 5), len(schedule)) == (["a/1"], 0)


@pytest.mark.parametrize("why", list(Hold))
def test_a_fresh_offer_does_not_cut_a_hold_short(why: Hold) -> None:
    schedule = schedule_of(ONE_AT_A_TIME, "a/poison", "a/healthy")
    assert schedule.pick(0) == ("a", "poison")
    schedule.offer("a", "poison", due=0, now=0)
    schedule.finish("a", "poison", Held(why=why, seconds=30, error="a bug: KeyError"), now=0)
    schedule.offer("a", "poison", due=1, now=1)
    assert run_all(schedule, 1) == ["a/healthy"]
    (row,) = schedule.rows("a", 1)
    assert (row.state.value, row.since, row.until, row.failures) == (why.value, 0, 30, 1)
    assert (row.failing_since, row.last_error) == (0, "a bug: KeyError")
    schedule.wake(30, at_most=9)
    assert run_all(schedule, 30) == ["a/poison"]
    assert len(schedule) == 0


def test_failures_in_a_row_are_counted_and_success_forgets_them() -> None:
    schedule = schedule_of(ONE_AT_A_TIME, "a/1")
    for failures, now in enumerate((0.0, 30.0, 60.0)):
        schedule.wake(now, at_most=9)
        assert schedule.pick(now) == ("a", "1")
        assert schedule.failures("a", "1") == failures
        schedule.offer("a", "1", due=now, now=now)
        schedule.finish("a", "1", QUARANTINE, now=now)
    schedule.wake(90, at_most=9)
    schedule.pick(90)
    schedule.offer("a", "1", due=90, now=90)
    schedule.finish("a", "1", Settled(), now=90)
    (row,) = schedule.rows(None, 90)
    assert (row.failures, row.failing_since, row.last_error, row.state) == (0, None, "", WorkState.QUEUED)


def test_what_is_missing_is_looked_for_again_and_sooner_when_offered() -> None:
    schedule = schedule_of(ONE_AT_A_TIME, "a/1", "a/2")
    for key in ("1", "2"):
        schedule.pick(0)
        schedule.finish("a", key, LookAgain(seconds=180, error="branch b: absent."), now=0)
    assert states(schedule, 0) == {"a/1": WorkState.DELAYED, "a/2": WorkState.DELAYED}
    schedule.offer("a", "2", due=5, now=5)
    assert run_all(schedule, 5) == ["a/2"]
    schedule.wake(180, at_most=9)
    assert run_all(schedule, 180) == ["a/1"]


def test_an_interrupted_run_is_queued_again() -> None:
    schedule = schedule_of(ONE_AT_A_TIME, "a/1")
    schedule.pick(0)
    schedule.interrupt("a", "1", now=1)
    assert run_all(schedule, 1) == ["a/1"]


def test_idle_keys_and_tenants_leave_nothing_behind() -> None:
    schedule = schedule_of(WorkPolicy(), *(f"t{number % 100}/{number}" for number in range(1000)))
    now = 0.0
    run_all(schedule)
    while (due := schedule.next_due()) is not None:
        now = due
        schedule.wake(now, at_most=1000)
        run_all(schedule, now)
    assert (schedule.tenants(), len(schedule), schedule.running, schedule.queued) == (0, 0, 0, 0)
    assert now < 3  # as soon as the buckets are full again


def test_waking_many_at_once_comes_in_portions() -> None:
    schedule = schedule_of(ONE_AT_A_TIME)
    for number in range(10):
        schedule.offer("a", str(number), due=1, now=0)
    assert [schedule.wake(1, at_most=6), schedule.queued] == [False, 6]
    assert [schedule.wake(1, at_most=6), schedule.queued] == [True, 10]


def test_rows_and_counts_can_be_had_for_one_tenant() -> None:
    schedule = schedule_of(ONE_AT_A_TIME, "a/1", "a/2", "b/1")
    assert [row.key for row in schedule.rows("a", 0)] == ["1", "2"]
    assert [row.key for row in schedule.rows("nobody", 0)] == []
    assert [schedule.count(name) for name in ("a", "nobody", None)] == [2, 0, 3]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30)), max_size=200))
def test_between_two_turns_of_a_waiting_tenant_every_other_gets_at_most_one(
    offers: list[tuple[str, int]],
) -> None:
    keys = [f"{tenant}/{key}" for tenant, key in offers]
    order = [key[0] for key in run_all(schedule_of(ONE_AT_A_TIME, *keys))]
    for tenant in set(order):
        last = len(order) - 1 - order[::-1].index(tenant)
        gaps = "".join(order[: last + 1]).split(tenant)
        assert all(len(set(gap)) == len(gap) for gap in gaps)


class AnyHistory(RuleBasedStateMachine):
    """Random offers, turns, ends and moments: the promises hold after each."""

    tenants = st.sampled_from(["a", "b", "c"])
    keys = st.sampled_from(["1", "2", "3"])
    policy = WorkPolicy(concurrency=3, per_tenant=2, rate=Rate(per_second=1, burst=2))

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.schedule: Schedule[str] = Schedule(self.policy)
        self.running: set[tuple[str, str]] = set()
        self.owed: dict[tuple[str, str], float] = {}  # offered, not begun since: the earliest time due
        self.held: dict[tuple[str, str], float] = {}
        self.overtaken: dict[tuple[str, str], int] = {}  # per pair: turns of the second while the first waits
        self.begun: dict[str, list[float]] = {}

    @rule(tenant=tenants, key=keys, after=st.sampled_from([0.0, 0.0, 0.5, 3.0]))
    def offer(self, tenant: str, key: str, after: float) -> None:
        self.schedule.offer(tenant, key, due=self.now + after, now=self.now)
        owed = self.owed.get((tenant, key), float("inf"))
        self.owed[tenant, key] = min(owed, self.now + after)

    @rule(seconds=st.sampled_from([0.1, 1.0, 10.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        while not self.schedule.wake(self.now, at_most=2):
            pass

    @rule()
    def pick(self) -> None:
        may_run = {row.tenant for row in self.schedule.rows(None, self.now) if row.state is WorkState.QUEUED}
        picked = self.schedule.pick(self.now)
        if picked is None:
            assert not may_run or len(self.running) == self.policy.concurrency
            return
        tenant = picked[0]
        assert picked not in self.running  # never two runs of one key
        assert self.now >= self.owed[picked]  # never early
        assert self.now >= self.held.get(picked, 0.0)  # never out of a hold
        self.running.add(picked)
        del self.owed[picked]
        self.begun.setdefault(tenant, []).append(self.now)
        for other in may_run - {tenant}:
            self.overtaken[other, tenant] = self.overtaken.get((other, tenant), 0) + 1
            assert self.overtaken[other, tenant] <= 1  # fair
        self.overtaken = {pair: turns for pair, turns in self.overtaken.items() if pair[0] != tenant}

    @precondition(lambda self: self.running)
    @rule(
        outcome=st.sampled_from([Settled(), Settled(), LookAgain(seconds=2, error="absent"), QUARANTINE]),
        which=st.integers(0, 2),
    )
    def finish(self, outcome: Outcome, which: int) -> None:
        ended = sorted(self.running)[which % len(self.running)]
        self.running.remove(ended)
        self.schedule.finish(*ended, outcome, now=self.now)
        self.held.pop(ended, None)
        match outcome:
            case Held(seconds=seconds):
                self.held[ended] = self.owed[ended] = self.now + seconds
            case LookAgain(seconds=seconds):
                self.owed[ended] = min(self.owed.get(ended, float("inf")), self.now + seconds)

    @invariant()
    def limits_hold(self) -> None:
        assert self.schedule.running == len(self.running) <= self.policy.concurrency
        for tenant in ("a", "b", "c"):
            assert sum(name == tenant for name, _ in self.running) <= self.policy.per_tenant
            starts = self.begun.get(tenant, [])
            for first, third in zip(starts, starts[2:], strict=False):
                assert third - first >= 1 - 1e-9  # two at once, then one per second

    @invariant()
    def no_offer_is_lost_and_nothing_else_is_kept(self) -> None:
        rows = {(row.tenant, row.key) for row in self.schedule.rows(None, self.now)}
        assert rows == self.owed.keys() | self.running

    def teardown(self) -> None:
        """Left to itself, everything owed is run and nothing stays."""
        for tenant, key in self.running:
            self.schedule.finish(tenant, key, Settled(), now=self.now)
        while (due := self.schedule.next_due()) is not None or self.schedule.queued:
            self.now = max(self.now, due if due is not None else self.now)
            self.schedule.wake(self.now, at_most=100)
            for run in run_all(self.schedule, self.now):
                tenant, _, key = run.partition("/")
                self.owed.pop((tenant, key), None)
        assert self.owed.keys() <= self.running
        assert (self.schedule.tenants(), len(self.schedule)) == (0, 0)


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

"""Keyed work, run fairly: what the workers do with what the schedule decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from trimtab.errors import ClusterUnreachable, InvalidSpec, Missing
from trimtab.tasks import (
    Backoff,
    KeyedWorkers,
    ManualClock,
    Rate,
    WorkPolicy,
    WorkState,
    plain_group,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = WorkPolicy(
    concurrency=2,
    per_tenant=2,
    rate=Rate(per_second=1e6, burst=1000),
    backoff=Backoff(first=timedelta(seconds=4)),
    quarantine=Backoff(first=timedelta(seconds=30), cap=timedelta(seconds=100)),
    rhythm=timedelta(seconds=180),
)
ONE_AT_A_TIME = WorkPolicy(concurrency=1, rate=Rate(per_second=1e6, burst=100_000))


class Runs:
    """Records every run; each may be held open or made to fail."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.errors: dict[str, list[BaseException]] = {}
        self.failures: list[tuple[str, Exception]] = []
        self.on_begin: Callable[[], object] = lambda: None

    def hold(self, *names: str) -> None:
        self.gates.update({name: asyncio.Event() for name in names})

    def release(self, name: str) -> None:
        self.gates.pop(name).set()

    def fail(self, name: str, *errors: BaseException) -> None:
        self.errors[name] = list(errors)

    def on_failure(self, tenant: str, key: str, error: Exception) -> None:
        self.failures.append((f"{tenant}/{key}", error))

    async def __call__(self, tenant: str, key: str) -> None:
        name = f"{tenant}/{key}"
        self.begun.append(name)
        self.on_begin()
        try:
            if name in self.gates:
                await self.gates[name].wait()
            if self.errors.get(name):
                raise self.errors[name].pop(0)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        self.ended.append(name)


class Stage:
    """Workers on a manual clock."""

    def __init__(self, policy: WorkPolicy = POLICY) -> None:
        self.clock = ManualClock(START)
        self.runs = Runs()
        self.times: list[tuple[float, float]] = []
        self.workers: KeyedWorkers[str] = KeyedWorkers(
            self.runs,
            clock=self.clock,
            on_failure=self.runs.on_failure,
            policy=policy,
            chance=lambda: 0.5,
            on_run=lambda waited, worked: self.times.append((waited, worked)),
        )

    def offer(self, *names: str, after: float = 0.0) -> None:
        for name in names:
            tenant, _, key = name.partition("/")
            assert self.workers.offer(tenant, key, after=after)

    def states(self) -> dict[str, WorkState]:
        return {f"{work.tenant}/{work.key}": work.state for work in self.workers.snapshot().work}

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.workers.work())
            await self.clock.advance(0)
            yield
            await self.clock.advance(0)
            task.cancel()


async def test_what_is_offered_is_run_before_or_after_the_workers_begin() -> None:
    stage = Stage()
    stage.offer("a/1")
    async with stage.at_work():
        stage.offer("b/1")
    assert stage.runs.ended == ["a/1", "b/1"]


async def test_one_run_per_key_at_a_time_and_one_more_for_all_offers_during_it() -> None:
    stage = Stage()
    stage.runs.hold("a/1")
    async with stage.at_work():
        stage.offer("a/1")
        await stage.clock.advance(0)
        stage.offer("a/1", "a/1", "a/1")
        await stage.clock.advance(0)
        assert stage.runs.begun == ["a/1"]
        assert stage.workers.snapshot().work[0].offered_again
        stage.runs.release("a/1")
    assert stage.runs.ended == ["a/1", "a/1"]


async def test_of_every_run_is_told_how_long_it_waited_for_its_turn_and_how_long_it_took() -> None:
    stage = Stage(replace(POLICY, concurrency=1))
    stage.runs.hold("a/1", "b/1")
    async with stage.at_work():
        stage.offer("a/1", "b/1")
        stage.offer("c/1", after=1.0)
        await stage.clock.advance(3)
        stage.runs.release("a/1")
        await stage.clock.advance(2)
        stage.runs.release("b/1")
    assert stage.times == [(0.0, 3.0), (3.0, 2.0), (4.0, 0.0)]


async def test_no_more_runs_at_once_than_allowed() -> None:
    stage = Stage()
    stage.runs.hold("a/1", "b/1", "c/1")
    async with stage.at_work():
        stage.offer("a/1", "b/1", "c/1")
        await stage.clock.advance(0)
        assert stage.runs.begun == ["a/1", "b/1"]
        stage.runs.release("b/1")
        await stage.clock.advance(0)
        assert stage.runs.begun == ["a/1", "b/1", "c/1"]


async def test_ten_thousand_offers_of_one_tenant_move_another_by_at_most_one_turn() -> None:
    stage = Stage(ONE_AT_A_TIME)
    stage.offer(*(f"flood/{number}" for number in range(10_000)))
    stage.offer("quiet/1")
    async with stage.at_work():
        await stage.clock.advance(0)
    assert stage.runs.begun.index("quiet/1") <= 1


async def test_a_tenant_over_its_rate_wakes_by_itself_and_nothing_polls_meanwhile() -> None:
    stage = Stage(WorkPolicy(rate=Rate(per_second=0.5, burst=1)))
    async with stage.at_work():
        stage.offer("a/1", "a/2")
        await stage.clock.advance(1)
        (limited,) = stage.workers.snapshot().in_state(WorkState.LIMITED)
        assert (limited.key, limited.until) == ("2", START + timedelta(seconds=2))
        assert stage.clock.sleepers() == 1
        await stage.clock.advance(1)
        assert stage.runs.begun == ["a/1", "a/2"]


async def test_a_delayed_offer_is_run_at_its_time() -> None:
    stage = Stage()
    async with stage.at_work():
        stage.offer("a/late", after=60)
        stage.offer("a/soon", after=10)
        await stage.clock.advance(59)
        assert stage.runs.begun == ["a/soon"]
        (waiting,) = stage.workers.snapshot("a").work
        assert (waiting.state, waiting.until) == (WorkState.DELAYED, START + timedelta(seconds=60))
        await stage.clock.advance(1)
        assert stage.runs.begun == ["a/soon", "a/late"]


async def test_a_run_may_offer_its_own_key_for_later() -> None:
    stage = Stage()
    at: list[float] = []

    async def look_twice(tenant: str, key: str) -> None:
        at.append(stage.clock.monotonic())
        if len(at) < 2:
            workers.offer(tenant, key, after=60)

    workers: KeyedWorkers[str] = KeyedWorkers(
        look_twice, clock=stage.clock, on_failure=stage.runs.on_failure, policy=POLICY
    )
    workers.offer("a", "1")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(workers.work())
        await stage.clock.advance(100)
        task.cancel()
    assert at == [0, 60]


@pytest.mark.parametrize("after", [float("nan"), float("inf"), 1e12])
async def test_a_delay_that_cannot_be_meant_is_refused(after: float) -> None:
    with pytest.raises(ValueError, match="a year at most"):
        Stage().workers.offer("a", "1", after=after)


async def test_a_poison_key_sits_out_alone_ever_longer_and_success_clears_it() -> None:
    stage = Stage()
    bug = KeyError("token=hunter2")
    stage.runs.fail("a/poison", bug, bug)
    async with stage.at_work():
        stage.offer("a/poison", "a/healthy")
        await stage.clock.advance(1)
        stage.offer("a/poison", "a/healthy")  # neither bypasses the quarantine nor is held up by it
        await stage.clock.advance(1)
        assert stage.runs.begun == ["a/poison", "a/healthy", "a/healthy"]
        (held,) = stage.workers.snapshot().in_state(WorkState.QUARANTINED)
        assert (held.since, held.until) == (START, START + timedelta(seconds=30))
        assert (held.failures, held.failing_since, held.last_error) == (1, START, "a bug: KeyError")
        await stage.clock.advance(28)  # the second failure, at 30 seconds
        (held,) = stage.workers.snapshot().work
        assert (held.since, held.until, held.failures) == (
            START + timedelta(seconds=30),
            START + timedelta(seconds=90),
            2,
        )
        assert held.failing_since == START
        await stage.clock.advance(61)
    assert stage.runs.ended == ["a/healthy", "a/healthy", "a/poison"]
    assert stage.runs.failures == [("a/poison", bug), ("a/poison", bug)]
    assert stage.workers.remembered() == (0, 0)


async def test_errors_of_the_house_are_retried_as_their_class_says() -> None:
    stage = Stage()
    stage.runs.fail("a/invalid", InvalidSpec("app a", "no source"))
    stage.runs.fail("a/missing", Missing("branch b", "absent"))
    stage.runs.fail("a/away", ClusterUnreachable("cluster c", "no answer"))
    async with stage.at_work():
        stage.offer("a/invalid", "a/missing", "a/away")
        await stage.clock.advance(1)
        assert stage.states() == {"a/missing": WorkState.DELAYED, "a/away": WorkState.BACKING_OFF}
        await stage.clock.advance(2)
        assert stage.states() == {"a/missing": WorkState.DELAYED}
        await stage.clock.advance(180)
    assert stage.runs.ended == ["a/away", "a/missing"]
    assert [name for name, _ in stage.runs.failures] == ["a/invalid", "a/missing", "a/away"]


async def test_a_cancellation_from_inside_a_run_is_a_bug_of_that_key_and_frees_its_place() -> None:
    stage = Stage(ONE_AT_A_TIME)
    stage.runs.fail("a/1", asyncio.CancelledError())
    async with stage.at_work():
        stage.offer("a/1", "b/1")
        await stage.clock.advance(1)
        assert stage.states() == {"a/1": WorkState.QUARANTINED}
        assert stage.runs.ended == ["b/1"]
    assert "nobody asked" in str(stage.runs.failures[0][1])


async def test_a_run_that_meets_a_group_that_ends_is_no_bug_and_the_next_start_takes_it_up() -> None:
    stage = Stage()
    async with plain_group() as over:
        pass
    with pytest.raises(asyncio.CancelledError) as met:
        over.create_task(asyncio.sleep(0))
    stage.runs.fail("a/1", met.value)
    async with stage.at_work():
        stage.offer("a/1")
    assert (stage.runs.failures, stage.runs.ended) == ([], [])
    async with stage.at_work():
        await stage.clock.advance(1)
    assert (stage.runs.failures, stage.runs.ended) == ([], ["a/1"])


async def test_stopping_lets_runs_end_starts_no_more_and_refuses_offers() -> None:
    stage = Stage(ONE_AT_A_TIME)
    stage.runs.hold("a/1")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stage.workers.work())
        stage.offer("a/1", "a/2")
        await stage.clock.advance(0)
        stage.workers.stop()
        assert stage.workers.offer("a", "3") is False
        await stage.clock.advance(0)
        assert not task.done()
        stage.runs.release("a/1")
    assert stage.runs.ended == ["a/1"]
    assert stage.states() == {"a/2": WorkState.QUEUED}


async def test_draining_runs_what_is_queued_and_leaves_what_waits_for_a_time() -> None:
    stage = Stage(ONE_AT_A_TIME)
    stage.offer("a/1", "a/2", "b/1")
    stage.offer("a/later", after=60)
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.workers.work())
        stage.workers.stop(drain=True)
    assert sorted(stage.runs.ended) == ["a/1", "a/2", "b/1"]
    assert stage.states() == {"a/later": WorkState.DELAYED}
    assert stage.clock.sleepers() == 0


async def test_cancelling_cancels_runs_and_the_next_start_takes_them_up() -> None:
    stage = Stage()
    stage.runs.hold("a/1", "b/1")
    async with stage.at_work():
        stage.offer("a/1", "b/1", "c/1")
        await stage.clock.advance(0)
    assert sorted(stage.runs.cancelled) == ["a/1", "b/1"]
    assert set(stage.states().values()) == {WorkState.QUEUED}
    stage.runs.gates.clear()
    async with stage.at_work():
        pass
    assert sorted(stage.runs.ended) == ["a/1", "b/1", "c/1"]


async def test_an_error_of_the_failure_hook_ends_the_workers_and_loses_nothing() -> None:
    stage = Stage()
    stage.runs.fail("a/1", KeyError("bug"))

    def stumble(tenant: str, key: str, error: Exception) -> None:
        raise OSError("the log is full")

    workers: KeyedWorkers[str] = KeyedWorkers(
        stage.runs, clock=stage.clock, on_failure=stumble, policy=POLICY
    )
    for key in ("1", "2", "3"):
        workers.offer("a", key)
    with pytest.raises(OSError, match="the log is full"):
        await workers.work()
    left = {work.key for work in workers.snapshot().work} | {name[2:] for name in stage.runs.ended}
    assert left == {"1", "2", "3"}
    assert workers.snapshot().in_state(WorkState.RUNNING) == ()


async def test_a_place_that_is_free_again_needs_no_new_task() -> None:
    stage, tasks = Stage(ONE_AT_A_TIME), list[object]()
    stage.runs.on_begin = lambda: tasks.append(asyncio.current_task())
    stage.offer("a/1", "b/1", "a/2")
    async with stage.at_work():
        pass
    assert stage.runs.ended == ["a/1", "b/1", "a/2"]
    assert len(tasks) == 3
    assert len(set(tasks)) == 1


async def test_runs_that_wait_for_nothing_leave_a_turn_to_others_between_two_of_them() -> None:
    stage, seen = Stage(ONE_AT_A_TIME), list[int]()
    stage.runs.on_begin = lambda: asyncio.get_running_loop().call_soon(
        lambda: seen.append(len(stage.runs.begun))
    )
    stage.offer("a/1", "a/2", "a/3")
    async with stage.at_work():
        pass
    assert seen == [1, 2, 3]


async def test_the_same_workers_cannot_be_at_work_twice() -> None:
    stage = Stage()
    async with stage.at_work():
        with pytest.raises(RuntimeError, match="already at work"):
            await stage.workers.work()


async def test_a_snapshot_is_bounded_says_what_it_left_out_and_shows_one_tenant_only_its_own() -> None:
    stage = Stage()
    stage.offer(*(f"a/{number}" for number in range(50)), "b/1")
    snapshot = stage.workers.snapshot(at_most=10)
    assert (len(snapshot.work), snapshot.left_out, snapshot.taken_at) == (10, 41, START)
    assert {work.tenant for work in stage.workers.snapshot("b").work} == {"b"}


async def test_idle_tenants_and_keys_leave_nothing_behind() -> None:
    stage = Stage(WorkPolicy(concurrency=16, rate=Rate(per_second=10, burst=5)))
    async with stage.at_work():
        stage.offer(*(f"t{number % 50}/{number}" for number in range(500)))
        await stage.clock.advance(0.9)  # after ten runs a bucket is full again at 1
        assert stage.workers.remembered()[0] == 50
        await stage.clock.advance(1.1)
        assert len(stage.runs.ended) == 500
        assert stage.workers.remembered() == (0, 0)
        assert stage.clock.sleepers() == 0


steps = st.one_of(
    st.tuples(
        st.just("offer"), st.sampled_from(["a/1", "a/2", "b/1", "c/1"]), st.sampled_from([0.0, 0.7, 5.0])
    ),
    st.tuples(st.just("move"), st.just(""), st.sampled_from([0.0, 0.3, 2.0])),
)


class Watched:
    """Runs that take time and sometimes fail; notes when each key is offered and begins."""

    def __init__(self, clock: ManualClock, failing: set[int]) -> None:
        self.clock = clock
        self.running: set[str] = set()
        self.begun: dict[str, list[float]] = {}
        self._failing = failing
        self._count = 0

    async def __call__(self, tenant: str, key: str) -> None:
        name = f"{tenant}/{key}"
        assert name not in self.running
        self.running.add(name)
        self.begun.setdefault(name, []).append(self.clock.monotonic())
        self._count += 1
        failing = self._count in self._failing
        try:
            await self.clock.sleep(0.5)
        finally:
            self.running.remove(name)
        if failing:
            raise KeyError("bug")


@settings(max_examples=40, deadline=None)
@given(history=st.lists(steps, max_size=25), failing=st.sets(st.integers(1, 12), max_size=4))
def test_in_any_history_no_key_runs_twice_at_once_and_no_offer_is_lost(
    history: list[tuple[str, str, float]], failing: set[int]
) -> None:
    async def tell() -> None:
        clock = ManualClock()
        watched = Watched(clock, failing)
        bugs: list[Exception] = []
        policy = WorkPolicy(concurrency=2, rate=Rate(per_second=2, burst=2))
        workers: KeyedWorkers[str] = KeyedWorkers(
            watched, clock=clock, on_failure=lambda _, __, error: bugs.append(error), policy=policy
        )
        offered: dict[str, float] = {}
        async with asyncio.TaskGroup() as group:
            task = group.create_task(workers.work())
            for step, name, seconds in history:
                if step == "offer":
                    tenant, _, key = name.partition("/")
                    workers.offer(tenant, key, after=seconds)
                    offered[name] = clock.monotonic()
                else:
                    await clock.advance(seconds)
            await clock.advance(10_000)
            task.cancel()
        assert all(isinstance(bug, KeyError) for bug in bugs)
        assert offered.keys() == watched.begun.keys()
        assert all(watched.begun[name][-1] >= last for name, last in offered.items())
        assert workers.remembered() == (0, 0)

    asyncio.run(tell())

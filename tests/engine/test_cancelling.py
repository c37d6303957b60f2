"""An engine that is cancelled at any of its suspensions leaves everything whole; the next one finishes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from typing import Any

from tests.contract.behaviours.stage import add_namespace
from tests.engine.stage import Stage, config_map, job, running
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.apiserver.store import Change, ChangeType
from trimtab.engine.events import UnitQuarantined
from trimtab.engine.operations import Operation, OperationPhase
from trimtab.engine.rows import Verdict

BEFORE = [config_map("kept"), config_map("gone")]
AFTER = [
    config_map("kept", "2"),
    config_map("new", sync_wave="1"),
    job("before", hook="PreSync"),
    job("after", hook="PostSync", hook_delete_policy="HookSucceeded"),
]
PRUNING = Operation(prune=True)


class Suspensions:
    """Counts the suspensions of every task that is made while it counts, and acts at one of them."""

    def __init__(self, nth: int) -> None:
        self.nth, self.seen = nth, 0
        self.act: Callable[[], object] | None = None

    @asynccontextmanager
    async def counted(self, act: Callable[[], object]) -> AsyncIterator[None]:
        self.act = act
        loop = asyncio.get_running_loop()
        loop.set_task_factory(self._task)
        try:
            yield
        finally:
            loop.set_task_factory(None)

    def _task(self, loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_Counted(work, self._hear), loop=loop, **options)

    def _hear(self) -> None:
        self.seen += 1
        if self.seen == self.nth and self.act is not None:
            self.act()


class _Counted(Coroutine[Any, Any, Any]):
    """A coroutine that tells of each of its suspensions."""

    def __init__(self, work: Coroutine[Any, Any, Any], told: Callable[[], None]) -> None:
        self._work, self._told = work, told

    def send(self, value: Any) -> Any:
        awaited = self._work.send(value)
        self._told()
        return awaited

    def throw(self, *raised: Any) -> Any:
        awaited = self._work.throw(*raised)
        self._told()
        return awaited

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()


class Audit:
    """Counts the Jobs that are made."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()

    def hear(self, change: Change) -> None:
        if change.type is ChangeType.ADDED and "jobs" in change.collection:
            self.made[change.entry.key.rpartition("/")[2]] += 1


async def cancelled_at(nth: int) -> tuple[dict[str, Any], int]:
    """How everything stands after an engine was cancelled there and another one has come; the suspensions."""
    cluster, audit, suspensions = MemoryCluster(), Audit(), Suspensions(nth)
    async with behaviours_of(cluster, timing=AT_ONCE) as behaviours:
        await add_namespace(cluster, "shop")
        await behaviours.settled()
        stage = Stage(cluster, "shop")
        await stage.add("web", *BEFORE)
        async with running(stage.engine):
            await stage.engine.sync("web", PRUNING)
            await stage.engine.start_sync("web", PRUNING)
        cluster.api.store.subscribe(audit.hear)
        stage.sources.declare("web", *AFTER)
        await first_life(stage, suspensions)
        stage.engine = stage.new_engine()
        async with running(stage.engine) as engine:
            state = await engine.wait_for_sync("web")
            unit = await engine.refresh("web")
        assert (state.phase, unit.status.verdict) == (OperationPhase.SUCCEEDED, Verdict.SYNCED)
        return await told(stage, audit), suspensions.seen


async def first_life(stage: Stage, suspensions: Suspensions) -> None:
    """An engine that finds an operation in its store, and is cancelled when it is time."""
    stage.engine = stage.new_engine()
    async with asyncio.TaskGroup() as group:
        ended = asyncio.Event()
        async with suspensions.counted(ended.set):
            life = group.create_task(stage.engine.run(2, 2))
            stage.engine.on_sync_completed(lambda *_: ended.set())
            await ended.wait()
            life.cancel()
            await asyncio.wait({life})


async def told(stage: Stage, audit: Audit) -> dict[str, Any]:
    jobs = await stage.names("Job")
    finalizers = [(await stage.get("Job", name) or {})["metadata"].get("finalizers") for name in jobs]
    return {
        "maps": await stage.names("ConfigMap") - {"kube-root-ca.crt"},
        "jobs": jobs,
        "held": any(finalizers),
        "runs": audit.made,
        "quarantined": stage.events(UnitQuarantined),
    }


async def test_wherever_an_engine_is_cancelled_the_next_one_finishes_and_nothing_is_done_twice() -> None:
    undisturbed, suspensions = await cancelled_at(0)
    assert undisturbed == {
        "maps": {"kept", "new"},
        "jobs": {"before"},
        "held": False,
        "runs": Counter({"before": 1, "after": 1}),
        "quarantined": [],
    }
    assert suspensions > 50
    for part in range(1, 8):
        nth = suspensions * part // 8
        assert (await cancelled_at(nth))[0] == undisturbed, f"cancelled at suspension {nth}"

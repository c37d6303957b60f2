"""jq paths in ignore rules: run where they can be killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, cast

import pytest

from tests.engine.compare.world import World
from tests.kube.world import deployment
from trimtab.engine.compare.ignoring import IgnoreRule, Rules
from trimtab.engine.compare.jq import CHECKED_AGAIN_AFTER, CHECKS, STRIKES, WORKERS, JqPaths
from trimtab.engine.rows import Verdict
from trimtab.kube.cluster import PatchType, Write
from trimtab.tasks import WorkerCrashed, WorkerProcesses
from trimtab.tasks.clock import ManualClock

ENDLESS = "last(repeat(.))"
GREEDY = "reduce range(60) as $n ([1]; . + .) | .[0]"
OBJECT = {"spec": {"items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}, "secret": "canary"}


@pytest.fixture
async def pool() -> AsyncIterator[WorkerProcesses]:
    """The workers that an engine has."""
    async with WorkerProcesses(WORKERS) as pool:
        yield pool


@pytest.fixture
def jq(pool: WorkerProcesses) -> JqPaths:
    """With the usual limit: it counts the time that jq runs, not that of a busy machine."""
    return JqPaths(pool)


async def test_what_a_path_names_is_taken_out_of_every_object(jq: JqPaths) -> None:
    expression = '.spec.items[] | select(.name == "b") | .n'
    found = await jq.without((OBJECT, {"spec": {"items": []}}), [expression])
    assert found == [
        {**OBJECT, "spec": {"items": [{"name": "a", "n": 1}, {"name": "b"}]}},
        {"spec": {"items": []}},
    ]


async def test_several_paths_are_taken_out_one_after_the_other(jq: JqPaths) -> None:
    assert await jq.without((OBJECT,), [".spec", ".secret", ".nowhere"]) == [{}]
    assert await jq.without((OBJECT,), []) == (OBJECT,)


@pytest.mark.fact("D34")
async def test_an_expression_that_cannot_be_read_is_told(jq: JqPaths) -> None:
    bad = await jq.bad([".a[", ".b", "$nowhere"])
    assert set(bad) == {".a[", "$nowhere"}
    assert "syntax error" in bad[".a["]
    assert await jq.bad([".a["]) == {".a[": bad[".a["]}


class Mortal:
    """Workers that end before they answer, so many times."""

    def __init__(self, pool: WorkerProcesses, deaths: int) -> None:
        self._pool, self.deaths, self.asked = pool, deaths, 0

    async def run(self, *job: Any, **limits: Any) -> bytes:
        self.asked += 1
        if self.asked <= self.deaths:
            raise WorkerCrashed("a worker process", "it was killed")
        return await self._pool.run(*job, **limits)


async def test_an_expression_whose_worker_ended_is_checked_again_at_once(pool: WorkerProcesses) -> None:
    mortal = Mortal(pool, deaths=1)
    assert await JqPaths(cast(WorkerProcesses, mortal)).bad([".a"]) == {}
    assert mortal.asked == 2


async def test_that_workers_ended_is_not_remembered_of_an_expression(pool: WorkerProcesses) -> None:
    mortal, clock = Mortal(pool, deaths=CHECKS), ManualClock()
    jq = JqPaths(cast(WorkerProcesses, mortal), clock=clock)
    told = {".a": "whether it can be compiled is not known: it was killed"}
    assert await jq.bad([".a"]) == told
    assert await jq.bad([".a"]) == told
    assert mortal.asked == CHECKS, "what ends workers does not do so at every look"
    await clock.advance(CHECKED_AGAIN_AFTER)
    assert await jq.bad([".a"]) == {}
    assert await jq.bad([".a"]) == {}
    assert mortal.asked == CHECKS + 1, "what was found is remembered"


@pytest.mark.fact("D35")
@pytest.mark.parametrize(
    "expression",
    [
        'error("canary")',
        ".spec.items.x",
        ".spec) , (.b",
        "empty) | (empty",
        ".",
        "..",
        '.spec) | "text" | (.',
        ".spec) | .secret = 5 | (.",
        "getpath([null])",
        ".spec.items[.spec.items]",
        "(.spec.items | length)",
    ],
)
async def test_an_expression_that_fails_or_answers_not_once_is_passed_over_alone(
    jq: JqPaths, expression: str
) -> None:
    (found,) = await jq.without((OBJECT,), [expression, ".secret"])
    assert found == {"spec": OBJECT["spec"]}


async def test_numbers_stay_as_they_are_beside_what_is_taken_out(jq: JqPaths) -> None:
    numbers = {"large": 9007199254740993, "next": 9007199254740992, "whole": 1.0, "id": 12345678901234567890}
    (found,) = await jq.without(({**numbers, "a": 1},), [".a"])
    assert found == numbers
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in numbers.items()
    }


@pytest.mark.fact("D35")
async def test_an_endless_expression_is_stopped_and_put_aside_after_some_tries(pool: WorkerProcesses) -> None:
    hasty = JqPaths(pool, limit=timedelta(seconds=0.2))
    for _ in range(STRIKES):
        assert hasty.put_aside([ENDLESS]) == ()
        assert await hasty.without((OBJECT,), [ENDLESS]) == (OBJECT,)
    (told,) = hasty.put_aside([ENDLESS, ".fine"])
    assert told.startswith(f"ignore rule {ENDLESS!r}: it was not done within 0.2 s")
    before = pool.snapshot()
    assert await hasty.without((OBJECT,), [ENDLESS]) == (OBJECT,)
    assert pool.snapshot() == before, "nothing was run"
    patient = JqPaths(pool)
    assert await patient.without(({"a": 1},), [".a"]) == [{}], "others find a worker again"


async def test_an_expression_that_eats_memory_ends_with_its_worker(jq: JqPaths) -> None:
    assert await jq.without((OBJECT,), [GREEDY]) == (OBJECT,)
    assert await jq.without(({"a": 1},), [".a"]) == [{}]


@pytest.mark.parametrize("expression", ["$ENV", "env", "input", "halt", "input_filename", "$__prog_args"])
async def test_the_world_outside_is_out_of_reach(jq: JqPaths, expression: str) -> None:
    if not await jq.bad([expression]):
        assert list(await jq.without((OBJECT,), [expression])) == [OBJECT]


async def scaled(world: World) -> Any:
    wanted = world.wanted(deployment("web"))
    await world.apply(wanted)
    await world.cluster.patch(
        world.resource(deployment("web")),
        "web",
        {"spec": {"replicas": 5}},
        how=PatchType.MERGE,
        namespace=world.namespace,
        write=Write(manager="somebody"),
    )
    return wanted


def rules(*expressions: str) -> Rules:
    return Rules([IgnoreRule(group="apps", kind="Deployment", jq_path_expressions=expressions)])


async def test_a_unit_is_compared_without_what_a_path_names(world: World, jq: JqPaths) -> None:
    with_jq = world.anew(jq=jq)
    wanted = await scaled(with_jq)
    assert (await with_jq.rows(wanted, rules(".spec.replicas")))["Deployment web"].verdict is Verdict.SYNCED
    assert (await with_jq.rows(wanted, rules(".spec.paused")))[
        "Deployment web"
    ].verdict is Verdict.OUT_OF_SYNC
    again = await with_jq.rows(wanted, rules(".spec.paused"))
    assert again["Deployment web"].verdict is Verdict.OUT_OF_SYNC
    assert with_jq.counting.asked == ["dry-run Deployment web"]


@pytest.mark.fact("D34")
async def test_a_bad_expression_is_reported_on_the_unit(world: World, jq: JqPaths) -> None:
    with_jq = world.anew(jq=jq)
    wanted = await scaled(with_jq)
    found = await with_jq.compare(wanted, rules(".spec["))
    assert found.problems[0].startswith("ignore rule '.spec[': jq: error: syntax error")
    assert [row.verdict for row in found.rows] == [Verdict.UNKNOWN]


async def test_without_workers_expressions_cannot_be_judged(world: World) -> None:
    wanted = await scaled(world)
    found = await world.compare(wanted, rules(".spec.replicas"))
    assert found.problems == ("ignore rule '.spec.replicas': jq is not available here",)
    assert [row.verdict for row in found.rows] == [Verdict.UNKNOWN]


async def test_a_slow_expression_is_reported_on_the_unit_and_the_comparison_goes_on(
    world: World, pool: WorkerProcesses
) -> None:
    with_jq = world.anew(jq=JqPaths(pool, limit=timedelta(seconds=0.2)))
    wanted = await scaled(with_jq)
    problems: list[int] = []
    for number in range(4):
        found = await with_jq.compare(wanted, rules(ENDLESS, f".x{number}"))
        assert [row.verdict for row in found.rows] == [Verdict.OUT_OF_SYNC]
        problems.append(len(found.problems))
    assert (problems[0], problems[-1]) == (0, 1)

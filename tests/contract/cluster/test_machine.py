"""Random histories, played to two clusters at once: nobody can tell them apart, and a liar is found out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.contract.cluster.machine import Twins
from tests.contract.cluster.worlds import World, http_world, memory_world, real_world
from trimtab.kube.cluster import Cluster, EventType

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane

EXAMPLES = 20
STEPS = 18


@pytest.fixture
def examples(pytestconfig: pytest.Config) -> int:
    """How many histories to play; with `--examples` more of them, and other ones each time."""
    return int(pytestconfig.getoption("examples", default=0) or 0)


@pytest.mark.real
@pytest.mark.timeout(0)
def test_the_embedded_cluster_cannot_be_told_from_the_real_one(
    quiet_plane: ControlPlane, examples: int
) -> None:
    with worlds(real_world(quiet_plane), memory_world()) as (runner, left, right):
        play(runner, left, right, examples)


@pytest.mark.timeout(0)
def test_it_is_the_same_in_process_and_over_http(examples: int) -> None:
    with worlds(memory_world(), http_world()) as (runner, left, right):
        play(runner, left, right, examples, most=5)


@pytest.mark.real
def test_the_real_one_cannot_be_told_from_itself(quiet_plane: ControlPlane) -> None:
    with worlds(real_world(quiet_plane), real_world(quiet_plane)) as (runner, left, right):
        play(runner, left, right, most=3)


class Meek:
    """A cluster that never dares to force."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def apply(self, *args: Any, force: bool = False, **kwargs: Any) -> Any:
        return await self._cluster.apply(*args, force=False, **kwargs)


class Forgetful(Meek):
    """A cluster that does everything right and leaves deletions out of its watches."""

    async def apply(self, *args: Any, force: bool = False, **kwargs: Any) -> Any:
        return await self._cluster.apply(*args, force=force, **kwargs)

    def watch(self, resource: Any, **options: Any) -> Any:
        return _without_deletions(self._cluster.watch(resource, **options))


@asynccontextmanager
async def _without_deletions(watching: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    async with watching as events:
        yield (event async for event in events if event.type is not EventType.DELETED)


@pytest.mark.parametrize("liar", [Meek, Forgetful])
def test_a_planted_difference_is_found(liar: type[Meek]) -> None:
    with worlds(memory_world(), memory_world()) as (runner, left, right):
        lying: Any = liar(right.cluster)
        with pytest.raises(AssertionError, match="expected"):
            play(runner, left, World(lying, right.forget), most=60)


def play(
    runner: asyncio.Runner,
    left: World,
    right: World,
    examples: int = 0,
    *,
    most: int = EXAMPLES,
) -> None:
    chosen = settings(
        max_examples=examples or most,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=not examples,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if examples else [Phase.generate],
    )

    class Pair(Twins):
        def __init__(self) -> None:
            super().__init__(runner, left, right)

    run_state_machine_as_test(Pair, settings=chosen)


@contextmanager
def worlds(
    *made: AbstractAsyncContextManager[World],
) -> Iterator[tuple[asyncio.Runner, World, World]]:
    """Two worlds and what runs them."""
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        left, right = [runner.run(stack.enter_async_context(each)) for each in made]
        try:
            yield runner, left, right
        finally:
            runner.run(stack.aclose())

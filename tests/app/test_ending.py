"""What is under way is ended by anybody: while somebody works on it, and after they died."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from tests.app.world import Json, Mortal, World, config_map, died
from trimtab.app.apps import SyncFailed
from trimtab.app.patience import NotEnded, ended
from trimtab.engine.events import OperationWaits, UnitEvent
from trimtab.engine.operations import Operation, OperationPhase, OperationState

#: a hook that never ends: nothing runs Jobs here
GATE: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "gate", "annotations": {"trimtab.dev/hook": "PreSync"}},
    "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "gate", "image": "gate"}]}}
    },
}


async def sync_until_it_waits(world: World, mortal: object | None, waits: asyncio.Event) -> None:
    """Somebody syncs the app and waits at the gate."""
    apps = await world.apps(mortal, who="bob@desk (process 7)")

    def hear(_app: str, event: UnitEvent) -> None:
        if isinstance(event, OperationWaits):
            waits.set()

    async with apps.work_on(await world.unit("shop")) as work:
        work.engine.on_unit_event(hear)
        plan = await work.plan(Operation())
        await work.carry_out(Operation(), plan, consent=True, held=lambda _: None)


async def end(world: World) -> tuple[OperationState, list[str]]:
    """Somebody else ends it; who held the app then."""
    held: list[str] = []
    async with (await world.apps()).work_on(await world.unit("shop"), narrowly=True) as work:
        return await work.end(held=held.append), held


async def test_a_sync_that_somebody_waits_for_ends_when_another_process_asks() -> None:
    world, waits = World(), asyncio.Event()
    world.sources.declare("shop", GATE, config_map("settings"))
    async with asyncio.TaskGroup() as group:
        bob = group.create_task(_outcome(sync_until_it_waits(world, None, waits)))
        await waits.wait()
        state, held = await end(world)
    assert (state.phase, held) == (OperationPhase.FAILED, ["bob@desk (process 7)"])
    assert "the operation was terminated" in bob.result()
    assert (await world.unit("shop")).operation is None
    assert (await world.names("Job"), await world.values()) == ([], {})


async def test_who_does_not_let_go_in_time_is_named_and_the_operation_stays_told_to_end() -> None:
    world, waits, forever = World(), asyncio.Event(), asyncio.Event()
    world.sources.declare("shop", GATE)
    async with asyncio.TaskGroup() as group:
        bob = group.create_task(sync_until_it_waits(world, None, waits))
        await waits.wait()
        bob.cancel()
    hung, holds = await world.apps(who="eve@desk (process 9)"), asyncio.Event()

    async def hang() -> None:
        holds.set()
        await forever.wait()

    async with asyncio.TaskGroup() as group:
        eve = group.create_task(hung.alone("shop", hang, lambda _: None))
        await holds.wait()
        with pytest.raises(NotEnded) as late:
            async with (await world.apps()).work_on(await world.unit("shop")) as work:
                await ended(work, 0.2, lambda _: None)
        eve.cancel()
    reason = (
        "its operation has not ended within 0.2 s: it waits for eve@desk (process 9), who works on the app"
    )
    assert late.value.reason == reason
    operation = (await world.unit("shop")).operation
    assert operation is not None
    assert operation.ended_by


async def _outcome(work: Awaitable[None]) -> str:
    with pytest.raises(SyncFailed) as raised:
        await work
    return str(raised.value)


async def test_what_a_dead_process_left_is_ended_without_its_source() -> None:
    write = 1
    while True:
        world = World()
        world.sources.declare("shop", GATE, config_map("settings"))
        waits, mortal = asyncio.Event(), Mortal(world.cluster, write)

        async def act(mortal: Mortal, world: World = world, waits: asyncio.Event = waits) -> None:
            async with asyncio.TaskGroup() as group:
                life = group.create_task(sync_until_it_waits(world, mortal, waits))
                await waits.wait()
                life.cancel()

        if not await died(act, mortal):
            break
        write += 1
        await world.bury()
        world.sources.is_down = True
        if (await world.unit("shop")).operation is not None:
            state, _ = await end(world)
            assert state.phase is OperationPhase.FAILED, f"after write {write}"
        assert (await world.unit("shop")).operation is None
        assert (await world.names("Job"), await world.values()) == ([], {}), f"after write {write}"
    assert write > 5

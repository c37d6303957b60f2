"""The gate: so many pages at once, and nobody keeps a place by being slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from tests.engine.cache.objects import CONFIG_MAPS, PODS
from trimtab.engine.cache.gate import Gate
from trimtab.kube.objects import Page

if TYPE_CHECKING:
    from trimtab.kube.cluster import Collections
    from trimtab.kube.discovery import Resource

PATIENT, IMPATIENT = timedelta(seconds=60), timedelta(milliseconds=5)


class Slow:
    """Lists of two pages, each given when the test allows; counts who waits for one."""

    def __init__(self) -> None:
        self.waiting = self.most = 0
        self.allowed = asyncio.Event()
        self.closed = 0

    async def list(self, resource: Resource, **_: object) -> AsyncGenerator[Page]:
        try:
            for number in range(2):
                self.waiting += 1
                self.most = max(self.most, self.waiting)
                if resource is CONFIG_MAPS:
                    await self.allowed.wait()
                else:
                    await asyncio.sleep(0)
                self.waiting -= 1
                yield Page(objects=(), resource_version=str(number), continue_token="", remaining=None)
        finally:
            self.closed += 1


async def read(gate: Gate, resource: Resource) -> list[str]:
    return [page.resource_version async for page in gate.list(resource)]


async def test_no_more_pages_are_asked_for_at_once_than_there_are_places() -> None:
    slow = Slow()
    gate = Gate(cast("Collections", slow), 2, PATIENT)
    async with asyncio.TaskGroup() as room:
        readers = [room.create_task(read(gate, PODS)) for _ in range(7)]
    assert [reader.result() for reader in readers] == [["0", "1"]] * 7
    assert (slow.most, slow.closed) == (2, 7)


async def test_a_place_is_free_again_when_patience_with_a_slow_page_ends() -> None:
    slow = Slow()
    gate = Gate(cast("Collections", slow), 1, IMPATIENT)
    async with asyncio.TaskGroup() as room:
        hanging = room.create_task(read(gate, CONFIG_MAPS))
        assert await read(gate, PODS) == ["0", "1"]
        assert not hanging.done()
        slow.allowed.set()
    assert hanging.result() == ["0", "1"]


async def test_a_reader_that_is_stopped_gives_its_place_back() -> None:
    slow = Slow()
    gate = Gate(cast("Collections", slow), 1, PATIENT)
    async with asyncio.TaskGroup() as room:
        hanging = room.create_task(read(gate, CONFIG_MAPS))
        await asyncio.sleep(0)
        hanging.cancel()
        assert await read(gate, PODS) == ["0", "1"]
    assert slow.closed == 2

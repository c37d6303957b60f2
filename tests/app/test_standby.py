"""What is opened when it is first asked for: once, by one task, and closed with its block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from trimtab.app.standby import on_standby
from trimtab.errors import Missing


class Shop:
    """Something to open."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.error: Exception | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        if self.error is not None:
            raise self.error
        self.told.append("opened")
        try:
            async with asyncio.TaskGroup():  # which has to be left by the task that entered it
                yield "bread"
        finally:
            self.told.append("closed")


async def test_what_nobody_asks_for_is_never_opened() -> None:
    shop = Shop()
    async with on_standby(shop.open):
        pass
    assert shop.told == []


async def test_it_is_opened_once_for_all_who_ask_and_closed_at_the_end() -> None:
    shop = Shop()
    async with on_standby(shop.open) as standby:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(standby.get()) for _ in range(3)]
        assert [each.result() for each in asked] == ["bread"] * 3
        assert (await standby.get(), shop.told) == ("bread", ["opened"])
    assert shop.told == ["opened", "closed"]


async def test_what_cannot_be_opened_is_said_to_who_asks_and_tried_again() -> None:
    shop = Shop()
    async with on_standby(shop.open) as standby:
        shop.error = Missing("git", "it is not installed")
        with pytest.raises(Missing, match="it is not installed"):
            await standby.get()
        shop.error = None
        assert await standby.get() == "bread"

"""Things that are made ready when they are first asked for, and closed with the room they belong to.

What is opened belongs to one task, which opens it, keeps it and closes it: whoever asks may be any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Generic, TypeVar

from trimtab.tasks import plain_group

T = TypeVar("T")


class Standby(Generic[T]):
    """Something that is opened when somebody asks for it; one that could not be opened is tried again."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._waiting: list[asyncio.Future[T]] = []
        self._opened: T | None = None

    async def get(self) -> T:
        """The thing itself, or the error that keeps it from being opened."""
        if self._opened is not None:
            return self._opened
        waiter: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._asked.set()
        return await waiter

    async def keep(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        """Open it when it is asked for, and keep it open until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                await self._serve(opening())
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                for waiter in self._answered():
                    waiter.set_exception(error)

    async def _serve(self, opening: AbstractAsyncContextManager[T]) -> None:
        async with opening as opened:
            self._opened = opened
            for waiter in self._answered():
                waiter.set_result(opened)
            try:
                await asyncio.Event().wait()
            finally:
                self._opened = None

    def _answered(self) -> list[asyncio.Future[T]]:
        waiting, self._waiting = self._waiting, []
        return [waiter for waiter in waiting if not waiter.done()]


@asynccontextmanager
async def on_standby(
    opening: Callable[[], AbstractAsyncContextManager[T]],
) -> AsyncIterator[Standby[T]]:
    """Something that costs nothing until somebody asks for it, for the length of the block."""
    standby: Standby[T] = Standby()
    async with plain_group() as group:
        keeper = group.create_task(standby.keep(opening))
        try:
            yield standby
        finally:
            keeper.cancel()

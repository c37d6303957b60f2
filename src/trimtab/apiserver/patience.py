"""Waiting for a version that is to come, as long as the real server does before it refuses it.

Only whoever speaks HTTP is made to wait: in process, where the clock may stand still, the refusal comes at
once.
"""

from __future__ import annotations

import asyncio

from trimtab.apiserver.store import Change, Store
from trimtab.tasks import plain_group
from trimtab.tasks.clock import Clock

PATIENCE = 3.0  # seconds


async def come_to(version: int, store: Store, clock: Clock) -> None:
    """Return when the store has come to a version, or when nobody waits for it any longer."""
    over = asyncio.Event()

    def heard(change: Change) -> None:
        if change.revision >= version:
            over.set()

    async def give_up() -> None:
        await clock.sleep(PATIENCE)
        over.set()

    close = store.subscribe(heard)
    try:
        async with plain_group() as group:
            waiting = group.create_task(give_up())
            await over.wait()
            waiting.cancel()
    finally:
        close()

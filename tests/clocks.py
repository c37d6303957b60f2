"""Clocks for tests that wait for nothing."""

from __future__ import annotations

import asyncio

from trimtab.tasks.clock import SystemClock


class HurriedClock(SystemClock):
    """The machine's own time, on which nobody waits: what takes its time elsewhere is over at once."""

    async def sleep(self, seconds: float) -> None:
        """Let others have a turn."""
        await asyncio.sleep(0)

"""A clock on which waits are over as soon as they begin, and take their time all the same."""

from __future__ import annotations

from trimtab.tasks import ManualClock


class Leaping(ManualClock):
    """Whoever sleeps on it wakes at once, later."""

    async def sleep(self, seconds: float) -> None:
        await self.advance(seconds)

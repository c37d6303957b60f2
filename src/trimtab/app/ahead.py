"""Manifests that are made before anybody asks for them, while there is still something else to wait for."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from trimtab.engine.units import Generated, ManifestGenerator, SyncUnit
from trimtab.errors import TrimtabError


class Ahead:
    """Makes the manifests of one unit beforehand; who asks for them first is given those, or their error.

    They are of one revision, or of the one that the source names. Whatever else is asked for, and
    whatever is asked for again, is made when it is asked for.
    """

    def __init__(self, manifests: ManifestGenerator, unit: SyncUnit, revision: str = "") -> None:
        self._manifests = manifests
        self._unit, self._revision = unit, revision
        self._made: asyncio.Future[Generated] | None = None

    async def begin(self) -> None:
        """Make them."""
        made = self._made = self._made or asyncio.get_running_loop().create_future()
        try:
            made.set_result(await self._manifests.generate(self._unit, self._revision))
        except TrimtabError as error:
            made.set_exception(error)
            made.exception()  # it may be that nobody asks
        finally:
            made.cancel()

    async def peek(self) -> Generated | None:
        """What was begun, or is about to be, once it is made, for whoever only looks; None if it failed."""
        made = self._made = self._made or asyncio.get_running_loop().create_future()
        with suppress(TrimtabError):
            return await asyncio.shield(made)
        return None

    def forget(self) -> None:
        """Have them made anew for whoever asks."""
        self._made = None

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of a unit's source, at a revision or the one that the source names."""
        made = self._made
        is_this = revision == self._revision and _place(unit) == _place(self._unit)
        if made is None or no_cache or not is_this:
            return await self._manifests.generate(unit, revision, no_cache=no_cache)
        self._made = None
        return await asyncio.shield(made)  # whoever asks may go, and it is still being made


def _place(unit: SyncUnit) -> tuple[object, ...]:
    return unit.id, unit.source, unit.destination

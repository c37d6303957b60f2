"""What an app is about to be compared with, as far as that can be known before its cluster is read.

Which places have to be read follows from it (`narrowing`). It is a guess, and may fall short: whatever else
comes up later has everything read before it is compared with anything (`widening`).
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from trimtab.app.ahead import Ahead
from trimtab.engine.operations import Operation
from trimtab.engine.units import Generated, RenderArchive, SyncUnit
from trimtab.errors import TrimtabError
from trimtab.resources.manifests import Found


def entry_wanted(unit: SyncUnit, operation: Operation | None, *, only_looks: bool) -> int:
    """The entry of history that an app is compared with; 0 for what its source wants.

    An operation says that itself. Whoever only looks sees a pinned app as its pin wants it.
    """
    if operation is not None:
        return operation.entry
    return unit.pinned.entry if only_looks and unit.pinned is not None else 0


async def foreseen(
    unit: SyncUnit, entry: int, source: Ahead | None, archive: RenderArchive, *, goes_on: bool
) -> tuple[Found, ...] | None:
    """All that an app is about to be compared with; None if nobody can say.

    That is what this entry of its history rendered to, or else what its `source` does, if that is asked. What
    somebody began and did not see through was kept before anything of it was done; it is dealt with first if
    the app `goes_on`.
    """
    begun = unit.status.attempted if goes_on and unit.operation is not None else None
    left = await _kept(archive, unit, begun.rendered if begun is not None else "")
    wanted = left.manifests if left is not None else ()
    if entry:
        named = next((each.rendered for each in unit.status.history if each.id == entry), "")
        made = await _kept(archive, unit, named)
    elif source is not None:
        made = await source.peek()
    else:
        return wanted
    return None if made is None else (*wanted, *made.manifests)


async def _kept(archive: RenderArchive, unit: SyncUnit, named: str) -> Generated | None:
    with suppress(TrimtabError):  # whoever needs it will ask again, and be told
        return await archive.find(unit.id, named) if named else None
    return None


class Recalling:
    """Another archive, which is asked for a render once: what a digest names never changes."""

    def __init__(self, archive: RenderArchive) -> None:
        self._archive = archive
        self._found: dict[tuple[str, str], Generated] = {}

    async def find(self, unit_id: str, digest: str) -> Generated | None:
        """What a unit once rendered to, if that is kept."""
        found = self._found.get((unit_id, digest)) or await self._archive.find(unit_id, digest)
        if found is not None:
            self._found[unit_id, digest] = found
        return found

    async def keep(self, unit_id: str, generated: Generated) -> None:
        """Keep what a unit rendered to."""
        await self._archive.keep(unit_id, generated)

    async def drop(self, unit_id: str, but: Collection[str]) -> None:
        """Forget what a unit rendered to, but for these digests."""
        self._found = {named: each for named, each in self._found.items() if named[1] in but}
        await self._archive.drop(unit_id, but)

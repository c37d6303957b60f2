"""Reading a part of a cluster for one app, and all of it as soon as that is no longer enough.

What is to be read is decided before an engine begins (`narrowing`), by what could be foreseen then
(`foresight`). A source moves on while somebody waits, an archive holds what was wanted once, and others may
have brought the app to new places: whatever lies where nobody has looked is given to the engine only after
everything was read, so that nothing is ever compared with what was not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from trimtab.app.narrowing import is_covered
from trimtab.engine import Engine, GivenClusters
from trimtab.engine.places import Place
from trimtab.engine.units import ClusterEntry, Generated, ManifestGenerator, RenderArchive, SyncUnit
from trimtab.resources.manifests import Found

#: which places have to be read for a unit of which this is wanted; None for all of the cluster
Needs: TypeAlias = Callable[[SyncUnit, Iterable[Found]], frozenset[Place] | None]


def needs_everything(_unit: SyncUnit, _wanted: Iterable[Found]) -> None:
    """All of the cluster, whatever is wanted."""


class Widening:
    """The cluster of one app, and another generator and archive of its manifests, for an engine."""

    def __init__(
        self, manifests: ManifestGenerator, archive: RenderArchive, entry: ClusterEntry, needs: Needs
    ) -> None:
        self.clusters = GivenClusters()
        self.clusters.put(entry)
        self._manifests, self._archive, self._entry, self._needs = manifests, archive, entry, needs
        self._engine: Engine | None = None
        self._is_all_read = entry.places is None
        #: renders, and the namespaces of their units, of which all is read that they may lie in
        self._covered: set[tuple[str, str]] = set()

    def serve(self, engine: Engine) -> None:
        """Have this engine read more as soon as it has to."""
        self._engine = engine

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of a unit, once all that they may lie in is read."""
        made = await self._manifests.generate(unit, revision, no_cache=no_cache)
        await self._cover(unit, made)
        return made

    async def find(self, unit_id: str, digest: str) -> Generated | None:
        """What a unit once rendered to, if that is kept, once all that it may lie in is read."""
        found = await self._archive.find(unit_id, digest)
        if found is not None and self._engine is not None:
            await self._cover(self._engine.unit(unit_id), found)
        return found

    async def keep(self, unit_id: str, generated: Generated) -> None:
        """Keep what a unit rendered to."""
        await self._archive.keep(unit_id, generated)

    async def drop(self, unit_id: str, but: Collection[str]) -> None:
        """Forget what a unit rendered to, but for these digests."""
        await self._archive.drop(unit_id, but)

    async def _cover(self, unit: SyncUnit, made: Generated) -> None:
        """The same for a render: what a digest names never changes, so each is gone through once."""
        await self.cover(unit)
        known = made.digest, unit.destination.namespace
        if known not in self._covered:
            await self.cover(replace(unit, places=()), made.manifests)
            self._covered.add(known)

    async def cover(self, unit: SyncUnit, wanted: Iterable[Found] = ()) -> None:
        """Return when everything is read that has to be for a unit of which this is wanted."""
        if self._is_all_read:
            return
        # Of several who need more, each waits until it is read: looks go on beside operations.
        read = self._entry.places
        if read is None or not is_covered(self._needs(unit, wanted), read):
            await self._read_all()

    async def _read_all(self) -> None:
        self._entry = replace(self._entry, places=None)
        self.clusters.put(self._entry)  # for whoever has to connect anew
        if self._engine is not None:
            await self._engine.read_all(self._entry.name)
        self._is_all_read = True

"""Reading a part of a cluster for one app, and all of it as soon as that is no longer enough.

What is to be read is decided before an engine begins (`narrowing`), by what the source wanted then. A source
moves on while somebody waits: whatever it wants that lies where nobody has looked is given to the engine only
after everything was read, so that nothing is ever compared with what was not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from trimtab.engine import Engine, GivenClusters
from trimtab.engine.places import Place
from trimtab.engine.units import ClusterEntry, Generated, ManifestGenerator, SyncUnit
from trimtab.resources.manifests import Found

#: which places have to be read for these manifests; None for all of the cluster
Needs: TypeAlias = Callable[[Iterable[Found]], frozenset[Place] | None]


def needs_everything(_wanted: Iterable[Found]) -> None:
    """All of the cluster, whatever is wanted."""


class Widening:
    """The cluster of one app and another generator of its manifests, for an engine that `uses` them."""

    def __init__(self, manifests: ManifestGenerator, entry: ClusterEntry, needs: Needs) -> None:
        self.clusters = GivenClusters()
        self.clusters.put(entry)
        self._manifests, self._entry, self._needs = manifests, entry, needs
        self._engine: Engine | None = None

    def serve(self, engine: Engine) -> None:
        """Have this engine read more as soon as it has to."""
        self._engine = engine

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of a unit, once all that they may lie in is read."""
        made = await self._manifests.generate(unit, revision, no_cache=no_cache)
        if not self._is_read(made):
            await self._read_all()
        return made

    def _is_read(self, made: Generated) -> bool:
        read = self._entry.places
        if read is None:
            return True
        needed = self._needs(made.manifests)
        return needed is not None and needed <= read

    async def _read_all(self) -> None:
        self._entry = replace(self._entry, places=None)
        self.clusters.put(self._entry)  # for whoever has to connect anew
        if self._engine is not None:
            await self._engine.read_all(self._entry.name)

"""One look at a unit: what is wanted of it, and how that compares with what is live.

What was rendered last is kept, within bounds, so that a change in the cluster alone never asks the generator
anything, and a render that came out the same is not read again. A generator that fails changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.cache.catalog import Catalog
from trimtab.engine.compare.matching import Finding, Wanted, desired_from, odd_words
from trimtab.engine.control.desks import Desk, Ways
from trimtab.engine.control.policy import Refresh
from trimtab.engine.rows import Row
from trimtab.engine.sync.options import unknown_words
from trimtab.engine.units import Destination, Generated, ManifestGenerator, SyncUnit


class Sight(Struct, frozen=True, kw_only=True):
    """What was seen in one look."""

    wanted: Wanted
    #: what is to be said of single objects, and of the unit's own words
    findings: tuple[Finding, ...]
    rows: tuple[Row, ...]
    #: what is wrong with the rules it was compared by
    problems: tuple[str, ...]
    revision: str
    rendered: str


class _Kept(Struct, frozen=True, kw_only=True):
    """What was rendered last, and what it was read by."""

    source: Any
    destination: Destination
    ways: Ways
    catalog: Catalog
    revision: str
    rendered: str
    wanted: Wanted

    def is_by(self, unit: SyncUnit, desk: Desk) -> bool:
        """Whether it would be read the same now."""
        same = self.ways is desk.ways and self.catalog is desk.cache.catalog
        return same and self.destination == unit.destination


def _about(unit: SyncUnit) -> tuple[Finding, ...]:
    words = unknown_words(unit.policy.options)
    return (odd_words(f"unit {unit.id}", words),) if words else ()


class Looker:
    """Looks at units, remembering what they rendered to."""

    def __init__(self, manifests: ManifestGenerator, kept_objects: int) -> None:
        self._manifests = manifests
        self._most_kept = kept_objects
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._objects = 0

    async def look(self, unit: SyncUnit, desk: Desk, level: Refresh) -> Sight:
        """Look at a unit as it is now, as thoroughly as asked."""
        kept = self._kept.get(unit.id)
        is_enough = level is Refresh.LIVE and kept is not None and kept.source == unit.source
        if kept is None or not is_enough or not kept.is_by(unit, desk):
            generated = await self._manifests.generate(unit, "", no_cache=level is Refresh.HARD)
            kept = self._read(unit, desk, generated, kept)
            self._keep(unit.id, kept)
        return await self._compared(unit, desk, kept)

    async def look_at(self, unit: SyncUnit, desk: Desk, source: Any, revision: str) -> Sight:
        """Look at a unit as some other revision or source wants it, without remembering that."""
        asked = unit if source is None else replace(unit, source=source)
        generated = await self._manifests.generate(asked, revision)
        return await self._compared(asked, desk, self._read(asked, desk, generated, self._kept.get(unit.id)))

    def forget(self, unit_id: str) -> None:
        """Forget what a unit rendered to."""
        kept = self._kept.pop(unit_id, None)
        self._objects -= len(kept.wanted.desired) if kept else 0

    async def _compared(self, unit: SyncUnit, desk: Desk, kept: _Kept) -> Sight:
        desk.attend(each.key for each in (*kept.wanted.desired, *kept.wanted.hooks))
        compared = await desk.comparer.compare(kept.wanted, desk.rules(unit))
        desk.attend(row.key for row in compared.rows)
        return Sight(
            wanted=kept.wanted,
            findings=(*kept.wanted.findings, *_about(unit)),
            rows=compared.rows,
            problems=compared.problems,
            revision=kept.revision,
            rendered=kept.rendered,
        )

    def _read(self, unit: SyncUnit, desk: Desk, generated: Generated, kept: _Kept | None) -> _Kept:
        is_same = kept is not None and kept.rendered == generated.digest and kept.is_by(unit, desk)
        wanted = kept.wanted if kept and is_same else desired_from(generated.manifests, desk.terms(unit))
        return _Kept(
            source=unit.source,
            destination=unit.destination,
            ways=desk.ways,
            catalog=desk.cache.catalog,
            revision=generated.revision,
            rendered=generated.digest,
            wanted=wanted,
        )

    def _keep(self, unit_id: str, kept: _Kept) -> None:
        self.forget(unit_id)
        self._kept[unit_id] = kept
        self._objects += len(kept.wanted.desired)
        while self._objects > self._most_kept and len(self._kept) > 1:
            self.forget(next(iter(self._kept)))

"""One look at a unit: what is wanted of it, and how that compares with what is live.

What was rendered last is kept, within bounds, so that a change in the cluster alone never asks the generator
anything, and a render that came out the same is not read again. A generator that fails changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.cache.catalog import Catalog
from trimtab.engine.compare.comparer import Puts, put_once
from trimtab.engine.compare.matching import Finding, FindingKind, Wanted, odd_words, reading_of
from trimtab.engine.control.desks import Desk, Ways
from trimtab.engine.control.policy import Refresh, entry_of
from trimtab.engine.operations import Operation, Strategy, is_begun
from trimtab.engine.rows import Desired, Row
from trimtab.engine.sync.hooks import hook_phases
from trimtab.engine.sync.options import idle_words
from trimtab.engine.units import (
    Attempt,
    Destination,
    Generated,
    ManifestGenerator,
    Pin,
    RenderArchive,
    SyncUnit,
)
from trimtab.errors import Conflict, InvalidSpec, TrimtabError
from trimtab.resources import manifests
from trimtab.tasks import in_turns

_NOTHING: Final = Generated(manifests=(), revision="", digest="nothing")


class HooksUnknown(Conflict):
    """A unit is to be deleted, and nobody knows which hooks are to run for that."""


class Sight(Struct, frozen=True, kw_only=True):
    """What was seen in one look."""

    wanted: Wanted
    #: what is to be said of single objects, of the unit's own words, and of its source
    findings: tuple[Finding, ...]
    rows: tuple[Row, ...]
    #: what is wrong with the rules it was compared by
    problems: tuple[str, ...]
    revision: str
    rendered: str
    #: what the source, or the archive, gave; None where only the live side was looked at
    generated: Generated | None = None


class _Kept(Struct, frozen=True, kw_only=True):
    """What was rendered last, and what it was read by."""

    source: Any
    destination: Destination
    pinned: Pin | None
    ways: Ways
    catalog: Catalog
    revision: str
    rendered: str
    wanted: Wanted
    warnings: tuple[str, ...]

    def is_by(self, unit: SyncUnit, desk: Desk) -> bool:
        """Whether it would be read the same now."""
        same = self.ways is desk.ways and self.catalog is desk.cache.catalog
        return same and (self.destination, self.pinned) == (unit.destination, unit.pinned)

    def is_enough(self, unit: SyncUnit, level: Refresh) -> bool:
        """Whether nobody has to be asked: an entry of history does not change."""
        if unit.pinned is not None:
            return level is not Refresh.HARD
        return level is Refresh.LIVE and self.source == unit.source


def _about(unit: SyncUnit, warnings: Iterable[str]) -> Iterator[Finding]:
    """What is to be said of the unit's own words, and of its source."""
    if words := idle_words(unit.policy.options):
        yield odd_words(f"unit {unit.id}", words)
    for warning in warnings:
        yield Finding(kind=FindingKind.SOURCE, subject="its source", reason=warning, remedy="")


def deletion_hooks(wanted: Wanted) -> tuple[Desired, ...]:
    """The hooks that run when a unit is deleted; an object that cannot be read may be one, and is refused."""
    if not wanted.complete:
        broken = next(each for each in wanted.findings if each.kind is FindingKind.INVALID)
        reason = f"whether it is a hook of the deletion is not known: {broken.reason}"
        raise InvalidSpec(broken.subject, reason, "Mend it, or delete without hooks: --skip-hooks")
    return tuple(each for each in wanted.hooks if _is_for_deletion(each))


def has_deletion_hooks(hooks: Iterable[Desired]) -> bool:
    """Whether some of these hooks run when their unit is deleted."""
    return any(_is_for_deletion(each) for each in hooks)


def _is_for_deletion(hook: Desired) -> bool:
    return bool(hook_phases(manifests.annotations(hook.manifest), deletes=True))


def _unasked(error: TrimtabError) -> Finding:
    reason = f"the hooks of its deletion are those of what was synced last, because of this: {error}"
    return Finding(kind=FindingKind.SOURCE, subject="its source", reason=reason, remedy="")


class Looker:
    """Looks at units, remembering what they rendered to."""

    def __init__(
        self, manifests: ManifestGenerator, kept_objects: int, archive: RenderArchive | None = None
    ) -> None:
        self._manifests = manifests
        self._archive = archive
        self._most_kept = kept_objects
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._objects = 0
        #: what was read last, for an operation or a look: often the next one reads the same
        self._last: tuple[str, _Kept] | None = None

    async def look(self, unit: SyncUnit, desk: Desk, level: Refresh) -> Sight:
        """Look at a unit as it is now, as thoroughly as asked."""
        kept = self._kept.get(unit.id)
        if kept is None or not kept.is_enough(unit, level) or not kept.is_by(unit, desk):
            generated = await self._generated_for(unit, level)
            kept = await self._read(unit, desk, generated, kept)
            self._keep(unit.id, kept)
        return await self._compared(unit, desk, kept)

    async def look_at(
        self, unit: SyncUnit, desk: Desk, operation: Operation, revision: str, put: Puts = put_once
    ) -> Sight:
        """Look at a unit as an operation wants it, at a revision, without remembering that.

        What has to be asked of the server is `put` to it in this way.
        """
        if operation.delete:
            return await self._look_at_leaving(unit, desk, operation, revision, put)
        asked = unit if operation.source is None else replace(unit, source=operation.source)
        found = await self._known_beforehand(unit, operation)
        generated = found or await self._manifests.generate(asked, revision)
        kept = await self._read(asked, desk, generated, self._kept.get(unit.id))
        return replace(await self._compared(asked, desk, kept, put), generated=generated)

    async def _known_beforehand(self, unit: SyncUnit, operation: Operation) -> Generated | None:
        """What an operation wants, where that is known without the source.

        What is to be ended is looked at as it was tried: that must not need the source again.
        """
        is_ending = unit.operation is not None and bool(unit.operation.ended_by)
        tried = unit.status.attempted.rendered if is_ending and unit.status.attempted else ""
        return await self._kept_render(unit, tried) or await self._archived(unit, operation.entry)

    # -- deletions ---------------------------------------------------------------------------------------

    async def _look_at_leaving(
        self, unit: SyncUnit, desk: Desk, operation: Operation, revision: str, put: Puts
    ) -> Sight:
        """Look at a unit of which nothing is wanted any more, but for the hooks of its deletion."""
        nothing = await self._read(unit, desk, _NOTHING, self._kept.get(unit.id))
        sight = await self._compared(unit, desk, nothing, put)
        if operation.strategy is Strategy.APPLY:
            return sight
        found, warnings = await self._last_will(unit, revision)
        sight = replace(sight, findings=(*sight.findings, *warnings), generated=found)
        if found is None:
            return sight
        hooks = deletion_hooks(await in_turns(reading_of(found.manifests, desk.terms(unit))))
        if not hooks:
            return sight
        desk.attend(each.key for each in hooks)
        return replace(
            sight,
            wanted=replace(sight.wanted, hooks=hooks),
            revision=found.revision,
            rendered=found.digest,
        )

    async def _last_will(self, unit: SyncUnit, revision: str) -> tuple[Generated | None, tuple[Finding, ...]]:
        """What says which hooks a deletion has: the source, or else what was synced last; None if no hooks.

        A deletion that has begun is gone on with as it was begun: that must not need the source again.
        """
        state, tried = unit.status.operation_state, unit.status.attempted
        if tried is None:
            return None, ()  # nothing of it was ever made
        if state is not None and state.operation.delete and is_begun(state) and not state.phase.final:
            begun = await self._kept_render(unit, tried.rendered)
            if begun is not None or tried.delete_hooks is False:
                return begun, ()
        try:
            return await self._manifests.generate(unit, revision), ()
        except TrimtabError as error:
            return await self._kept_will(unit, tried, error), (_unasked(error),)

    async def _kept_will(self, unit: SyncUnit, tried: Attempt, error: TrimtabError) -> Generated | None:
        """What was synced last, if that is kept, or is known to have had no hooks."""
        for named in (tried.rendered, *(each.rendered for each in reversed(unit.status.history))):
            found = await self._kept_render(unit, named)
            if found is not None:
                return found
        if tried.delete_hooks is False:
            return None
        raise HooksUnknown(
            f"unit {unit.id}",
            f"which hooks its deletion has is not known, because its source cannot be read: {error}",
            "Try again when it can be, or delete it without its hooks: --skip-hooks",
        ) from error

    # -- what is wanted ----------------------------------------------------------------------------------

    async def _generated_for(self, unit: SyncUnit, level: Refresh) -> Generated:
        """What is wanted of a unit now: what it is pinned to, or what its source says."""
        if unit.pinned is None:
            return await self._manifests.generate(unit, "", no_cache=level is Refresh.HARD)
        found = await self._archived(unit, unit.pinned.entry)
        if found is not None:
            return found
        entry = entry_of(unit, unit.pinned.entry)
        return await self._manifests.generate(replace(unit, source=entry.source), entry.revision)

    async def _archived(self, unit: SyncUnit, entry: int) -> Generated | None:
        """What an entry of history rendered to, if that is kept."""
        named = next((each.rendered for each in unit.status.history if each.id == entry), "")
        return await self._kept_render(unit, named)

    async def _kept_render(self, unit: SyncUnit, named: str) -> Generated | None:
        return await self._archive.find(unit.id, named) if self._archive and named else None

    def forget(self, unit_id: str) -> None:
        """Forget what a unit rendered to."""
        if self._last is not None and self._last[0] == unit_id:
            self._last = None
        kept = self._kept.pop(unit_id, None)
        self._objects -= len(kept.wanted.desired) if kept else 0

    async def _compared(self, unit: SyncUnit, desk: Desk, kept: _Kept, put: Puts = put_once) -> Sight:
        desk.attend(each.key for each in (*kept.wanted.desired, *kept.wanted.hooks))
        compared = await desk.comparer.compare(kept.wanted, desk.rules(unit), put)
        desk.attend(row.key for row in compared.rows)
        return Sight(
            wanted=kept.wanted,
            findings=(*kept.wanted.findings, *_about(unit, kept.warnings)),
            rows=compared.rows,
            problems=compared.problems,
            revision=kept.revision,
            rendered=kept.rendered,
        )

    async def _read(self, unit: SyncUnit, desk: Desk, generated: Generated, kept: _Kept | None) -> _Kept:
        # While it is read all of this may become other than it is read by.
        ways, catalog = desk.ways, desk.cache.catalog
        wanted = self._read_before(unit, desk, generated, kept)
        if wanted is None:
            wanted = await in_turns(reading_of(generated.manifests, desk.terms(unit)))
        read = _Kept(
            source=unit.source,
            destination=unit.destination,
            pinned=unit.pinned,
            ways=ways,
            catalog=catalog,
            revision=generated.revision,
            rendered=generated.digest,
            wanted=wanted,
            warnings=generated.warnings,
        )
        self._last = unit.id, read
        return read

    def _read_before(
        self, unit: SyncUnit, desk: Desk, generated: Generated, kept: _Kept | None
    ) -> Wanted | None:
        """What the manifests say, if it was read before from the same ones."""
        last = self._last[1] if self._last is not None and self._last[0] == unit.id else None
        for read in (kept, last):
            if read is not None and read.rendered == generated.digest and read.is_by(unit, desk):
                return read.wanted
        return None

    def _keep(self, unit_id: str, kept: _Kept) -> None:
        self.forget(unit_id)
        self._kept[unit_id] = kept
        self._objects += len(kept.wanted.desired)
        while self._objects > self._most_kept and len(self._kept) > 1:
            self.forget(next(iter(self._kept)))

"""What is known of an app while its source is away: what was synced last, in place of what is wanted now.

For whoever only looks. Nothing may be done by it: what a source that cannot be asked wants is not known.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.appsources import short
from trimtab.app.reports import moment
from trimtab.engine.units import (
    ConditionType,
    Deployed,
    Generated,
    ManifestGenerator,
    RenderArchive,
    SyncUnit,
)
from trimtab.errors import TrimtabError, Unavailable


class Away(Struct, frozen=True, kw_only=True):
    """A source that cannot be asked now, and what an app was compared with instead."""

    error: TrimtabError
    #: since when that has been so, as far as somebody has noticed; and when the app was last looked at
    since: str
    looked_at: str
    entry: Deployed

    @property
    def instead(self) -> str:
        """What stands in for what is wanted."""
        synced = moment(self.entry.deployed_at)
        return f"compared with {short(self.entry.revision)}, which was synced at {synced}"

    @property
    def told(self) -> str:
        """What is known all the same: since when that has been so, and what the app was compared with."""
        when = f"The app was last looked at {self.looked_at}. " if self.looked_at else ""
        return f"{f'It has been so since {self.since}. ' if self.since else when}It is {self.instead}."

    def __str__(self) -> str:
        return f"{str(self.error).rstrip('.')}. {self.told}"


class LastKnown:
    """Another generator; while it cannot reach a source, what was synced last may be given in its place."""

    def __init__(self, manifests: ManifestGenerator, archive: RenderArchive, *, stands_in: bool) -> None:
        self._manifests, self._archive, self._stands_in = manifests, archive, stands_in
        #: why something else was given, if it was
        self.away: Away | None = None

    def stand_in(self) -> None:
        """Have what was synced last be good enough from now on."""
        self._stands_in = True

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of a unit, or what it was last synced to, with a warning."""
        try:
            return await self._manifests.generate(unit, revision, no_cache=no_cache)
        except Unavailable as error:
            entry = next(iter(reversed(unit.status.history)), None) if self._stands_in else None
            found = await self._archive.find(unit.id, entry.rendered) if entry is not None else None
            if entry is None or found is None:
                raise
            self.away = away_of(unit, entry, error)
            return replace(found, warnings=(f"its source cannot be read now: it is {self.away.instead}",))


def away_of(unit: SyncUnit, entry: Deployed, error: TrimtabError) -> Away:
    """What is known of how long the source of a unit has been away; a runner that keeps it records that."""
    noticed = [each.since for each in unit.status.conditions if each.type is ConditionType.SOURCE]
    since = moment(min(noticed)) if noticed else ""
    return Away(error=error, since=since, looked_at=moment(unit.status.reconciled_at), entry=entry)

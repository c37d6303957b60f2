"""From a new commit to the units that it concerns: one poller per repository, and an index of who read what.

A commit is compared with the last one as trees, and only the units whose last render has looked at something
that changed are looked at again. Webhooks make a look at a repository come sooner, and nothing more.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.running.events import AnyEvent, CommitFound, SourceTrouble, trouble_of
from trimtab.app.running.versions import Versions
from trimtab.app.sources import AppSource, SourceManifests, Wishes, source_of
from trimtab.engine.units import Generated, Gone, ManifestGenerator, Stored, SyncUnit, UnitNews
from trimtab.errors import TrimtabError, Unavailable
from trimtab.sources import ChartOrigin, Charts, FolderOrigin, Renderer, Repositories, RevisionOrigin
from trimtab.sources.charts.wishes import ChartRevision, WantedChart
from trimtab.sources.hints.changes import Change
from trimtab.sources.rendering.affected import Readers
from trimtab.sources.rendering.looking import MAIN
from trimtab.sources.rendering.rendered import Rendered
from trimtab.sources.rendering.specs import Capabilities
from trimtab.sources.repositories.credentials import Belonging
from trimtab.sources.repositories.revisions import Revision, Standing, Wanted
from trimtab.tasks import Clock

#: has a unit looked at soon, if it is kept here
Look: TypeAlias = Callable[[str], None]

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


class Timed(Protocol):
    """Who is told of renders."""

    def __call__(self, seconds: float, *, failed: bool) -> None:
        """One took so long."""


class _Moved(Struct, frozen=True):
    """One follower's way from one commit to the next."""

    consumer: str
    before: Revision | None
    after: Revision


class _Troubled(Struct, frozen=True):
    """One follower who lacks news."""

    consumer: str
    url: str
    standing: Standing


class Commits:
    """Follows the repositories of units, and has units looked at when a commit concerns them."""

    def __init__(
        self,
        repositories: Repositories,
        renderer: Renderer,
        wishes: Wishes,
        versions: Versions,
        *,
        clock: Clock,
        look: Look,
        tell: Callable[[AnyEvent], None],
    ) -> None:
        self._repositories, self._renderer, self._wishes = repositories, renderer, wishes
        self._versions = versions
        self._clock, self._look, self._tell = clock, look, tell
        self.readers = Readers()
        self._followed: dict[str, Wanted] = {}
        self._stands: dict[str, Standing] = {}
        #: what followers were told: those of one repository are told one after another, and heard together
        self._heard: asyncio.Queue[_Moved | _Troubled] = asyncio.Queue()
        self._forgetting: list[Callable[[str], None]] = []

    def hear(self, news: UnitNews) -> None:
        """Follow the repositories of units as they come, change and go."""
        match news:
            case Stored(unit=unit):
                self._follow(unit)
            case Gone(id=unit_id):
                self.forget(unit_id)
            case _:
                return

    def forget(self, unit_id: str) -> None:
        """Follow nothing for a unit any more."""
        self._unfollow(unit_id)
        self._versions.forget(unit_id)
        self.readers.forget(unit_id)
        for forget in self._forgetting:
            forget(unit_id)

    def when_forgotten(self, forget: Callable[[str], None]) -> None:
        """Have somebody else forget units, too, whenever one is followed no longer."""
        self._forgetting.append(forget)

    def _unfollow(self, unit_id: str) -> None:
        if self._followed.pop(unit_id, None) is not None:
            self._repositories.unfollow(unit_id)
        self._stands.pop(unit_id, None)

    def problem(self, unit_id: str) -> str:
        """What is wrong with news of a unit's repository or chart; empty if nothing is."""
        return self._repositories.standing(unit_id).message or self._versions.problem(unit_id)

    def hint(self, change: Change) -> int:
        """Look soon at what has changed, as somebody says; the answer is how many that concerns."""
        return len(self._repositories.hint(change).consumers)

    async def run(self) -> None:
        """Have units looked at as commits come, and tell what keeps them from coming, for ever."""
        while True:
            heard = [await self._heard.get()]
            while not self._heard.empty():
                heard.append(self._heard.get_nowait())
            for trouble in _troubles(heard, self._clock.now()):
                self._tell(trouble)
            ways: dict[tuple[Revision | None, Revision], list[str]] = {}
            for each in heard:
                if isinstance(each, _Moved):
                    ways.setdefault((each.before, each.after), []).append(each.consumer)
            for (before, after), consumers in ways.items():
                await self._look_at(before, after, consumers)

    async def _look_at(self, before: Revision | None, after: Revision, consumers: list[str]) -> None:
        concerned = await self._concerned(before, after, consumers)
        for consumer in concerned:
            self._look(consumer)
        told = CommitFound(
            at=self._clock.now(), repository=after.url, revision=after.commit, units=len(concerned)
        )
        self._tell(told)

    async def _concerned(self, before: Revision | None, after: Revision, consumers: list[str]) -> list[str]:
        """Those whose last render has read something that differs; all of them where that is not known."""
        if before is None or before.mirror != after.mirror:
            return consumers
        try:
            paths = await self._renderer.changed(
                RevisionOrigin(revision=before), RevisionOrigin(revision=after)
            )
        except TrimtabError:
            return consumers
        affected = self.readers.affected(after.mirror, paths)
        return [each for each in consumers if each in affected or not self.readers.knows(each)]

    def _follow(self, unit: SyncUnit) -> None:
        try:
            source = source_of(unit)
            if source.repo_url and source.spec.chart:
                self._unfollow(unit.id)
                self._versions.follow(unit.id, source)
                return
            if not source.repo_url:
                self.forget(unit.id)
                return
            wanted = self._wishes.of(source.repo_url, source.target_revision)
            place = replace(wanted, credentials=())  # who may open it is kept up by `keep_credentials`
            if self._followed.get(unit.id) != place:
                self.forget(unit.id)
                last = unit.status.revision
                before = self._repositories.recall(wanted, last) if _COMMIT.fullmatch(last) else None
                self._repositories.follow(unit.id, wanted, tell=self._hear_standing, in_force=before)
                self._followed[unit.id] = place
        except TrimtabError:
            return  # whoever looks at the unit is told the same

    def _hear_standing(self, consumer: str, standing: Standing) -> None:
        known = self._stands.get(consumer, Standing())
        self._stands[consumer] = standing
        if standing.error is not None and str(standing.error) != str(known.error):
            self._heard.put_nowait(_Troubled(consumer, self._followed[consumer].url, standing))
        if standing.revision is not None and standing.revision != known.revision:
            self._heard.put_nowait(_Moved(consumer, known.revision, standing.revision))


def _troubles(heard: Iterable[_Moved | _Troubled], at: datetime) -> Iterator[SourceTrouble]:
    """What is wrong, once for all units of a repository that it is wrong with."""
    alike: dict[tuple[str, str], list[_Troubled]] = {}
    for each in heard:
        if isinstance(each, _Troubled):
            alike.setdefault((each.url, str(each.standing.error)), []).append(each)
    for (url, error), troubled in alike.items():
        messages = {each.standing.message for each in troubled}
        reason = messages.pop() if len(messages) == 1 else f"{error} What each has stays in force."
        yield trouble_of(url, [each.consumer for each in troubled], reason, at)


async def keep_credentials(
    repositories: Repositories, wishes: Wishes, *, every: timedelta, clock: Clock
) -> None:
    """Have servers be shown what the file of credentials holds now, for all who follow, for ever."""
    seen: tuple[Belonging, ...] | None = None
    while True:
        with suppress(TrimtabError):  # what was read last is shown; whoever is looked at says what is wrong
            known = wishes.credentials()
            if known != seen:
                repositories.renew(partial(_with_credentials, known))
                seen = known
        await clock.sleep(every.total_seconds())


def _with_credentials(known: tuple[Belonging, ...], wanted: Wanted) -> Wanted:
    return replace(wanted, credentials=known)


class FollowedManifests(SourceManifests):
    """Makes manifests for a runner: of the last good revision while a repository is out of reach."""

    def __init__(
        self,
        renderer: Renderer,
        repositories: Repositories,
        charts: Charts,
        wishes: Wishes,
        commits: Commits,
        capabilities: Callable[[str], Awaitable[Capabilities]],
    ) -> None:

        async def at_hand() -> Repositories:
            return repositories

        async def charts_at_hand() -> Charts:
            return charts

        super().__init__(renderer, at_hand, charts_at_hand, wishes, Capabilities())
        self._repositories = repositories
        self._shelf = charts
        self._readers = commits.readers
        self._asked_of = capabilities
        #: units that were synced to another commit than the newest known: the remote is asked once more
        self._doubtful: set[str] = set()
        #: why units are given the last good revision, while they are
        self._stale: dict[str, str] = {}
        #: the chart that each unit was last given, and for which wish
        self._given: dict[str, tuple[WantedChart, ChartRevision]] = {}
        commits.when_forgotten(self._forget)

    def _forget(self, unit_id: str) -> None:
        self._doubtful.discard(unit_id)
        self._stale.pop(unit_id, None)
        self._given.pop(unit_id, None)

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of a unit's source; with a warning if they are of the last good revision."""
        self._stale.pop(unit.id, None)
        found = await super().generate(unit, revision, no_cache=no_cache)
        reason = self._stale.pop(unit.id, "")
        return replace(found, warnings=(*found.warnings, reason)) if reason else found

    async def _fetched(self, unit_id: str, source: AppSource, revision: str) -> Revision:
        wanted = self._wishes.of(source.repo_url, revision or source.target_revision)
        known = self._repositories.standing(unit_id).revision
        if known is not None and known.url != wanted.url:
            known = None
        is_known = known is not None and revision in {"", known.commit}
        if revision and not is_known:
            self._doubtful.add(unit_id)
        is_doubtful = not revision and unit_id in self._doubtful
        try:
            found = await self._repositories.fetch(wanted, fresh=is_doubtful)
        except TrimtabError as error:
            if known is None or not is_known or is_doubtful:
                raise
            self._stale[unit_id] = f"{error} Revision {known.commit[:8]} stays in force."
            return known
        if not revision:
            self._doubtful.discard(unit_id)
        return found

    async def _chart(self, unit_id: str, wanted: WantedChart) -> ChartRevision:
        place = replace(wanted, credentials=())
        before, last = self._given.get(unit_id, (place, None))
        is_known = (
            last is not None
            and replace(before, target=place.target) == place
            and place.target in {before.target, last.version}
        )
        try:
            found = await super()._chart(unit_id, wanted)
        except TrimtabError as error:
            kept = last if is_known else self._recalled(wanted, error)
            if kept is None:
                raise
            self._stale[unit_id] = f"{error} Version {kept.version} stays in force."
            return kept
        if not is_known or found != last:
            self._given[unit_id] = place, found
        return found

    def _recalled(self, wanted: WantedChart, error: TrimtabError) -> ChartRevision | None:
        """What an earlier process was given, if the repository is silent: one that refuses has spoken."""
        return self._shelf.recall(wanted) if isinstance(error, Unavailable) else None

    async def _capabilities_for(self, unit: SyncUnit) -> Capabilities:
        return await self._asked_of(unit.destination.cluster)

    def _note(
        self, unit_id: str, tree: FolderOrigin | RevisionOrigin | ChartOrigin, rendered: Rendered
    ) -> None:
        if isinstance(tree, RevisionOrigin):
            trees = {look.source: look.source for look in rendered.read} | {MAIN: tree.revision.mirror}
            self._readers.note(unit_id, rendered.read, trees)


class TimedManifests:
    """Another generator, with somebody who is told how long each answer took and whether there was one."""

    def __init__(self, manifests: ManifestGenerator, told: Timed, clock: Clock) -> None:
        self._manifests, self._told, self._clock = manifests, told, clock

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of a unit, as the other makes them."""
        started, failed = self._clock.monotonic(), True
        try:
            found = await self._manifests.generate(unit, revision, no_cache=no_cache)
            failed = False
            return found
        finally:
            self._told(self._clock.monotonic() - started, failed=failed)

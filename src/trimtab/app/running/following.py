"""From a new commit to the units that it concerns: one poller per repository, and an index of who read what.

A commit is compared with the last one as trees, and only the units whose last render has looked at something
that changed are looked at again. Webhooks make a look at a repository come sooner, and nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.appsources import (
    AppSource,
    AppSources,
    follower_of,
    is_commit,
    revisions_in,
    sources_of,
    unit_behind,
)
from trimtab.app.running.events import AnyEvent, CommitFound, SourceTrouble, trouble_of
from trimtab.app.running.versions import Versions
from trimtab.app.sources import SourceManifests, Wishes
from trimtab.engine.units import Generated, Gone, ManifestGenerator, Stored, SyncUnit, UnitNews
from trimtab.errors import TrimtabError, Unavailable
from trimtab.sources import Charts, Renderer, Repositories, Request, RevisionOrigin
from trimtab.sources.charts.wishes import ChartRevision, WantedChart
from trimtab.sources.hints.changes import Change
from trimtab.sources.rendering import rendered as results
from trimtab.sources.rendering.affected import Readers
from trimtab.sources.rendering.looking import MAIN
from trimtab.sources.rendering.rendered import Rendered
from trimtab.sources.rendering.specs import Capabilities, Helm, SourceSpec
from trimtab.sources.repositories.credentials import Belonging
from trimtab.sources.repositories.revisions import Revision, Standing, Wanted
from trimtab.tasks import Clock

#: has a unit looked at soon, if it is kept here
Look: TypeAlias = Callable[[str], None]


class Timed(Protocol):
    """Who is told of renders."""

    def __call__(self, seconds: float, *, failed: bool) -> None:
        """One took so long."""


class _Moved(Struct, frozen=True):
    """One follower's way from one commit to the next."""

    follower: str
    before: Revision | None
    after: Revision


class _Troubled(Struct, frozen=True):
    """One follower who lacks news."""

    follower: str
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
        #: how many sources each unit has, and what is followed of each
        self._counts: dict[str, int] = {}
        self._followed: dict[str, AppSource] = {}
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
        for follower in self._followers(unit_id) or [unit_id]:
            self._unfollow(follower)
            for forget in self._forgetting:
                forget(follower)
        self._counts.pop(unit_id, None)
        self.readers.forget(unit_id)

    def when_forgotten(self, forget: Callable[[str], None]) -> None:
        """Have somebody else forget followers, too, whenever their unit is followed no longer."""
        self._forgetting.append(forget)

    def _followers(self, unit_id: str) -> list[str]:
        return [follower_of(unit_id, number) for number in range(self._counts.get(unit_id, 0))]

    def _unfollow(self, follower: str) -> None:
        if self._followed.pop(follower, None) is not None:
            self._repositories.unfollow(follower)
            self._versions.forget(follower)
        self._stands.pop(follower, None)

    def problem(self, unit_id: str) -> str:
        """What is wrong with news of a unit's repositories and charts; empty if nothing is."""
        told = (
            self._repositories.standing(each).message or self._versions.problem(each)
            for each in self._followers(unit_id)
        )
        return " ".join(dict.fromkeys(filter(None, told)))

    def hint(self, change: Change) -> int:
        """Look soon at what has changed, as somebody says; the answer is how many that concerns."""
        return len(set(map(unit_behind, self._repositories.hint(change).consumers)))

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
                    ways.setdefault((each.before, each.after), []).append(each.follower)
            for (before, after), followers in ways.items():
                await self._look_at(before, after, followers)

    async def _look_at(self, before: Revision | None, after: Revision, followers: list[str]) -> None:
        concerned = await self._concerned(before, after, list(dict.fromkeys(map(unit_behind, followers))))
        for unit_id in concerned:
            self._look(unit_id)
        told = CommitFound(
            at=self._clock.now(), repository=after.url, revision=after.commit, units=len(concerned)
        )
        self._tell(told)

    async def _concerned(self, before: Revision | None, after: Revision, units: list[str]) -> list[str]:
        """Those whose last render has read something that differs; all of them where that is not known."""
        if before is None or before.mirror != after.mirror:
            return units
        try:
            paths = await self._renderer.changed(
                RevisionOrigin(revision=before), RevisionOrigin(revision=after)
            )
        except TrimtabError:
            return units
        affected = self.readers.affected(after.mirror, paths)
        return [each for each in units if each in affected or not self.readers.knows(each)]

    def _follow(self, unit: SyncUnit) -> None:
        try:
            sources = sources_of(unit)
        except TrimtabError:
            return  # whoever looks at the unit is told the same
        if self._counts.get(unit.id) != len(sources.entries):
            self.forget(unit.id)
            self._counts[unit.id] = len(sources.entries)
        for number, source in enumerate(sources.entries):
            follower, place = follower_of(unit.id, number), _place(source)
            if self._followed.get(follower) != place:
                self._unfollow(follower)
                self.readers.forget(unit.id)
                with suppress(TrimtabError):  # whoever looks at the unit is told the same
                    self._follow_one(follower, source, _last(unit, sources)[number])
                    self._followed[follower] = place

    def _follow_one(self, follower: str, source: AppSource, last: str) -> None:
        if source.repo_url and source.spec.chart:
            self._versions.follow(follower, source)
        elif source.repo_url:
            wanted = self._wishes.of(source.repo_url, source.target_revision)
            before = self._repositories.recall(wanted, last) if is_commit(last) else None
            self._repositories.follow(follower, wanted, tell=self._hear_standing, in_force=before)

    def _hear_standing(self, follower: str, standing: Standing) -> None:
        known = self._stands.get(follower, Standing())
        self._stands[follower] = standing
        if standing.error is not None and str(standing.error) != str(known.error):
            self._heard.put_nowait(_Troubled(follower, self._followed[follower].repo_url, standing))
        if standing.revision is not None and standing.revision != known.revision:
            self._heard.put_nowait(_Moved(follower, known.revision, standing.revision))


def _troubles(heard: Iterable[_Moved | _Troubled], at: datetime) -> Iterator[SourceTrouble]:
    """What is wrong, once for all units of a repository that it is wrong with."""
    alike: dict[tuple[str, str], list[_Troubled]] = {}
    for each in heard:
        if isinstance(each, _Troubled):
            alike.setdefault((each.url, str(each.standing.error)), []).append(each)
    for (url, error), troubled in alike.items():
        messages = {each.standing.message for each in troubled}
        reason = messages.pop() if len(messages) == 1 else f"{error} What each has stays in force."
        yield trouble_of(url, {unit_behind(each.follower) for each in troubled}, reason, at)


def _place(source: AppSource) -> AppSource:
    """What of a source is followed, whatever is made of it; of a chart also how it is opened."""
    helm = source.spec.helm
    opened = Helm(pass_credentials=True) if helm is not None and helm.pass_credentials else None
    return replace(source, ref="", spec=SourceSpec(chart=source.spec.chart, helm=opened))


def _last(unit: SyncUnit, sources: AppSources) -> tuple[str, ...]:
    """The revision that each source of a unit had when it was last looked at; empty where none is known."""
    try:
        return revisions_in(unit.status.revision, sources, f"app {unit.id}")
    except TrimtabError:
        return ("",) * len(sources.entries)


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
        #: whose units were synced to another commit than the newest known: the remote is asked once more
        self._doubtful: set[str] = set()
        #: the chart that each follower was last given, and for which wish
        self._given: dict[str, tuple[WantedChart, ChartRevision]] = {}
        commits.when_forgotten(self._forget)

    def _forget(self, follower: str) -> None:
        self._doubtful.discard(follower)
        self._stale.pop(unit_behind(follower), None)
        self._given.pop(follower, None)

    async def _fetched(self, follower: str, source: AppSource, revision: str) -> Revision:
        wanted = self._wishes.of(source.repo_url, revision or source.target_revision)
        known = self._repositories.standing(follower).revision
        if known is not None and known.url != wanted.url:
            known = None
        is_known = known is not None and revision in {"", known.commit}
        if revision and not is_known:
            self._doubtful.add(follower)
        is_doubtful = not revision and follower in self._doubtful
        try:
            found = await self._repositories.fetch(wanted, fresh=is_doubtful)
        except TrimtabError as error:
            if known is None or not is_known or is_doubtful:
                raise
            self._note_stale(follower, f"{error} Revision {known.commit[:8]} stays in force.")
            return known
        if not revision:
            self._doubtful.discard(follower)
        return found

    async def _chart(self, follower: str, wanted: WantedChart) -> ChartRevision:
        place = replace(wanted, credentials=())
        before, last = self._given.get(follower, (place, None))
        is_known = (
            last is not None
            and replace(before, target=place.target) == place
            and place.target in {before.target, last.version}
        )
        try:
            found = await self._shelf.fetch(wanted)
        except TrimtabError as error:
            kept = last if is_known else self._recalled(wanted, error)
            if kept is None:
                raise
            self._note_stale(follower, f"{error} Version {kept.version} stays in force.")
            return kept
        if not is_known or found != last:
            self._given[follower] = place, found
        return found

    def _recalled(self, wanted: WantedChart, error: TrimtabError) -> ChartRevision | None:
        """What an earlier process was given, if the repository is silent: one that refuses has spoken."""
        return self._shelf.recall(wanted) if isinstance(error, Unavailable) else None

    async def _capabilities_for(self, unit: SyncUnit) -> Capabilities:
        return await self._asked_of(unit.destination.cluster)

    def _note(self, requests: Sequence[Request], rendered: Sequence[Rendered]) -> None:
        if any(mirror for each in requests for mirror in _mirrors(each).values()):
            looks, trees = list[results.Look](), dict[str, str]()
            for number, (request, made) in enumerate(zip(requests, rendered, strict=True)):
                looks += _told_apart(made.read, number)
                named = {look.source: look.source for look in made.read} | _mirrors(request)
                trees |= {_apart(name, number): tree for name, tree in named.items()}
            self._readers.note(requests[0].name, looks, trees)


def _mirrors(request: Request) -> dict[str, str]:
    """The mirror behind each tree that a request names; what no commit changes has none."""
    return {
        name: tree.revision.mirror if isinstance(tree, RevisionOrigin) else ""
        for name, tree in {MAIN: request.tree, **request.refs}.items()
    }


def _told_apart(looks: Sequence[results.Look], number: int) -> Iterator[results.Look]:
    """What a render has read, told apart from what others have read for the same unit."""
    if not number:
        return iter(looks)
    return (replace(look, source=_apart(look.source, number)) for look in looks)


def _apart(name: str, number: int) -> str:
    return f"{number}:{name}" if number else name


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

"""From a new version of a chart to the units that want it: each chart is asked for at the rhythm of Git refs.

Units that want the same of a chart are asked for together. A chart that is named by one exact version is not
looked out for: that version is what it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeAlias

from msgspec import Struct

from trimtab.app.running.events import AnyEvent, ChartFound, trouble_of
from trimtab.app.sources import AppSource, Wishes
from trimtab.errors import TrimtabError, Unavailable
from trimtab.settings import RepositoriesSettings
from trimtab.sources.charts.offers import is_exact
from trimtab.sources.charts.wishes import ChartRevision, WantedChart, access_of
from trimtab.tasks import Backoff, Chance, Clock, KeyedWorkers, WorkPolicy
from trimtab.tasks.chance import draw

#: brings a chart, as `Charts.fetch` does
Bring: TypeAlias = Callable[[WantedChart], Awaitable[ChartRevision]]
_FIRST_PAUSE: Final = timedelta(seconds=10)
_JITTER: Final = 0.1


class _Chart(Struct, frozen=True):
    """What some units want of a chart, whoever may open it."""

    host: str
    url: str
    name: str
    target: str
    pass_credentials: bool


class _Followed:
    """One such chart, as it stands."""

    def __init__(self, source: AppSource) -> None:
        self.source = source
        self.units: set[str] = set()
        self.revision: ChartRevision | None = None
        self.problem = ""


class Versions:
    """Looks out for new versions of the charts of units, and has these looked at when there is one."""

    def __init__(
        self,
        bring: Bring,
        wishes: Wishes,
        settings: RepositoriesSettings,
        *,
        clock: Clock,
        look: Callable[[str], None],
        tell: Callable[[AnyEvent], None],
        chance: Chance = draw,
    ) -> None:
        self._bring, self._wishes, self._pause = bring, wishes, settings.poll_every
        self._clock, self._look, self._tell, self._chance = clock, look, tell, chance
        self._charts: dict[_Chart, _Followed] = {}
        self._of_unit: dict[str, _Chart] = {}
        longest = settings.longest_pause
        policy = WorkPolicy(
            concurrency=settings.concurrency,
            backoff=Backoff(first=min(_FIRST_PAUSE, longest), cap=longest),
            rhythm=settings.poll_every,
        )
        self._workers: KeyedWorkers[_Chart] = KeyedWorkers(
            self._ask, clock=clock, on_failure=_told_already, policy=policy, chance=chance
        )

    async def run(self) -> None:
        """Look out, for ever."""
        await self._workers.work()

    def follow(self, unit_id: str, source: AppSource) -> None:
        """Look out for what a unit's source wants of a chart; an error if that cannot be meant."""
        wanted = self._wishes.chart(source, source.target_revision)
        host = access_of(wanted).place.host
        chart = _Chart(host, wanted.url, wanted.name, wanted.target, wanted.pass_credentials)
        if self._of_unit.get(unit_id) == chart:
            return
        self.forget(unit_id)
        if is_exact(wanted.target):
            return
        self._of_unit[unit_id] = chart
        if chart not in self._charts:
            self._charts[chart] = _Followed(source)
            self._workers.offer(host, chart)
        self._charts[chart].units.add(unit_id)

    def forget(self, unit_id: str) -> None:
        """Look out for nothing on behalf of a unit any more."""
        chart = self._of_unit.pop(unit_id, None)
        if chart is None:
            return
        self._charts[chart].units.remove(unit_id)
        if not self._charts[chart].units:
            del self._charts[chart]

    def problem(self, unit_id: str) -> str:
        """What is wrong with news of a unit's chart; empty if nothing is."""
        chart = self._of_unit.get(unit_id)
        return self._charts[chart].problem if chart is not None else ""

    async def _ask(self, host: str, chart: _Chart) -> None:
        """Ask once for what units want of a chart, and say when to ask again."""
        followed = self._charts.get(chart)
        if followed is None:
            return
        began = self._clock.monotonic()
        try:
            found = await self._bring(self._wishes.chart(followed.source, chart.target))
            self._note(followed, found)
        except TrimtabError as error:
            self._complain(followed, str(error))
            if isinstance(error, Unavailable):
                raise
        pause = self._pause.total_seconds() * (1 + _JITTER * self._chance())
        self._workers.offer(host, chart, after=max(0.0, began + pause - self._clock.monotonic()))

    def _note(self, followed: _Followed, found: ChartRevision) -> None:
        before, followed.revision, followed.problem = followed.revision, found, ""
        if before is None or (before.version, before.digest) == (found.version, found.digest):
            return  # who has just come is looked at anyhow
        for unit_id in sorted(followed.units):
            self._look(unit_id)
        told = ChartFound(
            at=self._clock.now(), chart=found.name, version=found.version, units=len(followed.units)
        )
        self._tell(told)

    def _complain(self, followed: _Followed, problem: str) -> None:
        if followed.problem == problem:
            return
        followed.problem = problem
        source = f"chart {followed.source.spec.chart} of {followed.source.repo_url}"
        self._tell(trouble_of(source, followed.units, problem, self._clock.now()))


def _told_already(_host: str, _chart: _Chart, _error: Exception) -> None:
    """Failures are told to those who follow; bugs are in the workers' snapshot."""

"""New versions of charts are found at the rhythm of Git refs, once for all units that want the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from trimtab.app.running.events import AnyEvent, ChartFound, SourceTrouble
from trimtab.app.running.versions import Versions
from trimtab.app.sources import AppSource, Wishes
from trimtab.errors import InvalidSpec, SourceRefused, TrimtabError, Unavailable
from trimtab.settings import RepositoriesSettings
from trimtab.sources.charts.wishes import ChartRevision, WantedChart
from trimtab.sources.rendering.specs import SourceSpec
from trimtab.tasks import ManualClock, plain_group

SETTINGS = RepositoriesSettings()
INTERVAL = SETTINGS.poll_every.total_seconds()
DOWN = Unavailable("charts.example", "nobody answers")


class Shop:
    """A chart repository, those who look out for what it offers, and what they heard."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.asked = Counter[str]()
        self.newest = "1.0.0"
        self.error: TrimtabError | None = None
        self.looked: list[str] = []
        self.told: list[AnyEvent] = []
        self._turn = asyncio.Event()
        wishes = Wishes(RepositoriesSettings(lfs=False))
        self.versions = Versions(
            self.bring,
            wishes,
            SETTINGS,
            clock=self.clock,
            look=self.looked.append,
            tell=self.told.append,
            chance=lambda: 0.0,
        )

    async def bring(self, wanted: WantedChart) -> ChartRevision:
        self.asked[wanted.target] += 1
        self._turn.set()
        if self.error is not None:
            raise self.error
        return ChartRevision(
            url=wanted.url, name=wanted.name, version=self.newest, digest="", archive="", largest=1
        )

    async def until_asked(self, target: str, times: int) -> None:
        async with asyncio.timeout(60):
            while self.asked[target] < times:
                self._turn.clear()
                await self._turn.wait()
        await asyncio.sleep(0)


def chart(target: str = "^1") -> AppSource:
    return AppSource(repo_url="https://charts.example", target_revision=target, spec=SourceSpec(chart="web"))


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    made = Shop()
    async with plain_group() as group:
        running = group.create_task(made.versions.run())
        yield made
        running.cancel()


async def test_units_that_want_the_same_are_asked_for_once_and_looked_at_when_there_is_a_new_version(
    shop: Shop,
) -> None:
    for unit in ("web", "api"):
        shop.versions.follow(unit, chart())
    shop.versions.follow("fixed", chart("1.0.0"))
    await shop.until_asked("^1", 1)
    await shop.clock.advance(INTERVAL)
    await shop.until_asked("^1", 2)
    assert (shop.looked, shop.told) == ([], [])
    shop.newest = "1.1.0"
    await shop.clock.advance(INTERVAL)
    await shop.until_asked("^1", 3)
    assert shop.looked == ["api", "web"]
    assert shop.told == [ChartFound(at=shop.clock.now(), chart="web", version="1.1.0", units=2)]
    shop.versions.follow("api", chart("1.1.0"))
    shop.versions.forget("web")
    await shop.clock.advance(INTERVAL)
    assert shop.asked == {"^1": 3}


async def test_a_repository_that_is_away_is_told_once_and_tried_again_soon(shop: Shop) -> None:
    for unit in ("web", "api"):
        shop.versions.follow(unit, chart())
    await shop.until_asked("^1", 1)
    shop.error = DOWN
    await shop.clock.advance(INTERVAL)
    await shop.until_asked("^1", 2)
    await shop.clock.advance(10)
    await shop.until_asked("^1", 3)
    assert shop.versions.problem("web") == str(DOWN)
    (told,) = shop.told
    assert isinstance(told, SourceTrouble)
    assert (told.source, told.units) == ("chart web of https://charts.example", 2)
    shop.error, shop.newest = None, "1.1.0"
    await shop.clock.advance(20)
    await shop.until_asked("^1", 4)
    assert (shop.versions.problem("web"), shop.looked) == ("", ["api", "web"])


async def test_a_refusal_is_looked_at_again_at_the_usual_rhythm(shop: Shop) -> None:
    shop.error = SourceRefused("charts.example", "it sends us elsewhere")
    shop.versions.follow("web", chart())
    await shop.until_asked("^1", 1)
    await shop.clock.advance(INTERVAL - 1)
    assert shop.asked["^1"] == 1
    await shop.clock.advance(1)
    await shop.until_asked("^1", 2)


async def test_what_cannot_be_meant_is_refused_and_asks_nobody(shop: Shop) -> None:
    with pytest.raises(InvalidSpec):
        shop.versions.follow("web", AppSource(repo_url="ftp://charts", spec=SourceSpec(chart="web")))
    assert shop.versions.problem("web") == ""

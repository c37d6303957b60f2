"""Following a collection: nothing skipped, nothing doubled, whatever the network and the server do."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias, cast

import pytest

from testbed.proxy import UNTROUBLED, Fate, Proxy, random_fates, unruly_proxy
from tests.kube.world import CONFIG_MAPS, config_map, connect_to, trusting
from trimtab.errors import TrimtabError, Unavailable
from trimtab.kube.cluster import EventType, Selection, WatchEvent
from trimtab.kube.failures import Forbidden, NotFound, Status, failure
from trimtab.kube.objects import KubeObject, Metadata, Page
from trimtab.kube.picture import (
    Complete,
    FellBack,
    Interrupted,
    News,
    Removed,
    Resumed,
    Upserted,
    Version,
)
from trimtab.kube.watch import follow
from trimtab.settings import ClusterSettings
from trimtab.tasks import ManualClock

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane
    from testbed.fixtures import ControlPlanes
    from trimtab.kube.cluster import Cluster
    from trimtab.kube.discovery import Resource
    from trimtab.kube.http import HttpCluster

OURS = Selection(labels="of=test")
IMPATIENT = ClusterSettings(watch_silence=timedelta(seconds=1), request_timeout=timedelta(seconds=5))
END = "the-end"


#: the longest that a picture may take to be true
LIMIT = 60.0


class Audience:
    """Whoever follows: keeps the picture the news paint, and every word of them."""

    def __init__(self) -> None:
        self.picture: dict[str, str] = {}
        self.news: list[News] = []
        self._more = asyncio.Event()

    async def listen(self, cluster: HttpCluster, namespace: str, *, until: Callable[[News], bool]) -> None:
        async with aclosing(follow(cluster, CONFIG_MAPS, namespace=namespace, select=OURS)) as told:
            async for news in told:
                self.hear(news)
                if until(news):
                    return

    def hear(self, news: News) -> None:
        self.news.append(news)
        self._more.set()
        self._more = asyncio.Event()
        match news:
            case Upserted(told):
                assert self.picture.get(told.metadata.name) != told.metadata.resource_version, "told twice"
                self.picture[told.metadata.name] = told.metadata.resource_version
            case Removed(name=name):
                del self.picture[name]
            case _:
                pass

    async def next(self, kind: type[News]) -> None:
        """Return when news of this kind have been heard from now on."""
        before = self.count(kind)
        while self.count(kind) == before:
            await self._more.wait()

    async def until_it_is(self, truth: dict[str, str]) -> None:
        """Return when the picture is true; a list tells what is gone after what is there."""
        async with asyncio.timeout(LIMIT):
            while self.picture != truth:
                await self._more.wait()

    def count(self, *kinds: type[News]) -> int:
        return sum(isinstance(each, kinds) for each in self.news)


def at_the_end(news: News) -> bool:
    return isinstance(news, Upserted) and news.object.metadata.name == END


def never(_news: News) -> bool:
    return False


async def change(cluster: HttpCluster, namespace: str, source: random.Random) -> None:
    """One random change of one of thirty objects."""
    name = f"cm-{source.randrange(30)}"
    if source.random() < 0.3:
        try:
            await cluster.delete(CONFIG_MAPS, name, namespace=namespace)
        except NotFound:
            pass
        else:
            return
    body = config_map(name, {"of": "test"}, key=str(source.random()))
    await cluster.apply(CONFIG_MAPS, name, body, namespace=namespace, force=True)


async def truth(cluster: HttpCluster, namespace: str) -> dict[str, str]:
    pages = cluster.list(CONFIG_MAPS, namespace=namespace, select=OURS)
    return {
        each.metadata.name: each.metadata.resource_version async for page in pages for each in page.objects
    }


async def test_what_exists_is_told_then_completeness_then_changes(
    cluster: HttpCluster, namespace: str
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a", {"of": "test"}), namespace=namespace)
    async with aclosing(follow(cluster, CONFIG_MAPS, namespace=namespace, select=OURS)) as told:
        existing, complete = await anext(told), await anext(told)
        await cluster.delete(CONFIG_MAPS, "a", namespace=namespace)
        gone = await anext(told)
    assert isinstance(existing, Upserted)
    assert existing.object.metadata.name == "a"
    assert isinstance(complete, Complete)
    assert isinstance(gone, Removed)
    assert (gone.name, gone.uid) == ("a", existing.object.metadata.uid)
    assert gone.object is not None


async def test_an_object_that_leaves_the_selection_is_removed(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a", {"of": "test"}), namespace=namespace)
    async with aclosing(follow(cluster, CONFIG_MAPS, namespace=namespace, select=OURS)) as told:
        assert isinstance(await anext(told), Upserted)
        assert isinstance(await anext(told), Complete)
        await cluster.apply(
            CONFIG_MAPS, "a", config_map("a", {"of": "other"}), namespace=namespace, force=True
        )
        assert isinstance(await anext(told), Removed)


Happening: TypeAlias = WatchEvent | TrimtabError


class Scripted:
    """A server with one object, whose watches go as a script says; counts how often it is listed."""

    def __init__(self, *watches: Sequence[Happening]) -> None:
        self._watches = iter(watches)
        self.listed = self.watched = 0

    async def list(self, resource: Resource, **_: object) -> AsyncGenerator[Page]:
        self.listed += 1
        yield Page(objects=(one("a", "1"),), resource_version="1", continue_token="", remaining=None)

    @asynccontextmanager
    async def watch(self, resource: Resource, **_: object) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self.watched += 1
        script = next(self._watches)
        if isinstance(script[0], TrimtabError):
            raise script[0]
        yield self._told(script)

    async def _told(self, script: Sequence[Happening]) -> AsyncIterator[WatchEvent]:
        for each in script:
            if isinstance(each, TrimtabError):
                raise each
            yield each


def one(name: str, version: str) -> KubeObject:
    metadata = Metadata(name=name, uid=name, resource_version=version)
    return KubeObject(api_version="v1", kind="ConfigMap", metadata=metadata, raw=b"{}")


CHANGED = WatchEvent(EventType.MODIFIED, one("a", "2"))
LOST = failure("watch ConfigMap", Status(code=410, message="too old"))
CUT = Unavailable("watch ConfigMap", "cut")


async def test_a_server_that_loses_its_history_again_and_again_is_not_listed_without_a_pause() -> None:
    server, clock = Scripted(*[(CHANGED, LOST)] * 9), ManualClock()
    async with asyncio.TaskGroup() as room:
        listening = room.create_task(exhaust(follow(cast("Cluster", server), CONFIG_MAPS, clock=clock)))
        await clock.advance(0)
        assert (server.listed, clock.sleepers()) == (1, 1)
        await clock.advance(1)
        assert server.listed == 2
        listening.cancel()


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_a_pause() -> None:
    server, clock = Scripted(*[(CHANGED,)] * 9), ManualClock()
    async with asyncio.TaskGroup() as room:
        listening = room.create_task(exhaust(follow(cast("Cluster", server), CONFIG_MAPS, clock=clock)))
        await clock.advance(0)
        assert (server.watched, clock.sleepers()) == (1, 1)
        await clock.advance(3)
        assert (server.watched, server.listed) == (4, 1)
        listening.cancel()


async def exhaust(news: AsyncGenerator[News]) -> None:
    async with aclosing(news):
        async for _ in news:
            pass


async def test_after_lost_history_nobody_says_that_nothing_was_missed() -> None:
    clock = ManualClock()
    server = Scripted((CHANGED, CUT), (LOST,), (CHANGED, CUT), (CHANGED, CUT))
    told: list[type] = []
    async with (
        aclosing(follow(cast("Cluster", server), CONFIG_MAPS, clock=clock)) as news,
        asyncio.TaskGroup() as room,
    ):
        moving = room.create_task(advance_for_ever(clock))
        async for each in news:
            told.append(type(each))
            if told.count(Interrupted) == 3:
                break
        moving.cancel()
    assert told == [
        *(Upserted, Complete, Upserted, Interrupted, FellBack),
        *(Upserted, Complete, Upserted, Interrupted),
        *(Resumed, Interrupted),
    ]


async def advance_for_ever(clock: ManualClock) -> None:
    while True:
        await clock.advance(1)


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_thousand_changes_are_each_told_once_through_a_network_that_cuts_delays_and_stalls(
    control_plane: ControlPlane, cluster: HttpCluster, namespace: str, seed: int
) -> None:
    audience, source = Audience(), random.Random(seed)
    async with (
        unruly_proxy(
            "127.0.0.1", control_plane.port, tls=trusting(control_plane), fates=random_fates(seed)
        ) as proxy,
        connect_to(control_plane, server=proxy.url, settings=IMPATIENT) as troubled,
        asyncio.TaskGroup() as room,
    ):
        room.create_task(audience.listen(troubled, namespace, until=at_the_end))
        for _ in range(1000):
            await change(cluster, namespace, source)
        await cluster.create(CONFIG_MAPS, config_map(END, {"of": "test"}), namespace=namespace)
    assert audience.picture == await truth(cluster, namespace)
    assert proxy.cut + proxy.stalled > 0
    assert audience.count(Interrupted) > 0
    assert audience.count(FellBack) == 0
    assert audience.count(Upserted, Removed) >= 1000


class Turmoil:
    """Everything that may happen to a server while somebody follows it."""

    def __init__(self, plane: ControlPlane, proxy: Proxy, direct: HttpCluster, audience: Audience) -> None:
        self.plane = plane
        self.proxy = proxy
        self.direct = direct
        self.audience = audience
        self.source = random.Random(3)

    async def change(self) -> None:
        """One change, repeated until the server could be asked."""
        while True:
            try:
                return await change(self.direct, "default", self.source)
            except Unavailable:
                continue

    async def pause(self) -> None:
        """The server falls silent until that is noticed."""
        self.plane.apiserver.pause()
        await self.audience.next(Interrupted)
        self.plane.apiserver.resume()

    async def kill(self) -> None:
        """The server dies and comes back."""
        await asyncio.to_thread(self.plane.restart_apiserver)

    async def forget(self) -> None:
        """Things happen while the connection is away, and the server forgets that they did."""
        self.proxy.fates = lambda: Fate(after=0)
        self.proxy.cut_all()
        for _ in range(20):
            await self.change()
        await asyncio.to_thread(self.plane.compact)
        self.proxy.fates = lambda: UNTROUBLED
        await self.audience.next(FellBack)


async def test_nothing_is_missed_while_the_server_is_paused_killed_and_its_history_compacted(
    control_planes: ControlPlanes,
) -> None:
    plane, audience = control_planes.start(watch_cache=False), Audience()
    async with (
        unruly_proxy("127.0.0.1", plane.port, tls=trusting(plane)) as proxy,
        connect_to(plane, server=proxy.url, settings=IMPATIENT) as followed,
        connect_to(plane) as direct,
        asyncio.TaskGroup() as room,
    ):
        turmoil = Turmoil(plane, proxy, direct, audience)
        listening = room.create_task(audience.listen(followed, "default", until=never))
        troubles = {
            150: turmoil.pause,
            350: turmoil.forget,
            550: turmoil.kill,
            700: turmoil.forget,
            850: turmoil.kill,
        }
        for number in range(1000):
            if number in troubles:
                await troubles[number]()
            await turmoil.change()
        await direct.create(CONFIG_MAPS, config_map(END, {"of": "test"}), namespace="default")
        settled = await truth(direct, "default")
        await audience.until_it_is(settled)
        listening.cancel()
    assert audience.picture == settled
    assert audience.count(FellBack) == 2
    assert audience.count(Complete) == 3
    assert audience.count(Interrupted) >= 3
    assert audience.count(Resumed) >= 1


async def test_what_is_not_allowed_is_raised_and_not_tried_again(control_plane: ControlPlane) -> None:
    async with connect_to(control_plane, user="nobody") as nobody:
        with pytest.raises(Forbidden):
            await anext(follow(nobody, CONFIG_MAPS))


async def test_a_later_follow_goes_on_from_what_was_seen(cluster: HttpCluster, namespace: str) -> None:
    seen: dict[tuple[str, str], Version] = {}
    await cluster.create(CONFIG_MAPS, config_map("kept", {"of": "test"}), namespace=namespace)
    await cluster.create(CONFIG_MAPS, config_map("lost", {"of": "test"}), namespace=namespace)
    async with aclosing(follow(cluster, CONFIG_MAPS, namespace=namespace, select=OURS, seen=seen)) as told:
        await anext(told), await anext(told), await anext(told)
    await cluster.delete(CONFIG_MAPS, "lost", namespace=namespace)
    async with aclosing(follow(cluster, CONFIG_MAPS, namespace=namespace, select=OURS, seen=seen)) as told:
        gone, complete = await anext(told), await anext(told)
    assert isinstance(gone, Removed)
    assert gone.name == "lost"
    assert isinstance(complete, Complete)
    assert list(seen) == [(namespace, "kept")]

"""Which kinds there are, learnt from discovery, definitions and API services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from tests.engine.cache.objects import CONFIG_MAPS, kind, told
from trimtab.engine.cache.kinds import Kinds
from trimtab.errors import ClusterUnreachable
from trimtab.kube.discovery import Discovery, Resource, ServerVersion
from trimtab.resources.keys import ResourceKey
from trimtab.settings import CacheSettings
from trimtab.tasks import ManualClock

if TYPE_CHECKING:
    from trimtab.kube.cluster import Cluster

METRICS = kind("Metric", "metrics.example.com")
NAME = ResourceKey("apiregistration.k8s.io", "APIService", "", "v1.metrics.example.com")


class Server:
    """Serves what a test says, and counts how often it is asked."""

    def __init__(self) -> None:
        self.serves: tuple[Resource, ...] = (CONFIG_MAPS,)
        self.failed: dict[str, str] = {}
        self.error: Exception | None = None
        self.asked = 0

    async def discover(self) -> Discovery:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return Discovery(resources=self.serves, failed=self.failed)

    async def version(self) -> ServerVersion:
        return ServerVersion(git_version="v1.36.3-vendor")


class Scene:
    """The kinds of that server, running on a clock that the test moves."""

    def __init__(self) -> None:
        self.server, self.clock, self.changes = Server(), ManualClock(), 0
        self.kinds = Kinds(cast("Cluster", self.server), CacheSettings(), self.clock, self._change)

    def _change(self) -> None:
        self.changes += 1


@asynccontextmanager
async def running() -> AsyncIterator[Scene]:
    scene = Scene()
    async with asyncio.TaskGroup() as room:
        task = room.create_task(scene.kinds.run())
        await scene.clock.advance(0)
        yield scene
        task.cancel()


def service(*, available: str = "True", **spec: Any) -> Any:
    spec = {"group": "metrics.example.com", "version": "v1", "service": {"name": "m"}, **spec}
    conditions = [{"type": "Available", "status": available}]
    return told({"metadata": {"name": NAME.name}, "spec": spec, "status": {"conditions": conditions}})


async def test_discovery_is_asked_once_and_many_reasons_cost_one_more() -> None:
    async with running() as scene:
        assert (scene.server.asked, scene.changes, scene.kinds.version) == (1, 1, "v1.36.3")
        before = scene.kinds.catalog
        for _ in range(5):
            scene.kinds.ask()
        await scene.clock.advance(1)
        assert scene.server.asked == 2
        assert scene.kinds.catalog is before, "nothing is new, so nobody has to look"
        await scene.clock.advance(3600)
        assert scene.server.asked == 2


async def test_an_api_service_that_becomes_available_is_looked_for_until_it_is_served() -> None:
    async with running() as scene:
        scene.kinds.announce(NAME, service(available="False"))
        await scene.clock.advance(1)
        assert scene.server.asked == 1
        scene.kinds.announce(NAME, service())
        await scene.clock.advance(2)
        asked = scene.server.asked
        assert asked > 1
        scene.server.serves = (CONFIG_MAPS, METRICS)
        await scene.clock.advance(30)
        assert scene.kinds.catalog.preferred("metrics.example.com", "Metric") == METRICS
        found = scene.server.asked
        scene.kinds.announce(NAME, service())
        await scene.clock.advance(600)
        assert scene.server.asked == found, "the same state again is no reason to ask"


async def test_an_api_service_that_never_serves_is_given_up_after_a_while() -> None:
    async with running() as scene:
        scene.kinds.announce(NAME, service())
        await scene.clock.advance(600)
        assert scene.server.asked == 10


async def test_an_api_service_that_goes_takes_its_kinds_with_it() -> None:
    async with running() as scene:
        scene.server.serves = (CONFIG_MAPS, METRICS)
        scene.kinds.announce(NAME, service())
        await scene.clock.advance(1)
        scene.server.serves = (CONFIG_MAPS,)
        scene.kinds.withdraw(NAME)
        await scene.clock.advance(1)
        assert scene.kinds.catalog.preferred("metrics.example.com", "Metric") is None


async def test_the_server_s_own_api_services_are_no_reason_to_ask() -> None:
    async with running() as scene:
        scene.kinds.announce(NAME, service(service=None))
        scene.kinds.withdraw(NAME)
        await scene.clock.advance(60)
        assert scene.server.asked == 1


async def test_groups_that_do_not_answer_are_asked_for_again_and_told_meanwhile() -> None:
    async with running() as scene:
        scene.server.serves, scene.server.failed = (CONFIG_MAPS,), {"metrics.example.com/v1": "no answer"}
        scene.kinds.ask()
        await scene.clock.advance(1)
        assert str(scene.kinds.error).startswith("discover metrics.example.com/v1:")
        scene.server.failed = {}
        await scene.clock.advance(60)
        assert scene.kinds.error is None


async def test_a_failed_discovery_keeps_what_is_known_and_is_tried_again() -> None:
    async with running() as scene:
        scene.server.error = ClusterUnreachable("discover", "no answer")
        scene.kinds.ask()
        await scene.clock.advance(1)
        assert scene.kinds.error is scene.server.error
        assert scene.kinds.catalog.preferred("", "ConfigMap") == CONFIG_MAPS
        scene.server.error = None
        await scene.clock.advance(60)
        assert scene.kinds.error is None

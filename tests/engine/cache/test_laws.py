"""The laws of the cache, tried with random changes and random troubles.

It never calls anything gone that is there, and when the troubles end, its picture is the cluster's.
"""

from __future__ import annotations

import random

import pytest

from tests.engine.cache.audience import Audience, listening
from tests.engine.cache.objects import CONFIG_MAPS, SECRETS, TRACKING, Json, config_map
from tests.engine.cache.troubled import Troubled, refusal
from trimtab.engine.cache import ClusterCache
from trimtab.engine.live import Change
from trimtab.errors import ClusterUnreachable
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import NotFound
from trimtab.resources.keys import ResourceKey
from trimtab.settings import CacheSettings
from trimtab.tasks import ManualClock

KINDS = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}
NAMES = [f"n-{number}" for number in range(12)]
MOVES = 120
CUT = ClusterUnreachable("watch it", "cut")


class Storm:
    """Random changes and troubles; keeps what the server itself says is there."""

    def __init__(self, seed: int, troubled: Troubled, clock: ManualClock) -> None:
        self._dice = random.Random(seed)
        self._troubled = troubled
        self._clock = clock
        self.lives: dict[ResourceKey, str] = {}
        self.wrongly_gone: list[Change] = []

    def hear(self, change: Change) -> None:
        """Nothing may be called gone in the life it still has."""
        if change.after is None and change.before and self.lives.get(change.key) == change.before.uid:
            self.wrongly_gone.append(change)

    async def move(self) -> None:
        act = self._dice.choices(
            [self._change, self._remove, self._disturb, self._recover, self._wait], [10, 4, 3, 2, 3]
        )[0]
        await act()

    def _pick(self) -> tuple[Resource, ResourceKey]:
        resource = KINDS[self._dice.choice(list(KINDS))]
        return resource, ResourceKey("", resource.kind, "default", self._dice.choice(NAMES))

    async def _change(self) -> None:
        resource, key = self._pick()
        unit = self._dice.choice(["", "shop", "bank"])
        whole: Json = {**config_map(key.name, unit), "kind": resource.kind}
        whole["data"] = {"x": "eA=="} if self._dice.random() < 0.5 else {"y": "eQ=="}
        applied = await self._troubled.inner.apply(
            resource, key.name, whole, namespace=key.namespace, force=True
        )
        self.lives[key] = applied.object.metadata.uid

    async def _remove(self) -> None:
        resource, key = self._pick()
        try:
            await self._troubled.inner.delete(resource, key.name, namespace=key.namespace)
        except NotFound:
            return
        self.lives.pop(key, None)

    async def _disturb(self) -> None:
        kind = self._dice.choice(list(KINDS))
        match self._dice.randrange(4):
            case 0:
                self._troubled.failing_next[kind] = refusal(410)
            case 1:
                self._troubled.failing_next[kind] = CUT
            case 2:
                self._troubled.refusing[kind] = refusal(self._dice.choice([403, 404, 429, 500]))
            case _:
                self._troubled.refusing_second_page[kind] = self._dice.choice(
                    [CUT, refusal(410), refusal(403)]
                )

    async def _recover(self) -> None:
        self.calm()

    def calm(self) -> None:
        for troubles in (
            self._troubled.failing_next,
            self._troubled.refusing,
            self._troubled.refusing_second_page,
        ):
            troubles.clear()

    async def _wait(self) -> None:
        await self._clock.advance(self._dice.choice([0, 0.3, 1, 5, 30]))


async def truth(troubled: Troubled) -> dict[ResourceKey, str]:
    return {
        each.key: each.metadata.resource_version
        for resource in KINDS.values()
        async for page in troubled.inner.list(resource)
        for each in page.objects
    }


def picture(audience: Audience, keys: list[ResourceKey]) -> dict[ResourceKey, str]:
    return {key: found.resource_version for key in keys if (found := audience.cache.get(key)) is not None}


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_happens_nothing_there_is_called_gone_and_in_the_end_the_picture_is_true(
    seed: int,
) -> None:
    clock = ManualClock()
    troubled = Troubled()
    storm = Storm(seed, troubled, clock)
    cache = ClusterCache(troubled.cluster, CacheSettings(), TRACKING, clock=clock)
    cache.subscribe(storm.hear)
    everything = [ResourceKey("", kind, "default", name) for kind in KINDS for name in NAMES]
    async with listening(cache) as audience:
        for _ in range(MOVES):
            await storm.move()
        storm.calm()
        await clock.advance(CacheSettings().retry_refused.total_seconds() * 2)
        assert storm.wrongly_gone == []
        assert picture(audience, everything) == await truth(troubled)
        assert all(cache.knows("", kind, "default") for kind in KINDS)
        marked = {live.key for unit in ("shop", "bank") for live in cache.managed(TRACKING.mark_for(unit))}
        assert marked == {key for key in everything if (live := cache.get(key)) is not None and live.mark}
        for key in marked:
            assert (
                cache.manifest(key)
                == (await troubled.inner.get(KINDS[key.kind], key.name, namespace="default")).manifest()
            )

"""The cache on an embedded cluster: what it knows, when it knows it, and what it never does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.engine.cache.marking import ByAnnotation
from trimtab.apiserver import MemoryCluster
from trimtab.engine.cache import ClusterCache
from trimtab.kube.discovery import Resource
from trimtab.resources.keys import ResourceKey
from trimtab.settings import CacheSettings

TRACKING = ByAnnotation()
SHOP = TRACKING.mark_for("shop")
CONFIG_MAPS = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True)


def config_map(name: str, unit: str = "", **data: str) -> dict[str, Any]:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return TRACKING.marked(manifest, unit) if unit else manifest


@asynccontextmanager
async def running(cache: ClusterCache) -> AsyncIterator[ClusterCache]:
    async with asyncio.TaskGroup() as room:
        task = room.create_task(cache.run())
        await cache.complete()
        yield cache
        task.cancel()


async def test_after_a_full_reading_every_object_is_present_by_key() -> None:
    cluster = MemoryCluster()
    await cluster.create(CONFIG_MAPS, config_map("a", "shop", x="1"), namespace="default")
    await cluster.create(CONFIG_MAPS, config_map("b"), namespace="default")
    async with running(ClusterCache(cluster, CacheSettings(), TRACKING)) as cache:
        a, b = (ResourceKey("", "ConfigMap", "default", name) for name in "ab")
        found = cache.get(a)
        assert found is not None
        assert found.mark == SHOP
        assert cache.managed(SHOP) == (found,)
        assert cache.get(b) is not None
        manifest = cache.manifest(a)
        assert manifest is not None
        assert manifest["data"] == {"x": "1"}
        assert cache.manifest(b) is None
        assert cache.knows("", "ConfigMap", "default")
        assert not cache.knows("", "Event", "default")

"""A server that refuses, cuts and falls silent at random: a sync through it ends as the undisturbed one."""

from __future__ import annotations

import asyncio
import ssl
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.engine.mortal import FEW_KINDS, KEY, SETTINGS, Given
from tests.engine.stage import config_map
from tests.engine.storms import Fate, Storm, stormy
from tests.engine.theatre import WANTED, Theatre, hook_runs
from tests.kube.world import TokenAccess
from trimtab.apiserver import MemoryCluster, serve
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.apiserver.serving import Served
from trimtab.engine import Engine, GivenClusters, Keyring, RecordStore
from trimtab.engine.clusters import opened
from trimtab.engine.operations import OperationPhase
from trimtab.kube import connect
from trimtab.kube.cluster import Cluster
from trimtab.settings import ClusterSettings

#: an answer that does not come is given up soon, so that storms pass quickly
HASTY = ClusterSettings(request_timeout=timedelta(seconds=1), watch_silence=timedelta(seconds=3))
LIMIT = 240.0
#: how long a server may be away is not the question here, and a starved machine makes it long
PATIENT = replace(SETTINGS, patience=timedelta(seconds=LIMIT))
SEEDS = (2, 3, 5)
MORE = [*WANTED, config_map("swapped", sync_options="Replace=true", sync_wave="1")]


async def see_through(cluster: Cluster, namespace: str) -> None:
    """Run an engine until the unit's operation is over."""
    units = RecordStore(cluster, namespace=namespace, keys=Keyring(KEY))
    clusters = GivenClusters()
    clusters.put(opened("here", cluster, namespaces=[namespace]))
    engine = Engine(PATIENT, clusters, Given(MORE), units, reconciliation=FEW_KINDS, key=KEY)
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        running = group.create_task(engine.run())
        await engine.known()
        await engine.wait_for_sync(namespace)
        running.cancel()


class Weather:
    """One cluster in which the operation is played: calmly, and through storms."""

    def __init__(self, theatre: Theatre, served: Served) -> None:
        self._theatre, self._served = theatre, served
        self._tls = ssl.create_default_context(cadata=served.authority)

    async def calm(self) -> dict[str, Any]:
        await self._theatre.prepare("calm")
        await see_through(self._theatre.cluster, "calm")
        return await self._theatre.outcome("calm")

    async def storm(self, seed: int) -> tuple[dict[str, Any], Storm]:
        namespace = f"storm-{seed}"
        storm = Storm(seed, share=0.35, silent=0.005, away_every=50, away_for=10)
        await self._theatre.prepare(namespace)
        async with (
            stormy(self._served.url, self._tls, storm) as address,
            connect(TokenAccess(address, self._served.token), HASTY) as cluster,
        ):
            await see_through(cluster, namespace)
        return await self._theatre.outcome(namespace), storm


@pytest.mark.timeout(300)
async def test_a_sync_through_any_storm_ends_as_the_undisturbed_one() -> None:
    inner = MemoryCluster()
    async with serve(inner.api) as served, behaviours_of(inner, timing=AT_ONCE):
        theatre = Theatre(inner, await inner.discover())
        weather = Weather(theatre, served)
        async with hook_runs(theatre) as runs:
            wanted = await weather.calm()
            assert wanted["phase"] is OperationPhase.SUCCEEDED
            async with asyncio.TaskGroup() as group:
                storms = {seed: group.create_task(weather.storm(seed)) for seed in SEEDS}
    for seed, task in storms.items():
        outcome, storm = task.result()
        assert (seed, outcome["failed"]) == (seed, [])
        assert (seed, outcome) == (seed, wanted)
        assert (seed, runs[f"storm-{seed}"]) == (seed, runs["calm"])
        assert storm.met[Fate.CUT_AFTER] > 0

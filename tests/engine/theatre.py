"""Where one and the same operation is played again and again, and what can be compared of how it ended."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from tests.engine.mortal import INSTALLATION, KEY
from tests.engine.stage import Json, config_map, deployment, job
from trimtab.engine import Keyring, RecordStore
from trimtab.engine.operations import Operation, StepStatus
from trimtab.engine.units import Destination, SyncUnit
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.picture import Complete, Upserted
from trimtab.kube.watch import follow

WANTED = [
    job("pre", hook="PreSync"),
    config_map("kept", "2"),
    config_map("first", sync_wave="1"),
    deployment("web", replicas=1, sync_wave="2"),
    job("during", hook="Sync", sync_wave="2", hook_delete_policy="HookSucceeded"),
    config_map("last", sync_wave="3"),
    job("post", hook="PostSync"),
    job("never", hook="SyncFail"),
]
BEFORE = [config_map("kept", "1"), config_map("old-1"), config_map("old-2", sync_wave="1")]
COMPARED = ("ConfigMap", "Deployment", "Job")
_RESTLESS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


class Theatre:
    """A cluster in which one operation after another is played, each in a namespace of its own."""

    def __init__(self, cluster: Cluster, discovery: Discovery) -> None:
        self.cluster = cluster
        self._discovery = discovery

    def resource(self, kind: str) -> Resource:
        return next(each for each in self._discovery.resources if each.kind == kind and "list" in each.verbs)

    async def prepare(self, namespace: str) -> None:
        """A unit that was synced before, and of which something new is asked now."""
        metadata = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await self.cluster.create(self.resource("Namespace"), metadata)
        for each in BEFORE:
            marked = json.loads(json.dumps(each))
            marked["metadata"].setdefault("annotations", {})["trimtab.dev/owner"] = (
                f"{INSTALLATION}/{namespace}"
            )
            maps = self.resource("ConfigMap")
            await self.cluster.apply(maps, each["metadata"]["name"], marked, namespace=namespace)
        unit = SyncUnit(
            id=namespace,
            source="git",
            destination=Destination(cluster="here", namespace=namespace),
            operation=Operation(prune=True),
        )
        await self.store(namespace).create(unit)

    def store(self, namespace: str) -> RecordStore:
        return RecordStore(self.cluster, namespace=namespace, keys=Keyring(KEY))

    async def outcome(self, namespace: str) -> dict[str, Any]:
        """All that can be compared of how a namespace was left."""
        unit = await self.store(namespace).get(namespace)
        state = unit.status.operation_state
        assert state is not None
        objects = await self._left(namespace)
        return {
            "phase": state.phase,
            "asked": unit.operation,
            "history": len(unit.status.history),
            "failed": [(each.key.name, each.message) for each in state.results if each.phase.bad],
            # What was pruned before the crash needs no result after it.
            "results": sorted(
                (each.key.name, each.sync_phase.value)
                for each in state.results
                if each.status is StepStatus.SYNCED
            ),
            "objects": objects,
        }

    async def _left(self, namespace: str) -> dict[str, Json]:
        """The objects that stay: one that is deleted may wait a moment for the garbage collector."""
        async with asyncio.timeout(60):
            while True:
                found = [
                    each.manifest()
                    for kind in COMPARED
                    async for page in self.cluster.list(self.resource(kind), namespace=namespace)
                    for each in page.objects
                    if each.metadata.name != "kube-root-ca.crt"
                ]
                if all("deletionTimestamp" not in each["metadata"] for each in found):
                    break
                await asyncio.sleep(0)  # a cluster in memory answers at once: let its collector have a turn
        return {f"{each['kind']} {each['metadata']['name']}": _settled(each, namespace) for each in found}


def _settled(manifest: Json, namespace: str) -> Json:
    """An object without what time and chance decide."""
    manifest.pop("status", None)
    for restless in _RESTLESS:
        manifest["metadata"].pop(restless, None)
    spec = manifest.get("spec")
    if manifest["kind"] == "Job" and isinstance(spec, dict):
        spec.pop("selector", None)
        spec["template"]["metadata"].pop("labels", None)
        manifest["metadata"].pop("labels", None)
    return json.loads(json.dumps(manifest).replace(namespace, "here"))  # type: ignore[no-any-return]


@asynccontextmanager
async def hook_runs(theatre: Theatre) -> AsyncIterator[dict[str, Counter[str]]]:
    """How often each Job was made, by namespace: each identity counts once."""
    runs: dict[str, Counter[str]] = {}
    seen: set[str] = set()
    ready = asyncio.Event()

    async def listen() -> None:
        async with aclosing(follow(theatre.cluster, theatre.resource("Job"))) as heard:
            async for news in heard:
                if isinstance(news, Complete):
                    ready.set()
                elif isinstance(news, Upserted) and news.object.metadata.uid not in seen:
                    metadata = news.object.metadata
                    seen.add(metadata.uid)
                    runs.setdefault(metadata.namespace, Counter())[metadata.name] += 1

    async with asyncio.TaskGroup() as group:
        task = group.create_task(listen())
        await ready.wait()
        try:
            yield runs
        finally:
            task.cancel()

"""kill -9 after every single write of a sync with hooks, waves and prunes: the next process finishes it.

Units are records in the same cluster, so every note that the engine makes of its own progress is a write,
too, and every moment between two writes is tried.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.controlplane import ControlPlane
from tests.engine.mortal import INSTALLATION, KEY, Life, Nursery, nursery
from tests.engine.stage import Json, config_map, deployment, job
from tests.kube.world import connect_to
from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.engine import Keyring, RecordStore
from trimtab.engine.operations import Operation, OperationPhase, StepStatus
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

    def __init__(self, cluster: Cluster, discovery: Discovery, config: Path, children: Nursery) -> None:
        self.cluster, self.config, self.children = cluster, config, children
        self._discovery = discovery

    def resource(self, kind: str) -> Resource:
        return next(each for each in self._discovery.resources if each.kind == kind and "list" in each.verbs)

    async def prepare(self, namespace: str) -> Life:
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
        return Life(kubeconfig=str(self.config), namespace=namespace, unit=namespace, manifests=WANTED)

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


async def play(theatre: Theatre, runs: dict[str, Counter[str]], *, step: int) -> int:
    """Kill after every `step`-th write; the answer is how many deaths were survived."""
    life = await theatre.prepare("undisturbed")
    end = await theatre.children.have(life)
    assert (end.signal, end.code) == (0, 0)
    wanted, hooks = await theatre.outcome("undisturbed"), runs["undisturbed"]
    assert wanted["phase"] is OperationPhase.SUCCEEDED
    assert hooks == {"pre": 1, "during": 1, "post": 1}
    deaths = 0
    for number in range(1, 1000, step):
        namespace = f"killed-{number}"
        life = await theatre.prepare(namespace)
        mortal = Life(**{**_fields(life), "dies_after": number})
        end = await theatre.children.have(mortal)
        if end.signal == 0:
            assert end.code == 0
            break
        assert end.signal == signal.SIGKILL
        deaths += 1
        again = await theatre.children.have(life)
        assert (again.signal, again.code) == (0, 0), f"after write {number} nobody could finish"
        assert (number, await theatre.outcome(namespace)) == (number, wanted)
        assert (number, runs[namespace]) == (number, hooks)
    return deaths


def _fields(life: Life) -> dict[str, Any]:
    return {name: getattr(life, name) for name in life.__struct_fields__}


@pytest.mark.timeout(600)
async def test_a_sync_killed_after_any_of_its_writes_is_finished_by_the_next_process(tmp_path: Path) -> None:
    cluster = MemoryCluster()
    async with (
        serve(cluster.api) as served,
        behaviours_of(cluster, timing=AT_ONCE),
        nursery(tmp_path / "tally") as children,
    ):
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(served)))
        theatre = Theatre(cluster, await cluster.discover(), config, children)
        async with hook_runs(theatre) as runs:
            assert await play(theatre, runs, step=1) > 20


@pytest.mark.real
@pytest.mark.timeout(600)
async def test_the_same_holds_with_the_real_control_plane(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with connect_to(control_plane) as cluster, nursery(tmp_path / "tally") as children:
        theatre = Theatre(cluster, await cluster.discover(), control_plane.kubeconfig, children)
        async with hook_runs(theatre) as runs:
            assert await play(theatre, runs, step=9) > 2

"""The Python side of the benchmarks: the work of `testbed/go/kubepeer`, with its flags, by `trimtab.kube`.

Prints one line of JSON: how many items, in how many seconds, for how much processor time (both from the first
request on), and the largest resident size of the process. With `--profile` it prints where the time went.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct

from bench.measures import Sample
from bench.memory import peak_bytes
from bench.sampling import biggest_costs, profiled
from trimtab.kube import Cluster, connect, follow, from_kubeconfig
from trimtab.kube.cluster import EVERYTHING, EventType, Selection, WatchEvent, Write
from trimtab.kube.discovery import Resource
from trimtab.kube.keeping import Kept
from trimtab.kube.objects import Page
from trimtab.kube.picture import Complete, FellBack, Interrupted, Upserted
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import SystemClock
from trimtab.tasks.loops import run_main

CONFIG_MAPS = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True)
PODS = Resource(group="", version="v1", kind="Pod", plural="pods", namespaced=True)
RESOURCES = {resource.plural: resource for resource in (CONFIG_MAPS, PODS)}
AS_BENCH = Write(manager="bench")
PROFILED_RUNS = 3  # one run is short; more samples make the shares steadier
COSTS = 3
_manifests = msgspec.json.Decoder(dict[str, Any])
_T = TypeVar("_T")

Task: TypeAlias = Callable[[Cluster], Awaitable[int]]


class Options(Struct, frozen=True, kw_only=True):
    """What to do; the same words as kubepeer's."""

    verb: str
    kubeconfig: Path
    namespace: str
    resource: str
    kept: bool
    page_size: int
    uncompressed: bool
    since: str
    count: int
    manifests: Path | None
    workers: int
    profile: bool


def options_from(arguments: list[str]) -> Options:
    """The options in a command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.client", description=__doc__)
    parser.add_argument("verb", choices=("list", "watch", "apply"))
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--resource", choices=tuple(RESOURCES), default="configmaps")
    parser.add_argument("--kept", action="store_true", help="by `follow`, keeping the objects")
    parser.add_argument("--page-size", type=int, default=500)
    parser.add_argument("--uncompressed", action="store_true")
    parser.add_argument("--since", default="")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--manifests", type=Path, default=None)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    return Options(**vars(parser.parse_args(arguments)))


def prepared(options: Options) -> Task:
    """The task that the options name, ready before the clock starts."""
    resource, namespace = RESOURCES[options.resource], options.namespace
    match options.verb, options.kept:
        case "list", False:
            return lambda cluster: listed(cluster, resource, namespace, options.page_size)
        case "list", True:
            return lambda cluster: synced(cluster, resource, namespace)
        case "watch", False:
            return lambda cluster: watched(cluster, resource, namespace, options.since, options.count)
        case "watch", True:
            return lambda cluster: replayed(cluster, resource, namespace, options.since, options.count)
        case _:
            if options.manifests is None:
                raise SystemExit("apply needs --manifests")
            manifests = _manifests.decode_lines(options.manifests.read_bytes())
            return lambda cluster: applied(cluster, resource, namespace, manifests, options.workers)


async def listed(cluster: Cluster, resource: Resource, namespace: str, page_size: int) -> int:
    """Page through a collection, keeping every object."""
    kept = Kept(resource)
    async for page in cluster.list(resource, namespace=namespace, page_size=page_size):
        for each in page.objects:
            kept.keep(each)
        del page  # or it would be in memory until the next one is
    return len(kept)


async def synced(cluster: Cluster, resource: Resource, namespace: str) -> int:
    """Follow a collection, keeping every object, until all that exists has been told."""
    kept = Kept(resource)
    async with aclosing(follow(cluster, resource, namespace=namespace, seen=kept)) as told:
        async for news in told:
            kept.hear(news)
            match news:
                case Complete():
                    break
                case FellBack(error) | Interrupted(error):
                    raise error
    return len(kept)


async def watched(cluster: Cluster, resource: Resource, namespace: str, since: str, count: int) -> int:
    """Hear so many events after a version."""
    heard = 0
    async with cluster.watch(resource, since=since, namespace=namespace) as events:
        async for event in events:
            heard += event.type is not EventType.BOOKMARK
            if heard == count:
                return heard
    raise SystemExit(f"the watch ended after {heard} events")


class Replay:
    """A collection that was empty at one version: what happened since is watched, not listed."""

    def __init__(self, cluster: Cluster, since: str) -> None:
        self._cluster = cluster
        self._since = since

    async def list(self, *_: object, **__: object) -> AsyncGenerator[Page]:
        """Nothing, at that version."""
        yield Page(objects=(), resource_version=self._since, continue_token="", remaining=None)

    def watch(
        self, resource: Resource, *, since: str, namespace: str = "", select: Selection = EVERYTHING
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """What the cluster says."""
        return self._cluster.watch(resource, since=since, namespace=namespace, select=select)


async def replayed(cluster: Cluster, resource: Resource, namespace: str, since: str, count: int) -> int:
    """Hear so many events by following, keeping the objects."""
    past = cast("Cluster", Replay(cluster, since))  # all of a cluster that `follow` uses
    kept, heard = Kept(resource), 0
    async with aclosing(follow(past, resource, namespace=namespace, seen=kept)) as told:
        async for news in told:
            kept.hear(news)
            match news:
                case Upserted():
                    heard += 1
                    if heard == count:
                        break
                case FellBack(error) | Interrupted(error):
                    raise error
    return heard


async def applied(
    cluster: Cluster, resource: Resource, namespace: str, manifests: list[dict[str, Any]], workers: int
) -> int:
    """Apply every manifest, so many at once."""

    async def apply(manifest: dict[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        await cluster.apply(resource, name, manifest, namespace=namespace, force=True, write=AS_BENCH)

    await at_once(apply, manifests, workers)
    return len(manifests)


async def at_once(work: Callable[[_T], Awaitable[None]], items: Iterable[_T], workers: int) -> None:
    """Do the work for every item, with so many under way at a time."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as room:
        for _ in range(workers):
            room.create_task(worker())


async def measured(options: Options) -> Sample:
    """Do the task once, and say what it took."""
    settings = ClusterSettings(concurrency=options.workers, compression=not options.uncompressed)
    access = from_kubeconfig([options.kubeconfig], settings=settings, clock=SystemClock(), environment={})
    task = prepared(options)
    async with connect(access, settings) as cluster:
        start, used = time.monotonic(), time.process_time()
        items = await task(cluster)
        return Sample(
            items=items,
            seconds=time.monotonic() - start,
            cpu_seconds=time.process_time() - used,
            peak_bytes=peak_bytes(),
        )


def main(arguments: list[str]) -> int:
    """Measure, or profile, and print one line."""
    options = options_from(arguments)
    if not options.profile:
        print(msgspec.json.encode(run_main(measured(options))).decode())
        return 0
    with profiled() as profile:
        for _ in range(PROFILED_RUNS):
            run_main(measured(options))
    print(msgspec.json.encode(biggest_costs(profile.seconds, COSTS)).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Our side of the cache's benchmark: the work of `testbed/go/enginepeer`, with its flags.

    python -m bench.caching cache [--marked]               fill the cache
    python -m bench.caching storm --count 1000 [--marked]  fill it, then hear so many events; only these count
    python -m bench.caching synthetic --count 1000000      keep made-up objects, and ask for one unit's

Prints one line of JSON. With `--profile` it prints where the time went.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bench.caches import INSTALLATION, UNITS
from bench.client import COSTS
from bench.measures import Sample
from bench.memory import held_bytes, peak_bytes
from bench.sampling import Profile, biggest_costs, profiled
from bench.synthetic import SCOPES, synthetic_pages
from trimtab.engine.cache import ClusterCache
from trimtab.engine.cache.holdings import Holdings
from trimtab.engine.cache.records import Recorder, judged_by
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.marks import Mark
from trimtab.kube import connect, from_kubeconfig
from trimtab.settings import CacheSettings, ClusterSettings
from trimtab.tasks.clock import SystemClock
from trimtab.tasks.loops import run_main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trimtab.engine.live import Change
    from trimtab.engine.marks import Tracking
    from trimtab.resources.keys import ResourceKey

ASKED = 200


class Options(Struct, frozen=True, kw_only=True):
    """What to do; the same words as enginepeer's."""

    verb: str
    kubeconfig: Path | None
    marked: bool
    count: int
    profile: bool


class Synthetic(Struct, frozen=True, kw_only=True):
    """What keeping made-up objects came to; a question is all objects of one unit."""

    objects: int
    held_bytes: int
    accounted_bytes: int
    seconds: float
    answered: int
    milliseconds: float


class Unmarked(OwnerAnnotation, frozen=True):
    """Sees no marks, so that no manifest is kept."""

    def mark_of(
        self, _key: ResourceKey, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Mark | None:
        """Nobody's."""
        del labels, annotations
        return None


def options_from(arguments: list[str]) -> Options:
    """The options in a command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.caching", description=__doc__)
    parser.add_argument("verb", choices=("cache", "storm", "synthetic"))
    parser.add_argument("--kubeconfig", type=Path, default=None)
    parser.add_argument("--marked", action="store_true", help="keep the manifests that carry the mark")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--profile", action="store_true")
    return Options(**vars(parser.parse_args(arguments)))


class Stopwatch:
    """Counts wall and processor time from when it is started."""

    def __init__(self) -> None:
        self._start, self._used = time.monotonic(), time.process_time()

    def sample(self, items: int) -> Sample:
        """What it took until now."""
        return Sample(
            items=items,
            seconds=time.monotonic() - self._start,
            cpu_seconds=time.process_time() - self._used,
            peak_bytes=peak_bytes(),
            held_bytes=held_bytes(),
        )


async def measured(options: Options) -> Sample:
    """Fill a cache, or fill it and hear a storm."""
    if options.kubeconfig is None:
        raise SystemExit(f"{options.verb} needs --kubeconfig")
    settings, clock = ClusterSettings(), SystemClock()
    access = from_kubeconfig([options.kubeconfig], settings=settings, clock=clock, environment={})
    tracking: Tracking = OwnerAnnotation(INSTALLATION) if options.marked else Unmarked(INSTALLATION)
    async with connect(access, settings) as cluster, asyncio.TaskGroup() as room:
        cache = ClusterCache(cluster, CacheSettings(), tracking)
        watch = Stopwatch()
        running = room.create_task(cache.run())
        await cache.complete()
        if options.verb == "cache":
            facts = cache.facts()
            if facts.errors:
                raise SystemExit(f"not everything could be read: {facts.errors}")
            sample = watch.sample(facts.objects)
        else:
            sample = await stormed(cache, options.count)
        running.cancel()
    return sample


async def stormed(cache: ClusterCache, count: int) -> Sample:
    """Hear so many events; whoever makes them waits for the word on standard error."""
    enough, heard, decided = asyncio.Event(), 0, 0

    def hear(change: Change) -> None:
        nonlocal heard, decided
        heard += 1
        decided += not change.is_status_traffic
        if heard == count:
            enough.set()

    cache.subscribe(hear)
    print("ready", file=sys.stderr, flush=True)
    watch = Stopwatch()
    await enough.wait()
    sample = watch.sample(heard)
    if decided:
        raise SystemExit(f"{decided} of {heard} status updates would have caused a comparison")
    return sample


def synthetic(count: int) -> Synthetic:
    """Keep made-up objects as if a server had told them, then ask for one unit's again and again."""
    start, before = time.monotonic(), held_bytes()
    holdings = Holdings(Recorder(OwnerAnnotation(INSTALLATION), judged_by(), lambda *_: True), None)
    for resource, objects in synthetic_pages(count):
        for told in objects:
            holdings.put(SCOPES[resource], resource, told)
    seconds, times, found = time.monotonic() - start, [], 0
    units = max(count // 1000, UNITS)
    for number in range(ASKED):
        asked = time.perf_counter()
        found = len(holdings.index.roots(Mark("trimtab", f"{INSTALLATION}/unit-{number * 7919 % units:05}")))
        times.append(time.perf_counter() - asked)
    return Synthetic(
        objects=len(holdings.index),
        held_bytes=held_bytes() - before,
        accounted_bytes=holdings.memory().total,
        seconds=seconds,
        answered=found,
        milliseconds=median(times) * 1000,
    )


@contextmanager
def perhaps_profiled(*, wanted: bool) -> Iterator[Profile | None]:
    """A profile of the block, if it is wanted."""
    if not wanted:
        yield None
        return
    with profiled() as profile:
        yield profile


def main(arguments: list[str]) -> int:
    """Measure, or profile, and print one line."""
    options = options_from(arguments)
    with perhaps_profiled(wanted=options.profile) as profile:
        made: Sample | Synthetic
        made = synthetic(options.count) if options.verb == "synthetic" else run_main(measured(options))
    told = made if profile is None else biggest_costs(profile.seconds, COSTS)
    print(msgspec.json.encode(told).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

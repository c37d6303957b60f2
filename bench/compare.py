"""Measures the engine's comparing on objects of a real API server; at full size it writes bench/RESULTS.md.

Objects are applied to the server as a sync would, and read back once; then the server has nothing more to
do, as it has in a comparison of what is unchanged. Figures are processor time of this process, the median
of rounds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct

from bench import report
from bench.chapters import Chapter, leave, our_versions, run, tell
from bench.client import at_once
from bench.filling import WORKERS, add_namespaces
from bench.measures import Aim, Figure
from bench.peers import GoEngine, written
from bench.running import FLAGS, with_cluster
from bench.shapes import config_map, deployment
from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from trimtab.engine.compare.comparer import Comparer
from trimtab.engine.compare.ignoring import NOTHING_IGNORED, Rules
from trimtab.engine.compare.judging import Lens, local_differences
from trimtab.engine.compare.matching import Terms, Wanted, desired_from
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark
from trimtab.engine.rows import Desired, Verdict
from trimtab.kube import Cluster
from trimtab.kube.cluster import Write
from trimtab.kube.discovery import Discovery
from trimtab.kube.objects import KubeObject
from trimtab.resources.digests import live_digest
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Found, Manifest
from trimtab.resources.secrets import StandIns

CHAPTER = Chapter(
    name="compare",
    heading="Comparing",
    command="make bench-compare",
    about=__doc__,
)
SPACE = "bench-compare"
OURS = OwnerAnnotation("bench")
LENS = Lens(manager="trimtab", stand_ins=StandIns(b"bench" * 8))


class Size(Struct, frozen=True, kw_only=True):
    """How much is measured."""

    objects: int
    rounds: int
    #: how often the Go engine compares each pair
    theirs: int
    judged: bool


SIZES = {
    "small": Size(objects=50, rounds=3, theirs=20, judged=False),
    "full": Size(objects=1000, rounds=9, theirs=2000, judged=True),
}
#: our time for one object, as a part of the Go engine's structured merge
BESIDE_AIM = Aim(at_most=0.05)
#: microseconds of processor time for one item
MANIFEST_AIMS = {"ConfigMap": Aim(at_most=20), "Deployment": Aim(at_most=53)}
UNCHANGED_AIM, SINGLE_AIM = Aim(at_most=20), Aim(at_most=200)


class Picture:
    """What is live, as it was read once."""

    def __init__(self) -> None:
        self._live: dict[ResourceKey, Live] = {}
        self._raw: dict[ResourceKey, KubeObject] = {}
        self._units: dict[Mark, list[Live]] = {}

    def see(self, found: KubeObject) -> None:
        """Take in one object."""
        key, metadata = found.key, found.metadata
        mark = OURS.mark_of(key, metadata.labels or {}, metadata.annotations or {})
        live = Live(
            key=key,
            api_version=found.api_version,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            mark=mark,
            digest=live_digest(found.manifest()).encode(),
        )
        self._live[key], self._raw[key] = live, found
        if mark is not None:
            self._units.setdefault(mark, []).append(live)

    def get(self, key: ResourceKey) -> Live | None:
        """The object."""
        return self._live.get(key)

    def manifest(self, key: ResourceKey) -> Manifest | None:
        """The whole object, decoded now."""
        found = self._raw.get(key)
        return found.manifest() if found else None

    def managed(self, mark: Mark) -> tuple[Live, ...]:
        """The objects of a unit."""
        return tuple(self._units.get(mark, ()))

    def knows(self, _group: str, _kind: str, _namespace: str) -> bool:
        """Everything is known."""
        return True

    def subscribe(self, _told: Callable[[Change], None]) -> Callable[[], None]:
        """Nothing ever changes."""
        return lambda: None


def wanted_of(unit: str, manifests: Sequence[Manifest], discovery: Discovery) -> Wanted:
    """What a unit wants."""

    def scope_of(group: str, kind: str) -> bool | None:
        found = discovery.preferred(group, kind)
        return found.namespaced if found else None

    found = [Found(manifest=each, where="bench") for each in manifests]
    return desired_from(found, Terms(unit=unit, tracking=OURS, namespace=SPACE, scope_of=scope_of))


async def micros(work: Callable[[], Awaitable[object]], items: int, rounds: int) -> float:
    """The median processor time of some rounds, in microseconds per item."""
    taken = []
    for _ in range(rounds):
        begin = time.process_time()
        await work()
        taken.append((time.process_time() - begin) / items * 1e6)
    return median(taken)


class Bench:
    """Everything that is measured, on one cluster."""

    def __init__(self, cluster: Cluster, discovery: Discovery, size: Size) -> None:
        self._cluster, self._discovery, self._size = cluster, discovery, size
        self._picture = Picture()
        self.figures: list[Figure] = []
        #: what was compared one by one, for others to compare: how it is wanted, how it is, how long it took
        self.pairs: dict[str, tuple[Manifest, Manifest, float]] = {}

    async def run(self) -> None:
        """Fill, read, measure."""
        count, rounds = self._size.objects, self._size.rounds
        maps = [config_map(number) for number in range(count)]
        many = wanted_of("many", maps, self._discovery)
        singles = [
            wanted_of(f"single-{number}", [config_map(count + number)], self._discovery)
            for number in range(count)
        ]
        web = wanted_of("web", [deployment(0)], self._discovery)
        tell(f"applying {2 * count + 1:,} objects")
        await at_once(self._make, [one for each in (many, web, *singles) for one in each.desired], WORKERS)
        tell("comparing")
        await self._read(maps, many)
        for one in (many.desired[0], web.desired[0]):
            await self._one(one)
        comparer = self._comparer()
        await self._unit("First comparison of a unit", many, self._comparer)
        await comparer.compare(many)
        await self._unit("Unit without changes", many, lambda: comparer, UNCHANGED_AIM)

        async def all_singles() -> None:
            for each in singles:
                await comparer.compare(each, Rules((), ()))

        await all_singles()
        taken = await micros(all_singles, count, rounds)
        self._tell("Units of one object without changes", "unit", taken, SINGLE_AIM)

    async def _make(self, one: Desired) -> None:
        resource = self._discovery.resource(one.api_version, one.key.kind)
        if resource is None:
            raise SystemExit(f"the server knows no {one.key.kind}")
        await self._cluster.apply(
            resource, one.key.name, one.manifest, namespace=SPACE, force=True, write=Write(manager="trimtab")
        )
        self._picture.see(await self._cluster.get(resource, one.key.name, namespace=SPACE))

    async def _read(self, maps: Sequence[Manifest], many: Wanted) -> None:
        async def read() -> None:
            wanted_of("many", maps, self._discovery)

        taken = await micros(read, len(many.desired), self._size.rounds)
        self._tell("Manifests read as wanted objects", "object", taken)

    async def _one(self, one: Desired) -> None:
        live, kind = self._picture.manifest(one.key), one.key.kind
        if live is None:
            raise SystemExit(f"{one.key} is not there")

        async def many_times() -> None:
            for _ in range(200):
                wanted, there = LENS.view(one.manifest, NOTHING_IGNORED), LENS.view(live, NOTHING_IGNORED)
                if local_differences(wanted, there, NOTHING_IGNORED, LENS):
                    raise SystemExit(f"{one.key} differs")

        taken = await micros(many_times, 200, self._size.rounds)
        self._tell(f"{kind} that is as it should be, compared", "object", taken, MANIFEST_AIMS[kind])
        self.pairs[kind] = one.manifest, live, taken

    async def _unit(
        self, what: str, wanted: Wanted, comparer: Callable[[], Comparer], aim: Aim | None = None
    ) -> None:
        async def compare() -> None:
            found = await comparer().compare(wanted)
            if any(row.verdict is not Verdict.SYNCED for row in found.rows):
                raise SystemExit(f"{what}: something differs")

        count = len(wanted.desired)
        taken = await micros(compare, count, self._size.rounds)
        self._tell(f"{what}, {count:,} ConfigMaps", "object", taken, aim)

    def _comparer(self) -> Comparer:
        return Comparer(
            self._cluster, self._picture, tracking=OURS, lens=LENS, resource_of=self._discovery.resource
        )

    def _tell(self, what: str, item: str, taken: float, aim: Aim | None = None) -> None:
        judged = aim if self._size.judged else None
        self.figures.append(Figure(what=what, shown=f"{taken:.1f} µs per {item}", found=taken, aim=judged))


def beside(go: GoEngine, bench: Bench, size: Size) -> str:
    """The same pairs compared by Argo CD's GitOps engine, by structured merge."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, (desired, live, ours) in bench.pairs.items():
            pair = written(Path(folder) / f"{kind}.jsonl", [{"desired": desired, "live": live}])
            sample = go.diff(pair, size.theirs)
            theirs = sample.cpu_seconds / sample.items * 1e6
            ratio, aim = ours / theirs, BESIDE_AIM if size.judged else None
            met = report.answered(aim.is_met(ratio) if aim else None)
            figures = [f"{theirs:.1f} µs", f"{ours:.1f} µs", f"{ratio:.3f}"]
            lines.append([f"{kind} without changes", *figures, str(aim or ""), met])
    return report.grid(["compared", "Go engine", "Trimtab", "Trimtab / Go", "aim", "met"], lines)


async def measured(cluster: Cluster, size: Size) -> Bench:
    """All figures, on one cluster."""
    await add_namespaces(cluster, [SPACE])
    bench = Bench(cluster, await cluster.discover(), size)
    await bench.run()
    return bench


def measured_chapter(size: Size, builder: Builder, load: float) -> str:
    """What the page tells of what was measured."""
    with ControlPlane(builder=builder, controllers=False, apiserver_flags=FLAGS) as plane:
        bench = with_cluster(plane, lambda cluster: measured(cluster, size))
        tell("comparing with the Go engine")
        table_beside = beside(GoEngine(builder.tool("enginepeer"), plane), bench, size)
    setting = CHAPTER.setting(
        load,
        how=f"medians of {size.rounds} rounds, processor time of one process",
        versions=our_versions("msgspec"),
    )
    return "\n\n".join(
        [
            str(setting),
            report.figures_table(bench.figures, ours="CPU"),
            "Beside Argo CD's GitOps engine, which compares the same pairs by structured merge, in CPU time:",
            table_beside,
        ]
    )


def main(arguments: Sequence[str]) -> int:
    """Measure at the size asked for, print the results and, at full size, write the page."""
    return run(CHAPTER, arguments, SIZES, measured_chapter)


if __name__ == "__main__":
    leave(main)

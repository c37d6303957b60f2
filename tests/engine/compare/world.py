"""A world to compare in: a cluster, a plain view of it, and a comparer whose questions are counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from trimtab.engine.cache.fingerprints import fingerprint
from trimtab.engine.compare.comparer import Compared, Comparer
from trimtab.engine.compare.ignoring import NO_RULES, Rules
from trimtab.engine.compare.jq import JqPaths
from trimtab.engine.compare.judging import Lens
from trimtab.engine.compare.matching import Role, Terms, Wanted, desired_from
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark, Tracking
from trimtab.engine.rows import Row
from trimtab.errors import ClusterUnreachable
from trimtab.kube.cluster import Cluster, Write, Written
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Found, Manifest
from trimtab.resources.secrets import StandIns

UNIT = "shop"
OURS = OwnerAnnotation("0b5e")
STAND_INS = StandIns(b"k" * 32)
LENS = Lens(manager="trimtab", stand_ins=STAND_INS)
BY_US = Write(manager="trimtab")


class PlainView:
    """What is live, as it was when somebody last looked; manifests are kept of what carries a mark."""

    def __init__(self, tracking: Tracking = OURS) -> None:
        self._tracking = tracking
        self._live: dict[ResourceKey, Live] = {}
        self._manifests: dict[ResourceKey, Manifest] = {}
        self.unknown_kinds: set[str] = set()

    async def look(self, cluster: Cluster, resources: Iterable[Resource], namespace: str) -> None:
        """Read everything of these kinds, of namespaced ones that in one namespace."""
        self._live.clear()
        self._manifests.clear()
        for resource in resources:
            async for page in cluster.list(resource, namespace=namespace if resource.namespaced else ""):
                for found in page.objects:
                    self.see(found)

    def see(self, found: KubeObject) -> Live:
        """Take in one object."""
        metadata, key, manifest = found.metadata, found.key, found.manifest()
        mark = self._tracking.mark_of(key, metadata.labels or {}, metadata.annotations or {})
        if mark is not None:
            self._manifests[key] = manifest
        live = Live(
            key=key,
            api_version=found.api_version,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            mark=mark,
            digest=fingerprint(found) if mark is not None else b"",
        )
        self._live[key] = live
        return live

    def get(self, key: ResourceKey) -> Live | None:
        return self._live.get(key)

    def manifest(self, key: ResourceKey) -> Manifest | None:
        return self._manifests.get(key)

    def managed(self, mark: Mark) -> tuple[Live, ...]:
        return tuple(
            sorted((live for live in self._live.values() if live.mark == mark), key=lambda it: it.key)
        )

    def knows(self, group: str, kind: str, namespace: str) -> bool:
        return kind not in self.unknown_kinds

    def subscribe(self, told: Callable[[Change], None]) -> Callable[[], None]:
        return lambda: None


class Counting:
    """A cluster that counts the questions that a comparer may ask."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.asked: list[str] = []
        self.is_down = False
        self._under_way = 0
        self.most_at_once = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def get(self, resource: Resource, name: str, **options: Any) -> KubeObject:
        self.asked.append(f"get {resource.kind} {name}")
        return await self._cluster.get(resource, name, **options)

    async def apply(self, resource: Resource, name: str, body: Any, **options: Any) -> Written:
        assert options["write"].dry_run, "a comparison never writes"
        self.asked.append(f"dry-run {resource.kind} {name}")
        if self.is_down:
            raise ClusterUnreachable("the cluster", "it does not answer")
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        await asyncio.sleep(0)
        self._under_way -= 1
        return await self._cluster.apply(resource, name, body, **options)


class World:
    """One unit in one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        discovery: Discovery,
        *,
        namespace: str = "default",
        tracking: Tracking = OURS,
        jq: JqPaths | None = None,
        lens: Lens = LENS,
        role_of: Callable[[Manifest], Role] = lambda _manifest: Role.RESOURCE,
    ) -> None:
        self.cluster = cluster
        self.discovery = discovery
        self.namespace = namespace
        self.tracking = tracking
        self.view = PlainView(tracking)
        self.counting = Counting(cluster)
        self.kinds: dict[tuple[str, str], Resource] = {}
        self.comparer = Comparer(
            self.counting,
            self.view,
            tracking=tracking,
            lens=lens,
            resource_of=discovery.resource,
            jq=jq,
            scope_of=self.scope_of,
            role_of=role_of,
        )

    def anew(self, **options: Any) -> World:
        """Another way to look at the same cluster."""
        return World(self.cluster, self.discovery, namespace=self.namespace, **options)

    def scope_of(self, group: str, kind: str) -> bool | None:
        found = self.discovery.preferred(group, kind)
        return found.namespaced if found else None

    def wanted(self, *manifests: Manifest, unit: str = UNIT, **terms: Any) -> Wanted:
        found = [Found(manifest=each, where=f"manifest {number}") for number, each in enumerate(manifests, 1)]
        given = {"namespace": self.namespace, "scope_of": self.scope_of, **terms}
        return desired_from(found, Terms(unit=unit, tracking=self.tracking, **given))

    async def apply(self, wanted: Wanted, manager: str = "trimtab") -> None:
        """Apply what is wanted, as a sync would."""
        for one in wanted.desired:
            await self._write(one.manifest, one.key, manager)

    async def apply_as(self, manager: str, manifest: Manifest) -> None:
        """Have somebody else apply something by force."""
        await self._write(manifest, None, manager)

    async def _write(self, manifest: Manifest, key: ResourceKey | None, manager: str) -> None:
        resource = self.resource(manifest)
        name = key.name if key else manifest["metadata"]["name"]
        place = (key.namespace if key else self.namespace) if resource.namespaced else ""
        write = Write(manager=manager)
        await self.cluster.apply(resource, name, manifest, namespace=place, force=True, write=write)

    def resource(self, manifest: Manifest) -> Resource:
        found = self.discovery.resource(manifest["apiVersion"], manifest["kind"])
        assert found is not None
        self.kinds[found.group, found.kind] = found
        return found

    async def compare(self, wanted: Wanted, rules: Rules = NO_RULES) -> Compared:
        """Look at the cluster and compare."""
        for one in wanted.desired:
            if self.discovery.resource(one.api_version, one.key.kind) is not None:
                self.resource(one.manifest)
        await self.view.look(self.cluster, self.kinds.values(), self.namespace)
        return await self.comparer.compare(wanted, rules)

    async def rows(self, wanted: Wanted, rules: Rules = NO_RULES) -> dict[str, Row]:
        """The rows by kind and name."""
        found = await self.compare(wanted, rules)
        return {f"{row.key.kind} {row.key.name}": row for row in found.rows}

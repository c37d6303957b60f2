"""All that is needed to work on one cluster: its live state, a comparer, and how its kinds are addressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.cache import ClusterCache
from trimtab.engine.cache.catalog import Catalog
from trimtab.engine.cache.filters import ResourceFilter
from trimtab.engine.cache.reach import Reach
from trimtab.engine.cache.records import judged_by
from trimtab.engine.compare.comparer import Comparer
from trimtab.engine.compare.ignoring import NO_RULES, IgnoreRule, Rules
from trimtab.engine.compare.jq import JqPaths
from trimtab.engine.compare.judging import Lens
from trimtab.engine.compare.matching import Role, Terms
from trimtab.engine.compare.tracking import ArgoTracking
from trimtab.engine.health import Health, HealthRule
from trimtab.engine.marks import Mark, Tracking
from trimtab.engine.places import Place, places_of
from trimtab.engine.sync.hooks import role_of as hook_role_of
from trimtab.engine.sync.hooks import unknown_hook_words
from trimtab.engine.sync.options import odd_words
from trimtab.engine.units import ClusterEntry, ReconciliationSettings, SyncUnit
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Discovery, Resource
from trimtab.resources import manifests
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import StandIns
from trimtab.settings import CacheSettings
from trimtab.tasks import Clock


class Ways(Struct, frozen=True, kw_only=True):
    """By which rules clusters are read and units compared; other settings are other ways."""

    tracking: Tracking
    chosen: ResourceFilter
    health_rules: tuple[HealthRule, ...] = ()
    ignored: tuple[IgnoreRule, ...] = ()


#: what makes a pattern one for many kinds
_GLOB = frozenset("*?[")


class _KindRule(Struct, frozen=True):
    """A user's judgement of the kinds that a pattern names: `apps/Deployment`, `ConfigMap`, globs."""

    pattern: str
    judgement: Callable[[Manifest], Health | None]

    def applies_to(self, group: str, kind: str) -> bool:
        """Whether it has something to say about this kind."""
        return fnmatchcase(f"{group}/{kind}" if group else kind, self.pattern)

    def judge(self, manifest: Manifest) -> Health | None:
        """The judgement; None leaves it to the next rule."""
        return self.judgement(manifest)


def _is_glob(pattern: str) -> bool:
    return not _GLOB.isdisjoint(pattern)


def _about(rule: IgnoreRule, pattern: str) -> IgnoreRule:
    """The rule of an override; one that names no kind itself is about those of the override."""
    if rule.kind:
        return rule
    group, _, kind = pattern.rpartition("/")
    return replace(rule, group="*" if pattern == "*" else group, kind=kind)


def ways_of(settings: ReconciliationSettings, tracking: Tracking) -> Ways:
    """The ways that these settings mean; rules for one kind go before those for many."""
    if isinstance(tracking, ArgoTracking):
        tracking = ArgoTracking(
            method=tracking.method,
            label=settings.app_instance_label_key,
            installation=tracking.installation,
        )
    exact_first = sorted(settings.resource_overrides.items(), key=lambda item: (_is_glob(item[0]), item[0]))
    return Ways(
        tracking=tracking,
        chosen=settings.resources_filter,
        health_rules=tuple(
            _KindRule(pattern, override.health)
            for pattern, override in exact_first
            if override.health is not None
        ),
        ignored=tuple(
            _about(rule, pattern) for pattern, override in exact_first for rule in override.ignore_differences
        ),
    )


def _reach_of(entry: ClusterEntry) -> Reach:
    return Reach(namespaces=entry.namespaces, cluster_resources=entry.cluster_resources, places=entry.places)


class Desk:
    """One cluster to work on."""

    def __init__(
        self,
        entry: ClusterEntry,
        cluster: Cluster,
        ways: Ways,
        *,
        settings: CacheSettings,
        stand_ins: StandIns,
        digest_key: bytes,
        manager: str,
        jq: JqPaths | None,
        clock: Clock,
        rest: timedelta = timedelta(0),
        keeps: Callable[[Mark], bool] | None = None,
    ) -> None:
        self.entry, self.cluster, self.ways = entry, cluster, ways
        self._manager, self._stand_ins, self._jq = manager, stand_ins, jq
        #: says how well an object is, as the server showed it; other rules are another judge
        self.judge = judged_by(ways.health_rules)
        self.cache = ClusterCache(
            cluster,
            settings,
            ways.tracking,
            reach=_reach_of(entry),
            chosen=ways.chosen,
            judge=self.judge,
            server=entry.name,
            digest_key=digest_key,
            rest=rest,
            keeps=keeps,
            clock=clock,
        )
        self.comparer = self._comparer()
        self._includes = self._inclusion()
        self._discovered: tuple[Catalog, Discovery] | None = None

    def _comparer(self) -> Comparer:
        return Comparer(
            self.cluster,
            self.cache,
            tracking=self.ways.tracking,
            lens=Lens(manager=self._manager, stand_ins=self._stand_ins),
            resource_of=self._resource_of,
            jq=self._jq,
            scope_of=self._scope_of,
            role_of=role_of,
        )

    def change(self, ways: Ways) -> None:
        """Go on by other rules: what they concern is read and compared anew."""
        before, self.ways = self.ways, ways
        if ways.health_rules != before.health_rules:
            self.judge = judged_by(ways.health_rules)
        self.cache.change(
            tracking=ways.tracking,
            chosen=ways.chosen,
            judge=self.judge,
        )
        self.comparer = self._comparer()
        self._includes = self._inclusion()

    def widened(self) -> ClusterEntry:
        """Begin to read all that may be managed, whatever places the entry names; the entry of that."""
        self.entry = replace(self.entry, places=None)
        self.cache.change(reach=_reach_of(self.entry))
        return self.entry

    def _inclusion(self) -> Callable[[str, str], bool]:
        """Whether a kind is looked at. Many units, few kinds: each is asked about once."""
        chosen, server = self.ways.chosen, self.entry.name
        return cache(lambda group, kind: not chosen.excludes(group, kind, server))

    def attend(self, keys: Iterable[ResourceKey]) -> None:
        """Hear changes of the kinds of these objects, where only those that somebody wants are heard."""
        if self.cache.is_resting:
            self.cache.want({("", "Namespace"), *((key.group, key.kind) for key in keys)})

    def places(self, unit: str) -> tuple[Place, ...] | None:
        """Where objects carry the mark of a unit; None if that was not looked for everywhere."""
        is_all = self.entry.places is None and not self.entry.namespaces
        is_seen = is_all and not self.cache.facts().errors
        if not is_seen or not all(each.is_current for each in self.cache.kinds()):
            return None
        return places_of(live.key for live in self.cache.managed(self.ways.tracking.mark_for(unit)))

    def terms(self, unit: SyncUnit) -> Terms:
        """What has to be known to read the manifests of a unit."""
        entry = self.entry
        return Terms(
            unit=unit.id,
            tracking=self.ways.tracking,
            namespace=unit.destination.namespace,
            scope_of=self._scope_of,
            role_of=role_of,
            odd_words_of=_odd_words_of,
            includes=self._includes,
            namespaces=frozenset(entry.namespaces) or None,
            cluster_resources=not entry.namespaces or entry.cluster_resources,
        )

    def rules(self, unit: SyncUnit) -> Rules:
        """What differences of a unit do not count."""
        ours, units = self.ways.ignored, unit.policy.ignore_differences
        return Rules(ours, units) if ours or units else NO_RULES

    def discovery(self) -> Discovery:
        """What the cluster serves, as it is known now."""
        catalog = self.cache.catalog
        if self._discovered is None or self._discovered[0] is not catalog:
            self._discovered = catalog, Discovery(resources=tuple(catalog.resources()))
        return self._discovered[1]

    def _scope_of(self, group: str, kind: str) -> bool | None:
        return self.cache.catalog.namespaced(group, kind)

    def _resource_of(self, api_version: str, kind: str) -> Resource | None:
        return self.discovery().resource(api_version, kind)


def _odd_words_of(manifest: Manifest) -> tuple[str, ...]:
    told = manifests.annotations(manifest)
    return (*odd_words(told), *unknown_hook_words(told)) if told else ()


def role_of(manifest: Manifest) -> Role:
    """What an object is to a sync."""
    return Role(hook_role_of(manifests.annotations(manifest)).value)

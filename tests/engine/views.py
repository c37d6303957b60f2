"""Live state that a test writes down by hand, and the requests and plans made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Desired, Row, Verdict
from trimtab.engine.sync.plan import SyncRequest, plan_sync
from trimtab.engine.sync.steps import SyncPlan
from trimtab.kube.discovery import Discovery, Resource
from trimtab.resources.digests import digest
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest, generate_name, group, kind, name
from trimtab.resources.secrets import StandIns

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STAND_INS = StandIns(b"a key for nothing but tests")
OURS = Mark("trimtab", "here/shop")
HEALTHY, PROGRESSING, DEGRADED = (
    Health(HealthStatus.HEALTHY),
    Health(HealthStatus.PROGRESSING, "2 of 3"),
    Health(HealthStatus.DEGRADED, "it broke"),
)


def served(api_version: str, kind: str, plural: str, *, namespaced: bool = True) -> Resource:
    space, _, version = api_version.rpartition("/")
    return Resource(group=space, version=version, kind=kind, plural=plural, namespaced=namespaced)


DISCOVERY = Discovery(
    resources=(
        served("v1", "ConfigMap", "configmaps"),
        served("v1", "Secret", "secrets"),
        served("v1", "Namespace", "namespaces", namespaced=False),
        served("apps/v1", "Deployment", "deployments"),
        served("batch/v1", "Job", "jobs"),
        served(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            namespaced=False,
        ),
    ),
    failed={"broken.example.com/v1": "its server does not answer"},
)
CLUSTER_WIDE = frozenset({"Namespace", "CustomResourceDefinition"})


class MapView:
    """A view of what stands in two maps."""

    def __init__(self, *lives: Live, manifests: dict[ResourceKey, Manifest] | None = None) -> None:
        self.lives = {live.key: live for live in lives}
        self.manifests = manifests or {}
        self.told: list[Callable[[Change], None]] = []

    def get(self, key: ResourceKey) -> Live | None:
        return self.lives.get(key)

    def manifest(self, key: ResourceKey) -> Manifest | None:
        return self.manifests.get(key)

    def managed(self, mark: Mark) -> tuple[Live, ...]:
        return tuple(live for live in self.lives.values() if live.mark == mark)

    def knows(self, group: str, kind: str, namespace: str) -> bool:
        return True

    def subscribe(self, told: Callable[[Change], None]) -> Callable[[], None]:
        self.told.append(told)
        return lambda: self.told.remove(told)


def key_of(manifest: Manifest, space: str = "shop") -> ResourceKey:
    place = "" if manifest["kind"] in CLUSTER_WIDE else space
    return ResourceKey(group(manifest), kind(manifest), place, name(manifest) or generate_name(manifest))


def desired(manifest: Manifest) -> Desired:
    return Desired(
        key=key_of(manifest),
        api_version=str(manifest["apiVersion"]),
        manifest=manifest,
        digest=bytes.fromhex(digest(manifest)),
    )


def live_of(manifest: Manifest, **fields: Any) -> Live:
    told: dict[str, Any] = {
        "key": key_of(manifest),
        "api_version": str(manifest["apiVersion"]),
        "uid": f"uid-{key_of(manifest).name}",
        "resource_version": "10",
        "mark": OURS,
        "digest": bytes.fromhex(digest(manifest)),
    }
    return Live(**{**told, **fields})


def manifest(
    kind: str, name: str, /, *, api: str = "v1", annotations: dict[str, str] | None = None, **fields: Any
) -> Manifest:
    told = {"annotations": annotations} if annotations else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **told}, **fields}


def config_map(
    name: str, /, wave: int | None = None, options: str = "", hook: str = "", **data: str
) -> Manifest:
    told = {
        "trimtab.dev/sync-wave": "" if wave is None else str(wave),
        "trimtab.dev/sync-options": options,
        "trimtab.dev/hook": hook,
    }
    return manifest(
        "ConfigMap", name, annotations={word: text for word, text in told.items() if text}, data=data
    )


def job(name: str, /, hook: str = "PreSync", policy: str = "", wave: int = 0) -> Manifest:
    told = {
        "trimtab.dev/hook": hook,
        "trimtab.dev/hook-delete-policy": policy,
        "trimtab.dev/sync-wave": str(wave),
    }
    return manifest(
        "Job", name, api="batch/v1", annotations={word: text for word, text in told.items() if text}
    )


class Case:
    """Git wants some objects, some are live: what is planned?"""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.hooks: list[Desired] = []
        self.view = MapView()

    def missing(self, *manifests: Manifest) -> Case:
        """Wanted, and not there."""
        for each in manifests:
            wanted = desired(each)
            self.rows.append(Row(key=wanted.key, desired=wanted, live=None, verdict=Verdict.OUT_OF_SYNC))
        return self

    def synced(self, *manifests: Manifest, verdict: Verdict = Verdict.SYNCED, **fields: Any) -> Case:
        """Wanted, and there just so."""
        for each in manifests:
            wanted, live = desired(each), self._live(each)
            self.rows.append(Row(key=wanted.key, desired=wanted, live=live, verdict=verdict, **fields))
        return self

    def drifted(self, *manifests: Manifest, **fields: Any) -> Case:
        """Wanted, and there, but not so."""
        return self.synced(*manifests, verdict=Verdict.OUT_OF_SYNC, **fields)

    def unwanted(self, *manifests: Manifest, **fields: Any) -> Case:
        """There, and no longer wanted."""
        for each in manifests:
            live = self._live(each)
            self.rows.append(
                Row(key=live.key, desired=None, live=live, verdict=Verdict.OUT_OF_SYNC, **fields)
            )
        return self

    def hook(self, *manifests: Manifest) -> Case:
        self.hooks += [desired(each) for each in manifests]
        return self

    def _live(self, each: Manifest) -> Live:
        live = live_of(each)
        self.view.lives[live.key] = live
        self.view.manifests[live.key] = each
        return live

    def request(self, operation: Operation | None = None, **fields: Any) -> SyncRequest:
        told: dict[str, Any] = {
            "unit": "shop",
            "operation": operation or Operation(),
            "revision": "4f2c9e1a7b3d",
            "started_at": NOON,
            "rows": tuple(self.rows),
            "hooks": tuple(self.hooks),
            "discovery": DISCOVERY,
            "stand_ins": STAND_INS,
        }
        return SyncRequest(**{**told, **fields})

    def plan(self, operation: Operation | None = None, **fields: Any) -> SyncPlan:
        return plan_sync(self.request(operation, **fields), self.view)


def names(plan: SyncPlan) -> list[str]:
    return [step.key.name for step in plan.steps]


def lines(steps: Iterable[Any]) -> list[str]:
    """Steps as `PreSync 0 hook pre`."""
    return [
        f"{step.phase.value} {step.wave} {type(step).__struct_config__.tag} {step.key.name}" for step in steps
    ]

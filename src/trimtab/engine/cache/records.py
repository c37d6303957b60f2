"""From what the server told to what is kept: one object's record. Pure.

Only what must be decoded is: most kinds cost their metadata alone. A tracked root also gets a fingerprint;
whoever judges health decodes what that takes, and of the kinds it judges alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from trimtab.engine.cache.catalog import CRD_GROUP, CRD_KIND
from trimtab.engine.cache.fingerprints import fingerprint
from trimtab.engine.cache.owners import Scopes, is_set, owners_of, stems_of
from trimtab.engine.health import Health, HealthRule, HealthStatus, deletion_health, health_in
from trimtab.engine.live import Live, Owner
from trimtab.engine.marks import Mark, Tracking
from trimtab.kube.discovery import Resource
from trimtab.kube.objects import KubeObject, Metadata
from trimtab.resources.keys import ResourceKey

#: says how well an object is, if it can
Judge: TypeAlias = Callable[[KubeObject, Resource], Health | None]

_NONE: dict[str, str] = {}


def judged_by(rules: tuple[HealthRule, ...] = ()) -> Judge:
    """Judges by these rules, then by those of the built-in kinds, decoding no more than they need."""

    def judge(told: KubeObject, resource: Resource) -> Health | None:
        metadata = told.metadata
        if metadata.deletion_timestamp is not None:
            going = deletion_health(deleting=True, finalizers=metadata.finalizers or ())
            if going is not None:
                return going
        return health_in(told.raw, resource.group, resource.version, resource.kind, rules)

    return judge


def judges_nothing(_: KubeObject, __: Resource) -> Health | None:
    """No judgement of anything."""
    return None


class Recorded(Struct, frozen=True, gc=False):
    """A record, whether its bytes are to be kept, and what the claims of a StatefulSet are called."""

    live: Live
    keeps_body: bool
    stems: tuple[str, ...] = ()


class Recorder:
    """Makes records, always by the same rules."""

    def __init__(
        self,
        tracking: Tracking,
        judge: Judge,
        scopes: Scopes,
        digest_key: bytes = b"",
        keeps: Callable[[Mark], bool] | None = None,
    ) -> None:
        """Rules for records; roots whose mark `keeps` says so are kept whole, or else all that are ours."""
        self._tracking = tracking
        self._judge = judge
        self._scopes = scopes
        self._digest_key = digest_key
        ours = tracking.mark_for("unit").system
        self._keeps = keeps or (lambda mark: mark.system == ours)
        self._healths: dict[HealthStatus, Health] = {}
        self._siblings: tuple[Owner, ...] = ()

    def record(self, told: KubeObject, resource: Resource, key: ResourceKey | None = None) -> Recorded:
        """The record of an object, under its `key` where that is at hand.

        Texts of which there are few different ones, many times each, are interned: every record points to the
        same one for as long as there is one. Objects that are made together come at the same second.
        """
        metadata = told.metadata
        key = key or self.key(resource, metadata)
        mark, owners = self._mark(key, metadata), self._owners(told, key)
        is_definition = key.kind == CRD_KIND and key.group == CRD_GROUP
        is_tracked = mark is not None and not metadata.owner_references and self._keeps(mark)
        keeps_body = is_definition or is_tracked
        live = Live(
            key=key,
            api_version=sys.intern(resource.api_version),
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            created=sys.intern(metadata.creation_timestamp or ""),
            deleting=metadata.deletion_timestamp is not None,
            finalizers=metadata.finalizers or (),
            owners=owners,
            mark=mark,
            health=self._health(told, resource),
            digest=fingerprint(told, self._digest_key) if keeps_body else b"",
        )
        return Recorded(live, keeps_body, stems_of(told) if is_set(key) else ())

    def key(self, resource: Resource, metadata: Metadata) -> ResourceKey:
        """The key of an object."""
        return ResourceKey(resource.group, resource.kind, sys.intern(metadata.namespace), metadata.name)

    def _owners(self, told: KubeObject, key: ResourceKey) -> tuple[Owner, ...]:
        """Whose the object is; siblings come one after the other and share the answer."""
        owners = owners_of(told, key, self._scopes)
        if owners and owners != self._siblings:
            self._siblings = owners
        return self._siblings if owners else ()

    def _mark(self, key: ResourceKey, metadata: Metadata) -> Mark | None:
        labels, annotations = metadata.labels, metadata.annotations
        if labels is None and annotations is None:
            return None
        return self._tracking.mark_of(key, labels or _NONE, annotations or _NONE)

    def _health(self, told: KubeObject, resource: Resource) -> Health | None:
        try:
            health = self._judge(told, resource)
        except Exception as bug:  # noqa: BLE001 - one odd status must not stop the reading of its whole kind
            return Health(HealthStatus.UNKNOWN, f"it cannot be judged: {type(bug).__name__}")
        if health is None or health.message:
            return health
        return self._healths.setdefault(health.status, health)

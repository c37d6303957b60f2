"""Live objects as the engine remembers them, and the view of them that its other parts are given. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from trimtab.engine.health import Health
from trimtab.engine.marks import Mark, Tracking
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

#: finalizers that the server sets and takes off by itself
_SERVERS_OWN: Final = frozenset({"foregroundDeletion", "orphan", "kubernetes"})


class Owner(Struct, frozen=True, gc=False):
    """One owner of an object: named by the object itself, or `inferred`; then its `uid` may be unknown."""

    uid: str
    key: ResourceKey
    inferred: bool = False


class Live(Struct, frozen=True, kw_only=True, gc=False):
    """What is kept of one object: identity and a few facts.

    `digest` stands for the state that somebody decided: status, resourceVersion, the times of managedFields
    and their like are left out, so it is unmoved by status traffic. It is empty for objects whose manifest is
    not kept. Digests are opaque: equal ones mean equal objects, as read from one server.
    """

    key: ResourceKey
    api_version: str
    uid: str
    resource_version: str
    created: str = ""
    deleting: bool = False
    finalizers: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    mark: Mark | None = None
    health: Health | None = None
    digest: bytes = b""

    @property
    def is_root(self) -> bool:
        """Whether somebody claims it and nothing owns it: only such objects are compared and pruned."""
        return self.mark is not None and not self.owners

    @property
    def holders(self) -> tuple[str, ...]:
        """What keeps it from going: finalizers that somebody else takes off. None if it is not going."""
        return tuple(each for each in self.finalizers if each not in _SERVERS_OWN) if self.deleting else ()


def live_of(found: KubeObject, tracking: Tracking | None, health: Health | None = None) -> Live:
    """What is known of an object that was read by itself: its owners and its digest are left out."""
    metadata = found.metadata
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    return Live(
        key=found.key,
        api_version=found.api_version,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created=metadata.creation_timestamp or "",
        deleting=metadata.deletion_timestamp is not None,
        finalizers=metadata.finalizers or (),
        mark=None if tracking is None else tracking.mark_of(found.key, labels, annotations),
        health=health,
    )


class Change(Struct, frozen=True, gc=False):
    """What happened to one object: it came (no `before`), changed, or went (no `after`)."""

    key: ResourceKey
    before: Live | None
    after: Live | None

    @property
    def is_status_traffic(self) -> bool:
        """Whether nothing was decided: what somebody declared is as before, and so is the health.

        The words of a health judgement may differ. Of objects whose manifest is not kept nothing is known to
        be the same, so their changes are never mere traffic.
        """
        before, after = self.before, self.after
        if before is None or after is None or not before.digest:
            return False
        return before.digest == after.digest and _status(before.health) is _status(after.health)


def _status(health: Health | None) -> object:
    return None if health is None else health.status


class LiveView(Protocol):
    """What the rest of the engine may ask of live state; every answer is of one moment, without awaiting."""

    def get(self, key: ResourceKey) -> Live | None:
        """The object, as far as it is known."""

    def manifest(self, key: ResourceKey) -> Manifest | None:
        """The whole object, if it is kept: tracked roots and CRDs are, as long as memory allows."""

    def managed(self, mark: Mark) -> tuple[Live, ...]:
        """The roots that carry this mark, in the order of their keys."""

    def knows(self, group: str, kind: str, namespace: str) -> bool:
        """Whether an object of this kind that is absent here is absent in the cluster, too."""

    def subscribe(self, told: Callable[[Change], None]) -> Callable[[], None]:
        """Be told every change, in order, without awaiting; the answer ends it."""

"""Reads the families of objects: what they own, what that owns, and what was said of them all.

The kinds that controllers of Kubernetes make, and those that are known to be there, are read in the
namespaces concerned. What belongs to whom follows from owner references. A kind that may not be read is told,
and the rest is read all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from trimtab.app.why.facts import Said, Seen
from trimtab.engine.health import health_of
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import EVERYTHING, Cluster, Selection
from trimtab.kube.discovery import Discovery, Resource, namespaced_v1
from trimtab.kube.failures import Forbidden, NotFound
from trimtab.kube.objects import KubeObject
from trimtab.kube.times import BadTime, parse_time
from trimtab.resources.keys import ResourceKey
from trimtab.tasks import plain_group

#: what may hang below an object
KINDS: Final = (
    namespaced_v1("", "Pod", "pods"),
    namespaced_v1("", "PersistentVolumeClaim", "persistentvolumeclaims"),
    namespaced_v1("apps", "ReplicaSet", "replicasets"),
    namespaced_v1("apps", "Deployment", "deployments"),
    namespaced_v1("apps", "StatefulSet", "statefulsets"),
    namespaced_v1("apps", "DaemonSet", "daemonsets"),
    namespaced_v1("batch", "Job", "jobs"),
    namespaced_v1("batch", "CronJob", "cronjobs"),
)
EVENTS: Final = namespaced_v1("", "Event", "events")
#: what went well is no evidence, and there is much of it
_WARNINGS: Final = Selection(fields="type=Warning")
#: but for a claim: that it gets no volume is no warning to Kubernetes
_OF_CLAIMS: Final = Selection(fields="type=Normal,involvedObject.kind=PersistentVolumeClaim")
#: so many roots are looked into: what is wrong with more of them is most likely the same
_MOST_ROOTS: Final = 20


class Family(Struct, frozen=True, kw_only=True):
    """Some roots and all that hangs below them."""

    seen: Mapping[ResourceKey, Seen] = {}
    events: tuple[Said, ...] = ()
    unread: tuple[TrimtabError, ...] = ()


async def read_family(
    cluster: Cluster, roots: tuple[ResourceKey, ...], *, also: Collection[tuple[str, str]] = ()
) -> Family:
    """These objects as they are now, those that are there, with their families.

    `also` are further kinds, by group and name, that are known to belong to them.
    """
    if not roots:
        return Family()
    discovery = await cluster.discover()
    reading = _Reading(cluster, discovery)
    usual = {(each.group, each.kind) for each in KINDS}
    others = (discovery.preferred(group, kind) for group, kind in sorted(set(also) - usual))
    kinds = (*KINDS, *(each for each in others if each is not None and each.namespaced))
    async with plain_group() as group:
        tasks = [group.create_task(reading.one(key)) for key in roots[:_MOST_ROOTS]]
    found = [each for task in tasks if (each := task.result()) is not None]
    spaces = dict.fromkeys(each.metadata.namespace for each in found if each.metadata.namespace)
    claimed = {each.metadata.namespace for each in found if each.kind == "PersistentVolumeClaim"}
    async with plain_group() as group:
        for space in spaces:
            for resource in kinds:
                group.create_task(reading.all(resource, space))
            for select in (_WARNINGS, *[_OF_CLAIMS] * (space in claimed)):
                group.create_task(reading.all(EVENTS, space, select))
    return family_of(found, reading.found, reading.events, tuple(reading.unread.values()))


class _Reading:
    """What was read so far."""

    def __init__(self, cluster: Cluster, discovery: Discovery) -> None:
        self._cluster = cluster
        self._discovery = discovery
        self.found: list[KubeObject] = []
        self.events: list[KubeObject] = []
        self.unread: dict[str, TrimtabError] = {}

    async def one(self, key: ResourceKey) -> KubeObject | None:
        resource = self._discovery.preferred(key.group, key.kind)
        if resource is None:
            return None
        try:
            return await self._cluster.get(resource, key.name, namespace=key.namespace)
        except NotFound:
            return None
        except Forbidden as error:
            self.unread[error.subject] = error
            return None

    async def all(self, resource: Resource, namespace: str, select: Selection = EVERYTHING) -> None:
        into = self.events if resource is EVENTS else self.found
        try:
            async for page in self._cluster.list(resource, namespace=namespace, select=select):
                into.extend(page.objects)
        except NotFound:
            return
        except Forbidden as error:
            self.unread[error.subject] = error


# -- what belongs to whom: pure --------------------------------------------------------------------------


def family_of(
    roots: Iterable[KubeObject],
    others: Iterable[KubeObject],
    events: Iterable[KubeObject],
    unread: tuple[TrimtabError, ...] = (),
) -> Family:
    """The roots and those of the others that hang below them, with the Events about them."""
    seen: dict[ResourceKey, Seen] = {}
    by_uid: dict[str, ResourceKey] = {}
    for each in roots:
        seen[each.key] = _seen(each, None)
        by_uid[each.metadata.uid] = each.key
    left, count = [each for each in others if each.key not in seen], -1
    while len(left) != count:
        count, rest = len(left), []
        for each in left:
            owners = each.metadata.owner_references or ()
            parent = next((by_uid[owner.uid] for owner in owners if owner.uid in by_uid), None)
            if parent is None:
                rest.append(each)
                continue
            seen[each.key] = _seen(each, parent)
            by_uid[each.metadata.uid] = each.key
        left = rest
    told = (said for event in events if (said := said_in(event)) is not None and said.uid in by_uid)
    return Family(seen=seen, events=tuple(told), unread=unread)


def _seen(found: KubeObject, parent: ResourceKey | None) -> Seen:
    manifest = found.manifest()
    return Seen(
        key=found.key,
        uid=found.metadata.uid,
        manifest=manifest,
        parent=parent,
        health=health_of(manifest),
    )


class _About(Struct, frozen=True):
    uid: str = ""


class _Series(Struct, frozen=True, rename="camel"):
    last_observed_time: str | None = None


class _Event(Struct, frozen=True, kw_only=True, rename="camel"):
    involved_object: _About = _About()
    reason: str = ""
    message: str = ""
    type: str = ""
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: _Series | None = None


_decoder: Final = msgspec.json.Decoder(_Event)


def said_in(event: KubeObject) -> Said | None:
    """What an Event says; None if it cannot be read."""
    try:
        told = _decoder.decode(event.raw)
    except msgspec.MsgspecError:
        return None
    series = told.series.last_observed_time if told.series else None
    return Said(
        uid=told.involved_object.uid,
        reason=told.reason,
        message=told.message,
        is_warning=told.type == "Warning",
        first=_time(told.first_timestamp or told.event_time),
        last=_time(series or told.last_timestamp or told.event_time),
    )


def _time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except BadTime:
        return None

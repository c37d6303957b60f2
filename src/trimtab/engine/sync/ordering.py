"""The order of a sync: phase, wave, kind, name, and what has to move before what needs it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.operations import SyncPhase
from trimtab.resources.keys import ResourceKey

#: what others need comes first; kinds that are not named here come last
_KINDS = (
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
)
_RANKS = {kind: rank for rank, kind in enumerate(_KINDS)}
_PHASES = {phase: rank for rank, phase in enumerate(SyncPhase)}


class Slot(Struct, frozen=True, kw_only=True, gc=False):
    """Where one step stands, and what it means to others; `step` finds it again."""

    step: int
    key: ResourceKey
    phase: SyncPhase
    wave: int
    prune: bool = False
    #: pruned after everything else, whatever its wave
    last: bool = False
    #: group and kind that the object defines, if it is a CustomResourceDefinition
    defines: tuple[str, str] | None = None


def kind_rank(kind: str) -> int:
    """The place of a kind among others."""
    return _RANKS.get(kind, len(_KINDS))


def ordered(places: Iterable[Slot]) -> tuple[Slot, ...]:
    """The steps in the order in which they are to be done, with the waves and phases they end up in."""
    given: Iterable[Slot] = tuple(places)
    if any(place.prune for place in given):
        given = _sunk(_pruned_in_turn(tuple(given)))
    found = sorted(given, key=_sort_key)
    return _hoisted(found) if len(found) > 1 else tuple(found)


def _sort_key(place: Slot) -> tuple[Any, ...]:
    key = place.key
    return (
        _PHASES[place.phase],
        place.wave,
        kind_rank(key.kind),
        key.name,
        key.namespace,
        key.group,
        key.kind,
    )


def _pruned_in_turn(places: Sequence[Slot]) -> Sequence[Slot]:
    """What was made last is pruned first: waves of prunes mirrored; those that go last, after all others."""
    waves = sorted({place.wave for place in places if place.prune})
    mirror = dict(zip(waves, reversed(waves), strict=True))
    turned = [replace(place, wave=mirror[place.wave]) if place.prune else place for place in places]
    last = 1 + max((place.wave for place in turned if place.phase is SyncPhase.SYNC), default=0)
    return [replace(place, wave=max(last, 1)) if place.last else place for place in turned]


def _sunk(places: Sequence[Slot]) -> Iterable[Slot]:
    """Pruned definitions after the objects of their kinds, and pruned namespaces last of all prunes.

    What the hooks after a deletion still need goes after them.
    """
    last: dict[object, int] = {}
    for place in places:
        if place.prune:
            kind = place.key.group, place.key.kind
            last[kind] = max(place.wave, last.get(kind, place.wave))
    hooks = [place for place in places if place.phase is SyncPhase.POST_DELETE]
    needed = {need for place in hooks for need in _needs(place)}
    end = 1 + max((place.wave for place in hooks), default=0)
    defined = [_after(place, last.get(place.defines)) if place.prune else place for place in places]
    others = [place.wave for place in defined if place.prune and not _is_namespace(place)]
    for place in defined:
        if place.prune and _offers(place) in needed:
            yield replace(place, phase=SyncPhase.POST_DELETE, wave=end)
        elif place.prune and _is_namespace(place):
            yield _after(place, max(others, default=None))
        else:
            yield place


def _after(place: Slot, wave: int | None) -> Slot:
    """The place behind a wave, unless it is there already."""
    return place if wave is None or place.wave > wave else replace(place, wave=wave + 1)


def _hoisted(places: list[Slot]) -> tuple[Slot, ...]:
    """Namespaces before what lives in them, definitions before their objects, in their phase and wave."""
    first_user: dict[object, Slot] = {}
    needed: dict[object, Slot] = {}
    for place in places:
        if place.prune:
            continue
        offered = _offers(place)
        if offered is not None and offered in first_user:
            needed[offered] = place
        for need in _needs(place):
            first_user.setdefault(need, place)
    if not needed:
        return tuple(places)
    return tuple(_with_hoisted(places, needed))


def _with_hoisted(places: list[Slot], needed: dict[object, Slot]) -> Iterable[Slot]:
    moved = {place.step for place in needed.values()}
    waiting = dict(needed)
    for place in places:
        if place.step in moved:
            continue
        if not place.prune:
            yield from _offered_before(place, waiting)
        yield place


def _offered_before(place: Slot, waiting: dict[object, Slot]) -> Iterable[Slot]:
    for need in _needs(place):
        offerer = waiting.pop(need, None)
        if offerer is not None:
            yield replace(offerer, phase=place.phase, wave=place.wave)


def _offers(place: Slot) -> object | None:
    """What the object makes possible: a namespace, or a kind."""
    return place.key.name if _is_namespace(place) else place.defines


def _is_namespace(place: Slot) -> bool:
    return place.key.kind == "Namespace" and not place.key.group


def _needs(place: Slot) -> Iterable[object]:
    """What has to be there before the object: its namespace, and its kind."""
    if place.key.namespace:
        yield place.key.namespace
    yield (place.key.group, place.key.kind)

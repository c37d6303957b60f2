"""Health of a unit: the worst of its objects, and which they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from trimtab.engine.health.values import Health, HealthStatus
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.sentences import joined

IGNORE_HEALTHCHECK: Final = "argocd.argoproj.io/ignore-healthcheck"
MOST_NAMED: Final = 3
_APPLICATION: Final = ("argoproj.io", "Application")
_EXCUSED: Final = frozenset({HealthStatus.MISSING, HealthStatus.UNKNOWN})


class Part(Struct, frozen=True, kw_only=True, gc=False):
    """One object of a unit, as far as the unit's health goes."""

    key: ResourceKey
    is_live: bool
    health: Health | None = None
    #: hooks, ignored objects and those that say `ignore-healthcheck` do not count
    counts: bool = True


class UnitHealth(Struct, frozen=True, kw_only=True):
    """The unit's health, and the objects that it is due to."""

    health: Health
    culprits: tuple[ResourceKey, ...] = ()


def is_excluded(manifest: Manifest) -> bool:
    """Whether a live object asks not to be counted."""
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(IGNORE_HEALTHCHECK) == "true"


def worst_of(parts: Iterable[Part], *, itself: ResourceKey | None = None) -> UnitHealth:
    """The worst health of the objects that count; `itself` is the object that stands for the unit, if any.

    What is missing does not make a unit worse, unless nothing at all is there.
    """
    worst, seen, live = HealthStatus.HEALTHY, False, False
    culprits: list[Part] = []
    for part in parts:
        if not part.counts or part.key == itself:
            continue
        seen = True
        if not part.is_live:
            continue
        live = True
        status = _counted(part)
        if status.rank > worst.rank:
            worst, culprits = status, []
        if status is worst and status is not HealthStatus.HEALTHY:
            culprits.append(part)
    if seen and not live:
        return UnitHealth(health=Health(HealthStatus.MISSING, "No object of the unit is in the cluster"))
    return UnitHealth(health=Health(worst, _told(culprits)), culprits=tuple(part.key for part in culprits))


def _counted(part: Part) -> HealthStatus:
    """The status that counts; a unit that manages units is not worse for one that has yet to appear."""
    status = part.health.status if part.health else HealthStatus.HEALTHY
    is_application = (part.key.group, part.key.kind) == _APPLICATION
    return HealthStatus.HEALTHY if is_application and status in _EXCUSED else status


def _told(culprits: list[Part]) -> str:
    """The first culprits with what they say, and how many more there are."""
    named = [_line(part) for part in culprits[:MOST_NAMED]]
    rest = len(culprits) - MOST_NAMED
    return joined([*named, f"and {rest} more"] if rest > 0 else named)


def _line(part: Part) -> str:
    message = part.health.message if part.health else ""
    return f"{part.key}: {message}" if message else str(part.key)

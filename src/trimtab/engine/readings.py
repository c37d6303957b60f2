"""What metrics read of an engine when somebody scrapes: values, for which no library is needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from trimtab.engine.units import SyncUnit


class UnitLabels(Struct, frozen=True):
    """What a unit is called in metrics."""

    namespace: str
    name: str
    project: str = ""


class ClusterFigures(Struct, frozen=True, kw_only=True):
    """One cluster as a scrape shows it."""

    name: str
    version: str
    connected: bool
    objects: int
    kinds: int
    #: seconds since it was last read whole; -1 if it never was
    age: float


class QueueFigures(Struct, frozen=True, kw_only=True):
    """One pool of processors as a scrape shows it."""

    name: str
    waiting: int
    running: int
    held: int


class ChangeCount(Struct, frozen=True, kw_only=True):
    """How many changes of one kind were heard of one cluster."""

    cluster: str
    group: str
    kind: str
    count: int


class Readings(Protocol):
    """What is read when somebody scrapes."""

    def units(self) -> Iterable[SyncUnit]:
        """Every unit."""

    def clusters(self) -> Iterable[ClusterFigures]:
        """Every cluster in use."""

    def queues(self) -> Iterable[QueueFigures]:
        """The pools of processors."""

    def changes(self) -> Iterable[ChangeCount]:
        """How often clusters told of a change, by kind."""


class Taken(Struct, frozen=True, kw_only=True):
    """What was read at one moment, whatever happens later: fit to be handed to a thread."""

    units: tuple[SyncUnit, ...]
    clusters: tuple[ClusterFigures, ...]
    queues: tuple[QueueFigures, ...]
    changes: tuple[ChangeCount, ...]


def taken(readings: Readings) -> Taken:
    """Read everything now."""
    return Taken(
        units=tuple(readings.units()),
        clusters=tuple(readings.clusters()),
        queues=tuple(readings.queues()),
        changes=tuple(readings.changes()),
    )


def labels_by_tenant(unit: SyncUnit) -> UnitLabels:
    """The unit under its tenant, without a project."""
    return UnitLabels(unit.tenant, unit.id)

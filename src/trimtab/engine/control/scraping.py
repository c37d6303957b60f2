"""What metrics read of a running engine when somebody scrapes; what becomes of it is not decided here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from trimtab.engine.control.ledger import Ledger
from trimtab.engine.control.rooms import Room, Rooms, RoomState
from trimtab.engine.readings import ChangeCount, ClusterFigures, QueueFigures
from trimtab.engine.units import SyncUnit
from trimtab.tasks import KeyedWorkers, WorkSnapshot, WorkState

#: what the two pools are called, as Argo CD calls its own
LOOKS: Final = "app_reconciliation_queue"
OPERATIONS: Final = "app_operation_processing_queue"
_WAITING: Final = (WorkState.QUEUED, WorkState.CROWDED, WorkState.LIMITED)
_HELD: Final = (WorkState.BACKING_OFF, WorkState.QUARANTINED)


class EngineReadings:
    """What a scrape reads of an engine."""

    def __init__(
        self,
        ledger: Ledger,
        rooms: Rooms,
        pools: Callable[[], tuple[KeyedWorkers[str], ...]],
        changes: Counter[tuple[str, str, str]],
    ) -> None:
        self._ledger, self._rooms, self._pools, self._changes = ledger, rooms, pools, changes

    def units(self) -> Iterable[SyncUnit]:
        """Every unit."""
        return self._ledger

    def clusters(self) -> Iterable[ClusterFigures]:
        """Every cluster in use."""
        return [_figures(room) for room in self._rooms.all()]

    def changes(self) -> Iterable[ChangeCount]:
        """How often clusters told of a change, by kind."""
        return [
            ChangeCount(cluster=cluster, group=group, kind=kind, count=count)
            for (cluster, group, kind), count in self._changes.items()
        ]

    def queues(self) -> Iterable[QueueFigures]:
        """The pools of processors, once there are any."""
        return [
            _queue(name, pool.snapshot())
            for name, pool in zip((LOOKS, OPERATIONS), self._pools(), strict=False)
        ]


def _queue(name: str, found: WorkSnapshot[str]) -> QueueFigures:
    return QueueFigures(
        name=name,
        waiting=len(found.in_state(*_WAITING)) + found.left_out,
        running=len(found.in_state(WorkState.RUNNING)),
        held=len(found.in_state(*_HELD)),
    )


def _figures(room: Room) -> ClusterFigures:
    facts = room.desk.cache.facts() if room.desk is not None else None
    return ClusterFigures(
        name=room.name,
        version=facts.version if facts else "",
        connected=room.state is RoomState.READY,
        objects=facts.objects if facts else 0,
        kinds=facts.kinds if facts else 0,
        age=facts.age.total_seconds() if facts and facts.age is not None else -1,
    )

"""Clusters in use: each with a connection and a cache of its own, kept up independently of all others.

A cluster that cannot be reached is tried again and again, ever later, and says so; nothing here waits for it.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from msgspec import Struct

from trimtab.engine.control.desks import Desk
from trimtab.engine.units import ClusterEntry, ClusterNews, CredentialsStore
from trimtab.errors import TrimtabError, Unavailable
from trimtab.kube.cluster import Cluster
from trimtab.tasks import Backoff, Clock, run_together
from trimtab.tasks.backoff import pause
from trimtab.tasks.chance import draw

_BACKOFF: Final = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=1))


class RoomState(enum.Enum):
    """How a cluster stands with us."""

    STARTING = "starting"
    READY = "ready"
    LOST = "lost"


class RoomView(Struct, frozen=True, kw_only=True):
    """How a cluster stands with us, for telling."""

    name: str
    state: str
    problem: str = ""


class Room:
    """One cluster in use."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = RoomState.STARTING
        self.entry: ClusterEntry | None = None
        self.desk: Desk | None = None
        self.problem: TrimtabError | None = None
        self.task: asyncio.Task[None] | None = None

    def open_desk(self) -> Desk | None:
        """The desk, if its live state can be asked."""
        return self.desk if self.state is RoomState.READY else None

    def view(self) -> RoomView:
        """How it stands."""
        return RoomView(
            name=self.name, state=self.state.value, problem=str(self.problem) if self.problem else ""
        )

    def refusal(self) -> TrimtabError:
        """Why its live state cannot be asked."""
        subject = f"cluster {self.name}"
        return self.problem or Unavailable(subject, "its live state is still being read")


class Rooms:
    """Every cluster in use, by name."""

    def __init__(
        self,
        credentials: CredentialsStore,
        make_desk: Callable[[ClusterEntry, Cluster], Desk],
        *,
        clock: Clock,
        on_ready: Callable[[Room], None],
        on_lost: Callable[[Room, TrimtabError, float], None],
    ) -> None:
        self._credentials = credentials
        self._make_desk = make_desk
        self._clock = clock
        self._on_ready = on_ready
        self._on_lost = on_lost
        self._rooms: dict[str, Room] = {}
        self._group: asyncio.TaskGroup | None = None

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Have clusters opened in this group of tasks from now on."""
        self._group = group

    def all(self) -> tuple[Room, ...]:
        """Every cluster in use."""
        return tuple(self._rooms.values())

    def get(self, name: str) -> Room | None:
        """The cluster, if it is in use."""
        return self._rooms.get(name)

    def open(self, name: str) -> Room:
        """The cluster, which is opened if it is not in use."""
        room = self._rooms.get(name)
        if room is None:
            room = self._rooms[name] = Room(name)
            if self._group is None:
                raise RuntimeError("clusters are opened only while the engine runs")
            room.task = self._group.create_task(self._keep(room))
        return room

    def close(self, name: str) -> Room | None:
        """No longer use a cluster."""
        room = self._rooms.pop(name, None)
        if room is not None and room.task is not None:
            room.task.cancel()
        return room

    async def renew(self, name: str) -> bool:
        """Open a cluster in use anew if its entry has changed in anything we use; the answer says whether."""
        room = self._rooms.get(name)
        if room is None:
            return False
        try:
            entry: ClusterEntry | None = await self._credentials.get_cluster(name)
        except TrimtabError:
            entry = None
        if entry is not None and entry == (room.entry or entry) and room.state is not RoomState.LOST:
            return False
        self.close(name)
        self.open(name)
        return True

    async def _keep(self, room: Room) -> None:
        failures = 0
        while True:
            try:
                await self._serve(room)
            except TrimtabError as error:
                failures = 0 if room.state is RoomState.READY else failures + 1
                wait = pause(error, failures=failures + 1, backoff=_BACKOFF, chance=draw())
                room.state, room.problem = RoomState.LOST, error
                self._on_lost(room, error, wait)
                await self._clock.sleep(wait)

    async def _serve(self, room: Room) -> None:
        room.entry = await self._credentials.get_cluster(room.name)
        async with room.entry.connect() as cluster:
            room.desk = self._make_desk(room.entry, cluster)
            await run_together(room.desk.cache.run(), self._announce(room, room.desk))

    async def _announce(self, room: Room, desk: Desk) -> None:
        await desk.cache.complete()
        room.state, room.problem = RoomState.READY, None
        self._on_ready(room)


async def watch_clusters(
    credentials: CredentialsStore, told: Callable[[ClusterNews], Awaitable[None]]
) -> None:
    """Pass on what the credentials tell of clusters, one after another."""
    queue: asyncio.Queue[ClusterNews] = asyncio.Queue()

    async def pass_on() -> None:
        while True:
            await told(await queue.get())

    await run_together(credentials.watch_clusters(queue.put_nowait), pass_on())

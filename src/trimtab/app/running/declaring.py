"""Follows unit files, in a folder or a repository, and has the records say what they say.

Reading and parsing happen in a thread. What cannot be read changes nothing: the last good files stay in
force, and that is told.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from trimtab.app.running.declared import (
    Amend,
    Hold,
    Record,
    Refuse,
    Remove,
    Snapshot,
    Stay,
    Withdraw,
    moves,
    snapshot_of,
)
from trimtab.app.running.events import (
    AnyEvent,
    UnitDeclared,
    UnitFileRefused,
    UnitRemovalHeld,
    UnitsRead,
    UnitStays,
    UnitsUnread,
    UnitWithdrawn,
)
from trimtab.app.shards import Shard
from trimtab.app.sources import Wishes
from trimtab.app.unitfiles import Origin
from trimtab.engine.stores.changing import with_end
from trimtab.engine.units import SyncUnitStore, UnitMissing
from trimtab.errors import Conflict, Damaged, TrimtabError, Unavailable
from trimtab.sources import FolderTree, Repositories, tree_of
from trimtab.sources.repositories.revisions import Revision, Standing
from trimtab.tasks import Clock, DeadlinePassed, time_limit

Tell: TypeAlias = Callable[[AnyEvent], None]
_AGAIN = 5.0
#: how long units that are withdrawn may take to end what is under way, and how often that is looked at
_ENDS_WITHIN = timedelta(seconds=20)
_LOOK_AGAIN = 0.2


class Declarations:
    """What the unit files say now, for whoever holds a shard."""

    def __init__(self, origin: Origin, *, clock: Clock, tell: Tell) -> None:
        self.origin = origin
        self.current: Snapshot | None = None
        #: why they cannot be read now; empty if they can
        self.problem = ""
        #: why shards cannot be told what they say
        self.delays: dict[Shard, str] = {}
        #: units whose files are not followed, and why
        self.refused: dict[str, str] = {}
        self._clock, self._tell = clock, tell
        self._changed = asyncio.Event()

    async def after(self, seen: Snapshot | None) -> Snapshot:
        """What the files say, as soon as that is something else than what was seen."""
        while self.current is None or self.current is seen:
            changed = self._changed
            await changed.wait()
        return self.current

    def read(self, snapshot: Snapshot) -> None:
        """Take in what the files say."""
        self.problem = ""
        self.current = snapshot
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        told = UnitsRead(
            at=self._clock.now(),
            origin=str(self.origin),
            revision=snapshot.revision,
            units=len(snapshot.units),
        )
        self._tell(told)

    def unread(self, reason: str) -> None:
        """Take in that the files cannot be read."""
        if reason != self.problem:
            self.problem = reason
            self._tell(UnitsUnread(at=self._clock.now(), origin=str(self.origin), reason=reason))

    @property
    def trouble(self) -> str:
        """What is wrong now, in one sentence; empty if nothing is."""
        return self.problem or next(iter(self.delays.values()), "")

    def delayed(self, shard: Shard, reason: str) -> None:
        """Take in that the records of a shard cannot be made to say what the files say."""
        if self.delays.get(shard) != reason:
            self.delays[shard] = reason
            self._tell(UnitsUnread(at=self._clock.now(), origin=str(self.origin), reason=reason))

    def made(self, shard: Shard, refused: Mapping[str, str]) -> None:
        """Take in that the records of a shard say what the files say, but for these."""
        self.let_go(shard)
        self.refused |= refused

    def let_go(self, shard: Shard) -> None:
        """Forget how it stood with a shard."""
        self.delays.pop(shard, None)
        self.refused = {name: reason for name, reason in self.refused.items() if not shard.has(name)}


async def follow_folder(declarations: Declarations, *, every: timedelta, clock: Clock) -> None:
    """Read the files of a folder whenever one was edited."""
    folder, seen = Path(declarations.origin.folder), None
    while True:
        try:
            prints = await asyncio.to_thread(_prints, folder)
            if prints != seen:
                snapshot = await asyncio.to_thread(_read_folder, folder, declarations.origin)
                seen = prints
                declarations.read(snapshot)
        except TrimtabError as error:
            declarations.unread(str(error))
        await clock.sleep(every.total_seconds())


def _read_folder(folder: Path, origin: Origin) -> Snapshot:
    return snapshot_of(FolderTree(folder), origin, "the files at hand")


def _prints(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    """What identifies one writing of every file: whoever edits one changes at least one of these."""
    found = []
    try:
        for place, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = [each for each in folders if not each.startswith(".")]
            for name in names:
                stat = (Path(place) / name).lstat()
                found.append((f"{place}/{name}", stat.st_mtime_ns, stat.st_size, stat.st_ino))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unavailable(f"folder {folder}", f"it cannot be read: {reason}") from error
    return tuple(sorted(found))


def _raise(error: OSError) -> None:
    raise error


async def follow_repository(declarations: Declarations, repositories: Repositories, wishes: Wishes) -> None:
    """Read the files of a repository whenever it has a new commit."""
    origin = declarations.origin
    heard: asyncio.Queue[Standing] = asyncio.Queue()
    consumer = f"unit files of {origin}"
    paths = (origin.path.strip("/"),) if origin.path.strip("/") else ()
    wanted = replace(wishes.of(origin.url, origin.target), paths=paths)
    repositories.follow(consumer, wanted, tell=lambda _name, standing: heard.put_nowait(standing))
    in_force = ""
    try:
        while True:
            standing = await heard.get()
            if standing.error is not None:
                declarations.unread(standing.message)
            revision = standing.revision
            if revision is None or revision.commit == in_force:
                continue
            try:
                try:
                    snapshot = await asyncio.to_thread(_read_revision, revision, origin)
                except Damaged:
                    await repositories.mend(replace(wanted, target=revision.commit), revision)
                    snapshot = await asyncio.to_thread(_read_revision, revision, origin)
                declarations.read(snapshot)
                in_force = revision.commit
            except TrimtabError as error:
                declarations.unread(str(error))
    finally:
        repositories.unfollow(consumer)


def _read_revision(revision: Revision, origin: Origin) -> Snapshot:
    return snapshot_of(tree_of(revision), origin, revision.commit)


async def keep_records(
    declarations: Declarations,
    store: SyncUnitStore,
    shard: Shard,
    *,
    remove: Callable[[Collection[str]], None],
    clock: Clock,
    tell: Tell,
) -> None:
    """Have the records of a shard say what the files say, for ever; `remove` hears whose objects go."""
    seen: Snapshot | None = None
    try:
        while True:
            snapshot = await declarations.after(seen)
            try:
                await _keep_once(declarations, snapshot, store, shard, remove=remove, clock=clock, tell=tell)
                seen = snapshot
            except Unavailable as error:
                declarations.delayed(shard, str(error))
                await clock.sleep(_AGAIN)
    finally:
        declarations.let_go(shard)


async def _keep_once(
    declarations: Declarations,
    snapshot: Snapshot,
    store: SyncUnitStore,
    shard: Shard,
    *,
    remove: Callable[[Collection[str]], None],
    clock: Clock,
    tell: Tell,
) -> None:
    found = moves(snapshot, await store.list(), declarations.origin, shard)
    remove([move.id for move in found if isinstance(move, Remove)])
    await _end(store, [each.id for each in found if isinstance(each, Withdraw)], clock)
    refused: dict[str, str] = {}
    for move in found:
        if isinstance(move, Remove):
            continue
        event = await _made(move, store, snapshot, clock)
        tell(event)
        if isinstance(event, UnitFileRefused | UnitRemovalHeld | UnitStays):
            refused[event.unit] = event.reason
    declarations.made(shard, refused)


async def _end(store: SyncUnitStore, withdrawn: list[str], clock: Clock) -> None:
    """Have what is under way on these units end before they go, so that nothing of it stays behind.

    A cluster that cannot be reached is not waited for without end: whoever reaches it next lets go of what is
    left there.
    """
    ending = set(withdrawn)
    with suppress(DeadlinePassed):
        async with time_limit(_ENDS_WITHIN, clock=clock, subject="units without a file"):
            while ending := {each for each in ending if await _is_busy(store, each)}:
                await clock.sleep(_LOOK_AGAIN)


async def _is_busy(store: SyncUnitStore, unit_id: str) -> bool:
    """Whether something is under way on a unit; then it has been asked to end."""
    try:
        unit = await store.get(unit_id)
        if unit.operation is not None and not unit.operation.ended_by:
            unit = await store.amend(unit_id, with_end("a runner, whose unit file went"))
    except UnitMissing:
        return False
    return unit.operation is not None


_Recorded: TypeAlias = Record | Amend | Withdraw | Hold | Stay | Refuse


async def _made(move: _Recorded, store: SyncUnitStore, snapshot: Snapshot, clock: Clock) -> AnyEvent:
    """Make a move; whoever was faster is not overruled, and the next reading sees what he did."""
    try:
        return await _move_made(move, store, snapshot, clock)
    except Conflict as error:
        unit_id = move.unit.id if isinstance(move, Record | Amend) else move.id
        return UnitFileRefused(at=clock.now(), unit=unit_id, reason=str(error))


async def _move_made(move: _Recorded, store: SyncUnitStore, snapshot: Snapshot, clock: Clock) -> AnyEvent:
    match move:
        case Record(unit=unit):
            await store.create(unit)
            return UnitDeclared(at=clock.now(), unit=unit.id, revision=snapshot.revision)
        case Amend(unit=unit):
            await store.update(unit)
            return UnitDeclared(at=clock.now(), unit=unit.id, revision=snapshot.revision)
        case Withdraw(id=unit_id):
            with suppress(UnitMissing):  # somebody was faster
                await store.delete(unit_id)
            return UnitWithdrawn(at=clock.now(), unit=unit_id)
        case Hold(id=unit_id, reason=reason):
            return UnitRemovalHeld(at=clock.now(), unit=unit_id, reason=reason)
        case Stay(id=unit_id, reason=reason):
            return UnitStays(at=clock.now(), unit=unit_id, reason=reason)
        case Refuse(id=unit_id, reason=reason):
            return UnitFileRefused(at=clock.now(), unit=unit_id, reason=reason)
        case _:
            assert_never(move)

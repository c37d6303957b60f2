"""`FileStore`: a folder with one YAML file per unit, for people to edit, and the engine's notes beside them.

    units/shop%2Fweb.yaml            what is wanted: source, destination, policy; yours
    units/state/shop%2Fweb.json      how it stands, and what was asked of it; the engine's

Files are replaced whole and reach the disk before they get their name, so a crash leaves the old one or the
new one. A file that cannot be read is told as unreadable and never taken for a unit that went. One thread
does all that touches the disk, in the order it was asked; several processes must not write the same unit.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from trimtab.engine.operations import Operation
from trimtab.engine.places import Place
from trimtab.engine.stores.changing import declared_anew, exists, missing, placed, with_operation, with_status
from trimtab.engine.units import (
    AllTold,
    Destination,
    Gone,
    LeftBehind,
    Pause,
    Pin,
    Policy,
    Stored,
    SyncUnit,
    UnitNews,
    UnitStatus,
    Unreadable,
)
from trimtab.errors import InvalidSpec, StoreUnavailable, TrimtabError
from trimtab.files import Unfit, content_of
from trimtab.resources import yaml
from trimtab.shapes import Shape
from trimtab.tasks import Clock, SystemClock

_DECLARED: Final = ".yaml"
_STATE: Final = "state"
#: more is never read as YAML, and no engine has ever noted so much
_LARGEST_DECLARED: Final = yaml.Limits().size
_LARGEST_NOTED: Final = 256 << 20
#: what identifies one writing of a file: whoever edits it changes at least one of these
Print: TypeAlias = tuple[int, int, int]
_T = TypeVar("_T")


class _Declared(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a person writes down of a unit; the id is the file's name unless it is spelled out."""

    source: Any
    destination: Destination
    id: str = ""
    policy: Policy = Policy()
    tenant: str = ""


_DECLARATION: Final = Shape(_Declared)


class _Noted(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the engine notes of a unit."""

    status: UnitStatus = UnitStatus()
    operation: Operation | None = None
    paused: Pause | None = None
    pinned: Pin | None = None
    left: tuple[LeftBehind, ...] = ()
    places: tuple[Place, ...] | None = None


_NOTED: Final = msgspec.json.Decoder(_Noted)


class FileStore:
    """Units in a folder."""

    def __init__(
        self, folder: Path, *, look_every: timedelta = timedelta(seconds=2), clock: Clock | None = None
    ) -> None:
        """Take a folder, which is made if need be, and how often to look for what people edited."""
        self._folder = folder
        self._look_every = look_every
        self._clock = clock or SystemClock()
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="units")
        self._known: dict[str, SyncUnit] = {}
        self._written: dict[str, SyncUnit] = {}
        self._prints: dict[str, Print] = {}
        self._followers: list[Callable[[UnitNews], None]] = []

    async def list(self) -> tuple[SyncUnit, ...]:
        """Every unit that can be read, in the order of their ids."""
        found = await self._on_disk(_read_all, self._folder)
        return tuple(each for each in found.values() if isinstance(each, SyncUnit))

    async def get(self, unit_id: str) -> SyncUnit:
        """One unit."""
        return await self._on_disk(_read, self._folder, unit_id)

    async def create(self, unit: SyncUnit) -> SyncUnit:
        """Add a unit: its file appears whole or not at all."""
        await self._on_disk(_create, self._folder, unit)
        return self._put(unit)

    async def update(self, unit: SyncUnit) -> SyncUnit:
        """Change what is wanted of a unit, which writes its file anew."""
        before = await self._current(unit.id)
        changed = self._put(declared_anew(before, unit))
        if (changed.status, changed.left, changed.places) != (before.status, before.left, before.places):
            # It has moved: what was done elsewhere goes first.
            await self._note(changed)
        await self._on_disk(_write_declared, self._folder, changed)
        return changed

    async def delete(self, unit_id: str, *, is_empty: bool = False) -> None:
        """Forget a unit: first what is wanted, then what was noted."""
        del is_empty
        await self._on_disk(_remove, self._folder, unit_id)
        self._lose(unit_id)

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        """Record how a unit stands."""
        return await self._note(with_status(await self._current(unit_id), status))

    async def set_operation(
        self, unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        """Ask something of a unit, or record that it is done."""
        return await self._note(with_operation(await self._current(unit_id), operation, status))

    async def amend(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        """Change a unit's pause, pin or operation by what they are now."""
        return await self._note(change(await self._current(unit_id)))

    async def follow(self, told: Callable[[UnitNews], None]) -> None:
        """Tell of everything that is there, then of every change, edits by hand included."""
        for unit_id in sorted(self._known):
            told(Stored(self._known[unit_id]))
        self._followers.append(told)
        self._prints = {}  # so that what cannot be read is told once more
        try:
            await self._look()
            told(AllTold())
            while True:
                await self._clock.sleep(self._look_every.total_seconds())
                await self._look()
        finally:
            self._followers.remove(told)

    async def _current(self, unit_id: str) -> SyncUnit:
        """The unit as this process knows it, without the disk where it can."""
        return self._known.get(unit_id) or await self.get(unit_id)

    async def _note(self, unit: SyncUnit) -> SyncUnit:
        # Known before it is written: whoever writes next starts from here, and the last writing wins.
        self._put(unit)
        if self._written.get(unit.id) != unit:
            await self._on_disk(_write_noted, self._folder, unit)
            self._written[unit.id] = unit
        return unit

    async def _on_disk(self, act: Callable[..., _T], *arguments: Any) -> _T:
        """Have a thread do it; whoever cancels waits for it: a thread cannot be stopped half-way."""
        job = asyncio.get_running_loop().run_in_executor(self._disk, act, *arguments)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            await asyncio.wait({job})
            raise

    async def _look(self) -> None:
        """Read what was edited since the last look."""
        prints = await self._on_disk(_prints, self._folder)
        for unit_id, print_ in prints.items():
            if self._prints.get(unit_id) != print_:
                await self._read_again(unit_id)
        for unit_id in [unit_id for unit_id in self._prints if unit_id not in prints]:
            self._lose(unit_id)
        self._prints = prints

    async def _read_again(self, unit_id: str) -> None:
        try:
            found = await self.get(unit_id)
        except TrimtabError as error:
            self._tell(Unreadable(unit_id, error))
            return
        known = self._known.get(unit_id)
        self._put(declared_anew(known, found) if known is not None else found)

    def _put(self, unit: SyncUnit) -> SyncUnit:
        if self._known.get(unit.id) != unit:
            self._known[unit.id] = unit
            self._tell(Stored(unit))
        return unit

    def _lose(self, unit_id: str) -> None:
        self._prints.pop(unit_id, None)
        self._written.pop(unit_id, None)
        if self._known.pop(unit_id, None) is not None:
            self._tell(Gone(unit_id))

    def _tell(self, news: UnitNews) -> None:
        for told in tuple(self._followers):
            told(news)


def _declared_path(folder: Path, unit_id: str) -> Path:
    return folder / f"{quote(unit_id, safe='')}{_DECLARED}"


def _noted_path(folder: Path, unit_id: str) -> Path:
    return folder / _STATE / f"{quote(unit_id, safe='')}.json"


def _ids(folder: Path) -> dict[str, Path]:
    """The units that have a file, by id; whatever begins with a dot is being written or edited."""
    if not folder.is_dir():
        return {}
    files = sorted(path for path in folder.iterdir() if path.suffix == _DECLARED and path.name[0] != ".")
    return {_id_in(path): path for path in files}


def _id_in(path: Path) -> str:
    """The id that a file's name means; names on a disk may be any bytes."""
    return unquote(os.fsencode(path.name).decode(errors="replace").removesuffix(_DECLARED))


def _prints(folder: Path) -> dict[str, Print]:
    stats: dict[str, os.stat_result] = {}
    for unit_id, path in _ids(folder).items():
        with suppress(FileNotFoundError):  # one went while we looked, or a link leads nowhere
            stats[unit_id] = _stat(path)
    return {unit_id: (found.st_mtime_ns, found.st_size, found.st_ino) for unit_id, found in stats.items()}


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        raise
    except OSError:  # whatever is the matter is met again, and told, when it is read
        return path.lstat()


def _read_all(folder: Path) -> dict[str, SyncUnit | TrimtabError]:
    return {unit_id: _read_or_refuse(folder, unit_id) for unit_id in _ids(folder)}


def _read_or_refuse(folder: Path, unit_id: str) -> SyncUnit | TrimtabError:
    try:
        return _read(folder, unit_id)
    except TrimtabError as error:
        return error


def _read(folder: Path, unit_id: str) -> SyncUnit:
    path = _declared_path(folder, unit_id)
    try:
        declared = _read_declared(path)
    except FileNotFoundError as error:
        raise _misnamed(folder, unit_id, path) or missing(unit_id) from error
    if declared.id not in {"", unit_id}:
        raise InvalidSpec(
            str(path), f"the file is named for unit {unit_id} and says {declared.id}", "Rename it"
        )
    noted = _read_noted(_noted_path(folder, unit_id))
    # Whoever edited the file may have moved the unit while nobody was there to hear it.
    unit = SyncUnit(
        id=unit_id,
        source=declared.source,
        destination=declared.destination,
        policy=declared.policy,
        tenant=declared.tenant,
        status=noted.status,
        operation=noted.operation,
        paused=noted.paused,
        pinned=noted.pinned,
        left=noted.left,
        places=noted.places,
    )
    return placed(unit)


def _misnamed(folder: Path, unit_id: str, path: Path) -> InvalidSpec | None:
    """What to say of a file whose name means a unit without being its own."""
    found = _ids(folder).get(unit_id)
    if found is None or found == path:
        return None
    shown = os.fsencode(found.name).decode(errors="replace")
    return InvalidSpec(f"unit file {shown}", "a unit's id is spelled otherwise", f"Name it {path.name}")


def _read_declared(path: Path) -> _Declared:
    try:
        value = yaml.load(_content(path, _LARGEST_DECLARED).decode(), source=path.name)
        return _DECLARATION.of(value)
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InvalidSpec(str(path), f"it does not describe a unit: {error}", "Mend the file") from error


def _read_noted(path: Path) -> _Noted:
    try:
        return _NOTED.decode(_content(path, _LARGEST_NOTED))
    except FileNotFoundError:
        return _Noted()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        remedy = "Remove the file: the engine then looks at the unit as at a new one"
        raise InvalidSpec(str(path), "it is not what the engine wrote", remedy) from error


def _content(path: Path, limit: int) -> bytes:
    """What a file holds; `FileNotFoundError` if there is none."""
    try:
        return content_of(path, limit)
    except FileNotFoundError:
        raise
    except Unfit as unfit:
        raise InvalidSpec(str(path), f"it {unfit}", "Move it elsewhere") from unfit
    except OSError as error:
        raise StoreUnavailable(str(path), f"it cannot be read: {error.strerror}") from error


def _create(folder: Path, unit: SyncUnit) -> None:
    path = _declared_path(folder, unit.id)
    if path.exists():
        raise exists(unit.id)
    # The notes come first: a unit without its operation would forget what was asked of it.
    _write_noted(folder, unit)
    try:
        _write(path, _declared_text(unit), only_new=True)
    except FileExistsError as error:
        raise exists(unit.id) from error


def _write_declared(folder: Path, unit: SyncUnit) -> None:
    _write(_declared_path(folder, unit.id), _declared_text(unit))


def _declared_text(unit: SyncUnit) -> bytes:
    declared = _Declared(
        id=unit.id,
        source=unit.source,
        destination=unit.destination,
        policy=unit.policy,
        tenant=unit.tenant,
    )
    return yaml.dump(msgspec.to_builtins(declared)).encode()


def _write_noted(folder: Path, unit: SyncUnit) -> None:
    noted = _Noted(
        status=unit.status,
        operation=unit.operation,
        paused=unit.paused,
        pinned=unit.pinned,
        left=unit.left,
        places=unit.places,
    )
    _write(_noted_path(folder, unit.id), msgspec.json.format(msgspec.json.encode(noted)))


def _write(path: Path, content: bytes, *, only_new: bool = False) -> None:
    """Replace a file whole: it is on the disk before it gets its name."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if only_new:
                os.link(temporary, path)
            else:
                Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)
        _settle(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise StoreUnavailable(str(path), f"it cannot be written: {error.strerror}") from error


def _settle(folder: Path) -> None:
    """Have the folder itself reach the disk, so that names survive a crash, too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(folder: Path, unit_id: str) -> None:
    try:
        _declared_path(folder, unit_id).unlink()
    except FileNotFoundError as error:
        raise missing(unit_id) from error
    _settle(folder)
    _noted_path(folder, unit_id).unlink(missing_ok=True)

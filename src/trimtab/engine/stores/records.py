"""`RecordStore`: units as records in a cluster, which needs no CRD: one Secret each, and more for large ones.

Secrets and not ConfigMaps, because many people may read ConfigMaps (the built-in role `view` may, and may not
read Secrets), because clusters that encrypt anything at rest encrypt Secrets, and because a Secret's type
cannot be changed. What a record holds is sealed all the same (`sealing`), with a key that is kept elsewhere:
backups and whoever may read the namespace learn names and verdicts, nothing more.

A record is a head and, above `chunk_size`, chunks. Chunks are written first, each under a name of its own
that was never used before; the head then names them, if it still is what we read; the old ones are removed
last. So a crash at any point leaves the old record or the new one, and at worst chunks that no head names,
which `collect_garbage` finds. Several processes may write: whoever comes second reads again.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from trimtab.engine.operations import Operation
from trimtab.engine.stores.changing import declared_anew, exists, missing, with_operation, with_status
from trimtab.engine.stores.sealing import Keyring, SealBroken
from trimtab.engine.units import (
    AllTold,
    Gone,
    Stored,
    SyncUnit,
    UnitMissing,
    UnitNews,
    UnitStatus,
    Unreadable,
)
from trimtab.errors import StoreUnavailable, TrimtabError
from trimtab.kube.cluster import Cluster, Deletion, Selection, Write
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import AlreadyExists, ChangedMeanwhile, NotFound
from trimtab.kube.objects import KubeObject
from trimtab.kube.picture import Complete, Removed, Upserted
from trimtab.kube.times import parse_time
from trimtab.kube.watch import follow
from trimtab.resources.labels import RECORD_LABEL, UNIT_ANNOTATION
from trimtab.tasks import Clock, SystemClock, plain_group

SECRETS: Final = Resource(group="", version="v1", kind="Secret", plural="secrets", namespaced=True)
#: a Secret holds 1 MiB at most, and grows by a third on its way
CHUNK_SIZE: Final = 512 << 10
RECORD_TYPE: Final = "trimtab.dev/unit"
UNIT_LABEL: Final = "trimtab.dev/unit-hash"
#: the Secrets that stand for a unit each
HEADS: Final = Selection(labels=f"{RECORD_LABEL}=head")
_CHUNKS: Final = Selection(labels=f"{RECORD_LABEL}=chunk")
#: how often a record that others keep changing is read again before we give up for now
_PATIENCE: Final = 8
#: larger ones are sealed in a thread, because that takes milliseconds
_LARGE: Final = 64 << 10
_T = TypeVar("_T")
_UNIT: Final = msgspec.json.Decoder(SyncUnit)
_NAMES: Final = msgspec.json.Decoder(tuple[str, ...])


class _Known(Struct, frozen=True, kw_only=True):
    """A record as it was last read or written."""

    unit: SyncUnit
    uid: str
    resource_version: str
    chunks: tuple[str, ...]

    def is_older(self, uid: str, version: str) -> bool:
        """Whether that is another record, or a later state of this one: echoes come late."""
        return uid != self.uid or int(version) > int(self.resource_version)


def _ignore(_error: TrimtabError) -> None:
    """Whoever follows is told in another way."""


class RecordStore:
    """Units in the Secrets of one namespace."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        namespace: str,
        keys: Keyring,
        only: str = "",
        clock: Clock | None = None,
        chunk_size: int = CHUNK_SIZE,
    ) -> None:
        """Take the cluster and the namespace, which has to be there, and the keys that seal and open.

        With `only`, the one unit of this id is followed, and nothing is read of others.
        """
        self._cluster = cluster
        self._namespace = namespace
        self._keys = keys
        self._clock = clock or SystemClock()
        self._chunk_size = chunk_size
        self._heads = Selection(labels=HEADS.labels, fields=_named(only)) if only else HEADS
        self._known: dict[str, _Known] = {}
        self._followers: list[Callable[[UnitNews], None]] = []

    async def list(self, unreadable: Callable[[TrimtabError], None] = _ignore) -> tuple[SyncUnit, ...]:
        """Every unit that can be read, in the order of their ids; what cannot be is told to `unreadable`."""
        units: list[SyncUnit] = []
        async for page in self._cluster.list(SECRETS, namespace=self._namespace, select=HEADS):
            for head in page.objects:
                try:
                    units.append(await self._listed(head))
                except UnitMissing:
                    continue  # it went while we read
                except (SealBroken, StoreUnavailable) as error:
                    unreadable(error)
        return tuple(sorted(units, key=lambda unit: unit.id))

    async def _listed(self, head: KubeObject) -> SyncUnit:
        """The unit of a head that was listed, or what has taken its place since."""
        try:
            return (await self._opened(head)).unit
        except NotFound:
            return await self.get(_unit_id(head))

    async def get(self, unit_id: str) -> SyncUnit:
        """One unit."""
        return (await self._read(unit_id)).unit

    async def create(self, unit: SyncUnit) -> SyncUnit:
        """Add a unit."""
        sealed = await self._sealed(unit)
        chunks = await self._write_chunks(unit.id, sealed)
        body = self._head(unit, sealed, chunks)
        try:
            written = await self._cluster.create(SECRETS, body, namespace=self._namespace)
        except AlreadyExists as error:
            await self._delete_chunks(chunks)
            raise exists(unit.id) from error
        return self._remember(unit, written.object, chunks)

    async def update(self, unit: SyncUnit) -> SyncUnit:
        """Change what is wanted of a unit."""
        return await self._change(unit.id, lambda stored: declared_anew(stored, unit))

    async def delete(self, unit_id: str, *, is_empty: bool = False) -> None:
        """Forget a unit: the head first, so that no half of a record is ever read.

        Where objects of it may stay, so does a trace: whoever begins anew under this name looks for them.
        """
        known = await self._read(unit_id)
        await (self._delete_chunks((_trace_name(unit_id),)) if is_empty else self._leave_trace(unit_id))
        await self._cluster.delete(
            SECRETS, _head_name(unit_id), namespace=self._namespace, how=Deletion(uid=known.uid)
        )
        await self._delete_chunks(known.chunks)
        self._lose(unit_id)

    async def has_trace(self, unit_id: str) -> bool:
        """Whether a unit of this id was forgotten while objects of it stayed, or may have."""
        try:
            await self._cluster.get(SECRETS, _trace_name(unit_id), namespace=self._namespace)
        except NotFound:
            return False
        return True

    async def _leave_trace(self, unit_id: str) -> None:
        body = _secret(_trace_name(unit_id), unit_id, b"", record="trace")
        with suppress(AlreadyExists):
            await self._cluster.create(SECRETS, body, namespace=self._namespace)

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        """Record how a unit stands."""
        return await self._change(unit_id, lambda stored: with_status(stored, status))

    async def set_operation(
        self, unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        """Ask something of a unit, or record that it is done."""
        return await self._change(unit_id, lambda stored: with_operation(stored, operation, status))

    async def amend(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        """Change a unit's pause, pin or operation by what they are now."""
        return await self._change(unit_id, change)

    async def follow(self, told: Callable[[UnitNews], None]) -> None:
        """Tell of everything that is there, then of every change, whoever made it."""
        names: dict[str, str] = {}
        self._known.clear()  # so that everything there is is told once more
        self._followers.append(told)
        try:
            async with aclosing(
                follow(
                    self._cluster, SECRETS, namespace=self._namespace, select=self._heads, clock=self._clock
                )
            ) as heard:
                async for news in heard:
                    match news:
                        case Upserted(object=head):
                            names[head.metadata.name] = _unit_id(head)
                            await self._hear(head)
                        case Removed(name=name):
                            unit_id = names.pop(name, "")
                            if name == _head_name(unit_id):  # a copy that goes takes nobody with it
                                self._lose(unit_id)
                        case Complete():
                            told(AllTold())
                        case _:
                            pass
        finally:
            self._followers.remove(told)

    async def collect_garbage(self, older_than: timedelta = timedelta(hours=1)) -> int:
        """Delete chunks that no head names, left by processes that died; the answer is how many.

        Young ones are left: somebody may be about to name them.
        """
        named: set[str] = set()
        found: dict[str, KubeObject] = {}
        async for page in self._cluster.list(SECRETS, namespace=self._namespace, select=_CHUNKS):
            found.update((chunk.metadata.name, chunk) for chunk in page.objects)
        async for page in self._cluster.list(SECRETS, namespace=self._namespace, select=HEADS):
            for head in page.objects:
                named.update(_chunk_names(head.manifest()))
        limit = await self._servers_time() - older_than
        old = tuple(name for name, chunk in found.items() if name not in named and _created(chunk) < limit)
        await self._delete_chunks(old)
        return len(old)

    async def _servers_time(self) -> datetime:
        """What the server's clock says, by which it dates what is made; ours may be another time."""
        body = _secret("trimtab-time", "", b"", record="chunk")
        write = Write(dry_run=True)
        made = await self._cluster.create(SECRETS, body, namespace=self._namespace, write=write)
        return _created(made.object)

    async def _hear(self, head: KubeObject) -> None:
        """Take note of a record that changed, unless it was we who changed it."""
        unit_id = _unit_id(head)
        known, metadata = self._known.get(unit_id), head.metadata
        if known is not None and not known.is_older(metadata.uid, metadata.resource_version):
            return
        try:
            self._learn(await self._opened(head))
        except NotFound:
            return  # the head has moved on since, and we shall be told
        except TrimtabError as error:
            self._tell(Unreadable(unit_id, error))

    def _learn(self, read: _Known) -> None:
        """Keep what was read, and tell it: its echo will be no news. What is known by now may be newer."""
        known = self._known.get(read.unit.id)
        if known is None or known.is_older(read.uid, read.resource_version):
            self._known[read.unit.id] = read
            self._tell(Stored(read.unit))

    async def _change(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        remembered = self._known.get(unit_id)
        known = remembered if remembered is not None and _is_one(change, remembered.unit) else None
        for _ in range(_PATIENCE):
            known = known or await self._read(unit_id)
            changed = change(known.unit)
            if changed == known.unit:
                return changed
            try:
                return await self._replace(known, changed)
            except ChangedMeanwhile:
                known = None
            except NotFound as error:
                self._lose(unit_id)
                raise missing(unit_id) from error
        raise StoreUnavailable(f"unit {unit_id}", "others keep changing its record")

    async def _replace(self, known: _Known, unit: SyncUnit) -> SyncUnit:
        sealed = await self._sealed(unit)
        chunks = await self._write_chunks(unit.id, sealed)
        body = self._head(unit, sealed, chunks)
        body["metadata"]["resourceVersion"] = known.resource_version
        try:
            written = await self._cluster.update(
                SECRETS, _head_name(unit.id), body, namespace=self._namespace
            )
        except (ChangedMeanwhile, NotFound):
            # After any other error nobody knows whether it was written: the chunks stay for the garbage
            # collection, and whoever goes on from what is known here finds out.
            await self._delete_chunks(chunks)
            raise
        self._remember(unit, written.object, chunks)
        await self._delete_chunks(known.chunks)
        return unit

    async def _read(self, unit_id: str) -> _Known:
        for _ in range(_PATIENCE):
            try:
                head = await self._cluster.get(SECRETS, _head_name(unit_id), namespace=self._namespace)
            except NotFound as error:
                raise missing(unit_id) from error
            try:
                opened = await self._opened(head)
            except NotFound:
                continue  # its chunks were replaced while we read them
            self._learn(opened)
            return opened
        raise StoreUnavailable(f"unit {unit_id}", "parts of its record are gone", "Restore them")

    async def _opened(self, head: KubeObject) -> _Known:
        """What a head and its chunks hold; `NotFound` when a chunk is gone."""
        unit_id, manifest = _unit_id(head), head.manifest()
        if head.metadata.name != _head_name(unit_id):
            raise SealBroken(f"unit {unit_id}", f"{head.metadata.name} is a copy of its record", "Delete it")
        names = _chunk_names(manifest)
        sealed = b"".join([await self._chunk(name) for name in names]) if names else _content(manifest)
        return _Known(
            unit=await _in_thread_if_large(len(sealed), self._unit_in, sealed, unit_id),
            uid=head.metadata.uid,
            resource_version=head.metadata.resource_version,
            chunks=names,
        )

    async def _chunk(self, name: str) -> bytes:
        chunk = await self._cluster.get(SECRETS, name, namespace=self._namespace)
        return _content(chunk.manifest())

    def _unit_in(self, sealed: bytes, unit_id: str) -> SyncUnit:
        try:
            return _UNIT.decode(self._keys.opened(sealed, self._seal_name(unit_id)))
        except msgspec.MsgspecError as error:
            raise SealBroken(f"unit {unit_id}", "it was written by a version that is not ours") from error

    async def _sealed(self, unit: SyncUnit) -> bytes:
        plain = msgspec.json.encode(unit)
        return await _in_thread_if_large(len(plain), self._keys.sealed, plain, self._seal_name(unit.id))

    def _seal_name(self, unit_id: str) -> str:
        return f"unit {self._namespace}/{unit_id}"

    async def _write_chunks(self, unit_id: str, sealed: bytes) -> tuple[str, ...]:
        """Write what does not fit into the head; the names are those of the content, which never recurs."""
        if len(sealed) <= self._chunk_size:
            return ()
        parts = [sealed[at : at + self._chunk_size] for at in range(0, len(sealed), self._chunk_size)]
        names = tuple(f"{_head_name(unit_id)}-{_hash(part)}" for part in parts)
        async with plain_group() as group:
            for name, part in zip(names, parts, strict=True):
                body = _secret(name, unit_id, part, record="chunk")
                group.create_task(self._create_chunk(body))
        return names

    async def _create_chunk(self, body: dict[str, Any]) -> None:
        # The name is the content's: if it is there, an earlier try that got no answer has written it.
        with suppress(AlreadyExists):
            await self._cluster.create(SECRETS, body, namespace=self._namespace)

    async def _delete_chunks(self, names: tuple[str, ...]) -> None:
        """Delete chunks that no head names any more; what fails here is garbage for later."""
        for name in names:
            try:
                await self._cluster.delete(SECRETS, name, namespace=self._namespace)
            except TrimtabError:
                continue

    def _head(self, unit: SyncUnit, sealed: bytes, chunks: tuple[str, ...]) -> dict[str, Any]:
        body = _secret(_head_name(unit.id), unit.id, b"" if chunks else sealed, record="head")
        body["metadata"]["annotations"] = {
            UNIT_ANNOTATION: unit.id,
            "trimtab.dev/verdict": unit.status.verdict.value,
            "trimtab.dev/health": unit.status.health.status.value,
        }
        if chunks:
            body["data"] = {"chunks": base64.b64encode(msgspec.json.encode(chunks)).decode()}
        return body

    def _remember(self, unit: SyncUnit, head: KubeObject, chunks: tuple[str, ...]) -> SyncUnit:
        metadata = head.metadata
        self._known[unit.id] = _Known(
            unit=unit, uid=metadata.uid, resource_version=metadata.resource_version, chunks=chunks
        )
        self._tell(Stored(unit))
        return unit

    def _lose(self, unit_id: str) -> None:
        if self._known.pop(unit_id, None) is not None:
            self._tell(Gone(unit_id))

    def _tell(self, news: UnitNews) -> None:
        for told in tuple(self._followers):
            told(news)


def _is_one(change: Callable[[SyncUnit], SyncUnit], remembered: SyncUnit) -> bool:
    """Whether a change changes something; what is remembered may be old, so nothing is refused by it."""
    try:
        return change(remembered) != remembered
    except TrimtabError:
        return False


async def _in_thread_if_large(size: int, act: Callable[..., _T], *arguments: Any) -> _T:
    return await asyncio.to_thread(act, *arguments) if size > _LARGE else act(*arguments)


def _secret(name: str, unit_id: str, content: bytes, *, record: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {RECORD_LABEL: record, UNIT_LABEL: unit_hash(unit_id)}},
        "type": RECORD_TYPE,
        "data": {"content": base64.b64encode(content).decode()},
    }


def _head_name(unit_id: str) -> str:
    """A name that any id has, and that no other id has."""
    return f"trimtab-unit-{unit_hash(unit_id)}"


def _trace_name(unit_id: str) -> str:
    return f"trimtab-left-{unit_hash(unit_id)}"


def _named(unit_id: str) -> str:
    return f"metadata.name={_head_name(unit_id)}"


def unit_hash(unit_id: str) -> str:
    """What stands for a unit in names and labels, which cannot hold every id."""
    return _hash(unit_id.encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:40]


def _unit_id(head: KubeObject) -> str:
    return (head.metadata.annotations or {}).get(UNIT_ANNOTATION, "")


def _content(manifest: dict[str, Any]) -> bytes:
    return base64.b64decode((manifest.get("data") or {}).get("content") or "")


def _chunk_names(manifest: dict[str, Any]) -> tuple[str, ...]:
    encoded = (manifest.get("data") or {}).get("chunks") or ""
    try:
        return _NAMES.decode(base64.b64decode(encoded)) if encoded else ()
    except (msgspec.MsgspecError, ValueError) as error:
        raise SealBroken("a record", "the names of its parts cannot be read", "Restore it") from error


def _created(chunk: KubeObject) -> datetime:
    return parse_time(chunk.metadata.creation_timestamp or "")

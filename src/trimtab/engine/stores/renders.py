"""Archives: what units rendered to, kept so that one can go back while their sources are out of reach.

A render is kept once, under the digest that names its content, however many entries of history speak of it.
In a cluster it is Secrets beside the unit's record, compressed and sealed like it (`records` says why): a
first piece that names the others, which are written before it, so a render is there whole or not at all.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

import msgspec

from trimtab.engine.stores.records import (
    CHUNK_SIZE,
    RECORD_TYPE,
    SECRETS,
    UNIT_LABEL,
    unit_hash,
)
from trimtab.engine.stores.sealing import Keyring, SealBroken
from trimtab.engine.units import Generated
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import Cluster, Selection
from trimtab.kube.failures import AlreadyExists, NotFound
from trimtab.kube.objects import Metadata
from trimtab.resources.labels import RECORD_LABEL

RENDER_LABEL: Final = "trimtab.dev/render"
_OTHERS: Final = msgspec.json.Decoder(list[str])
_GENERATED: Final = msgspec.json.Decoder(Generated)


class MemoryArchive:
    """Renders that live as long as the process."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Generated] = {}

    async def keep(self, unit_id: str, generated: Generated) -> None:
        """Keep what a unit rendered to."""
        self._kept[unit_id, generated.digest] = generated

    async def find(self, unit_id: str, digest: str) -> Generated | None:
        """What a unit once rendered to, if that is kept."""
        return self._kept.get((unit_id, digest))

    async def drop(self, unit_id: str, but: Collection[str]) -> None:
        """Forget what a unit rendered to, but for these."""
        for unit, digest in list(self._kept):
            if unit == unit_id and digest not in but:
                del self._kept[unit, digest]


class RecordArchive:
    """Renders in the Secrets of one namespace."""

    def __init__(
        self, cluster: Cluster, *, namespace: str, keys: Keyring, chunk_size: int = CHUNK_SIZE
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._keys = keys
        self._chunk_size = chunk_size

    async def keep(self, unit_id: str, generated: Generated) -> None:
        """Keep what a unit rendered to, unless it is kept already."""
        first = _name(unit_id, generated.digest)
        if await self._piece(first) is not None:
            return
        sealed = await asyncio.to_thread(self._sealed, unit_id, generated)
        parts = [sealed[at : at + self._chunk_size] for at in range(0, len(sealed), self._chunk_size)]
        labels = _labels(unit_id, generated.digest)
        others = [f"{first}-{_hash(part)}" for part in parts[1:]]
        for name, part in zip(others, parts[1:], strict=True):
            await self._write(_secret(name, labels, content=part))
        await self._write(_secret(first, labels, content=parts[0], others=msgspec.json.encode(others)))

    async def find(self, unit_id: str, digest: str) -> Generated | None:
        """What a unit once rendered to, if that is kept."""
        first = await self._piece(_name(unit_id, digest))
        if first is None:
            return None
        others = [await self._piece(name) for name in self._others(unit_id, digest, first)]
        if None in others:
            return None  # it is being dropped
        sealed = b"".join(each.get("content", b"") for each in (first, *others) if each is not None)
        return await asyncio.to_thread(self._opened, unit_id, digest, sealed)

    def _others(self, unit_id: str, digest: str, first: dict[str, bytes]) -> list[str]:
        try:
            return _OTHERS.decode(first.get("others", b""))
        except msgspec.MsgspecError as error:
            name = self._seal_name(unit_id, digest)
            raise SealBroken(name, "the names of its parts cannot be read", "Restore it") from error

    async def drop(self, unit_id: str, but: Collection[str]) -> None:
        """Forget what a unit rendered to, but for these; what cannot be deleted now is garbage for later."""
        kept = {_hash(digest.encode()) for digest in but}
        select = Selection(labels=f"{RECORD_LABEL}=render,{UNIT_LABEL}={unit_hash(unit_id)}")
        found: list[str] = []
        with suppress(TrimtabError):
            async for page in self._cluster.list(SECRETS, namespace=self._namespace, select=select):
                found += [each.metadata.name for each in page.objects if _render(each.metadata) not in kept]
            for name in sorted(found):  # a first piece goes before what it names
                with suppress(NotFound):
                    await self._cluster.delete(SECRETS, name, namespace=self._namespace)

    async def _write(self, body: dict[str, Any]) -> None:
        # Under its name stands this very content, or the same render as somebody else sealed it.
        with suppress(AlreadyExists):
            await self._cluster.create(SECRETS, body, namespace=self._namespace)

    async def _piece(self, name: str) -> dict[str, bytes] | None:
        try:
            found = await self._cluster.get(SECRETS, name, namespace=self._namespace)
        except NotFound:
            return None
        data: dict[str, str] = found.manifest().get("data") or {}
        return {field: base64.b64decode(value) for field, value in data.items()}

    def _sealed(self, unit_id: str, generated: Generated) -> bytes:
        return self._keys.sealed(msgspec.json.encode(generated), self._seal_name(unit_id, generated.digest))

    def _opened(self, unit_id: str, digest: str, sealed: bytes) -> Generated:
        name = self._seal_name(unit_id, digest)
        try:
            return _GENERATED.decode(self._keys.opened(sealed, name))
        except msgspec.MsgspecError as error:
            raise SealBroken(name, "it was written by a version that is not ours") from error

    def _seal_name(self, unit_id: str, digest: str) -> str:
        return f"render {digest} of unit {self._namespace}/{unit_id}"


def _name(unit_id: str, digest: str) -> str:
    return f"trimtab-render-{unit_hash(unit_id)}-{_hash(digest.encode())}"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


def _labels(unit_id: str, digest: str) -> dict[str, str]:
    return {
        RECORD_LABEL: "render",
        UNIT_LABEL: unit_hash(unit_id),
        RENDER_LABEL: _hash(digest.encode()),
    }


def _render(metadata: Metadata) -> str:
    return (metadata.labels or {}).get(RENDER_LABEL, "")


def _secret(name: str, labels: dict[str, str], **data: bytes) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": labels},
        "type": RECORD_TYPE,
        "data": {field: base64.b64encode(value).decode() for field, value in data.items()},
    }

"""Whole objects, packed: few bytes each, and given up, the longest unread first, where memory ends. Pure.

Few objects stay as they came: packing them would cost a short command more than their bytes are worth. Each
kind has a packer of its own. What is given up is not lost: whoever needs it reads it from the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from trimtab.kube.packing import Packer
from trimtab.resources.keys import ResourceKey

#: what a body costs beyond its bytes: its header and its place in the table
_OVERHEAD: Final = 33 + 100
#: giving up goes on until so much of the limit is used, so that it is done rarely
_RELIEF: Final = 0.9
#: bodies that take no more room than this are not packed
_FEW: Final = 4 << 20


class Bodies:
    """The kept bodies of one cluster: as they came while they are few, packed from then on."""

    def __init__(self, few: int = _FEW) -> None:
        self._few = few
        self._packs = False
        self._held: dict[ResourceKey, bytes] = {}
        self._packers: dict[tuple[str, str], Packer[ResourceKey]] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._held)

    def keep(self, key: ResourceKey, raw: bytes) -> None:
        """Keep an object's bytes, in place of what was kept of it."""
        self.drop(key)
        if self._packs:
            self._pack(key, raw)
            return
        self._hold(key, raw)
        if self.size > self._few:
            self._pack_all()

    def drop(self, key: ResourceKey) -> None:
        """Keep nothing of an object any more."""
        if (held := self._held.pop(key, None)) is not None:
            self.size -= len(held) + _OVERHEAD

    def read(self, key: ResourceKey) -> bytes | None:
        """The bytes of an object, if they are kept."""
        held = self._held.pop(key, None)
        if held is None:
            return None
        self._held[key] = held  # the last one read is the last one given up
        return self._packer(key).unpacked(held) if self._packs else held

    def trim(self, room: int) -> None:
        """Give up bodies, the longest unread first, if they take more room than this even when packed."""
        if self.size > room and not self._packs:
            self._pack_all()
        if self.size <= room:
            return
        for key in list(self._held):
            if self.size <= room * _RELIEF:
                break
            self.drop(key)

    def _hold(self, key: ResourceKey, kept: bytes) -> None:
        self._held[key] = kept
        self.size += len(kept) + _OVERHEAD

    def _pack_all(self) -> None:
        came, self._held, self.size, self._packs = self._held, {}, 0, True
        for key, raw in came.items():
            self._pack(key, raw)

    def _pack(self, key: ResourceKey, raw: bytes) -> None:
        packer = self._packer(key)
        self._hold(key, packer.packed(raw))
        if samples := packer.samples(key):
            self._train(packer, samples)

    def _packer(self, key: ResourceKey) -> Packer[ResourceKey]:
        kind = (key.group, key.kind)
        if (packer := self._packers.get(kind)) is None:
            packer = self._packers[kind] = Packer()
        return packer

    def _train(self, packer: Packer[ResourceKey], samples: Iterable[ResourceKey]) -> None:
        """Make the dictionary of a kind, and pack what it was made of once more."""
        raw = {key: packer.unpacked(self._held[key]) for key in samples if key in self._held}
        packer.train(list(raw.values()))
        for key, each in raw.items():
            self.keep(key, each)

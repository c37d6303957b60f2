"""Whole objects, packed: few bytes each, and given up, the longest unread first, where memory ends. Pure.

Each kind has a packer of its own. What is given up is not lost: whoever needs it reads it from the cluster.
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


class Bodies:
    """The kept bodies of one cluster."""

    def __init__(self) -> None:
        self._held: dict[ResourceKey, bytes] = {}
        self._packers: dict[tuple[str, str], Packer[ResourceKey]] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._held)

    def keep(self, key: ResourceKey, raw: bytes) -> None:
        """Keep an object's bytes, in place of what was kept of it."""
        self.drop(key)
        packer = self._packer(key)
        self._hold(key, packer.packed(raw))
        if samples := packer.samples(key):
            self._train(packer, samples)

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
        return self._packer(key).unpacked(held)

    def trim(self, room: int) -> None:
        """Give up bodies, the longest unread first, if they take more room than this."""
        if self.size <= room:
            return
        for key in list(self._held):
            if self.size <= room * _RELIEF:
                break
            self.drop(key)

    def _hold(self, key: ResourceKey, packed: bytes) -> None:
        self._held[key] = packed
        self.size += len(packed) + _OVERHEAD

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

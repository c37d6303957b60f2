"""Whole objects, compressed: few bytes each, and given up, the longest unread first, where memory ends. Pure.

Objects of one kind resemble each other, so each kind gets a dictionary made of its first objects. What is
given up is not lost: whoever needs it reads it from the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import zstandard

from trimtab.resources.keys import ResourceKey

_LEVEL: Final = 1
#: how many objects a dictionary is made of, how much of each, and how large it gets
_SAMPLES, _SAMPLE, _DICTIONARY = 64, 16 << 10, 16 << 10
#: what a body costs beyond its bytes: its header and its place in the table
_OVERHEAD: Final = 33 + 100
#: giving up goes on until so much of the limit is used, so that it is done rarely
_RELIEF: Final = 0.9
_PLAIN, _TRAINED = b"\0", b"\1"


class Bodies:
    """The kept bodies of one cluster."""

    def __init__(self) -> None:
        self._held: dict[ResourceKey, bytes] = {}
        self._packers: dict[tuple[str, str], _Packer] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._held)

    def keep(self, key: ResourceKey, raw: bytes) -> None:
        """Keep an object's bytes, in place of what was kept of it."""
        self.drop(key)
        packer = self._packer(key)
        self._hold(key, packer.packed(raw))
        if packer.wants_samples:
            packer.sampled.append(key)
            if len(packer.sampled) >= _SAMPLES:
                self._train(packer)

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

    def _packer(self, key: ResourceKey) -> _Packer:
        kind = (key.group, key.kind)
        if (packer := self._packers.get(kind)) is None:
            packer = self._packers[kind] = _Packer()
        return packer

    def _train(self, packer: _Packer) -> None:
        """Make the dictionary of a kind, and pack what it was made of once more."""
        raw = {key: packer.unpacked(self._held[key]) for key in packer.sampled if key in self._held}
        packer.train(list(raw.values()))
        for key, each in raw.items():
            self.keep(key, each)


class _Packer:
    """How the bodies of one kind are packed: plainly until there are enough to make a dictionary of."""

    def __init__(self) -> None:
        self.sampled: list[ResourceKey] = []
        self.wants_samples = True
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._plain = zstandard.ZstdDecompressor()
        self._trained = self._plain
        self._mark = _PLAIN

    def packed(self, raw: bytes) -> bytes:
        # Joining copies into bytes of the exact size; what the compressor returns sits in a larger piece.
        return self._mark + self._compressor.compress(raw)

    def unpacked(self, packed: bytes) -> bytes:
        how = self._plain if packed[:1] == _PLAIN else self._trained
        return how.decompress(memoryview(packed)[1:])

    def train(self, samples: list[bytes]) -> None:
        self.wants_samples = False
        self.sampled.clear()
        dictionary = _dictionary([each[:_SAMPLE] for each in samples])
        dictionary.precompute_compress(level=_LEVEL)
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary)
        self._trained = zstandard.ZstdDecompressor(dict_data=dictionary)
        self._mark = _TRAINED


def _dictionary(samples: Sequence[bytes]) -> zstandard.ZstdCompressionDict:
    try:
        return zstandard.train_dictionary(_DICTIONARY, [*samples])
    except zstandard.ZstdError:
        # Too little to learn from: what the samples have in common can still be pointed at.
        joined = b"".join(samples)[-_DICTIONARY:]
        return zstandard.ZstdCompressionDict(joined, dict_type=zstandard.DICT_TYPE_RAWCONTENT)

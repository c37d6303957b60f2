"""Bodies of objects, packed. Pure.

Objects of one kind resemble each other, so a dictionary made of the first of them packs all others to a third
or less, in a few microseconds each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import zstandard

_LEVEL: Final = 1
#: how many objects a dictionary is made of, how much of each, and how large it gets
_SAMPLES, _SAMPLE, _DICTIONARY = 64, 16 << 10, 16 << 10
#: less than this teaches nothing; the library was seen to divide by zero over some samples of a few bytes
_SHORTEST: Final = 64
_PLAIN, _TRAINED = b"\0", b"\1"
K = TypeVar("K")


class Packer(Generic[K]):
    """How the bodies of one kind are packed: plainly until there are enough to make a dictionary of.

    It keeps nothing of what it packs. Whoever keeps it says under which key, and is told once which of them
    to train with: from then on they can be packed better.
    """

    def __init__(self) -> None:
        self._sampled: list[K] | None = []
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._plain = zstandard.ZstdDecompressor()
        self._trained = self._plain
        self._mark = _PLAIN

    def packed(self, raw: bytes) -> bytes:
        """The bytes in their packed form."""
        # Joining copies into bytes of the exact size; what the compressor returns sits in a larger piece.
        return self._mark + self._compressor.compress(raw)

    def unpacked(self, packed: bytes) -> bytes:
        """The bytes as they were, whenever they were packed."""
        how = self._plain if packed[:1] == _PLAIN else self._trained
        return how.decompress(memoryview(packed)[1:])

    def samples(self, key: K) -> Sequence[K]:
        """What to train with, now that a body is kept under this key; nothing before and after that."""
        if self._sampled is None:
            return ()
        self._sampled.append(key)
        return self._sampled if len(self._sampled) >= _SAMPLES else ()

    def train(self, samples: Sequence[bytes]) -> None:
        """Make the dictionary out of these bodies."""
        self._sampled = None
        dictionary = _dictionary([each[:_SAMPLE] for each in samples if len(each) >= _SHORTEST])
        dictionary.precompute_compress(level=_LEVEL)
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary)
        self._trained = zstandard.ZstdDecompressor(dict_data=dictionary)
        self._mark = _TRAINED


def _dictionary(samples: Sequence[bytes]) -> zstandard.ZstdCompressionDict:
    try:
        # One step of the search for the best parameters: more of them double the time and gain nothing.
        return zstandard.train_dictionary(_DICTIONARY, [*samples], d=8, steps=1)
    except zstandard.ZstdError:
        # Too little to learn from: what the samples have in common can still be pointed at.
        joined = b"".join(samples)[-_DICTIONARY:]
        return zstandard.ZstdCompressionDict(joined, dict_type=zstandard.DICT_TYPE_RAWCONTENT)

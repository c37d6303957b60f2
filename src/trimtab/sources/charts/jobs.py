"""What worker processes do for charts: read indexes, choose versions, open archives. Bytes in, bytes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.errors import SourceRefused
from trimtab.sources.charts.offers import Offer, chosen, offers_in
from trimtab.sources.rendering.archives import files_in
from trimtab.sources.rendering.detection import CHART

#: a job of a worker process
Function: TypeAlias = Callable[[bytes], bytes]
#: files that a chart may be made of
MOST_FILES: Final = 10_000
_FILES: Final = msgspec.msgpack.Decoder(dict[str, bytes])
_OFFERS: Final = msgspec.msgpack.Decoder(list[Offer])


class Text(Struct, frozen=True, kw_only=True):
    """Something that was fetched, and how much it may be."""

    subject: str
    #: how messages call it
    name: str
    content: bytes
    most: int


_TEXT: Final = msgspec.msgpack.Decoder(Text)


def read_index(payload: bytes) -> bytes:
    """What an index offers: for each chart its offers, encoded by themselves."""
    text = _TEXT.decode(payload)
    found = offers_in(text.content, text.subject, text.most)
    return msgspec.msgpack.encode({name: msgspec.msgpack.encode(offers) for name, offers in found.items()})


def index_in(told: bytes) -> dict[str, bytes]:
    """The offers of an index by the names of charts, each encoded by itself."""
    return _FILES.decode(told)


class Choice(Struct, frozen=True, kw_only=True):
    """A version or a range of versions, and the offers of one chart, encoded."""

    subject: str
    target: str
    offers: bytes


_CHOICE: Final = msgspec.msgpack.Decoder(Choice)


class Chosen(Struct, frozen=True, kw_only=True):
    """The offer that is meant, if there is one, and among how many versions."""

    offer: Offer | None
    versions: int


def choose(payload: bytes) -> bytes:
    """The offer that is meant; nobody knows how many a repository makes."""
    choice = _CHOICE.decode(payload)
    listed = _OFFERS.decode(choice.offers)
    offers = {each.version: each for each in reversed(listed)}
    version = chosen(choice.target, offers, choice.subject)
    found = Chosen(offer=None if version is None else offers[version], versions=len(offers))
    return msgspec.msgpack.encode(found)


def check_archive(payload: bytes) -> bytes:
    """Return if an archive is a chart, and nothing else."""
    text = _TEXT.decode(payload)
    found = files_in(
        text.content, subject=text.subject, path=text.name, most_files=MOST_FILES, most_bytes=text.most
    )
    if CHART not in found:
        raise SourceRefused(text.subject, f"its archive holds no {CHART}", "Have it packed anew")
    return b""

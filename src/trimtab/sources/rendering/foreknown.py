"""Files that were read before anybody asked for what they say: each is given away once, if unchanged."""

from __future__ import annotations

from typing import Final

from trimtab.resources.yaml import Document

_KNOWN: Final[dict[tuple[str, bytes], tuple[Document, ...]]] = {}


def keep(path: str, text: bytes, found: tuple[Document, ...]) -> None:
    """Keep what a file says until it is asked for."""
    _KNOWN[path, text] = found


def given(path: str, text: bytes) -> tuple[Document, ...]:
    """What a file with this text says; nothing if that is not known."""
    return _KNOWN.pop((path, text), ())

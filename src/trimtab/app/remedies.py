"""What to do about the words of a server that refused a write, where the words say it themselves. Pure."""

from __future__ import annotations

import re
from typing import Final

_NO_NAMESPACE: Final = re.compile(r'namespaces "(?P<name>[^"]+)" not found')


def remedy_of(words: str, otherwise: str) -> str:
    """What to do; `otherwise`, if the words do not say."""
    if found := _NO_NAMESPACE.search(words):
        return f"Make the namespace {found['name']}, or sync with --create-namespace"
    return otherwise

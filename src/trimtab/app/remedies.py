"""What to do about the words of a server that refused a write, where the words say it themselves. Pure."""

from __future__ import annotations

import re
from typing import Final

_NO_NAMESPACE: Final = re.compile(r'namespaces "(?P<name>[^"]+)" not found')


def without_namespace(name: str, *, destination: str) -> str:
    """What to say of a namespace that is written into, and is not there."""
    return f"namespace {name}: it is not there. {_made(name, destination)}"


def remedy_of(words: str, otherwise: str, *, destination: str) -> str:
    """What to do; `otherwise`, if the words do not say."""
    if "field is immutable" in words:
        return "Put the field back, or have the object made anew with trimtab.dev/sync-options: Force=true"
    found = _NO_NAMESPACE.search(words)
    return _made(found["name"], destination) if found else otherwise


def _made(namespace: str, destination: str) -> str:
    """How a namespace comes to be there; a sync makes the `destination` alone."""
    rather = "sync with --create-namespace" if namespace == destination else "declare it beside the object"
    return f"Make the namespace {namespace}, or {rather}"

"""Which references lead out to the network, and which of them the operator allows. Pure.

Whatever a kustomization names and its tree does not hold would be fetched by the program. So it is decided
here, before any program runs, and never by trying.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from trimtab.errors import InvalidSpec, RenderFailed, SourceRefused
from trimtab.sources.rendering.paths import shown

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(:|//)")
_SCP: Final = re.compile(r"[^/]+@[^/:]+:|[A-Za-z0-9.-]+\.[A-Za-z]{2,}[:/].+")
_CLONED: Final = re.compile(r"git::|gh:|[A-Za-z][A-Za-z0-9+.-]*://|[^/]+@[^/:]+[:/]|github\.com[:/]")
_CREDENTIALS: Final = re.compile(r"//[^/@]*@")


def is_remote(reference: str) -> bool:
    """Would kustomize or helm take this for an address?"""
    return (
        _SCHEME.match(reference) is not None
        or _SCP.match(reference) is not None
        or "?ref=" in reference
        or ".git" in reference
    )


def is_cloned(reference: str) -> bool:
    """Would kustomize take this for an address even if a folder of that name lies in the tree?"""
    return _CLONED.match(reference) is not None


def is_allowed(reference: str, allowed: Iterable[str]) -> bool:
    """Does it begin with an address that the operator allows, up to the end of a word of it?"""
    if _CREDENTIALS.search(reference) or ".." in reference or any(sign <= " " for sign in reference):
        return False
    return any(
        reference == prefix or reference.startswith(prefix if prefix.endswith("/") else f"{prefix}/")
        for prefix in allowed
        if prefix
    )


def check(reference: str, allowed: Iterable[str], *, subject: str, where: str) -> None:
    """Return for an address that is allowed; anything else that the tree does not hold is an error."""
    told = shown(_CREDENTIALS.sub("//", reference))
    if not reference:
        raise InvalidSpec(subject, f"{where} holds an empty path", "Remove it")
    if not is_remote(reference):
        raise RenderFailed(
            subject, f"{where} names {told}, which is not in the repository", "Mend the path, or add it"
        )
    if not is_allowed(reference, allowed):
        reason = f"{where} names {told}, and nothing may be fetched from there"
        raise SourceRefused(
            subject, reason, "Keep it in the repository, or have the operator allow the address"
        )
